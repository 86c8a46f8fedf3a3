"""The state of a corpus in Qdrant: its lease, its generation, and which points are part of it.

Qdrant has no transactions over several requests. So points are never changed: each carries the
number of the attempt that wrote it (numbers grow and are never reused), and one point, the state,
says up to which attempt everything is complete. Conditional updates change it: the payload is set
only if it still has the mark that was read. Points of an unfinished attempt, however late they
arrive, have a number that the state lists as failed, or has not reached, and no reader sees them.

A reader reads the state, searches its points, and reads the state again: if it has changed, the
reader starts over, as replaced points are deleted after a new state is written.
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
    make_artifact_points,
    make_count_points,
    make_point_id,
    make_record_batches,
    make_value_points,
    make_word_points,
    pack,
    read_vector,
    unpack,
)
from irdaemon.contrib.backends.qdrant.server import BESIDE, STATES, QdrantServer, name_records
from irdaemon.contrib.backends.state import dump_totals, load_totals, split_batches
from irdaemon.index.backend import IndexDelta, LeaseLost, OutOfStep, Totals

# The number of failed attempts to remember.
MOST_FAILED = 100


@dataclass(frozen=True, slots=True)
class CorpusState:
    """The point that holds the state of a corpus.

    `made` is when it was first written (Unix seconds), which orders corpora. `fence`, `holder` and
    `until` are the lease's; `mark` is new after each change of the state. `begun` is the last
    attempt started, `committed` the last that is part of the corpus, `failed` earlier ones that are
    not, `epoch` the one that sent the corpus whole. `gone` are row numbers of artifacts that the
    last attempt deleted and whose points may still exist, `replaced` is whether points before the
    epoch may still exist. `changed` is when the generation was made. `least_mean` and `most_mean`
    are the range of mean lengths that the stored weights were computed with. `totals` is empty for
    a missing corpus.
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
    def from_payload(cls, payload: Mapping[str, Any]) -> CorpusState:
        """Return the state that a payload holds."""
        known = {field.name: payload[field.name] for field in fields(cls) if field.name in payload}
        lists = {name: tuple(known.get(name) or ()) for name in ("failed", "gone")}
        return cls(**{**known, **lists})

    def to_payload(self) -> dict[str, Any]:
        """Return the state as it is stored."""
        return {**asdict(self), "failed": list(self.failed), "gone": list(self.gone)}

    def load_totals(self) -> Totals:
        """Return the totals, which are not empty."""
        return load_totals(unpack(self.totals))

    def list_unfinished(self) -> tuple[int, ...]:
        """Return the failed attempts, including those started last."""
        return (*self.failed, *range(self.committed + 1, self.begun + 1))[-MOST_FAILED:]

    def match_visible(self) -> Any:
        """Return the filter that lets through the points that are part of the corpus."""
        left_out = [match_any("attempt", self.failed)] if self.failed else []
        if self.gone:
            before = match_range("attempt", lt=self.committed)
            left_out.append(models.Filter(must=[match_any("number", self.gone), before]))
        attempts = match_range("attempt", gte=self.epoch, lte=self.committed)
        return models.Filter(must=[match_value("corpus", self.corpus), attempts], must_not=left_out)


