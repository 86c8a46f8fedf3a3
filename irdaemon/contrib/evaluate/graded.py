"""Graded relevance: measure rankings by how well each artifact answers, and compare them by name.

Besides the levels of artifacts, a query names the artifacts to watch: distractors, which do not
answer it but are often retrieved, and hard positives, which answer it but are rarely retrieved.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.cases import Catalogue, read_lines
from irdaemon.contrib.evaluate.ranking import Searcher, check_cut, list_ids, ndcg
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit, Query

# From the weakest to the strongest: the gain that each level adds to a ranking.
GAINS: Mapping[str, float] = {
    "none": 0.0,
    "tangential": 0.0,
    "uses-tools": 1.0,
    "strong": 2.0,
    "core": 3.0,
}
DEPTH = 1_000

Role = Literal["distractor", "hard_positive"]
# Takes a query and, as `k`, the number of hits to return; returns hits, best first.
RankHits = Callable[..., Iterable[Hit]]


def check_level(level: str, artifact_id: str) -> None:
    """Raise QueryError for an unknown level."""
    if level not in GAINS:
        near = did_you_mean(level, GAINS)
        raise QueryError(
            f"unknown level {level!r} of {artifact_id!r}{near}", f"levels: {', '.join(GAINS)}"
        )


@dataclass(frozen=True, slots=True)
class GradedQuery:
    """A query, the level at which artifacts answer it, and the artifacts to watch.

    `levels` are by artifact id; a missing one has level `none`. `theme` names what the query asks
    for. Raises QueryError for a query without text, an unknown level, a distractor that answers the
    query, and a hard positive that does not.
    """

    text: str
    levels: Mapping[str, str] = field(default_factory=dict)
    distractors: tuple[str, ...] = ()
    hard_positives: tuple[str, ...] = ()
    theme: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise QueryError("a graded query has no text", "say what is searched")
        for artifact_id, level in self.levels.items():
            check_level(level, artifact_id)
        gains = self.gains
        for role, wrong in (
            ("distractor", [each for each in self.distractors if each in gains]),
            ("hard positive", [each for each in self.hard_positives if each not in gains]),
        ):
            if wrong:
                level = self.levels.get(wrong[0], "none")
                raise QueryError(
                    f"{wrong[0]!r} is no {role} of {self.text!r}: its level is {level}"
                )

    @property
    def gains(self) -> dict[str, float]:
        """Return the gain of each artifact that answers the query."""
        found = {each: GAINS[level] for each, level in self.levels.items()}
        return {each: gain for each, gain in found.items() if gain > 0}

    @property
    def watched(self) -> dict[str, Role]:
        """Return the watched artifacts, by id."""
        distractors: dict[str, Role] = dict.fromkeys(self.distractors, "distractor")
        return {**distractors, **dict.fromkeys(self.hard_positives, "hard_positive")}

    @property
    def named(self) -> dict[str, None]:
        """Return every artifact that the query names, by id."""
        return dict.fromkeys([*self.levels, *self.watched])

    def resolved(self, catalogue: Catalogue) -> GradedQuery:
        """Return the query with references as ids; unknown ones stay as written."""
        return replace(
            self,
            levels={catalogue.find_id(each): level for each, level in self.levels.items()},
            distractors=tuple(map(catalogue.find_id, self.distractors)),
            hard_positives=tuple(map(catalogue.find_id, self.hard_positives)),
        )


@dataclass(frozen=True, slots=True)
class GradedMeasures:
    """The measures of one ranking, each from 0 to 1.

    `false_positives` is the share of distractors among the first k, `hard_recall` that of hard
    positives; None if the query names none. `distractors_seen` are among the first k,
    `hard_positives_missed` are not.
    """

    ndcg: float
    false_positives: float | None
    hard_recall: float | None
    distractors_seen: tuple[str, ...] = ()
    hard_positives_missed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Regression:
    """A watched artifact that ranks worse than in the baseline; rank None means absent."""

    query: str
    artifact_id: str
    role: Role
    label: str
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True, slots=True)
class IndexingComparison:
    """The results of graded queries with several indexings; the first is the baseline.

    `measures` are by label and query, `ranks` of watched artifacts (from 1) are by label, query and
    id. `drift` lists the artifacts that the queries name and no corpus holds.
    """

    baseline: str
    queries: tuple[GradedQuery, ...]
    measures: Mapping[str, Mapping[str, GradedMeasures]]
    ranks: Mapping[str, Mapping[str, Mapping[str, int]]]
    drift: tuple[str, ...] = ()

    def regressions(self, threshold: int = 0) -> tuple[Regression, ...]:
        """Return the artifacts that rank over `threshold` places worse than in the baseline.

        These are hard positives that fell or disappeared, and distractors that rose or appeared.
        """
        return tuple(
            Regression(query.text, each, role, label, before, after)
            for query in self.queries
            for each, role in query.watched.items()
            for label in self.ranks
            if _is_worse(
                role,
                before := self.ranks[self.baseline][query.text].get(each),
                after := self.ranks[label][query.text].get(each),
                threshold,
            )
        )


def _is_worse(role: Role, before: int | None, after: int | None, threshold: int) -> bool:
    fell = (math.inf if after is None else after) - (math.inf if before is None else before)
    if before == after:
        return False
    return (fell if role == "hard_positive" else -fell) > threshold


def compare_indexings(
    searchers: Mapping[str, Searcher | RankHits],
    queries: Sequence[GradedQuery],
    k: int = 20,
    rank_depth: int = DEPTH,
) -> IndexingComparison:
    """Ask several indexings of corpora the same queries, and measure each ranking at k.

    `searchers` are by label, the baseline first: each has a `search` method, or is a function
    (text, k=number) -> hits. Watched artifacts are followed to `rank_depth`. Raises QueryError if
    there is nothing to compare, a text is asked twice, or `rank_depth` is below k.
    """
    if rank_depth < k:
        raise QueryError(f"rank_depth must be at least k, {k}, not {rank_depth!r}")
    if not searchers or not queries:
        raise QueryError("there is nothing to compare", "give at least one searcher and one query")
    if len({query.text for query in queries}) < len(queries):
        raise QueryError("a query is given twice", "join their levels")
    rankings = {
        label: {query.text: _rank(searcher, query, rank_depth) for query in queries}
        for label, searcher in searchers.items()
    }
    return IndexingComparison(
        baseline=next(iter(searchers)),
        queries=tuple(queries),
        measures={
            label: {query.text: measure_ranking(found[query.text], query, k) for query in queries}
            for label, found in rankings.items()
        },
        ranks={
            label: {query.text: _rank_watched(found[query.text], query) for query in queries}
            for label, found in rankings.items()
        },
    )


def _rank(searcher: Searcher | RankHits, query: GradedQuery, depth: int) -> list[str]:
    if callable(searcher):
        hits = searcher(query.text, k=depth)
    else:
        hits = searcher.search(Query(query.text, k=depth)).results
    # Take no more from a generator than needed; of copies joined in one hit, the named one counts.
    some: dict[str, Hit] = {}
    for hit in hits:
        some.setdefault(hit.artifact_id, hit)
        if len(some) == depth:
            break
    return list(dict.fromkeys(list_ids(some.values(), query.named)))


def _rank_watched(ranked: Sequence[str], query: GradedQuery) -> dict[str, int]:
    watched = query.watched
    return {each: at for at, each in enumerate(ranked, start=1) if each in watched}


def measure_ranking(ranked: Sequence[str], query: GradedQuery, k: int) -> GradedMeasures:
    """Measure the first k places of a ranking: ids, best first, without repeats.

    Raises QueryError for a k that is not a positive integer.
    """
    check_cut(k)
    top = set(ranked[:k])
    seen = {each: None for each in query.distractors if each in top}
    missed = {each: None for each in query.hard_positives if each not in top}
    misses = _compute_share(missed, query.hard_positives)
    return GradedMeasures(
        ndcg(ranked, query.gains, k) if query.gains else 0.0,
        _compute_share(seen, query.distractors),
        None if misses is None else 1 - misses,
        tuple(seen),
        tuple(missed),
    )


def _compute_share(some: Mapping[str, None], named: Sequence[str]) -> float | None:
    return len(some) / len(set(named)) if named else None


# Graded cases: a file of artifacts with the level at which each answers one theme or another.
#
# One JSON object a line, `{"artifact_id": ..., "levels": {theme: level}, "reasons"?, "observed"?,
# "is_thin"?, "is_distractor"?, "metadata"?}`. An optional first line `{"__meta__": {...}}` applies
# to all cases: for example, the text to search for each theme.

_META = "__meta__"
_NONE = "none"
# A thin artifact that answers a theme at least this well is a hard positive.
_RELEVANT = ("strong", "core")
_FORM = 'write {"artifact_id": "...", "levels": {"theme": "core"}}'


@dataclass(frozen=True, slots=True)
class GradedCase:
    """An artifact, and the level at which it answers each theme; `none` for a missing theme.

    `reasons` say why, by theme; `observed` is the score that a ranking once gave it, by theme.
    `is_thin`: its description is so short that it is rarely retrieved. `is_distractor` says, by
    theme, what `observed` otherwise decides. Raises QueryError for an unknown level.
    """

    artifact_id: str
    levels: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    observed: Mapping[str, float] = field(default_factory=dict)
    is_thin: bool = False
    is_distractor: Mapping[str, bool] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for level in self.levels.values():
            check_level(level, self.artifact_id)

    def level(self, theme: str) -> str:
        """Return the level at which the artifact answers a theme."""
        return self.levels.get(theme, _NONE)

    def gain(self, theme: str, gains: Mapping[str, float] = GAINS) -> float:
        """Return the gain of its level, 0 for a level that `gains` does not name."""
        return gains.get(self.level(theme), 0.0)

    def distracts(self, theme: str, observed_floor: float) -> bool:
        """Return whether the artifact was retrieved for a theme that it does not answer."""
        if theme in self.is_distractor:
            return self.is_distractor[theme]
        return not self.gain(theme) and self.observed.get(theme, -1.0) >= observed_floor

    def is_hard(self, theme: str) -> bool:
        """Return whether the artifact answers a theme well but has a short description."""
        return self.is_thin and self.level(theme) in _RELEVANT

    @classmethod
    def from_dict(cls, data: Any, where: str = "the case") -> GradedCase:
        """Build a case from plain data. Raises QueryError naming `where`."""
        if not isinstance(data, Mapping) or not isinstance(data.get("artifact_id"), str):
            raise QueryError(f"{where} has no artifact_id", _FORM)
        parts: dict[str, Any] = {}
        for name in ("levels", "reasons", "observed", "is_distractor", "metadata"):
            part = data.get(name) or {}
            if not isinstance(part, Mapping):
                raise QueryError(f"{where}: {name} must be a mapping, not {part!r:.60}", _FORM)
            parts[name] = dict(part)
        return cls(data["artifact_id"], is_thin=bool(data.get("is_thin")), **parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the case as plain data, without empty values."""
        plain: dict[str, Any] = {"artifact_id": self.artifact_id, "levels": dict(self.levels)}
        for name in ("reasons", "observed", "is_thin", "is_distractor", "metadata"):
            if value := getattr(self, name):
                plain[name] = dict(value) if isinstance(value, Mapping) else value
        return plain


