"""A delta in Qdrant: many requests, of which a reader sees all or nothing.

Points first, the state last, deletions after it (see `corpus_state`). A delta whose sending failed
is sent again as another attempt; what the first one left is deleted then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from irdaemon.index.backend import IndexDelta, OutOfStep
from irdaemon.index.backends.qdrant.corpus_state import CorpusState, among, both, equal
from irdaemon.index.backends.qdrant.points import (
    DENSE,
    artifact_points,
    count_points,
    dense_vector,
    in_batches,
    packed_totals,
    record_batches,
    value_points,
    word_points,
)
from irdaemon.index.backends.qdrant.server import BESIDE, QdrantServer, records
from irdaemon.index.backends.qdrant.states import States

# Numbers in one filter.
_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class CorpusWriting:
    """What writes one corpus."""

    server: QdrantServer
    states: States
    corpus: str

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta; return the generation afterwards. Raises OutOfStep, LeaseLost."""
        there = self.states.written_by(self.corpus, delta.fence)
        if delta.base and _is_there(there, delta):
            return there.generation
        if delta.base and (not there.totals or there.generation != delta.base):
            raise OutOfStep(
                f"{self.corpus!r} is at generation {there.generation}, not {delta.base}"
            )
        self.server.room_for(self.corpus, delta.totals.dim)
        begun = self._begun(there)
        epoch = there.epoch if delta.base else begun.begun
        self._send(delta, begun.begun, epoch)
        if delta.vectors:
            self._send_vectors(delta, there)
        done = self._committed(begun, delta, epoch)
        self._sweep(there, done, delta)
        return delta.totals.generation

    def drop(self, fence: int) -> None:
        """Remove the corpus; its lease stays."""
        there = self.states.written_by(self.corpus, fence)
        self.states.advance(there, {"totals": "", "generation": 0, "gone": ()})
        if there.totals:
            everything = models.Filter(must=[equal("corpus", self.corpus)])
            self.server.delete(BESIDE, self.corpus, everything)
            self.server.delete(records(there.known.dim), self.corpus, everything)

    # -- the steps of a delta --------------------------------------------------------------------

    def _begun(self, there: CorpusState) -> CorpusState:
        """Take the number of an attempt, and delete what failed ones and the last one left."""
        failed = there.unfinished()
        begun = self.states.advance(there, {"begun": there.begun + 1, "failed": failed})
        if there.totals and (there.gone or there.replaced or failed != there.failed):
            self._delete_failed(there, failed)
            self._delete_gone(there)
            self._delete_replaced(there, {there.known.dim})
        return begun

    def _send(self, delta: IndexDelta, attempt: int, epoch: int) -> None:
        collection = records(delta.totals.dim)
        for batch in record_batches(delta, attempt):
            self._put(BESIDE, value_points(self.corpus, epoch, batch.values))
            self._put(collection, batch.points)
        self._put(BESIDE, artifact_points(delta, attempt))
        self._put(BESIDE, word_points(self.corpus, epoch, delta.words))
        self._put(BESIDE, count_points(delta, attempt))

    def _put(self, collection: str, points: Iterable[Any]) -> None:
        for batch in in_batches(points):
            self.server.put(collection, self.corpus, batch)

    def _send_vectors(self, delta: IndexDelta, there: CorpusState) -> None:
        """Give earlier records the vectors they lacked.

        In place: a reader may see some of them before the state tells of it, and scores those
        records as it will afterwards.
        """
        collection = records(delta.totals.dim)
        for some in in_batches(delta.vectors):
            waiting = both(
                there.visible(), among("digest", [each.hex() for each in some]), _waiting()
            )
            points = list(self.server.each(collection, self.corpus, waiting, ["digest"]))
            if points:
                self._embed(collection, points, delta.vectors)

    def _embed(self, collection: str, points: list[Any], vectors: Mapping[bytes, bytes]) -> None:
        made = [
            models.PointVectors(
                id=point.id,
                vector={DENSE: dense_vector(vectors[bytes.fromhex(point.payload["digest"])])},
            )
            for point in points
        ]
        own = {"collection_name": collection, **self.server.writing(self.corpus)}
        self.server.ask(lambda client: client.update_vectors(points=made, **own))
        ids = [point.id for point in points]
        self.server.ask(
            lambda client: client.set_payload(payload={"embedded": True}, points=ids, **own)
        )

    def _committed(self, begun: CorpusState, delta: IndexDelta, epoch: int) -> CorpusState:
        mean = delta.totals.mean_length
        means = (begun.least_mean, begun.most_mean) if delta.base else (mean, mean)
        return self.states.advance(
            begun,
            {
                "committed": begun.begun,
                "epoch": epoch,
                "failed": begun.failed if delta.base else (),
                "gone": tuple(delta.gone) if delta.base else (),
                "replaced": not delta.base and begun.begun > 1,
                "generation": delta.totals.generation,
                "changed": self.states.clock(),
                "least_mean": min(mean, means[0]),
                "most_mean": max(mean, means[1]),
                "totals": packed_totals(delta.totals),
            },
        )

    # -- what a delta replaced -------------------------------------------------------------------

    def _sweep(self, before: CorpusState, done: CorpusState, delta: IndexDelta) -> None:
        if done.replaced:
            dims = {done.known.dim, before.known.dim} if before.totals else {done.known.dim}
            self._delete_replaced(done, dims)
        for terms in in_batches(delta.df if delta.base else (), _NAMED):
            older = both(_older(done, done.committed), equal("what", "df"), among("term", terms))
            self.server.delete(BESIDE, self.corpus, older)
        self._delete_gone(done)
        if done.gone or done.replaced:
            self.states.advance(done, {"gone": (), "replaced": False})

    def _delete_failed(self, there: CorpusState, failed: Iterable[int]) -> None:
        ofs = models.Filter(must=[equal("corpus", self.corpus), among("attempt", failed)])
        self._delete(ofs, {there.known.dim})

    def _delete_gone(self, state: CorpusState) -> None:
        for numbers in in_batches(state.gone, _NAMED):
            older = _older(state, state.committed)
            self._delete(both(older, among("number", numbers)), {state.known.dim})

    def _delete_replaced(self, state: CorpusState, dims: Iterable[int]) -> None:
        self._delete(_older(state, state.epoch), dims)

    def _delete(self, which: Any, dims: Iterable[int]) -> None:
        for collection in (BESIDE, *map(records, sorted(dims))):
            self.server.delete(collection, self.corpus, which)


def _older(state: CorpusState, attempt: int) -> Any:
    """Return the filter of the points of attempts before one."""
    older = models.FieldCondition(key="attempt", range=models.Range(lt=attempt))
    return models.Filter(must=[equal("corpus", state.corpus), older])


def _is_there(there: CorpusState, delta: IndexDelta) -> bool:
    if not there.totals or there.known.ledger != delta.totals.ledger:
        return False
    return there.generation >= delta.totals.generation


def _waiting() -> Any:
    return equal("embedded", False)
