"""A run: what a searcher answered to each case. Every report is a function of runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from irdaemon.evaluate.cases import Case
from irdaemon.evaluate.gold import Catalogue
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
    """One case, its candidates best first, and what was committed.

    `unknown` is gold that was no artifact's when the case was asked: it counts as missed.
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
        return ids_of(self.hits, self.case.gold)

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
    catalogue: Catalogue | None = None,
) -> list[Run]:
    """Ask every case, shaped as `template` is: once for the candidates, once for the answer.

    `tell` is told how many were asked, after each. The gold is what the `catalogue` says that it
    means; without one it is ids.
    """
    runs = []
    for case in cases:
        if catalogue is None:
            runs.append(_answered(searcher, case, template))
        else:
            run = _answered(searcher, catalogue.resolved(case), template)
            runs.append(replace(run, unknown=catalogue.unknown(run.case.gold)))
        tell(len(runs))
    return runs


def drift_of(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the gold of runs that no artifact was, sorted."""
    return tuple(sorted({gold for run in runs for gold in run.unknown}))


def _answered(searcher: Searcher, case: Case, template: Query) -> Run:
    corpora = (case.corpus,) if case.corpus else template.corpora
    query = replace(template, text=case.query, corpora=corpora)
    candidates, answer = searcher.search(query), searcher.discover(query)
    sources = answer.signals.get("per_source", {}).values()
    known = [each["confidence"] for each in sources if "confidence" in each]
    return Run(
        case,
        candidates.results,
        tuple(ids_of(answer.results, case.gold)),
        answer.abstained,
        max(known, default=None),
    )


def ids_of(hits: Iterable[Hit], gold: Collection[str]) -> list[str]:
    """Return the ids of hits, that of the gold for a hit that it is a duplicate of."""
    return [next((g for g in gold if g in _places(hit)), hit.artifact_id) for hit in hits]


def _places(hit: Hit) -> set[str]:
    return {hit.artifact_id, *(each.partition("/")[2] for each in hit.duplicates)}
