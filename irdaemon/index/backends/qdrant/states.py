"""The states of corpora in Qdrant: read, and changed where they are still what was read.

A conditional update is one request: the payload of the point is set where the point has the mark
that was read, and read back. Requests to one shard are done one after another, on every copy in the
same order (`ordering` strong), so of two that read the same mark one finds it gone.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qdrant_client import models

from irclient.errors import NotFound
from irdaemon.index.backend import LeaseLost
from irdaemon.index.backends.qdrant.corpus_state import CorpusState, equal
from irdaemon.index.backends.qdrant.points import point_id
from irdaemon.index.backends.qdrant.server import STATES, QdrantServer

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
