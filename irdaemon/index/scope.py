"""Scope: what a query that comes from a project is answered from.

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

# Joined indexes are kept: six kinds of a few projects.
_KEPT = 24


def join_indexes(own: CorpusIndex | None, part: CorpusIndex, corpus: str) -> CorpusIndex:
    """Return one index, under the name of a corpus, of the person's part and a project's.

    The rows of the smaller stand behind those of the larger, whose mean length and embedder are
    taken for both. What is large is shared. The two indexes, and what they grow into, stay as they
    are.
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
    """Return when the older of the last whole scans ended, None while one is still to come."""
    if own.by_hand and own.last_reconcile is None and not own.n_records:
        return part.last_reconcile
    both = own.last_reconcile, part.last_reconcile
    return None if None in both else min(each for each in both if each is not None)


def _choose_floors(own: CorpusIndex, part: CorpusIndex, joined: CorpusIndex) -> Mapping[str, Floor]:
    """Return the floors that fit what was joined: the part's, found in it, else the person's."""
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
    """The corpora as projects see them, kept as long as neither the person's nor theirs change.

    Any thread may ask: at worst two make the same.
    """

    def __init__(self, kept: int = _KEPT):
        self._most = kept
        # The two indexes stay with what was made of them: so no other has their identity.
        self._kept: dict[str, tuple[CorpusIndex | None, CorpusIndex, CorpusIndex]] = {}

    def scope_snapshot(self, snapshot: Snapshot, parts: Mapping[str, str]) -> Snapshot:
        """Return a snapshot with the parts, by the name of the corpus that each belongs to.

        A kind that only the project has is a corpus of its own. Parts that are not there are left
        out.
        """
        indexes = {
            corpus: self._join(snapshot.corpora.get(corpus), part, corpus)
            for corpus, name in parts.items()
            if (part := snapshot.parts.get(name))
        }
        return replace(snapshot, corpora={**snapshot.corpora, **indexes})

    def forget(self, parts: Iterable[str]) -> None:
        """Release what was made of parts that are served no longer, by their names."""
        for name in parts:
            self._kept.pop(name, None)

    def _join(self, own: CorpusIndex | None, part: CorpusIndex, corpus: str) -> CorpusIndex:
        kept = self._kept.pop(part.corpus, None)
        if kept is None or kept[0] is not own or kept[1] is not part or kept[2].corpus != corpus:
            kept = own, part, join_indexes(own, part, corpus)
        self._kept[part.corpus] = kept  # the last that was asked for
        for name in list(self._kept)[: -self._most]:
            self._kept.pop(name, None)
        return kept[2]
