"""Replication: keep the copies of corpora in backends level with the served state.

No query waits for it. A copy has one writer, which holds a lease that is renewed while it runs; the
lease's fence goes with every delta. The backend itself reports what it has, so anything lost on the
way, on either side, is sent again, and nothing twice; a copy that cannot follow is sent whole.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from irclient.errors import IRError, NotFound
from irdaemon.config.backends import BackendAddress
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.backends.observer import CopyFacts, CopyLevel, CopyObserver, KnownCopy
from irdaemon.contrib.backends.remote import (
    CopyOrigin,
    CopyState,
    Texts,
    ask_held,
    make_copy_state,
    make_delta,
    make_totals,
)
from irdaemon.discovery.disclose import BODY_CHARS, Bounds, disclose
from irdaemon.engine.state import Served, State
from irdaemon.index import CorpusIndex
from irdaemon.index.backend import CopyTarget, LeaseLost, OutOfStep, Totals
from irdaemon.ledger import Ledger
from irdaemon.runtime.deadline import limit_time

log = logging.getLogger(__name__)

_RENEWED_EVERY_S = 5.0
_REFUSED_FOR_S = 15.0
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0
# How long a backend may take to answer, and the minimum of artifacts that it takes in a second.
_ANSWERS_WITHIN_S, _ARTIFACTS_A_SECOND = 15.0, 50
_CLOSED_WITHIN_S = 1.0

Open = Callable[[BackendAddress], CopyTarget]


@dataclass(slots=True)
class _Copy:
    """One copy in progress. Times are of the monotonic clock."""

    corpus: str
    address: BackendAddress
    facts: CopyFacts
    held: CopyState | None = None
    space: tuple[str, str, int] | None = None
    sent: CorpusIndex | None = None
    fence: int = 0
    renewed_at: float = float("-inf")
    retry_at: float = float("-inf")
    failures: int = 0


@dataclass(slots=True)
class Replication:
    """Copy the served state into the backends of its corpora; belongs to one thread.

    `holder` names the writer, in leases and to processes that are refused one; `open_backend` makes
    the client of a backend, which connects on first use.
    """

    state: State
    holder: str
    open_backend: Open
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _dropping: dict[str, _Copy] = field(default_factory=dict)
    _backends: dict[BackendAddress, CopyTarget] = field(default_factory=dict)

    def tick(self, now: float) -> None:
        """Renew leases, and update every copy that is not level, unless its retry is due later."""
        served = self.state.served
        self._select_copies(served.corpora)
        for copy in self._copies.values():
            if now >= copy.retry_at:
                self._try(copy, partial(self._update, copy, served, now), now)
        for copy in tuple(self._dropping.values()):
            if now >= copy.retry_at:
                self._try(copy, partial(self._drop, copy), now)
        self._publish()

    def close(self) -> None:
        """Release the leases, if that is quick, and close the connections."""
        with limit_time(_CLOSED_WITHIN_S, "a backend"):
            for copy in self._copies.values():
                self._release(copy)
        for backend in self._backends.values():
            backend.close()

    def _release(self, copy: _Copy) -> None:
        if copy.fence:
            with contextlib.suppress(IRError):  # it expires anyway
                self._get_backend(copy).release(copy.corpus, self.holder)

    # -- which copies there are ------------------------------------------------------------------

    def _select_copies(self, corpora: Mapping[str, Corpus]) -> None:
        """Begin the copies that are wanted now, and end the others.

        A copy written here that is no longer wanted anywhere is removed. If the corpus is to be
        copied to another address, the old copy stays, as both may be names of the same server.
        """
        wanted = {name: c.backend for name, c in corpora.items() if c.backend is not None}
        for name, copy in tuple(self._copies.items()):
            if wanted.get(name) == copy.address:
                continue
            del self._copies[name]
            if name in wanted:
                self._release(copy)
            elif copy.fence:
                copy.retry_at = float("-inf")
                self._dropping[name] = copy
        for name, address in wanted.items():
            if name not in self._copies and name not in self._dropping:
                self._copies[name] = _Copy(name, address, CopyFacts(address.shown))

    def _get_backend(self, copy: _Copy) -> CopyTarget:
        """Return the backend of a copy. Raises ConfigError if it cannot be used."""
        if copy.address not in self._backends:
            self._backends[copy.address] = self.open_backend(copy.address)
        return self._backends[copy.address]

    def _drop(self, copy: _Copy) -> None:
        """Remove a copy that this daemon wrote and that is no longer wanted."""
        backend = self._get_backend(copy)
        # Another daemon may have taken it, or it may be deleted.
        with self._limit_time(copy), contextlib.suppress(LeaseLost, NotFound):
            backend.drop(copy.corpus, backend.take_lease(copy.corpus, self.holder))
            backend.release(copy.corpus, self.holder)
            log.info("the copy of %s at %s was removed", copy.corpus, copy.address.shown)
        del self._dropping[copy.corpus]

    # -- one copy --------------------------------------------------------------------------------

    def _try(self, copy: _Copy, work: Callable[[], object], now: float) -> None:
        """Do a piece of work; record any error, and when to try again."""
        try:
            work()
        except LeaseLost as error:
            self._note_failure(copy, "refused", error, now + _REFUSED_FOR_S)
            copy.fence = 0
        except IRError as error:
            wait_s = min(_LAST_RETRY_S, _FIRST_RETRY_S * 2**copy.failures)
            self._note_failure(copy, "degraded", error, now + wait_s)

    def _note_failure(self, copy: _Copy, state: CopyLevel, error: IRError, retry_at: float) -> None:
        facts = copy.facts
        if (facts.state, facts.reason) != (state, error.message):
            log.warning("the copy of %s cannot be written: %s", copy.corpus, error.message)
        self._note(copy, state, error.message)
        copy.failures, copy.retry_at = copy.failures + 1, retry_at
        # The outcome is unknown: ask again.
        copy.held = copy.sent = None
        copy.renewed_at = float("-inf")

    def _update(self, copy: _Copy, served: Served, now: float) -> None:
        """Renew the lease of a copy, and send the missing changes."""
        if now - copy.renewed_at >= _RENEWED_EVERY_S:
            with self._limit_time(copy):
                copy.fence = self._get_backend(copy).take_lease(copy.corpus, self.holder)
            copy.renewed_at = now
        index = served.snapshot.corpora[copy.corpus]
        if index is not copy.sent:
            with self.state.open_reading() as ledger, ledger.hold_snapshot():
                if not _has_rows(ledger, index):
                    return
                self._note(copy, "sending", holder=self.holder)
                self._publish()
                generation = self._send(copy, served, ledger)
            copy.held, copy.sent = make_copy_state(index, generation), index
        if copy.failures:
            log.info("the copy of %s at %s is up to date again", copy.corpus, copy.address.shown)
        copy.failures = 0
        generation = copy.held.generation if copy.held else 0
        copy.facts = CopyFacts(copy.address.shown, "level", generation, self.holder)

    def _note(self, copy: _Copy, state: CopyLevel, reason: str = "", holder: str = "") -> None:
        """Record the state of a copy that is not level, and since when."""
        since = copy.facts.since if copy.facts.since is not None else self.state.clock()
        copy.facts = replace(copy.facts, state=state, reason=reason, holder=holder, since=since)

    def _send(self, copy: _Copy, served: Served, ledger: Ledger) -> int:
        """Send the changes that a backend lacks, if any; return the generation that it then has."""
        corpus, index = served.corpora[copy.corpus], served.snapshot.corpora[copy.corpus]
        origin = CopyOrigin(corpus.kind, corpus.recipe, str(ledger.read_identity()), self.holder)
        space = (origin.ledger, index.embedder, index.rows.vectors.buffer.shape[1])
        held, backend = copy.held, self._get_backend(copy)
        if held is None or space != copy.space:
            with self._limit_time(copy):
                held = ask_held(backend, index, origin, len(served.snapshot.vocabulary))
                if held.generation and _is_level(backend, index, held, origin):
                    copy.space = space
                    return held.generation
        copy.space = space
        # After a crash, the served state may be newer than an earlier one of the same number.
        generation = max(served.snapshot.generation, held.generation + 1)
        totals = make_totals(index, origin, generation)
        texts = Texts(ledger, ledger.terms.find_words, partial(_read_text, ledger, corpus))
        longest_s = _ANSWERS_WITHIN_S + index.n_artifacts / _ARTIFACTS_A_SECOND
        with limit_time(longest_s, copy.address.shown):
            try:
                return backend.apply(make_delta(index, held, totals, copy.fence, texts))
            except OutOfStep:
                return backend.apply(make_delta(index, CopyState(), totals, copy.fence, texts))

    def _limit_time(self, copy: _Copy) -> AbstractContextManager[None]:
        return limit_time(_ANSWERS_WITHIN_S, copy.address.shown)

    def _publish(self) -> None:
        """Publish the state of the copies, for the status."""
        CopyObserver.find_in(self.state.addons).copies = {
            name: KnownCopy(copy.facts, copy.sent) for name, copy in self._copies.items()
        }


def _has_rows(ledger: Ledger, index: CorpusIndex) -> bool:
    """Return whether a ledger has the rows of an index: a new one does not until it is filled."""
    scanned, _ = ledger.corpora.read_state(index.corpus)
    return bool(ledger.read_identity()) and (scanned is not None or index.last_reconcile is None)


def _is_level(backend: CopyTarget, index: CorpusIndex, held: CopyState, origin: CopyOrigin) -> bool:
    """Return whether a backend with rows of an index already has all of it."""
    own, there = make_copy_state(index, held.generation), backend.read_totals().get(index.corpus)
    return (
        there is not None
        and np.array_equal(held.numbers, own.numbers)
        and held.waiting == own.waiting
        and _list_compared(there) == _list_compared(make_totals(index, origin, held.generation))
    )


def _list_compared(totals: Totals) -> tuple[object, ...]:
    whole = totals.holder, totals.kind, totals.recipe, totals.n_records, totals.by_hand
    return *whole, totals.last_reconcile, tuple(totals.degraded), dict(totals.floors)


def _read_text(ledger: Ledger, corpus: Corpus, artifact_id: str) -> tuple[str, str, float]:
    """Return an artifact's text as disclosed now, its digest, and when it was indexed."""
    stored = ledger.artifacts.get(corpus.name, artifact_id)
    if stored is None:  # it was deleted meanwhile, and the next delta says so
        return "", "", 0.0
    body = stored.body
    if body is None:
        body = disclose(stored, "body", Bounds.for_corpus(corpus)).body or ""
    return body[:BODY_CHARS], stored.digest, stored.indexed_at
