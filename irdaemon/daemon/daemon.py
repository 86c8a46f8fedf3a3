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
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irclient.counts import format_count, format_largest_unit
from irclient.errors import IRError
from irdaemon.config.addons import load_addons, load_part
from irdaemon.config.corpus import Corpus
from irdaemon.daemon.active_config import ActiveConfig, make_engine_options, make_watch_settings
from irdaemon.daemon.early_model import EarlyModel
from irdaemon.daemon.logs import log_event
from irdaemon.daemon.place import ServingPlace, SignalQueue, notify, watchdog_interval
from irdaemon.daemon.resources import ResourceLimits, describe_process, set_open_files
from irdaemon.daemon.schedule import Schedule
from irdaemon.daemon.threads import BUSY_S, BackgroundThreads, Pace, TickThread, WriterThread
from irdaemon.daemon.web_process import WebProcess
from irdaemon.engine import Engine
from irdaemon.engine.changes import list_change_jobs, list_project_jobs
from irdaemon.engine.due import find_due_jobs
from irdaemon.engine.health import Health, ProcessHealth
from irdaemon.engine.host import NO_OPTIONS
from irdaemon.engine.projects import Tended
from irdaemon.engine.recovery import open_ledger
from irdaemon.ledger import Ledger
from irdaemon.runtime.memory import settle
from irdaemon.runtime.tracebacks import describe_error
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
        # The engine applies edits in the order in which they were made to the file.
        self._reconfiguring = threading.Lock()
        self._socket = socket
        self._started = time.monotonic()
        config = settings.config
        self._place = ServingPlace(config.state_dir, socket)
        os.umask(0o077)
        set_open_files(config.limits)
        self.engine, lost = open_ledger(config.ledger_path, self._make_engine, time.time())
        self.engine.state.host, self.engine.state.corruption = self, lost
        self._impressions_path = os.path.join(config.state_dir, "offers.json")
        self.engine.impressions.load(self._impressions_path)
        self._pace = Pace()
        self._writer = WriterThread(self.engine, config.limits.nice, self._sleep_s)
        self._schedule = Schedule(self.engine, config.schedule)
        self._watcher = Watcher(self._on_changes, make_watch_settings(config, socket))
        self._limits = ResourceLimits(config.limits, self.engine.shed)
        self._supervisor = SupervisorThread(
            self.engine, self._watcher, self._schedule, self._limits, self._look_around
        )
        self._supervisor.sleep_s = self._sleep_s
        self._web = WebProcess(config.web)
        made = (
            load_part(addon.background)(self.engine, config)
            for addon in load_addons().values()
            if addon.background
        )
        self._background = BackgroundThreads(filter(None, made))
        self._signals = SignalQueue()
        self._stopping = False
        self._reported = 0.0
        self._loop = RequestLoop(self.engine, settings.rules, config.serve.max_message_bytes)
        self.engine.state.notify = self._publish
        self._listener = Listener(self._loop, config, socket)

    def _make_engine(self, ledger: Ledger) -> Engine:
        self._corpora = self._settings.make_corpora(ledger.corpora.list_names())
        options = make_engine_options(self._settings.config)
        if self._model is not None:
            options = replace(options, embedders=self._model.wait_for_embedder())
        return Engine(ledger, self._corpora, options)

    def _publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Log an event of the engine and send it to the subscribers."""
        self._pace.note()
        if not self._stopping:  # a stopped job has not failed
            log_event(topic, data)
        self._loop.publish(topic, data)
        if topic == "generation":
            self._background.wake()

    # -- what the engine needs of its host -------------------------------------------------------

    def describe_process(self) -> Mapping[str, Any]:
        """Return what the status reports of this process and of its watches."""
        return {
            **describe_process(self._started, self._socket, self._settings.config.path),
            "watch": [
                {"path": w.path, "mode": w.mode, "reason": w.reason, "directories": w.directories}
                for w in self._watcher.report_roots()
                if not self.engine.state.projects.find_around(w.path)
            ],
            **self._settings.describe_file(),
            "demo": self._settings.demo,
            "waiting_for": [
                {"corpus": name, "path": path} for name, path in self._settings.list_absent_places()
            ],
        }

    def judge_health(self) -> ProcessHealth:
        """Return the health of watches, threads, limits and the configuration."""
        leave_out = self.engine.state.projects.leave_out
        watched = leave_out(self._watcher.report_roots()) if self._supervisor.watches else None
        return ProcessHealth(
            watched,
            self._find_stuck(time.monotonic()),
            self._limits.list_exceeded(),
            refused=self._settings.refused is not None,
        )

    writes = True

    def measure_idle_s(self) -> float:
        """Return the seconds since the last request."""
        return time.monotonic() - self._loop.requested_at

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return the roots whose changes so far have all been requested."""
        return self._watcher.caught_up(timeout)

    @property
    def document_roots(self) -> Collection[str]:
        """Return the directories below which clients may index new ones."""
        return self._settings.config.documents.roots

    def add(
        self, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any] = NO_OPTIONS
    ) -> list[int]:
        """Write a corpus into the configuration; return the jobs that apply it."""
        with self._reconfiguring:
            self._settings.add(name, kind, roots, options)
            return self._take_up()

    def preview(self, name: str, kind: str, roots: Sequence[str]) -> Corpus:
        """Return the corpus that `add` would make, without changing anything."""
        return self._settings.preview(name, kind, roots)

    def remove(self, name: str) -> list[int]:
        """Remove a corpus from the configuration; return the jobs that apply it."""
        with self._reconfiguring:
            self._settings.remove(name)
            self.engine.state.removed.add(name)
            return self._take_up()

    def reload(self) -> list[int]:
        """Read the configuration again; return the jobs that apply it."""
        with self._reconfiguring:
            self._settings.reload()
            self._loop.rules = self._settings.rules
            return self._take_up()

    def _take_up(self) -> list[int]:
        self._corpora = self._settings.make_corpora(self.engine.corpora)
        self.engine.state.projects.configure(self._settings.config)
        return self.engine.reconfigure(self._corpora)

    # -- life ------------------------------------------------------------------------------------

    def run(self) -> bool:
        """Serve until asked to stop; return False if it ended otherwise."""
        died: tuple[str, ...] = ()
        with self._signals.receive(self._loop.wakeup_fd):
            try:
                self._start()
                while not (died := find_dead(self._list_heartbeats())) and not self._is_to_stop():
                    self._tick()
                for name in died:
                    log.critical("the %s died; ending, to be restarted", name)
            except AlreadyRunning as error:
                log.critical("another daemon has taken over; ending: %s", error)
                return False
            finally:
                self._stop()
        return not died

    def _start(self) -> None:
        settle()
        self._writer.start()
        notify("READY=1", "STATUS=serving; scanning every corpus")
        log.info("serving at %s", self._socket)
        for job in find_due_jobs(self.engine.state, time.time(), at_start=True):
            self.engine.request(job)
        self._background.tick()  # from now on the supervisor calls it
        self._supervisor.start()

    def _tick(self) -> None:
        self._loop.tick(self._tick_s)
        self._place.keep(self._listener, time.monotonic())
        self._report()

    def _sleep_s(self) -> float:
        """Return how long a thread may sleep if nothing wakes it."""
        return self._pace.sleep_s(self._loop.requested_at)

    @property
    def _tick_s(self) -> float:
        sleep_s = self._sleep_s()
        return min(sleep_s, watchdog_interval() or sleep_s)

    def _list_heartbeats(self) -> tuple[Heartbeat, ...]:
        return (
            Heartbeat("writer", self._writer.is_alive(), self.engine.state.work.last_progress),
            Heartbeat("supervisor", self._supervisor.is_alive(), self._supervisor.ticked),
        )

    def _find_stuck(self, now: float) -> tuple[str, ...]:
        after_s = 60 * self._settings.config.health.stuck_minutes
        return find_stuck(self._list_heartbeats(), now, after_s)

    def _report(self) -> None:
        """Report to the service manager; reset its watchdog only while there is progress."""
        now = time.monotonic()
        if now - self._reported < min(_REPORT_S, watchdog_interval() or _REPORT_S):
            return
        self._reported = now
        problems = self._find_stuck(now)
        refused = self._settings.refused
        behind = f"stale: the configuration is refused: {refused.message}" if refused else ""
        how = "; ".join(problems) or behind or self._supervisor.sentence
        generation, jobs = self.engine.snapshot.generation, self.engine.state.work.queued
        status = f"STATUS=generation {generation}, {format_count(jobs, 'job')}, {how}"
        notify(status, *(() if problems else ("WATCHDOG=1",)))
        if problems:
            log.error("%s", how)

    def _stop(self) -> None:
        """Stop every part; a failure of one does not keep the others from stopping."""
        self._stopping = True
        notify("STOPPING=1")
        log.info("stopping")
        for part in (
            self.engine.stop,
            self._supervisor.stop,
            self._web.stop,
            self._background.stop,
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
                    "%s failed to stop; stopping the rest: %s",
                    part.__name__,
                    describe_error(error),
                )

    def _save_impressions(self) -> None:
        self.engine.impressions.save(self._impressions_path)

    def _close_ledger(self) -> None:
        # The last to close the file folds its log into it; the supervisor may still be reading.
        if self._supervisor.is_alive():
            self._supervisor.join(_SUPERVISOR_STOPS_WITHIN_S)
        if self._writer.stop():
            for addon in self.engine.addons.values():
                addon.close()
            self.engine.ledger.close()

    # -- signals ---------------------------------------------------------------------------------

    def _is_to_stop(self) -> bool:
        allowed_s = 60 * self._settings.config.limits.idle_exit_minutes
        if 0 < allowed_s < self.measure_idle_s() and not self.engine.state.work.queued:
            log.info("no request for idle_exit_minutes: stopping")
            return True
        return self._signals.take_stop(self._on_hangup)

    def _on_hangup(self) -> None:
        notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            self.reload()
            log.info("configuration read again")
        except IRError as error:
            log.error("the configuration is unchanged: %s", error.message)
        notify("READY=1")

    def _look_around(self) -> None:
        """Start whatever should run and look for new places, every two seconds."""
        self._web.tick(time.monotonic())
        self._background.tick()
        self._find_corpora()

    def _find_corpora(self) -> None:
        """Index the known places that have appeared since the start."""
        with self._reconfiguring:
            before = {corpus.name: corpus for corpus in self._corpora}
            if (corpora := self._settings.find_new_corpora(before)) is None:
                return
            known = {root.path for corpus in self._corpora for root in corpus.found}
            new = {root.path for corpus in corpora for root in corpus.found} - known
            log.info("found: %s", ", ".join(sorted(new)))
            self._corpora = corpora
            self.engine.reconfigure(corpora)

    # -- watching --------------------------------------------------------------------------------

    def _on_changes(self, paths: tuple[str, ...]) -> None:
        """Request a scan of the changes from every affected corpus that follows changes."""
        state, every = self.engine.state, self.engine.corpora.values()
        corpora = tuple(corpus for corpus in every if corpus.reindex.follows_changes)
        jobs = list_change_jobs(paths, corpora, self._watcher.list_links())
        for job in (*jobs, *list_project_jobs(paths, state.projects, state.parts)):
            with contextlib.suppress(IRError):  # a corpus that was just removed
                self.engine.request(job)


