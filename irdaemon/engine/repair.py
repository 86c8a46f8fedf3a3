"""Repair: a ledger that cannot be written, was lost, or is damaged, under a running engine."""

from __future__ import annotations

import contextlib
import logging

from irclient.errors import NotFound
from irdaemon.engine.publish import Publisher
from irdaemon.engine.queue import Job
from irdaemon.engine.recovery import renewed
from irdaemon.engine.state import State
from irdaemon.ledger.corruption import corruption_of, first_problem
from irdaemon.ledger.sqlite_errors import is_transient
from irdaemon.runtime.tracebacks import where

# After so many tries, with half a minute of waiting between them, an error is one that repeats.
_MOST_TRIES = 6

log = logging.getLogger(__name__)


class Repair:
    """Retry what failed, and keep the ledger whole. Only the writer may use it."""

    def __init__(self, state: State, publisher: Publisher):
        self._state = state
        self._publisher = publisher

    def request_due(self) -> None:
        """Request the retries that are due, and a repair where the ledger's file was moved."""
        state = self._state
        for job in state.job_retries.due(state.clock()):
            with contextlib.suppress(NotFound):  # its corpus was removed meanwhile
                state.job_retries.tried(state.request(job))
        for job in state.scan_retries.due(state.clock()):
            with contextlib.suppress(NotFound):
                state.request(job)
        if state.ledger.moved() and not state.job_retries.holds("repair"):
            state.work.add(Job("repair"))

    def handles(self, job: Job, error: Exception) -> bool:
        """Handle the error that ended a job; return False where the process must not go on."""
        return self._recovers(job, error) or self._retries(job, error)

    def _retries(self, job: Job, error: Exception) -> bool:
        """Have a job retried; return whether the process may go on.

        What the system could not do may be possible later. Any other error is a mistake in the
        program: one that repeats ends the process, for a new one to start from the ledger. In a
        library call nothing would retry, so its caller gets the error.
        """
        if not self._state.host.writes:
            return False
        failing = self._state.scan_retries.note(job, self._state.clock())
        log.error("the %s job of %r failed: %s", job.kind, job.corpus, where(error))
        return isinstance(error, (OSError, MemoryError)) or failing.times < _MOST_TRIES

    def _recovers(self, job: Job, error: Exception) -> bool:
        """Recover from an error of the ledger; return whether it was one."""
        if is_transient(error):
            # A full disk, say. Compaction comes again by itself, and wants more room than others.
            if job.kind != "compact":
                self._state.job_retries.note(job, str(error), self._state.clock())
            return True
        why = corruption_of(self._state.ledger.path, error) if self._state.host.writes else ""
        if why:
            self.replace_ledger(why)
        return bool(why)

    def run(self) -> str:
        """Put a lost file back, and repair or replace a damaged one; return what was found."""
        ledger = self._state.ledger
        if ledger.moved():
            ledger.put_back()
            log.error("%s was gone; it is written anew, nothing is lost", ledger.path)
            return "the ledger's file was gone and is written anew"
        why = first_problem(ledger.path) if self._state.host.writes else ""
        if why:
            self.replace_ledger(why)
        else:
            self._state.clear_suspects(sound=True)
        return why or "the ledger is sound"

    def replace_ledger(self, why: str) -> None:
        """Go on with a sound ledger; each corpus is served as it is until that one has it whole."""
        state = self._state
        state.ledger, lost = renewed(state.ledger, state.snapshot, why, state.clock())
        state.corruption = lost or state.corruption
        state.clear_suspects(sound=False)
        self._publisher.keep_until_reread()
        self._publisher.set_corpora(state.corpora.values())
        for name in state.corpora:
            state.request(Job("reconcile", name))
