"""Schedule: periodic upkeep. It only requests jobs of the engine and does no work itself."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING

from irclient.errors import NotFound
from irdaemon.config.sections import ScheduleConfig
from irdaemon.engine import Engine
from irdaemon.engine.due import find_due_jobs
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler


log = logging.getLogger(__name__)

# How late a job with a separate interval may start.
_LOOKS_EVERY_MINUTES = 1.0


class Schedule:
    """Request whole scans, retries of failures, and compaction at intervals."""

    def __init__(self, engine: Engine, intervals: ScheduleConfig):
        self._engine = engine
        self._intervals = intervals
        self._scheduler: BackgroundScheduler | None = None
        self._stopped = False
        self._left_out = True  # so that the first scan is not skipped
        self._changing = threading.Lock()

    def start(self) -> None:
        """Start, unless stopped already; the first round comes after the first interval."""
        # Imported here: it takes 45 ms, and the start need not wait for it.
        from apscheduler.schedulers.background import BackgroundScheduler

        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        scheduler = BackgroundScheduler(
            timezone="UTC", job_defaults={"coalesce": True, "misfire_grace_time": None}
        )
        for request, minutes in (
            (self.look, _LOOKS_EVERY_MINUTES),
            (self.reconcile_all, self._intervals.reconcile_minutes),
            (self.retry_failures, self._intervals.retry_minutes),
            (self.compact, self._intervals.compact_minutes),
            (self.learn, self._intervals.learn_minutes),
        ):
            if minutes > 0:
                scheduler.add_job(request, "interval", minutes=minutes)
        with self._changing:
            if not self._stopped:
                scheduler.start()
                self._scheduler = scheduler
        self.learn(at_start=True)

    def restart_dead(self) -> None:
        """Start a new scheduler if the thread of the present one has died."""
        # A private name: apscheduler 3 has no public way to its thread, and `running` stays true
        # when that dies. If the name is missing, nothing is restarted.
        thread = getattr(self._scheduler, "_thread", None)
        if self._stopped or thread is None or thread.is_alive():
            return
        log.error("the scheduler died; restarting it")
        self._scheduler = None
        self.start()

    def stop(self) -> None:
        """Stop for good; queued requests stay. Any thread may call it."""
        with self._changing:
            self._stopped = True
            if self._scheduler is not None:
                self._scheduler.shutdown(wait=False)
                self._scheduler = None

    def reconcile_all(self) -> None:
        """Request a whole scan of corpora that follow changes, to make up for missed events.

        Without requests, or on battery, every second scan is skipped.
        """
        if self._skips_scan():
            return
        for corpus in tuple(self._engine.corpora.values()):
            if corpus.reindex.follows_changes:
                self._engine.request(Job("reconcile", corpus.name, ScanRequest(routine=True)))

    def _skips_scan(self) -> bool:
        """Return whether to skip this whole scan; never two in a row."""
        state = self._engine.state
        unasked = state.host.measure_idle_s() >= 60 * self._intervals.reconcile_minutes
        self._left_out = not self._left_out and (unasked or state.options.on_battery())
        return self._left_out

    def look(self) -> None:
        """Request jobs that are due at separate intervals, or that were put off."""
        state = self._engine.state
        for job in find_due_jobs(state, state.clock()):
            with contextlib.suppress(NotFound):  # its corpus has just been removed
                self._engine.request(job)

    def retry_failures(self) -> None:
        """Request a retry of everything that failed."""
        if not self._engine.state.options.on_battery():
            self._engine.request(Job("retry"))

    def learn(self, at_start: bool = False) -> None:
        """Request the learning jobs of add-ons."""
        for addon in self._engine.state.addons.values():
            for job in addon.find_due_jobs(at_start):
                self._engine.request(job)

    def compact(self) -> None:
        """Request that unused rows are dropped and the file is compacted, if allowed now."""
        self._engine.state.compaction_waits = True
        self.look()
