"""Schedule: upkeep at intervals. It only requests jobs of the engine; it does no work itself."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from irdaemon.config.config import ScheduleConfig
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler


log = logging.getLogger(__name__)


class Schedule:
    """Request whole scans, another try at failures, and compaction at intervals."""

    def __init__(self, engine: Engine, intervals: ScheduleConfig):
        self._engine = engine
        self._intervals = intervals
        self._scheduler: BackgroundScheduler | None = None
        self._stopped = False
        self._changing = threading.Lock()

    def start(self) -> None:
        """Begin, unless stopped already; the first round comes after the first interval."""
        # Imported here: it takes 45 ms, which the start need not wait for.
        from apscheduler.schedulers.background import BackgroundScheduler

        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        scheduler = BackgroundScheduler(
            timezone="UTC", job_defaults={"coalesce": True, "misfire_grace_time": None}
        )
        for request, minutes in (
            (self.reconcile_all, self._intervals.reconcile_minutes),
            (self.retry_failures, self._intervals.retry_minutes),
            (self.compact, self._intervals.compact_minutes),
        ):
            if minutes > 0:
                scheduler.add_job(request, "interval", minutes=minutes)
        with self._changing:
            if not self._stopped:
                scheduler.start()
                self._scheduler = scheduler

    def revive(self) -> None:
        """Start a new scheduler if the thread of the present one died."""
        # A private name: apscheduler 3 has no public way to its thread, and `running` stays true
        # when that dies. Without the name nothing is restarted.
        thread = getattr(self._scheduler, "_thread", None)
        if self._stopped or thread is None or thread.is_alive():
            return
        log.error("the scheduler died; restarting it")
        self._scheduler = None
        self.start()

    def stop(self) -> None:
        """Stop for good; what was requested stays queued. Any thread may call it."""
        with self._changing:
            self._stopped = True
            if self._scheduler is not None:
                self._scheduler.shutdown(wait=False)
                self._scheduler = None

    def reconcile_all(self) -> None:
        """Request a whole scan of every corpus, so that a missed event is made good."""
        for name in tuple(self._engine.corpora):
            self._engine.request(Job("reconcile", name, ScanRequest(routine=True)))

    def retry_failures(self) -> None:
        """Request another try at everything that failed."""
        self._engine.request(Job("retry"))

    def compact(self) -> None:
        """Request that unused rows are dropped and the file is folded."""
        self._engine.request(Job("compact"))
