"""Scope: the part of the index that answers a query from a project.

A corpus is stored in parts, the person's and one for each project. Which of them a query sees is
decided before anything is scored: the two that it sees become one index, whose statistics (idf,
floors) are those of both. So no item of another project can be found, and none moves a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from irdaemon.index import DRIFT, Columns, CorpusIndex, Names, Snapshot, measure_drift
from irdaemon.index.dense import Dense, JoinedDense
from irdaemon.types import Floor

# How many joined indexes are kept: six kinds of a few projects.
_KEPT = 24


def join_indexes(own: CorpusIndex | None, part: CorpusIndex, corpus: str) -> CorpusIndex:
    """Return one index of the person's part of a corpus and a project's.

    The smaller one's rows follow the larger one's, whose mean length and embedder are used for
    both. Large arrays are shared; neither index is changed.
    """
    if own is None:
        return replace(part, corpus=corpus)
    if own.elsewhere or part.elsewhere or own.vocabulary is not part.vocabulary:
        return own  # no project's part is kept elsewhere, and terms of two tables do not compare
    joined = _join(own, part) if part.n_records and own.n_records else own
    if not own.n_records and part.n_records:
        joined = part
    index = replace(
        joined,
        corpus=corpus,
        last_reconcile=_find_last_reconcile(own, part),
        heads=own.heads + part.heads,
        degraded=(*own.degraded, *part.degraded),
        by_hand=own.by_hand and part.by_hand,
    )
    return replace(index, floors=_choose_floors(own, part, index))


def _join(own: CorpusIndex, part: CorpusIndex) -> CorpusIndex:
    more, first = sorted((own, part), key=lambda each: (each.n_records, each is own))
    behind = more.rows
    if more.embedder != first.embedder:
        behind = behind.drop_vectors(first.rows.vectors.buffer.shape[1])
    rows = first.rows.join(behind)
    lexical = first.lexical.join(rows, more.lexical)
    second = more.dense if more.embedder == first.embedder else Dense(behind)
    return replace(
        first,
        rows=rows,
        lexical=lexical,
        dense=JoinedDense(rows, first=first.dense, second=second),
        columns=Columns(rows, base=first.columns),
        names=Names.build(rows, lexical, first.names),
    )


def _find_last_reconcile(own: CorpusIndex, part: CorpusIndex) -> float | None:
    """Return when the older of the last whole scans ended; None if one never ran."""
    if own.by_hand and own.last_reconcile is None and not own.n_records:
        return part.last_reconcile
    both = own.last_reconcile, part.last_reconcile
    return None if None in both else min(each for each in both if each is not None)


def _choose_floors(own: CorpusIndex, part: CorpusIndex, joined: CorpusIndex) -> Mapping[str, Floor]:
    """Return the floors of a joined index: those found in the project's part, else the person's."""
    floors = {
        mode: floor
        for mode, floor in own.floors.items()
        if floor.embedder == joined.embedder
        and measure_drift(floor, own.rows) + part.n_artifacts / max(floor.artifacts, 1) <= DRIFT
    }
    theirs = {
        mode: floor
        for mode, floor in part.floors.items()
        if floor.embedder == joined.embedder and measure_drift(floor, joined.rows) <= DRIFT
    }
    return {**floors, **theirs}


class Scopes:
    """The corpora as projects see them, kept while neither part changes.

    Any thread may ask; at worst two threads build the same.
    """

    def __init__(self, kept: int = _KEPT):
        self._most = kept
        # Keep both indexes with the joined one, so that no other object can have their id.
        self._kept: dict[str, tuple[CorpusIndex | None, CorpusIndex, CorpusIndex]] = {}

    def scope_snapshot(self, snapshot: Snapshot, parts: Mapping[str, str]) -> Snapshot:
        """Return a snapshot with the parts, by the name of the corpus that each belongs to.

        A kind that only the project has becomes a corpus. Missing parts are left out.
        """
        indexes = {
            corpus: self._join(snapshot.corpora.get(corpus), part, corpus)
            for corpus, name in parts.items()
            if (part := snapshot.parts.get(name))
        }
        return replace(snapshot, corpora={**snapshot.corpora, **indexes})

    def forget(self, parts: Iterable[str]) -> None:
        """Release the joined indexes of parts that are no longer served, by their names."""
        for name in parts:
            self._kept.pop(name, None)

    def _join(self, own: CorpusIndex | None, part: CorpusIndex, corpus: str) -> CorpusIndex:
        kept = self._kept.pop(part.corpus, None)
        if kept is None or kept[0] is not own or kept[1] is not part or kept[2].corpus != corpus:
            kept = own, part, join_indexes(own, part, corpus)
        self._kept[part.corpus] = kept  # now the most recently used
        for name in list(self._kept)[: -self._most]:
            self._kept.pop(name, None)
        return kept[2]
