"""What holds of a corpus in Qdrant: its lease, its generation, and which points are part of it.

Qdrant has no transaction over several requests. So points are never changed: each carries the
number of the attempt to write it, numbers that are given out once and grow, and one point, the
state, says up to which attempt all is whole. It is changed by conditional updates: the payload is
set where it still has the marks that were read. Points of an attempt that did not end, however late
they arrive, are of a number that the state has as failed, or not yet, and no reader sees them.

A reader reads the state, searches what is of it, and reads the state again: where that is another
it begins again, as what was replaced is deleted after a state is written.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from qdrant_client import models

from irclient.errors import NotFound
from irdaemon.contrib.backends.qdrant.points import (
    DENSE,
    artifact_points,
    count_points,
    dense_vector,
    in_batches,
    packed_totals,
    point_id,
    record_batches,
    unpacked_totals,
    value_points,
    word_points,
)
from irdaemon.contrib.backends.qdrant.server import BESIDE, STATES, QdrantServer, records
from irdaemon.index.backend import IndexDelta, LeaseLost, OutOfStep, Totals

# Attempts that failed are remembered until so many more did.
MOST_FAILED = 100


@dataclass(frozen=True, slots=True)
class CorpusState:
    """The point that tells of a corpus.

    `made` is when it was first written (Unix seconds), by which corpora are ordered. `fence`,
    `holder` and `until` are the lease's; `mark` is another after each change of it. `begun` is the
    last attempt there was, `committed` the last that is part of the corpus, `failed` those before
    it that are not, `epoch` the one that sent the corpus whole. `gone` are row numbers of artifacts
    that went with the last attempt and may not be deleted yet, `replaced` is whether points before
    the epoch may not be. `changed` is when the generation was made.
    `least_mean` and `most_mean` are the mean lengths that the stored weights were made with.
    `totals` is empty for a corpus that is not there.
    """

    corpus: str
    made: float = 0.0
    fence: int = 0
    holder: str = ""
    until: float = 0.0
    mark: str = ""
    begun: int = 0
    committed: int = 0
    failed: tuple[int, ...] = ()
    epoch: int = 0
    gone: tuple[int, ...] = ()
    replaced: bool = False
    generation: int = 0
    changed: float = 0.0
    least_mean: float = 0.0
    most_mean: float = 0.0
    totals: str = ""

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> CorpusState:
        """Return the state that a payload holds."""
        known = {field.name: payload[field.name] for field in fields(cls) if field.name in payload}
        lists = {name: tuple(known.get(name) or ()) for name in ("failed", "gone")}
        return cls(**{**known, **lists})

    def payload(self) -> dict[str, Any]:
        """Return it as it is stored."""
        plain = asdict(self)
        return {**plain, "failed": list(self.failed), "gone": list(self.gone)}

    @property
    def known(self) -> Totals:
        """Return the totals."""
        return unpacked_totals(self.totals)

    def unfinished(self) -> tuple[int, ...]:
        """Return the attempts that failed, those that were begun last among them."""
        return (*self.failed, *range(self.committed + 1, self.begun + 1))[-MOST_FAILED:]

    def visible(self) -> Any:
        """Return the filter that lets through what is part of the corpus."""
        return models.Filter(
            must=[
                equal("corpus", self.corpus),
                models.FieldCondition(
                    key="attempt", range=models.Range(gte=self.epoch, lte=self.committed)
                ),
            ],
            must_not=[*self._failed(), *self._gone()],
        )

    def _failed(self) -> list[Any]:
        return [among("attempt", self.failed)] if self.failed else []

    def _gone(self) -> list[Any]:
        if not self.gone:
            return []
        before = models.FieldCondition(key="attempt", range=models.Range(lt=self.committed))
        return [models.Filter(must=[among("number", self.gone), before])]


def equal(key: str, value: Any) -> Any:
    """Return the condition that a payload has a value."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def among(key: str, values: Any) -> Any:
    """Return the condition that a payload has one of some values."""
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def both(one: Any, *others: Any) -> Any:
    """Return the filter that asks for a filter and for further conditions."""
    return models.Filter(must=[*others, one])


# The states of corpora in Qdrant: read, and changed where they are still what was read.
#
# A conditional update is one request: the payload of the point is set where the point has the
# mark
# that was read, and read back. Requests to one shard are done one after another, on every copy in
# the
# same order (`ordering` strong), so of two that read the same mark one finds it gone.

LEASE_S = 15.0
_TRIES = 3


