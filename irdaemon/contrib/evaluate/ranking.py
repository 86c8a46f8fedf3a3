"""Measure rankings, for each query and on average, and classify the outcome of each."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, Protocol

import numpy as np

from irclient.counts import format_count
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.cases import Catalogue, query_id, read_lines
from irdaemon.discovery.cases import Case
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit, Query, Selection

# A run: a searcher's answer to each case. Every report is a function of runs.


class Searcher(Protocol):
    """Anything that answers queries: an Engine, a Client, a built corpus."""

    def search(self, query: Query) -> Selection:
        """Return ranked candidates."""
        ...

    def discover(self, query: Query) -> Selection:
        """Return the few hits that are committed, or an abstention."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One case, its candidates best first, and the committed hits.

    `unknown` is gold that matched no artifact when the case was asked: it counts as missed.
    """

    case: Case
    hits: tuple[Hit, ...]
    committed: tuple[str, ...]
    abstained: bool
    confidence: float | None
    unknown: tuple[str, ...] = ()

    @property
    def ranked(self) -> list[str]:
        """Return the ids of the candidates."""
        return list_ids(self.hits, self.case.gold)

    @property
    def top_score(self) -> float | None:
        """Return the evidence of the first candidate, None without candidates."""
        return self.hits[0].score if self.hits else None

    @property
    def rank(self) -> int | None:
        """Return the rank of the first gold among the candidates, from 1; None if none is gold."""
        return next((at for at, i in enumerate(self.ranked, 1) if i in self.case.gold), None)


def ask_cases(
    searcher: Searcher,
    cases: Iterable[Case],
    template: Query,
    tell: Callable[[int], None] = lambda done: None,
    catalogue: Catalogue | None = None,
) -> list[Run]:
    """Ask every case, shaped like `template`: once for the candidates, once for the answer.

    `tell` is called after each case with the number asked. `catalogue` resolves the gold; without
    one, gold must be ids.
    """
    runs: list[Run] = []
    for case in cases:
        run = _ask(searcher, catalogue.resolve_case(case) if catalogue else case, template)
        unknown = catalogue.list_unknown(run.case.gold) if catalogue else ()
        runs.append(replace(run, unknown=unknown))
        tell(len(runs))
    return runs


def list_drift(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the gold of runs that matched no artifact, sorted."""
    return tuple(sorted({gold for run in runs for gold in run.unknown}))


def _ask(searcher: Searcher, case: Case, template: Query) -> Run:
    corpora = (case.corpus,) if case.corpus else template.corpora
    query = replace(template, text=case.query, corpora=corpora)
    candidates, answer = searcher.search(query), searcher.discover(query)
    sources = answer.signals.get("per_source", {}).values()
    known = [each["confidence"] for each in sources if "confidence" in each]
    return Run(
        case,
        candidates.results,
        tuple(list_ids(answer.results, case.gold)),
        answer.abstained,
        max(known, default=None),
    )


def list_ids(hits: Iterable[Hit], gold: Collection[str]) -> list[str]:
    """Return the ids of hits; a hit with gold among its duplicates counts as that gold."""
    found = []
    for hit in hits:
        same = {hit.artifact_id, *(each.partition("/")[2] for each in hit.duplicates)}
        found.append(next((each for each in gold if each in same), hit.artifact_id))
    return found


# Measures of one ranking against its gold, each from 0 to 1, as TREC defines them.
#
# `ranked` are ids, best first, each once; `gold` the relevant ones, never empty: ids, or ids with
# grades above 0. Only `ndcg` counts grades; to the others every graded id is relevant.

Gold = Collection[str] | Mapping[str, float]
Measure = Callable[[Sequence[str], Gold, int], float]