def save_graded_cases(
    path: str | os.PathLike[str], cases: Iterable[GradedCase], meta: Mapping[str, Any] | None = None
) -> None:
    """Write cases as JSON lines, after a line of `meta` if given."""
    rows: list[Mapping[str, Any]] = [{_META: dict(meta)}] if meta is not None else []
    rows += [case.to_dict() for case in cases]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def load_graded_cases(path: str | os.PathLike[str]) -> list[GradedCase]:
    """Read a file of cases. Raises QueryError naming the file and the invalid line."""
    return [
        GradedCase.from_dict(data, where)
        for where, data in _read_rows(path)
        if not (isinstance(data, Mapping) and _META in data)
    ]


def read_graded_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the `__meta__` of the first line of a file; empty if that line is a case."""
    for _, data in _read_rows(path):
        return dict(data.get(_META) or {}) if isinstance(data, Mapping) else {}
    return {}


def _read_rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """Yield the location and the content of each line."""
    for where, line in read_lines(path):
        try:
            yield where, json.loads(line)
        except ValueError as error:
            raise QueryError(f"{where}: not JSON: {error}", _FORM) from error


def level_histogram(cases: Sequence[GradedCase], theme: str) -> dict[str, int]:
    """Count the artifacts at each level of a theme, from the weakest level to the strongest."""
    counts = Counter(case.level(theme) for case in cases)
    return {level: counts[level] for level in GAINS}


def graded_query(
    cases: Sequence[GradedCase], theme: str, text: str, observed_floor: float
) -> GradedQuery:
    """Return the query of a theme, with the watched artifacts taken from the cases.

    Distractors do not answer it and had a score of at least `observed_floor`; hard positives
    answer it and are thin. Both are sorted, so that the same cases give the same query.
    """
    distractors = {case.artifact_id for case in cases if case.distracts(theme, observed_floor)}
    hard = {case.artifact_id for case in cases if case.is_hard(theme)}
    levels = {case.artifact_id: case.level(theme) for case in cases if theme in case.levels}
    return GradedQuery(text, levels, tuple(sorted(distractors)), tuple(sorted(hard)), theme)


def graded_queries(
    cases: Sequence[GradedCase], texts: Mapping[str, str], observed_floor: float
) -> list[GradedQuery]:
    """Return the query of each theme that `texts` has a text for; see `graded_query`.

    Raises QueryError for a theme of the cases that has no text.
    """
    for theme in sorted({theme for case in cases for theme in case.levels}):
        if theme not in texts:
            raise QueryError(f"theme {theme!r} has no text", "give what is searched for it")
    return [graded_query(cases, theme, text, observed_floor) for theme, text in texts.items()]