# The supervisor: it keeps the daemon's other parts going, on a separate thread.
#
# It starts the parts that no request waits for (the watches of a large tree, the schedule), updates
# the watcher with the corpora's roots, keeps the process within its limits, and examines the
# health. A slow disk delays only this thread; failures are retried at the next tick.

_EXAMINED_EVERY_S = 10.0
# Looking for missing known places by name takes a millisecond for all of them.
_FOUND_EVERY_S = 2.0
_LOGGED_EVERY_S = 60.0


class SupervisorThread(TickThread):
    """Tick about once a second, or as often as its `sleep_s` says, until stopped.

    `ticked` is the monotonic time of the last successful tick; `sentence` is the health at the last
    examination. `find` is called every two seconds to find known places that have appeared.
    """

    def __init__(
        self,
        engine: Engine,
        watcher: Watcher,
        schedule: Schedule,
        limits: ResourceLimits,
        find: Callable[[], None] = lambda: None,
    ):
        super().__init__("supervisor", BUSY_S)
        self._begun = False
        self.sentence = "not yet examined"
        self._engine = engine
        self._watcher = watcher
        self._schedule = schedule
        self._limits = limits
        self._find = find
        self.sleep_s: Callable[[], float] = lambda: BUSY_S
        self._found_at = time.monotonic()
        self._watched: Mapping[str, Corpus] = {}
        self._tended: Mapping[str, Tended] = {}
        self._examined_at = float("-inf")
        self._missed_at: dict[str, float | None] = {}

    @property
    def watches(self) -> bool:
        """Return whether the watcher has the current roots.

        Until then it is unknown how they are watched.
        """
        return self._watched is self._engine.corpora

    def wait_s(self) -> float:
        """Return how many seconds to wait now."""
        return self.sleep_s()

    def log_failure(self, error: Exception, now: float) -> None:
        """Log a tick's failure with its traceback, at most once a minute."""
        if now - self._logged_at >= _LOGGED_EVERY_S:
            self._logged_at = now
            log.exception("the supervisor failed; it goes on")

    def tick(self, now: float) -> None:
        """Start, update or restart what needs it, and examine the health regularly."""
        if not self._begun:
            self._watcher.start()
            self._schedule.start()
            self._begun = True
        self._engine.unload_idle()
        self._watch_roots()
        self._watcher.tick(now)
        self._schedule.restart_dead()
        if now - self._found_at >= _FOUND_EVERY_S:
            self._found_at = now
            self._find()
        # Without events nothing becomes stale, and each examination takes milliseconds.
        if now - self._examined_at >= _EXAMINED_EVERY_S * self.sleep_s() / BUSY_S:
            self._examined_at = now
            self._limits.tick(now)
            self._examine(self._engine.judge_health())

    def _watch_roots(self) -> None:
        """Watch the roots of corpora, and the watched paths of projects, if either changed."""
        corpora, tended = self._engine.corpora, self._engine.state.projects.tended
        if corpora is self._watched and tended is self._tended:
            return
        own = (
            root
            for corpus in corpora.values()
            if corpus.reindex.follows_changes
            for root in corpus.source.roots()
        )
        of_projects = (root for each in tended.values() for root in each.watched)
        self._watcher.set_roots((*own, *of_projects))
        self._watched, self._tended = corpora, tended

    def _examine(self, health: Health) -> None:
        self.sentence = health.format_line()
        for corpus in health.corpora:
            if corpus.missed_events and self._missed_at.get(corpus.name) != corpus.scanned_at:
                self._missed_at[corpus.name] = corpus.scanned_at
                self._watcher.rewatch()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A thread: whether it is alive, and the monotonic time of its last progress."""

    name: str
    alive: bool
    at: float


def find_dead(heartbeats: Iterable[Heartbeat]) -> tuple[str, ...]:
    """Return the names of the threads that died."""
    return tuple(each.name for each in heartbeats if not each.alive)


def find_stuck(heartbeats: Iterable[Heartbeat], now: float, after_s: float) -> tuple[str, ...]:
    """Return the threads that died or made no progress for longer than `after_s` s (0: never)."""
    found = []
    for each in heartbeats:
        if not each.alive:
            found.append(f"the {each.name} died")
        elif after_s and now - each.at > after_s:
            found.append(
                f"the {each.name} has made no progress for {format_largest_unit(now - each.at)}"
            )
    return tuple(found)