def ndcg(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return normalised discounted cumulative gain: gain is the grade, discount log2(rank + 1)."""
    grades = gold if isinstance(gold, Mapping) else dict.fromkeys(gold, 1.0)
    ideal = sorted(grades.values(), reverse=True)
    return _discount(grades.get(each, 0.0) for each in ranked[:k]) / _discount(ideal[:k])


def _discount(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(at + 2) for at, gain in enumerate(gains))


def recall(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return the share of the gold that is among the first k."""
    return len(set(ranked[:k]) & set(gold)) / len(gold)


def completeness(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return 1 if all the gold is among the first k, else 0."""
    return float(set(gold) <= set(ranked[:k]))


def precision(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return the share of gold in k places, empty ones included."""
    return len(set(ranked[:k]) & set(gold)) / k


def reciprocal_rank(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return 1 / the rank of the first gold among the first k, else 0."""
    return next((1 / (at + 1) for at, each in enumerate(ranked[:k]) if each in gold), 0.0)


def average_precision(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return the mean, over all the gold, of the precision at the rank of each.

    Gold beyond the first k counts as not found, as in trec_eval's map_cut.
    """
    found, total = 0, 0.0
    for at, each in enumerate(ranked[:k], start=1):
        if each in gold:
            found += 1
            total += found / at
    return total / len(gold)


MEASURES: Mapping[str, Measure] = {
    "ndcg": ndcg,
    "recall": recall,
    "completeness": completeness,
    "precision": precision,
    "mrr": reciprocal_rank,
    "map": average_precision,
}


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# Intervals: how far a mean may be off through the choice of queries alone.

_RESAMPLES = 1_000
_TAILS = (2.5, 97.5)

Interval = tuple[float, float]


def intervals(values: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """Return the 95% interval of the mean of each series, by a seeded bootstrap over its queries.

    Series of equal length are resampled alike. A series of fewer than two values has no interval.
    """
    found: dict[str, Interval] = {}
    for length in sorted({len(series) for series in values.values()} - {0, 1}):
        names = [name for name, series in values.items() if len(series) == length]
        table = np.array([values[name] for name in names], np.float64).T
        chance = np.random.default_rng(0)
        draws = (chance.integers(0, length, length) for _ in range(_RESAMPLES))
        means = np.array([table[drawn].mean(axis=0) for drawn in draws])
        bounds = np.percentile(means, _TAILS, axis=0).T.tolist()
        for name, (low, high) in zip(names, bounds, strict=True):
            found[name] = round(low, 4), round(high, 4)
    return {name: found[name] for name in values if name in found}


K_VALUES = (1, 5, 10)
PRIMARY_K = 10
METRICS = tuple(MEASURES)


@dataclass(frozen=True, slots=True)
class DiscoveryReport:
    """The mean measures over cases with gold, and the count of each outcome.

    `measures` and their 95% `intervals` are named MEASURE@K; `per_query` has the values of each
    case with gold by its id (`query_id`). `primary_measure` is the first requested metric, at the
    primary k. `drift` is gold that matches no artifact: those cases count as missed.
    """

    n: int
    n_gold: int
    measures: Mapping[str, float]
    intervals: Mapping[str, Interval]
    outcomes: Mapping[str, int]
    per_query: Mapping[str, Mapping[str, float]]
    primary_measure: str
    drift: tuple[str, ...] = ()

    @property
    def primary(self) -> float | None:
        """Return the primary measure; None if no case has gold."""
        return self.measures.get(self.primary_measure)

    @property
    def n_retrieval_miss(self) -> int:
        """Count the cases with gold that have none of it among the first `primary_k`."""
        return self.outcomes.get("retrieval_miss", 0)

    @property
    def abstention_accuracy(self) -> float | None:
        """Return the share of cases without gold that scored below the threshold.

        None without a threshold, or if every case has gold.
        """
        right = self.outcomes.get("abstention_ok", 0)
        judged = right + self.outcomes.get("false_action", 0)
        return right / judged if judged else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            **asdict(self),
            "primary": self.primary,
            "n_retrieval_miss": self.n_retrieval_miss,
            "abstention_accuracy": self.abstention_accuracy,
        }

    def __str__(self) -> str:
        value = "n/a" if self.primary is None else f"{self.primary:.4f}"
        lines = [
            f"DiscoveryReport: {format_count(self.n, 'case')}, {self.n_gold} with gold;"
            f" {self.primary_measure} {value}"
        ]
        for name, mean in self.measures.items():
            low_high = self.intervals.get(name)
            spread = f"  [{low_high[0]:.3f}, {low_high[1]:.3f}]" if low_high else ""
            lines.append(f"  {name:<16} {mean:.4f}{spread}")
        lines.append("  " + ", ".join(f"{n} {name}" for name, n in sorted(self.outcomes.items())))
        return "\n".join(lines)


def evaluate_discovery(
    runs: Sequence[Run],
    k_values: Sequence[int] = K_VALUES,
    primary_k: int = PRIMARY_K,
    abstain_threshold: float | None = None,
    metrics: Sequence[str] = METRICS,
) -> DiscoveryReport:
    """Return the measures of runs, on average and for each, and the count of each outcome.

    Outcomes: `hit_rank_1`, `surfaced_low_rank` (2 to `primary_k`), `retrieval_miss`; for cases
    without gold `abstention_ok`, `false_action`, or `abstention_unscored` without a threshold.
    Raises QueryError for an unknown metric, no metric, or a k that is not a positive integer.
    """
    check_metrics(metrics, (*k_values, primary_k))
    cuts = sorted({*k_values, primary_k})
    per_query = {
        query_id(number): measure_run(run, metrics, cuts)
        for number, run in enumerate(runs)
        if run.case.gold
    }
    series = {
        f"{name}@{k}": [values[f"{name}@{k}"] for values in per_query.values()]
        for name in metrics
        for k in cuts
        if per_query
    }
    outcomes = Counter(outcome(run, primary_k, abstain_threshold) for run in runs)
    return DiscoveryReport(
        n=len(runs),
        n_gold=len(per_query),
        measures={name: round(fmean(values), 4) for name, values in series.items()},
        intervals=intervals(series),
        outcomes=dict(outcomes),
        per_query=per_query,
        primary_measure=f"{metrics[0]}@{primary_k}",
        drift=list_drift(runs),
    )


def measure_run(run: Run, metrics: Sequence[str], cuts: Sequence[int]) -> dict[str, float]:
    """Return the measures MEASURE@K of a case that has gold."""
    ranked, gold = run.ranked, run.case.relevance
    return {f"{name}@{k}": MEASURES[name](ranked, gold, k) for name in metrics for k in cuts}


def check_metrics(metrics: Sequence[str], cuts: Sequence[int]) -> None:
    """Raise QueryError for an unknown metric, no metric, or a k that is not a positive integer."""
    for name in metrics:
        if name not in MEASURES:
            near = did_you_mean(name, MEASURES)
            raise QueryError(f"unknown measure {name!r}{near}", f"measures: {', '.join(MEASURES)}")
    if not metrics:
        raise QueryError("no measure is named", f"measures: {', '.join(MEASURES)}")
    for k in cuts:
        check_cut(k)


def check_cut(k: object) -> None:
    """Raise QueryError for a k that is not a positive integer."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise QueryError(f"k must be a whole number above 0, not {k!r}")


def outcome(run: Run, primary_k: int = PRIMARY_K, threshold: float | None = None) -> str:
    """Return the outcome of a case; see `evaluate_discovery`."""
    if run.case.gold:
        rank = run.rank
        if rank is None or rank > primary_k:
            return "retrieval_miss"
        return "hit_rank_1" if rank == 1 else "surfaced_low_rank"
    if threshold is None:
        return "abstention_unscored"
    below = run.top_score is None or run.top_score < threshold
    return "abstention_ok" if below else "false_action"


# TREC's files: read and write qrels (`query 0 id grade`) and runs (`query Q0 id rank score tag`).
# White space in an id is percent-encoded, since it separates the fields. Scores count places from
# the end, so that other programs, which sort by score alone, keep the order.

_TAG = "irdaemon"
_WRITTEN = re.compile(r"%(20|09|0A|0D|25)")

Path = str | os.PathLike[str]


def write_qrels(path: Path, cases: Sequence[Case]) -> None:
    """Write the gold of cases, with grades rounded up to integers."""
    rows = (
        f"{query_id(number)} 0 {_escape(each)} {-int(-grade // 1)}\n"
        for number, case in enumerate(cases)
        for each, grade in case.relevance.items()
    )
    _write(path, rows)


def write_run(path: Path, runs: Sequence[Run], tag: str = _TAG) -> None:
    """Write the candidates of runs, best first."""
    rows = (
        f"{query_id(number)} Q0 {_escape(each)} {rank} {len(run.ranked) - rank + 1} {tag}\n"
        for number, run in enumerate(runs)
        for rank, each in enumerate(run.ranked, start=1)
    )
    _write(path, rows)


def read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """Return the grades by query and id. Raises QueryError naming the file and the line."""
    found: dict[str, dict[str, float]] = {}
    for where, (query, _, artifact_id, grade) in _read_rows(path, 4):
        found.setdefault(query, {})[_unescape(artifact_id)] = _parse_number(grade, where)
    return found


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the ids by query, by falling score; ties go to the better rank.

    Raises QueryError naming the file and the line.
    """
    found: dict[str, list[tuple[float, float, str]]] = {}
    for where, (query, _, artifact_id, rank, score, _) in _read_rows(path, 6):
        place = (-_parse_number(score, where), _parse_number(rank, where), _unescape(artifact_id))
        found.setdefault(query, []).append(place)
    return {query: [each for *_, each in sorted(places)] for query, places in found.items()}


def cases_of(topics: Mapping[str, str], qrels: Mapping[str, Mapping[str, float]]) -> list[Case]:
    """Return a case for each topic {query id: text}, with its grades above 0."""
    judged = ((text, qrels.get(query, {})) for query, text in topics.items())
    return [Case.from_dict({"query": text, "gold": dict(grades)}) for text, grades in judged]


def runs_of(run: Mapping[str, Sequence[str]], cases: Sequence[Case]) -> list[Run]:
    """Return another program's rankings for cases, by `query_id`, as runs that commit nothing."""
    empty = Hit("", "", "", "", 0.0, {}, "", "", {})
    made = []
    for number, case in enumerate(cases):
        ranked = enumerate(run.get(query_id(number), ()), start=1)
        hits = (replace(empty, artifact_id=id, name=id, score=1 / at) for at, id in ranked)
        made.append(Run(case, tuple(hits), (), True, None))
    return made


def _read_rows(path: Path, columns: int) -> Iterator[tuple[str, list[str]]]:
    for where, line in read_lines(path):
        fields = line.split()
        if len(fields) != columns:
            given = format_count(len(fields), "field")
            raise QueryError(f"{where}: {given}, not {columns}", "is it of this form?")
        yield where, fields


def _parse_number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise QueryError(f"{where}: {text!r:.40} is not a number") from error


def _write(path: Path, rows: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(rows)


def _escape(artifact_id: str) -> str:
    return re.sub(r"[%\s]", lambda found: f"%{ord(found[0]):02X}", artifact_id)


def _unescape(text: str) -> str:
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text)