def match_value(key: str, value: Any) -> Any:
    """Return the condition that a payload has a value."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def match_any(key: str, values: Any) -> Any:
    """Return the condition that a payload has one of some values."""
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def match_range(
    key: str, *, gte: int | None = None, lte: int | None = None, lt: int | None = None
) -> Any:
    """Return the condition that the number in a payload is in a range."""
    return models.FieldCondition(key=key, range=models.Range(gte=gte, lte=lte, lt=lt))


def require_all(one: Any, *others: Any) -> Any:
    """Return the filter that requires a filter and further conditions."""
    return models.Filter(must=[*others, one])


# The states of corpora in Qdrant: read them, and change them if they are still as read.
#
# A conditional update is one request: the payload of the point is set if the point has the mark
# that was read, and then read back. Requests to one shard run one after another, in the same order
# on every copy (`ordering` strong), so of two that read the same mark one finds it changed.

LEASE_S = 15.0
_TRIES = 3


@dataclass(slots=True)
class States:
    """The collection of states; `clock` gives Unix seconds."""

    server: QdrantServer
    clock: Callable[[], float] = time.time
    _made: bool = False

    def list_all(self) -> list[CorpusState]:
        """Return the state of every present or deleted corpus, the oldest first."""
        self._make()
        points, _ = self.server.client.scroll(
            collection_name=STATES, limit=10_000, **self.server.list_state_options()
        )
        states = [CorpusState.from_payload(point.payload) for point in points]
        return sorted(states, key=lambda state: (state.made, state.corpus))

    def get(self, corpus: str) -> CorpusState:
        """Return the state of a corpus, an empty one if it never existed."""
        self._make()
        points = self.server.client.retrieve(
            collection_name=STATES,
            ids=[_make_state_id(corpus)],
            with_payload=True,
            **self.server.list_state_options(),
        )
        return CorpusState.from_payload(points[0].payload) if points else CorpusState(corpus)

    def get_known(self, corpus: str) -> CorpusState:
        """Return the state of a corpus. Raises NotFound."""
        state = self.get(corpus)
        if not state.totals:
            raise make_not_found(corpus)
        return state

    def _make(self) -> None:
        if not self._made:
            self.server.make_states()
            self._made = True

    # -- conditional updates ---------------------------------------------------------------------

    def change(self, before: CorpusState, after: CorpusState) -> bool:
        """Replace the state that was read; return False if it had changed."""
        after = replace(after, mark=uuid.uuid4().hex)
        payload, identity = after.to_payload(), _make_state_id(after.corpus)
        ordering, client = models.WriteOrdering.STRONG, self.server.client
        if not before.mark:
            client.upsert(
                collection_name=STATES,
                points=[models.PointStruct(id=identity, vector={}, payload=payload)],
                wait=True,
                ordering=ordering,
                update_mode=models.UpdateMode.INSERT_ONLY,
            )
        else:
            # Totals and deletions can be large: send only what changed.
            old = before.to_payload()
            marked = match_value("mark", before.mark)
            client.set_payload(
                collection_name=STATES,
                payload={key: value for key, value in payload.items() if value != old[key]},
                points=require_all(marked, models.HasIdCondition(has_id=[identity])),
                wait=True,
                ordering=ordering,
            )
        return self.get(after.corpus).mark == after.mark

    def advance(self, before: CorpusState, changed: Mapping[str, Any]) -> CorpusState:
        """Change the fields that a writer with the lease may change; return the new state.

        The lease may be renewed meanwhile. Raises LeaseLost if another writer has it.
        """
        for _ in range(_TRIES):
            there = self.get(before.corpus)
            if there.fence != before.fence or there.begun != before.begun:
                raise _make_lease_lost(there)
            after = replace(there, **changed)
            if self.change(there, after):
                return after
        raise _make_lease_lost(self.get(before.corpus))

    # -- the lease -------------------------------------------------------------------------------

    def take_lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease of a corpus; return its fence. Raises LeaseLost."""
        for _ in range(_TRIES):
            there, now = self.get(corpus), self.clock()
            if there.holder != holder and there.until > now:
                raise _make_lease_lost(there)
            fence = there.fence + (there.holder != holder or not there.fence)
            made, until = there.made or now, now + LEASE_S
            after = replace(there, made=made, holder=holder, fence=fence, until=until)
            if self.change(there, after):
                return fence
        raise _make_lease_lost(self.get(corpus))

    def release(self, corpus: str, holder: str) -> None:
        """Release the lease of a corpus if it is still the holder's."""
        there = self.get(corpus)
        if there.holder == holder:
            self.change(there, replace(there, until=0.0))

    def get_own(self, corpus: str, fence: int) -> CorpusState:
        """Return the state of a corpus to its writer. Raises LeaseLost."""
        there = self.get(corpus)
        if there.fence != fence:
            raise _make_lease_lost(there)
        return there


def make_not_found(corpus: str) -> NotFound:
    """Return the error for an unknown corpus."""
    return NotFound(f"unknown corpus {corpus!r}", "irc status lists the corpora")


def _make_lease_lost(state: CorpusState) -> LeaseLost:
    return LeaseLost(
        f"{state.corpus!r} is written by {state.holder or 'no process'}",
        f"stop that daemon, or wait {LEASE_S:.0f} s after its end",
    )


def _make_state_id(corpus: str) -> str:
    return make_point_id("state", corpus)


# A delta in Qdrant: many requests, of which a reader sees all or nothing.
#
# Points first, then the state, then deletions. A delta that failed is sent again as another
# attempt, which deletes the points of the first.

