"""Corpora in Qdrant, for any number of processes: `irdaemon[qdrant]`.

docs/backends.md says what Qdrant gives of what a backend promises, and what not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from irclient.counts import format_count
from irclient.errors import Unavailable
from irdaemon.contrib.backends.qdrant.corpus_state import (
    CorpusState,
    CorpusWriter,
    States,
    make_not_found,
    match_any,
    match_value,
    require_all,
)
from irdaemon.contrib.backends.qdrant.points import FORMAT, unpack
from irdaemon.contrib.backends.qdrant.searching import CorpusSearch
from irdaemon.contrib.backends.qdrant.server import BESIDE, QdrantServer, name_records, open_server
from irdaemon.contrib.backends.state import (
    BackendAdmin,
    BackendState,
    CheckLine,
    CorpusSize,
    HostState,
    get_scope,
    make_stored_record,
    make_stored_text,
)
from irdaemon.index.backend import Found, IndexBackend, IndexDelta, StoredText, Totals, Wanted

T = TypeVar("T")

_TRIES = 5
_POLL_S = 0.05


def make(url: str, password: str | None) -> IndexBackend:
    """Return the backend that a URL names (see `open_server`); `password` is the API key."""
    return QdrantBackend(open_server(url, password or ""))


def make_admin(url: str, password: str | None) -> BackendAdmin:
    """Return what a backend is looked after with."""
    return QdrantAdmin(open_server(url, password or ""))


class QdrantBackend:
    """Keep corpora in Qdrant (see `IndexBackend`)."""

    def __init__(self, server: QdrantServer, clock: Callable[[], float] = time.time):
        self._server = server
        self._states = States(server, clock)

    # -- searching -----------------------------------------------------------------------------

    def totals(self) -> Mapping[str, Totals]:
        """Return what is known of every corpus there is, by name."""
        there = (each for each in self._states.list_all() if each.totals and _is_seen(each.corpus))
        return {state.corpus: state.load_totals() for state in there}

    def found(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records of a corpus that a query needs."""
        return self._search(corpus, lambda search: search.find(wanted))

    def words(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        return self._search(corpus, lambda search: search.words(words))

    def frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        return self._search(corpus, lambda search: search.frequencies(terms))

    def words_like(self, corpus: str, initials: Collection[str], lengths: range) -> Collection[str]:
        """Return the words of a corpus' ledger that begin with one of the letters, of a length."""
        return self._search(corpus, lambda search: search.words_like(initials, lengths))

    def rank(self, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that a leg scores above `score`, without filters."""
        return self._search(corpus, lambda search: search.rank(wanted, leg, score))

    def _search(self, corpus: str, ask: Callable[[CorpusSearch], T]) -> T:
        """Return what a search gives of one state: it is asked again where that has changed."""
        if not _is_seen(corpus):
            raise make_not_found(corpus)
        state = self._states.get_known(corpus)
        for _ in range(_TRIES):
            given = ask(CorpusSearch(self._server, state, state.load_totals()))
            after = self._states.get_known(corpus)
            if (after.epoch, after.committed) == (state.epoch, state.committed):
                return given
            state = after
        raise Unavailable(f"{corpus!r} changes faster than it can be searched", "ask again")

    def stored(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
        """Return the texts of artifacts as they were stored, by id."""

        def read(search: CorpusSearch) -> Mapping[str, StoredText]:
            which = require_all(search.state.match_visible(), match_any("id", sorted(artifact_ids)))
            artifacts = list(self._server.scroll(BESIDE, corpus, which))
            payloads = (p.payload for p in self._server.scroll(search.collection, corpus, which))
            records = sorted(payloads, key=lambda each: int(each["surface"]))
            return {each.payload["id"]: _read_text(each.payload, records) for each in artifacts}

        return self._search(corpus, read)

    def wait(self, corpus: str, generation: int, timeout_s: float) -> int:
        """Wait until a corpus can be searched at a generation; return the one there is then."""
        until = time.monotonic() + timeout_s
        while (there := self.newest(corpus)) < generation and time.monotonic() < until:
            time.sleep(_POLL_S)
        return there

    def newest(self, corpus: str) -> int:
        """Return the generation that was written last, which every reader has then."""
        return self._states.get_known(corpus).generation

    # -- writing -------------------------------------------------------------------------------

    def lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus, for 15 s; return its fence, which grows."""
        return self._states.lease(corpus, holder)

    def release(self, corpus: str, holder: str) -> None:
        """Give up the lease of a corpus."""
        self._states.release(corpus, holder)

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta, of which readers see all or nothing; return the generation afterwards."""
        return CorpusWriter(self._server, self._states, delta.totals.corpus).apply(delta)

    def drop(self, corpus: str, fence: int) -> None:
        """Remove a corpus."""
        CorpusWriter(self._server, self._states, corpus).drop(fence)

    def numbers(self, corpus: str) -> Iterable[int]:
        """Return the row numbers of the artifacts there are, ascending."""
        state = self._states.get_known(corpus)
        which = require_all(state.match_visible(), match_value("what", "artifact"))
        points = self._server.scroll(BESIDE, corpus, which, ["number"])
        return sorted(point.payload["number"] for point in points)

    def without_vector(self, corpus: str) -> Iterable[bytes]:
        """Return the digests of the records that have no vector."""
        state = self._states.get_known(corpus)
        which = require_all(state.match_visible(), match_value("embedded", False))
        collection = name_records(state.load_totals().dim)
        points = self._server.scroll(collection, corpus, which, ["digest"])
        return [bytes.fromhex(point.payload["digest"]) for point in points]

    def close(self) -> None:
        """Close the connection."""
        self._server.client.close()


def _is_seen(corpus: str) -> bool:
    """Return whether the client of this request may see a corpus."""
    scope = get_scope()
    return scope is None or corpus in scope


def _read_text(artifact: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> StoredText:
    return make_stored_text(
        unpack(artifact["artifact"]),
        (artifact["body"], artifact["digest"], artifact["indexed_at"]),
        [
            make_stored_record(unpack(each["record"]), each["label"], each["text"])
            for each in records
            if each["number"] == artifact["number"]
        ],
    )


# What is done to a backend in Qdrant by hand: looking at its state, making it ready.

# The first that inserts points only where there are none.
LEAST_VERSION = (1, 17)


class QdrantAdmin:
    """The work of an operator of corpora in Qdrant."""

    def __init__(self, server: QdrantServer):
        self._server = server
        self._states = States(server)

    def check(self) -> BackendState:
        """Look at the server: whether it answers, and can be searched and written."""
        lines = [self._check_version()]
        if self._server.placing.sharded:
            lines.append(self._check_cluster())
        lines.append(self._check_corpora())
        host = HostState(self._server.name, tuple(lines), all(line.ok for line in lines))
        return BackendState(self._server.name, (host,))

    def migrate(self) -> int:
        """Make the collection of states, where it is not there; return the format.

        What a corpus needs is made when it is sent. Raises Unavailable.
        """
        self._server.make_states()
        return FORMAT

    def stats(self) -> tuple[CorpusSize, ...]:
        """Return what each corpus takes; the server does not tell bytes and postings, which are 0.

        Raises Unavailable.
        """
        return tuple(_measure(state) for state in self._states.list_all() if state.totals)

    def _check_version(self) -> CheckLine:
        version = str(self._server.client.info().version)
        number = tuple(map(int, re.findall(r"\d+", version)[:2]))
        least = ".".join(map(str, LEAST_VERSION))
        if number >= LEAST_VERSION:
            return CheckLine(True, f"Qdrant {version}")
        return CheckLine(False, f"Qdrant {version} is too old", f"{least} or later is needed")

    def _check_cluster(self) -> CheckLine:
        status: Any = self._server.client.cluster_status()
        if getattr(status, "status", "") == "enabled":
            return CheckLine(True, format_count(len(status.peers), "node"))
        hint = "start it with QDRANT__CLUSTER__ENABLED=true, even where it is the only node"
        return CheckLine(False, "the server does not run as a cluster: it has no shard keys", hint)

    def _check_corpora(self) -> CheckLine:
        try:
            there = [state for state in self._states.list_all() if state.totals]
        except Unavailable as error:
            return CheckLine(False, error.message, error.hint)
        return CheckLine(True, format_count(len(there), "corpus"))


def _measure(state: CorpusState) -> CorpusSize:
    totals = state.load_totals()
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
