"""The daemon: one process that watches, keeps the schedule, writes and serves.

Threads: the main one serves, one writes, one supervises; the watcher and the scheduler have their
own and only request jobs of the engine. Start: locks, ledger, last snapshot, socket; then the
writer, READY, whole scans, and the supervisor, which starts watcher and scheduler. Stop: the
supervisor, watcher, scheduler, sockets, then the writer, which finishes its transaction, and the
ledger.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irclient.errors import IRError
from irdaemon import __version__
from irdaemon.config.corpus import Corpus
from irdaemon.daemon.active_config import ActiveConfig, engine_options, watch_settings
from irdaemon.daemon.early_model import EarlyModel
from irdaemon.daemon.liveness import Heartbeat, dead, stuck
from irdaemon.daemon.lock import Lock
from irdaemon.daemon.logs import log_event
from irdaemon.daemon.pace import Pace
from irdaemon.daemon.resources import ResourceLimits, set_open_files
from irdaemon.daemon.schedule import Schedule
from irdaemon.daemon.sdnotify import notify, watchdog_interval
from irdaemon.daemon.supervisor import SupervisorThread
from irdaemon.daemon.synopsis_thread import synopsis_thread
from irdaemon.daemon.web_process import WebProcess
from irdaemon.daemon.writer_thread import WriterThread
from irdaemon.engine import Engine
from irdaemon.engine.changes import jobs_for_changes
from irdaemon.engine.health import ProcessHealth
from irdaemon.engine.host import NO_OPTIONS
from irdaemon.engine.maintenance import scan_is_due
from irdaemon.engine.queue import Job
from irdaemon.engine.recovery import opened
from irdaemon.ledger import Ledger
from irdaemon.runtime.memory import resident, settle
from irdaemon.runtime.tracebacks import where
from irdaemon.serve.listen import Listener
from irdaemon.serve.loop import RequestLoop
from irdaemon.serve.sockets import AlreadyRunning
from irdaemon.watch import Watcher

log = logging.getLogger(__name__)

_TICK_S = 1.0
_REPORT_S = 5.0
_SUPERVISOR_STOPS_WITHIN_S = 0.5


class Daemon:
    """All parts of the running process. It is its engine's host."""

    def __init__(self, settings: ActiveConfig, socket: str, model: EarlyModel | None = None):
        self._settings = settings
        self._model = model
        # The engine takes up edits in the order in which they were made to the file.
        self._reconfiguring = threading.Lock()
        self._socket = socket
        self._started = time.monotonic()
        config = settings.config
        self._locks: tuple[Lock, ...] = (
            Lock.take(os.path.join(config.state_dir, "lock")),
            Lock.take(os.path.join(os.path.dirname(socket), "lock")),
        )
        os.umask(0o077)
        set_open_files(config.limits)
        self.engine, lost = opened(config.ledger_path, self._engine_on, time.time())
        self.engine.state.host, self.engine.state.corruption = self, lost
        self._impressions_path = os.path.join(config.state_dir, "offers.json")
        self.engine.impressions.load(self._impressions_path)
        self._pace = Pace()
        self._writer = WriterThread(self.engine, config.limits.nice, self._sleep_s)
        self._schedule = Schedule(self.engine, config.schedule)
        self._watcher = Watcher(self._on_changes, watch_settings(config, socket))
        self._limits = ResourceLimits(config.limits, self.engine.shed)
        self._supervisor = SupervisorThread(
            self.engine, self._watcher, self._schedule, self._limits, self._look_around
        )
        self._supervisor.sleep_s = self._sleep_s
        self._web = WebProcess(config.web)
        self._synopses = synopsis_thread(self.engine, config.models)
        self._signals: list[int] = []
        self._stopping = False
        self._reported = self._kept_at = 0.0
        self._misplaced = ""
        self._loop = RequestLoop(self.engine, settings.rules, config.serve.max_message_bytes)
        self.engine.state.notify = self._publish
        self._listener = Listener(self._loop, config, socket)

    def _engine_on(self, ledger: Ledger) -> Engine:
        self._corpora = self._settings.corpora(ledger.corpora.names())
        options = engine_options(self._settings.config)
        if self._model is not None:
            options = replace(options, embedders=self._model.embedders())
        return Engine(ledger, self._corpora, options)

    def _publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Log an event of the engine, and send it to the subscribers."""
        self._pace.note()
        if not self._stopping:  # a job that was stopped has not failed
            log_event(topic, data)
        self._loop.publish(topic, data)

    # -- what the engine needs of its host -------------------------------------------------------

    def facts(self) -> Mapping[str, Any]:
        """Return what the status reports of this process and of its watches."""
        return {
            "version": __version__,
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._started, 1),
            "rss_bytes": resident(),
            "socket": self._socket,
            "config": self._settings.config.path,
            "watch": [
                {"path": w.path, "mode": w.mode, "reason": w.reason, "directories": w.directories}
                for w in self._watcher.status()
            ],
            "demo": self._settings.demo,
            "waiting_for": [
                {"corpus": name, "path": path} for name, path in self._settings.waited_for()
            ],
        }

    def health(self) -> ProcessHealth:
        """Return how roots are watched, which threads are stuck, and which limits are exceeded."""
        watched = self._watcher.status() if self._supervisor.watches else None
        return ProcessHealth(watched, self._stuck(time.monotonic()), self._limits.exceeded())

    writes = True

    def idle_s(self) -> float:
        """Return how many seconds ago the last request came."""
        return time.monotonic() - self._loop.requested_at

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return the roots of which every change so far has been requested."""
        return self._watcher.caught_up(timeout)

    @property
    def document_roots(self) -> Collection[str]:
        """Return the directories below which clients may have new ones indexed."""
        return self._settings.config.documents.roots

    def add(
        self, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any] = NO_OPTIONS
    ) -> list[int]:
        """Write a corpus into the configuration; return the jobs that take it up."""
        with self._reconfiguring:
            self._settings.add(name, kind, roots, options)
            return self._take_up()

    def preview(self, name: str, kind: str, roots: Sequence[str]) -> Corpus:
        """Return the corpus that `add` would make, and change nothing."""
        return self._settings.preview(name, kind, roots)

    def remove(self, name: str) -> list[int]:
        """Take a corpus out of the configuration; return the jobs that take it up."""
        with self._reconfiguring:
            self._settings.remove(name)
            return self._take_up()

    def reload(self) -> list[int]:
        """Read the configuration again; return the jobs that take it up."""
        with self._reconfiguring:
            self._settings.reload(self.engine.corpora)
            self._loop.rules = self._settings.rules
            return self._take_up()

    def _take_up(self) -> list[int]:
        self._corpora = self._settings.corpora(self.engine.corpora)
        return self.engine.reconfigure(self._corpora)

    # -- life ------------------------------------------------------------------------------------

    def run(self) -> bool:
        """Serve until asked to stop; return False where it ended otherwise."""
        died: tuple[str, ...] = ()
        with self._signals_noted():
            try:
                self._start()
                while not (died := dead(self._heartbeats())) and not self._is_to_stop():
                    self._tick()
                for name in died:
                    log.critical("the %s died; ending, to be started anew", name)
            except AlreadyRunning as error:
                log.critical("another daemon has this one's place; ending: %s", error)
                return False
            finally:
                self._stop()
        return not died

    def _start(self) -> None:
        settle()
        self._writer.start()
        notify("READY=1", "STATUS=serving; scanning every corpus")
        log.info("serving at %s", self._socket)
        indexes = self.engine.snapshot.corpora
        for name in sorted(indexes, key=lambda name: indexes[name].rows.n_artifacts):
            if scan_is_due(self.engine.state, self.engine.corpora[name]):
                self.engine.request(Job("reconcile", name))  # the small ones wait for no large one
        self._supervisor.start()
        if self._synopses is not None:
            self._synopses.start()

    def _tick(self) -> None:
        self._loop.tick(self._tick_s)
        self._keep_place()
        self._report()

    def _keep_place(self) -> None:
        """Once a second, put back locks and sockets that were removed.

        Raises AlreadyRunning where another daemon has taken their place: this one must end.
        """
        now = time.monotonic()
        if now - self._kept_at < _TICK_S:
            return
        self._kept_at = now
        try:
            self._locks = tuple(lock.kept() for lock in self._locks)
            self._listener.restore()
            self._misplaced = ""
        except AlreadyRunning:
            raise
        except IRError as error:  # a full disk, say: peers that are connected are still answered
            if error.message != self._misplaced:
                log.error("a lock or a socket was removed, and cannot be put back: %s", error)
            self._misplaced = error.message

    def _sleep_s(self) -> float:
        """Return for how long a thread may sleep that nothing wakes."""
        return self._pace.sleep_s(self._loop.requested_at)

    @property
    def _tick_s(self) -> float:
        sleep_s = self._sleep_s()
        return min(sleep_s, watchdog_interval() or sleep_s)

    def _heartbeats(self) -> tuple[Heartbeat, ...]:
        return (
            Heartbeat("writer", self._writer.is_alive(), self.engine.state.work.last_progress),
            Heartbeat("supervisor", self._supervisor.is_alive(), self._supervisor.ticked),
        )

    def _stuck(self, now: float) -> tuple[str, ...]:
        after_s = 60 * self._settings.config.health.stuck_minutes
        return stuck(self._heartbeats(), now, after_s)

    def _report(self) -> None:
        """Report to the service manager; reset its watchdog only while there is progress."""
        now = time.monotonic()
        if now - self._reported < min(_REPORT_S, watchdog_interval() or _REPORT_S):
            return
        self._reported = now
        problems = self._stuck(now)
        how = "; ".join(problems) or self._supervisor.sentence
        generation, jobs = self.engine.snapshot.generation, self.engine.state.work.queued
        status = f"STATUS=generation {generation}, {jobs} jobs, {how}"
        notify(status, *(() if problems else ("WATCHDOG=1",)))
        if problems:
            log.error("%s", how)

    def _stop(self) -> None:
        """Stop every part; one that fails to keeps no other from stopping."""
        self._stopping = True
        notify("STOPPING=1")
        log.info("stopping")
        for part in (
            self.engine.stop,
            self._supervisor.stop,
            self._web.stop,
            self._stop_synopses,
            self._watcher.stop,
            self._schedule.stop,
            self._listener.close,
            self._save_impressions,
            self._close_ledger,
        ):
            try:
                part()
            except Exception as error:
                log.error(
                    "%s failed, the rest is stopped all the same: %s", part.__name__, where(error)
                )

    def _stop_synopses(self) -> None:
        if self._synopses is not None:
            self._synopses.stop()

    def _save_impressions(self) -> None:
        self.engine.impressions.save(self._impressions_path)

    def _close_ledger(self) -> None:
        # The last to close the file folds its log into it; the supervisor may be reading still.
        if self._supervisor.is_alive():
            self._supervisor.join(_SUPERVISOR_STOPS_WITHIN_S)
        if self._writer.stop():
            if self.engine.usage is not None:
                self.engine.usage.close()
            self.engine.ledger.close()

    # -- signals ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals_noted(self) -> Iterator[None]:
        """Note signals in a list that the loop reads; a byte to the server ends its waiting."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, frame: self._signals.append(received))
        signal.set_wakeup_fd(self._loop.wakeup_fd, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)

    def _is_to_stop(self) -> bool:
        if self._idle():
            log.info("no request for idle_exit_minutes: stopping")
            return True
        while self._signals:
            if self._signals.pop(0) != signal.SIGHUP:
                return True
            self._on_hangup()
        return False

    def _idle(self) -> bool:
        """Return whether to stop because no request has come for long."""
        allowed_s = 60 * self._settings.config.limits.idle_exit_minutes
        return 0 < allowed_s < self.idle_s() and not self.engine.state.work.queued

    def _on_hangup(self) -> None:
        notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            self.reload()
            log.info("configuration read again")
        except IRError as error:
            log.error("the configuration stays as it was: %s", error.message)
        notify("READY=1")

    def _look_around(self) -> None:
        """See to what has nothing to do with requests, every two seconds."""
        self._web.tick(time.monotonic())
        self._find_corpora()

    def _find_corpora(self) -> None:
        """Take in the known places that have appeared since the start."""
        with self._reconfiguring:
            before = {corpus.name: corpus for corpus in self._corpora}
            if (corpora := self._settings.newly_found(before)) is None:
                return
            known = {root.path for corpus in self._corpora for root in corpus.found}
            new = {root.path for corpus in corpora for root in corpus.found} - known
            log.info("found: %s", ", ".join(sorted(new)))
            self._corpora = corpora
            self.engine.reconfigure(corpora)

    # -- watching --------------------------------------------------------------------------------

    def _on_changes(self, paths: tuple[str, ...]) -> None:
        """Request a scan of what changed from every corpus that it concerns and that follows."""
        every = self.engine.corpora.values()
        corpora = tuple(corpus for corpus in every if corpus.reindex.follows_changes)
        for job in jobs_for_changes(paths, corpora, self._watcher.links()):
            with contextlib.suppress(IRError):  # a corpus that was just removed
                self.engine.request(job)
