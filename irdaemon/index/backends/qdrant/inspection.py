"""What is done to a backend in Qdrant by hand: looking at its state, making it ready."""

from __future__ import annotations

import re
from typing import Any

from irclient.errors import Unavailable
from irdaemon.index.backends.qdrant.corpus_state import CorpusState
from irdaemon.index.backends.qdrant.points import FORMAT
from irdaemon.index.backends.qdrant.server import QdrantServer
from irdaemon.index.backends.qdrant.states import States
from irdaemon.index.backends.state import BackendState, CheckLine, CorpusSize, HostState

# The first that inserts points only where there are none.
LEAST_VERSION = (1, 17)


class QdrantAdmin:
    """The work of an operator of corpora in Qdrant."""

    def __init__(self, server: QdrantServer):
        self._server = server
        self._states = States(server)

    def check(self) -> BackendState:
        """Look at the server: whether it answers, and can be searched and written."""
        lines = [self._version()]
        if self._server.placing.sharded:
            lines.append(self._cluster())
        lines.append(self._corpora())
        host = HostState(self._server.name, tuple(lines), all(line.ok for line in lines))
        return BackendState(self._server.name, (host,))

    def migrate(self) -> int:
        """Make the collection of states, where it is not there; return the format.

        What a corpus needs is made when it is sent. Raises Unavailable.
        """
        self._server.states()
        return FORMAT

    def stats(self) -> tuple[CorpusSize, ...]:
        """Return what each corpus takes; of bytes and postings the server tells nothing: 0."""
        return tuple(_size(state) for state in self._states.all() if state.totals)

    def _version(self) -> CheckLine:
        version = str(self._server.ask(lambda client: client.info()).version)
        number = tuple(map(int, re.findall(r"\d+", version)[:2]))
        least = ".".join(map(str, LEAST_VERSION))
        if number >= LEAST_VERSION:
            return CheckLine(True, f"Qdrant {version}")
        return CheckLine(False, f"Qdrant {version} is too old", f"{least} or later is needed")

    def _cluster(self) -> CheckLine:
        status: Any = self._server.ask(lambda client: client.cluster_status())
        if getattr(status, "status", "") == "enabled":
            return CheckLine(True, f"{len(status.peers)} nodes")
        hint = "start it with QDRANT__CLUSTER__ENABLED=true, even where it is the only node"
        return CheckLine(False, "the server does not run as a cluster: it has no shard keys", hint)

    def _corpora(self) -> CheckLine:
        try:
            there = [state for state in self._states.all() if state.totals]
        except Unavailable as error:
            return CheckLine(False, error.message, error.hint)
        return CheckLine(True, f"{len(there)} corpora")


def _size(state: CorpusState) -> CorpusSize:
    totals = state.known
    return CorpusSize(
        corpus=state.corpus,
        generation=state.generation,
        artifacts=totals.n_artifacts,
        records=totals.n_records,
        vectors=totals.n_embedded,
        postings=0,
        size=0,
        graph=totals.dim > 0,
        changed=state.changed,
    )
