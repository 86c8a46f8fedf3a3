"""Mending: a ledger that cannot be written, was lost, or is damaged, under a running engine."""

from __future__ import annotations

import contextlib
import logging

from irclient.errors import NotFound
from irdaemon.engine.publishing import Publishing
from irdaemon.engine.queue import Job, Progress
from irdaemon.engine.recovery import renewed
from irdaemon.ledger.corruption import corruption_of, first_problem
from irdaemon.ledger.sqlite_errors import is_transient
from irdaemon.runtime.tracebacks import where

# After so many tries, with half a minute of waiting between them, a fault is one that repeats.
_MOST_TRIES = 6

log = logging.getLogger(__name__)


class Mending(Publishing):
    """Keep the ledger whole. It belongs to the writer."""

    def _keep_ledger(self) -> None:
        """Ask for what stopped a job to be tried again, and for a lost file to be put back."""
        for job in self._setbacks.due(self._clock()):
            with contextlib.suppress(NotFound):  # its corpus was removed meanwhile
                self._setbacks.tried(self.request(job))
        for job in self._retries.due(self._clock()):
            with contextlib.suppress(NotFound):
                self.request(job)
        if self.ledger.moved() and not self._setbacks.holds("mend"):
            self._work.add(Job("mend"))

    def _retried(self, job: Job, error: Exception) -> bool:
        """Have a job tried again that failed by a fault; say whether the process may go on.

        What the system could not do may be possible later. Any other fault is a mistake in the
        program: one that repeats ends the process, for a new one to start from the ledger. In a
        library call nobody would try again, so whoever called hears of it.
        """
        if not self.host.writes:
            return False
        failing = self._retries.note(job, self._clock())
        log.error("the %s job of %r failed: %s", job.kind, job.corpus, where(error))
        return isinstance(error, (OSError, MemoryError)) or failing.times < _MOST_TRIES

    def _recovered(self, job: Job, error: Exception) -> bool:
        """Go on after a job failed by the ledger's fault; say whether it did."""
        if is_transient(error):
            # A full disk, say. Compaction comes again by itself, and wants more room than others.
            if job.kind != "compact":
                self._setbacks.note(job, str(error), self._clock())
            return True
        why = corruption_of(self.ledger.path, error) if self.host.writes else ""
        if why:
            self._renew(why)
        return bool(why)

    def _mend(self, job: Job, progress: Progress) -> str:
        """Put a lost file back, and mend or replace a damaged one."""
        if self.ledger.moved():
            self.ledger.put_back()
            log.error("%s was gone; it is written anew, nothing is lost", self.ledger.path)
            return "the ledger's file was gone and is written anew"
        why = first_problem(self.ledger.path) if self.host.writes else ""
        if why:
            self._renew(why)
        return why or "the ledger is sound"

    def _renew(self, why: str) -> None:
        """Go on with a sound ledger; each corpus is served as it is until that one has it whole."""
        self.ledger, loss = renewed(self.ledger, self.snapshot, why, self._clock())
        self.loss = loss or self.loss
        self._rereading = set(self._corpora)
        self.set_corpora(self._corpora.values())
        for name in self._corpora:
            self.request(Job("reconcile", name))
