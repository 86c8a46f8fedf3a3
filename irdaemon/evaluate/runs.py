"""A run: what a searcher answered to each case. Every report is a function of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from irdaemon.evaluate.cases import Case
from irdaemon.types import Hit, Query, Selection


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

    @property
    def rank(self) -> int | None:
        """Return the rank of the first gold among the candidates, from 1; None for none."""
        return next((at for at, i in enumerate(self.ranked, 1) if i in self.case.gold), None)


def answered(
    searcher: Searcher,
    cases: Iterable[Case],
    template: Query,
    tell: Callable[[int], None] = lambda done: None,
) -> list[Run]:
    """Ask every case, shaped as `template` is: once for the candidates, once for the answer.

    `tell` is told how many were asked, after each.
    """
    runs = []
    for case in cases:
        runs.append(_answered(searcher, case, template))
        tell(len(runs))
    return runs


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
