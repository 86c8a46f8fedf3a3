"""A run: what a searcher answered to each case. Every report is a function of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Protocol

from irdaemon.evaluate.cases import Case
from irdaemon.evaluate.measures import MEASURES, f1
from irdaemon.types import Hit, Query, Selection

K_VALUES = (1, 5, 10)
PRIMARY_K = 10


class Searcher(Protocol):
    """What answers queries: an Engine, a Client, a built corpus."""

    def search(self, query: Query) -> Selection:
        """Return ranked candidates."""
        ...

    def discover(self, query: Query) -> Selection:
        """Return the few that are committed, or an abstention."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One case, its candidates best first, and what was committed."""

    case: Case
    hits: tuple[Hit, ...]
    committed: tuple[str, ...]
    abstained: bool
    confidence: float | None

    @property
    def ranked(self) -> list[str]:
        """Return the ids of the candidates."""
        return _ids(self.hits, self.case.gold)

    @property
    def top_score(self) -> float | None:
        """Return the evidence of the first candidate, None without any."""
        return self.hits[0].score if self.hits else None


def answered(searcher: Searcher, cases: Iterable[Case], template: Query) -> list[Run]:
    """Ask every case, shaped as `template` is: once for the candidates, once for the answer."""
    return [_answered(searcher, case, template) for case in cases]


def _answered(searcher: Searcher, case: Case, template: Query) -> Run:
    corpora = (case.corpus,) if case.corpus else template.corpora
    query = replace(template, text=case.query, corpora=corpora)
    candidates, answer = searcher.search(query), searcher.discover(query)
    sources = answer.signals.get("per_source", {}).values()
    known = [each["confidence"] for each in sources if "confidence" in each]
    return Run(
        case,
        candidates.results,
        tuple(_ids(answer.results, case.gold)),
        answer.abstained,
        max(known, default=None),
    )


def _ids(hits: Sequence[Hit], gold: Sequence[str]) -> list[str]:
    """Return the ids of hits, that of the gold for a hit that it is a duplicate of."""
    return [next((g for g in gold if g in _places(hit)), hit.artifact_id) for hit in hits]


def _places(hit: Hit) -> set[str]:
    return {hit.artifact_id, *(each.partition("/")[2] for each in hit.duplicates)}


# -- discovery -----------------------------------------------------------------------------------


def evaluate_discovery(
    runs: Sequence[Run],
    k_values: Sequence[int] = K_VALUES,
    primary_k: int = PRIMARY_K,
    abstain_threshold: float | None = None,
) -> dict[str, Any]:
    """Return the mean measures over cases with gold, and how often each outcome was.

    Outcomes: `hit_rank_1`, `surfaced_low_rank` (2 to `primary_k`), `retrieval_miss`; of cases
    without gold `abstention_ok`, `false_action`, or `abstention_unscored` without a threshold.
    """
    scored = [run for run in runs if run.case.gold]
    measures = {
        f"{name}@{k}": round(fmean(measure(r.ranked, r.case.gold, k) for r in scored), 4)
        for name, measure in MEASURES.items()
        for k in k_values
        if scored
    }
    outcomes = Counter(outcome(run, primary_k, abstain_threshold) for run in runs)
    return {"n": len(runs), "n_gold": len(scored), "measures": measures, "outcomes": dict(outcomes)}


def outcome(run: Run, primary_k: int = PRIMARY_K, threshold: float | None = None) -> str:
    """Return how a case went; see `evaluate_discovery`."""
    if run.case.gold:
        rank = next((at for at, i in enumerate(run.ranked, 1) if i in run.case.gold), None)
        if rank is None or rank > primary_k:
            return "retrieval_miss"
        return "hit_rank_1" if rank == 1 else "surfaced_low_rank"
    if threshold is None:
        return "abstention_unscored"
    below = run.top_score is None or run.top_score < threshold
    return "abstention_ok" if below else "false_action"


# -- selection -----------------------------------------------------------------------------------


def evaluate_selection(runs: Sequence[Run]) -> dict[str, Any]:
    """Return how good what was committed is, given that the gold was among the candidates.

    `commit_rate`: committed some gold; precision over cases that committed; recall of the gold that
    was retrieved; F1, 0 for an empty commit. `f1_all` is over every case with gold, and all of its
    gold: what was not retrieved counts as missed. `abstention_accuracy`: share of the cases without
    gold that committed nothing; `j`: that plus the share of the cases with gold that did commit,
    less 1.
    """
    rows = [row for row in map(_selected, runs) if row is not None]
    empty = [run for run in runs if not run.case.gold]
    full = [run for run in runs if run.case.gold]
    abstention = fmean(not run.committed for run in empty) if empty else None
    acted = fmean(bool(run.committed) for run in full) if full else None
    means: Mapping[str, float | None] = {
        "commit_rate": _mean([row["hit"] for row in rows]),
        "precision": _mean([row["precision"] for row in rows if row["size"]]),
        "recall": _mean([row["recall"] for row in rows]),
        "f1": _mean([row["f1"] for row in rows]),
        "f1_all": _mean([_f1_of_all(run) for run in full]),
        "mean_committed": _mean([len(run.committed) for run in full if run.committed]),
        "acted": acted,
        "abstention_accuracy": abstention,
        "j": None if abstention is None or acted is None else acted + abstention - 1,
    }
    rounded = {name: None if v is None else round(v, 4) for name, v in means.items()}
    return {"n": len(runs), "n_retrieved": len(rows), **rounded}


def _selected(run: Run) -> dict[str, float] | None:
    retrieved, chosen = set(run.case.gold) & set(run.ranked), set(run.committed)
    if not retrieved:
        return None
    good = len(chosen & set(run.case.gold))
    precise = good / len(chosen) if chosen else 0.0
    recalled = len(chosen & retrieved) / len(retrieved)
    return {
        "hit": float(good > 0),
        "size": len(chosen),
        "precision": precise,
        "recall": recalled,
        "f1": f1(precise, recalled),
    }


def _f1_of_all(run: Run) -> float:
    good = len(set(run.committed) & set(run.case.gold))
    return f1(good / len(run.committed) if run.committed else 0.0, good / len(run.case.gold))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