@dataclass(slots=True)
class States:
    """The collection of states; `clock` gives Unix seconds."""

    server: QdrantServer
    clock: Callable[[], float] = time.time
    _made: bool = False

    def all(self) -> list[CorpusState]:
        """Return the state of every corpus there is, or was, the oldest first."""
        self._make()
        points, _ = self.server.ask(
            lambda client: client.scroll(
                collection_name=STATES, limit=10_000, **self.server.state_reading()
            )
        )
        states = [CorpusState.of(point.payload) for point in points]
        return sorted(states, key=lambda state: (state.made, state.corpus))

    def get(self, corpus: str) -> CorpusState:
        """Return the state of a corpus, an empty one where it never was there."""
        self._make()
        points = self.server.ask(
            lambda client: client.retrieve(
                collection_name=STATES,
                ids=[_id(corpus)],
                with_payload=True,
                **self.server.state_reading(),
            )
        )
        return CorpusState.of(points[0].payload) if points else CorpusState(corpus)

    def known(self, corpus: str) -> CorpusState:
        """Return the state of a corpus. Raises NotFound."""
        state = self.get(corpus)
        if not state.totals:
            raise unknown(corpus)
        return state

    def _make(self) -> None:
        if not self._made:
            self.server.states()
            self._made = True

    # -- conditional updates ---------------------------------------------------------------------

    def change(self, before: CorpusState, after: CorpusState) -> bool:
        """Put a state in place of the one that was read; return whether that was still there."""
        after = replace(after, mark=uuid.uuid4().hex)
        if not before.mark:
            self._insert(after)
        else:
            self.server.ask(
                lambda client: client.set_payload(
                    collection_name=STATES,
                    payload=_differing(before, after),
                    points=models.Filter(
                        must=[models.HasIdCondition(has_id=[_id(after.corpus)]), _marked(before)]
                    ),
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                )
            )
        return self.get(after.corpus).mark == after.mark

    def _insert(self, state: CorpusState) -> None:
        point = models.PointStruct(id=_id(state.corpus), vector={}, payload=state.payload())
        self.server.ask(
            lambda client: client.upsert(
                collection_name=STATES,
                points=[point],
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                update_mode=models.UpdateMode.INSERT_ONLY,
            )
        )

    def advance(self, before: CorpusState, changed: Mapping[str, Any]) -> CorpusState:
        """Change what a writer may while it has the lease; return the state afterwards.

        The lease may be renewed meanwhile. Raises LeaseLost where it is another's.
        """
        for _ in range(_TRIES):
            there = self.get(before.corpus)
            if there.fence != before.fence or there.begun != before.begun:
                raise lost(there)
            after = replace(there, **changed)
            if self.change(there, after):
                return after
        raise lost(self.get(before.corpus))

    # -- the lease -------------------------------------------------------------------------------

    def lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease of a corpus; return its fence. Raises LeaseLost."""
        for _ in range(_TRIES):
            there, now = self.get(corpus), self.clock()
            if there.holder != holder and there.until > now:
                raise lost(there)
            fence = there.fence + (there.holder != holder or not there.fence)
            made, until = there.made or now, now + LEASE_S
            after = replace(there, made=made, holder=holder, fence=fence, until=until)
            if self.change(there, after):
                return fence
        raise lost(self.get(corpus))

    def release(self, corpus: str, holder: str) -> None:
        """Give up the lease of a corpus, where it is still the holder's."""
        there = self.get(corpus)
        if there.holder == holder:
            self.change(there, replace(there, until=0.0))

    def written_by(self, corpus: str, fence: int) -> CorpusState:
        """Return the state of a corpus to its writer. Raises LeaseLost."""
        there = self.get(corpus)
        if there.fence != fence:
            raise lost(there)
        return there


def unknown(corpus: str) -> NotFound:
    """Return the error for a corpus that is not there."""
    return NotFound(f"unknown corpus {corpus!r}", "irc status lists the corpora")


def lost(state: CorpusState) -> LeaseLost:
    """Return the error that names who writes a corpus."""
    return LeaseLost(
        f"{state.corpus!r} is written by {state.holder or 'no process'}",
        f"stop that daemon, or wait {LEASE_S:.0f} s after its end",
    )


def _id(corpus: str) -> str:
    return point_id("state", corpus)


def _marked(state: CorpusState) -> Any:
    return equal("mark", state.mark)


def _differing(before: CorpusState, after: CorpusState) -> dict[str, Any]:
    """Return the keys of a state that changed: totals and what went can be large."""
    one, other = before.payload(), after.payload()
    return {key: value for key, value in other.items() if value != one[key]}


# A delta in Qdrant: many requests, of which a reader sees all or nothing.
#
# Points first, the state last, deletions after it (see `corpus_state`). A delta whose sending
# failed
# is sent again as another attempt; what the first one left is deleted then.

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