# The most numbers in one filter.
_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class CorpusWriter:
    """The writer of one corpus."""

    server: QdrantServer
    states: States
    corpus: str

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta; return the generation afterwards. Raises OutOfStep, LeaseLost."""
        there = self.states.get_own(self.corpus, delta.fence)
        same = there.totals and there.load_totals().ledger == delta.totals.ledger
        if delta.base and same and there.generation >= delta.totals.generation:
            return there.generation
        if delta.base and (not there.totals or there.generation != delta.base):
            raise OutOfStep(
                f"{self.corpus!r} is at generation {there.generation}, not {delta.base}"
            )
        self.server.make_room(self.corpus, delta.totals.dim)
        begun = self._begin(there)
        epoch = there.epoch if delta.base else begun.begun
        self._send(delta, begun.begun, epoch)
        self._send_vectors(delta, there)
        self._sweep(there, self._commit(begun, delta, epoch), delta)
        return delta.totals.generation

    def drop(self, fence: int) -> None:
        """Remove the corpus, but not its lease."""
        there = self.states.get_own(self.corpus, fence)
        self.states.advance(there, {"totals": "", "generation": 0, "gone": ()})
        if there.totals:
            everything = models.Filter(must=[match_value("corpus", self.corpus)])
            self._delete(everything, {there.load_totals().dim})

    # -- the steps of a delta --------------------------------------------------------------------

    def _begin(self, there: CorpusState) -> CorpusState:
        """Start an attempt, and delete the points that failed and earlier attempts left."""
        failed = there.list_unfinished()
        begun = self.states.advance(there, {"begun": there.begun + 1, "failed": failed})
        if there.totals and (there.gone or there.replaced or failed != there.failed):
            dims = {there.load_totals().dim}
            own = match_value("corpus", self.corpus)
            self._delete(require_all(match_any("attempt", failed), own), dims)
            self._delete_gone(there, dims)
            self._delete(_match_older(there, there.epoch), dims)
        return begun

    def _send(self, delta: IndexDelta, attempt: int, epoch: int) -> None:
        corpus, put = self.corpus, self.server.put
        for points, values in make_record_batches(delta, attempt):
            put(BESIDE, corpus, make_value_points(corpus, epoch, values))
            put(name_records(delta.totals.dim), corpus, points)
        put(BESIDE, corpus, make_artifact_points(delta, attempt))
        put(BESIDE, corpus, make_word_points(corpus, epoch, delta.words))
        put(BESIDE, corpus, make_count_points(delta, attempt))

    def _send_vectors(self, delta: IndexDelta, there: CorpusState) -> None:
        """Add the vectors that earlier records lacked.

        In place: a reader may see some of them before the state changes, and then scores those
        records as it will afterwards.
        """
        collection = name_records(delta.totals.dim)
        own = {"collection_name": collection, **self.server.list_write_options(self.corpus)}
        for some in split_batches(delta.vectors):
            digests = match_any("digest", [each.hex() for each in some])
            waiting = require_all(there.match_visible(), digests, match_value("embedded", False))
            found = list(self.server.scroll(collection, self.corpus, waiting, ["digest"]))
            if not found:
                continue
            vectors = (delta.vectors[bytes.fromhex(point.payload["digest"])] for point in found)
            points = [
                models.PointVectors(id=point.id, vector={DENSE: read_vector(vector)})
                for point, vector in zip(found, vectors, strict=True)
            ]
            self.server.client.update_vectors(points=points, **own)
            ids = [point.id for point in found]
            self.server.client.set_payload(payload={"embedded": True}, points=ids, **own)

    def _commit(self, begun: CorpusState, delta: IndexDelta, epoch: int) -> CorpusState:
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
                "totals": pack(dump_totals(delta.totals)),
            },
        )

    # -- what a delta replaced -------------------------------------------------------------------

    def _sweep(self, before: CorpusState, done: CorpusState, delta: IndexDelta) -> None:
        dim = delta.totals.dim
        if done.replaced:
            dims = {dim, before.load_totals().dim} if before.totals else {dim}
            self._delete(_match_older(done, done.epoch), dims)
        for terms in split_batches(delta.df if delta.base else (), _NAMED):
            counts = match_value("what", "df"), match_any("term", terms)
            older = require_all(_match_older(done, done.committed), *counts)
            self.server.delete(BESIDE, self.corpus, older)
        self._delete_gone(done, {dim})
        if done.gone or done.replaced:
            self.states.advance(done, {"gone": (), "replaced": False})

    def _delete_gone(self, state: CorpusState, dims: Iterable[int]) -> None:
        older = _match_older(state, state.committed)
        for numbers in split_batches(state.gone, _NAMED):
            self._delete(require_all(older, match_any("number", numbers)), dims)

    def _delete(self, which: Any, dims: Iterable[int]) -> None:
        for collection in (BESIDE, *map(name_records, sorted(dims))):
            self.server.delete(collection, self.corpus, which)


def _match_older(state: CorpusState, attempt: int) -> Any:
    """Return the filter of the points of attempts before one."""
    older = match_range("attempt", lt=attempt)
    return models.Filter(must=[match_value("corpus", state.corpus), older])
