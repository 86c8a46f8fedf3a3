"""The daemon: one process that watches, keeps the schedule, writes and serves.

Threads: this one serves; one writes; one takes care; the watcher and the scheduler have their own
and only ask the engine for jobs. Start: locks, ledger, last snapshot, socket, READY, then writer,
scheduler, watcher and a whole look. Stop: the same backwards, the writer finishing the transaction
it is in.
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
from irdaemon.config.config import Config, load_config
from irdaemon.config.corpus import Corpus, corpora_of, wanted
from irdaemon.config.edit import add_corpus, remove_corpus
from irdaemon.daemon.liveness import Heartbeat, dead, stuck
from irdaemon.daemon.lock import Lock
from irdaemon.daemon.logs import log_event
from irdaemon.daemon.resources import ResourceLimits, set_open_files
from irdaemon.daemon.schedule import Schedule
from irdaemon.daemon.sdnotify import notify, watchdog_interval
from irdaemon.daemon.supervisor import Supervisor
from irdaemon.engine import Engine, Options
from irdaemon.engine.health import Policy, Vitals
from irdaemon.engine.queue import Job
from irdaemon.engine.recovery import opened
from irdaemon.index import Images
from irdaemon.ingest.scan import Look
from irdaemon.ledger import Ledger
from irdaemon.runtime.memory import resident, settle
from irdaemon.runtime.tracebacks import where
from irdaemon.serve.listen import Reception, rules_of
from irdaemon.serve.loop import Server
from irdaemon.serve.sockets import AlreadyRunning
from irdaemon.source.opening import at_or_under, resolved
from irdaemon.watch import Settings, Watcher

log = logging.getLogger(__name__)

_TICK_S = 1.0
_REPORT_S = 5.0
_WRITER_STOPS_WITHIN_S = 1.5
_SUPERVISOR_STOPS_WITHIN_S = 0.5


class Settled:
    """The configuration the daemon runs on: the person's file, or a fallback where it is empty."""

    def __init__(self, path: str | None, fallback: str | None):
        self._path = path
        self._fallback = fallback
        self.config = self._read()
        self.rules = rules_of(self.config)

    def _read(self) -> Config:
        return self._or_fallback(load_config(self._path))

    def _or_fallback(self, config: Config) -> Config:
        if self._fallback is None or wanted(config):
            return config
        return replace(config, corpora=load_config(self._fallback).corpora)

    def add(self, name: str, kind: str, roots: Sequence[str]) -> None:
        """Write a corpus into the file."""
        self.config = self._or_fallback(add_corpus(self._file(), name, kind, roots))

    def remove(self, name: str) -> None:
        """Take a corpus out of the file."""
        self.config = self._or_fallback(remove_corpus(self._file(), name))

    def _file(self) -> str:
        """Return the file to edit. Raises ConfigError where the one that was named is gone."""
        return load_config(self._path).path

    def corpora(self, held: Collection[str]) -> tuple[Corpus, ...]:
        """Return the corpora of the configuration; `held` are those the ledger has."""
        return corpora_of(self.config, held)

    def reload(self, held: Collection[str]) -> None:
        """Read the file again; one that cannot be used leaves everything as it was."""
        config = self._read()
        corpora_of(config, held)
        self.config, self.rules = config, rules_of(config)


class Writer(threading.Thread):
    """Do the engine's jobs, one after another, until told to stop."""

    def __init__(self, engine: Engine, nice: int):
        super().__init__(name="writer", daemon=True)
        self._engine = engine
        self._nice = nice
        self._stopping = threading.Event()

    def run(self) -> None:
        """Take jobs as they come; a fault that no rule covers ends the daemon."""
        with contextlib.suppress(OSError, AttributeError):
            # Linux derives the priority of a thread's disk accesses from this as well.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        try:
            while not self._stopping.is_set():
                self._engine.step(timeout=_TICK_S)
        except BaseException as fault:
            log.error("the writer failed: %s", where(fault))

    def stop(self) -> bool:
        """End after the present transaction; say whether it did in time."""
        self._stopping.set()
        self._engine.stop()
        self.join(_WRITER_STOPS_WITHIN_S)
        return not self.is_alive()


class Daemon:
    """All parts of the running process. It is its engine's host."""

    def __init__(self, settled: Settled, socket: str):
        self._settled = settled
        # The engine is told of edits in the order in which the file saw them.
        self._reconfiguring = threading.Lock()
        self._socket = socket
        self._started = time.monotonic()
        config = settled.config
        self._locks: tuple[Lock, ...] = (
            Lock.take(os.path.join(config.state_dir, "lock")),
            Lock.take(os.path.join(os.path.dirname(socket), "lock")),
        )
        os.umask(0o077)
        set_open_files(config.limits)
        self.engine, loss = opened(config.ledger_path, self._engine_on, time.time())
        self.engine.host, self.engine.loss = self, loss
        self._offers_path = os.path.join(config.state_dir, "offers.json")
        self.engine.offers.load(self._offers_path)
        self._writer = Writer(self.engine, config.limits.nice)
        self._schedule = Schedule(self.engine, config.schedule)
        self._watcher = Watcher(self._on_dirty, _watch_settings(config, socket))
        self._limits = ResourceLimits(config.limits, self.engine.shed)
        self._supervisor = Supervisor(
            self.engine, self._watcher, self._schedule, self._limits, self._seek_corpora
        )
        self._signals: list[int] = []
        self._stopping = False
        self._reported = self._kept_at = 0.0
        self._misplaced = ""
        self._server = Server(self.engine, settled.rules, config.serve.max_message_bytes)
        self.engine.notify = self._publish
        self._reception = Reception(self._server, config, socket)

    def _engine_on(self, ledger: Ledger) -> Engine:
        config = self._settled.config
        return Engine(
            ledger,
            self._settled.corpora(ledger.corpora()),
            Options(
                images=Images(os.path.join(config.state_dir, "index")),
                hnsw_above=config.index.hnsw_above,
                embedder_idle_s=60 * config.index.idle_minutes,
                reranker=config.reranker,
                policy=_policy(config),
                queued_paths=config.limits.queued_paths,
            ),
        )

    def _publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Log an event of the engine, and tell it to whoever listens."""
        if not self._stopping:  # a job that was stopped has not failed
            log_event(topic, data)
        self._server.publish(topic, data)

    # -- what the engine asks of its host --------------------------------------------------------

    def facts(self) -> Mapping[str, Any]:
        """Return what the status says of this process and of the watching."""
        return {
            "version": __version__,
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._started, 1),
            "rss_bytes": resident(),
            "socket": self._socket,
            "config": self._settled.config.path,
            "watch": [
                {"path": w.path, "mode": w.mode, "reason": w.reason, "directories": w.directories}
                for w in self._watcher.status()
            ],
        }

    def vitals(self) -> Vitals:
        """Return how the roots are watched, which threads are stuck, which limits are exceeded."""
        watched = self._watcher.status() if self._supervisor.watches else None
        return Vitals(watched, self._stuck(time.monotonic()), self._limits.exceeded())

    writes = True

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return the roots of which every change so far has been asked for."""
        return self._watcher.caught_up(timeout)

    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration; return the jobs that take it up."""
        with self._reconfiguring:
            self._settled.add(name, kind, roots)
            return self._take_up()

    def remove(self, name: str) -> list[int]:
        """Take a corpus out of the configuration; return the jobs that take it up."""
        with self._reconfiguring:
            self._settled.remove(name)
            return self._take_up()

    def reload(self) -> list[int]:
        """Read the configuration again; return the jobs that take it up."""
        with self._reconfiguring:
            self._settled.reload(self.engine.corpora)
            self._server.rules = self._settled.rules
            return self._take_up()

    def _take_up(self) -> list[int]:
        return self.engine.reconfigure(self._settled.corpora(self.engine.corpora))

    # -- life ------------------------------------------------------------------------------------

    def run(self) -> int:
        """Serve until told to stop; return the exit code."""
        died: tuple[str, ...] = ()
        with self._signals_noted():
            try:
                self._start()
                while not (died := dead(self._beats())) and not self._told_to_stop():
                    self._tick()
                for name in died:
                    log.critical("the %s died; ending, to be started anew", name)
            except AlreadyRunning as error:
                log.critical("another daemon has this one's place; ending: %s", error)
                return 1
            finally:
                self._stop()
        return 1 if died else 0

    def _start(self) -> None:
        settle()
        self._writer.start()
        notify("READY=1", "STATUS=serving; looking at every corpus")
        log.info("serving at %s", self._socket)
        for name in self.engine.corpora:
            self.engine.request(Job("reconcile", name))
        self._supervisor.start()

    def _tick(self) -> None:
        self._server.tick(self._tick_s)
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
            self._reception.keep()
            self._misplaced = ""
        except AlreadyRunning:
            raise
        except IRError as error:  # a full disk, say: those who are connected are answered on
            if error.message != self._misplaced:
                log.error("a lock or a socket was removed, and cannot be put back: %s", error)
            self._misplaced = error.message

    @property
    def _tick_s(self) -> float:
        return min(_TICK_S, watchdog_interval() or _TICK_S)

    def _beats(self) -> tuple[Heartbeat, ...]:
        return (
            Heartbeat("writer", self._writer.is_alive(), self.engine.breath),
            Heartbeat("supervisor", self._supervisor.is_alive(), self._supervisor.ticked),
        )

    def _stuck(self, now: float) -> tuple[str, ...]:
        after_s = 60 * self._settled.config.health.stuck_minutes
        return stuck(self._beats(), now, after_s)

    def _report(self) -> None:
        """Tell the service manager how it is; its watchdog only while there is progress."""
        now = time.monotonic()
        if now - self._reported < min(_REPORT_S, watchdog_interval() or _REPORT_S):
            return
        self._reported = now
        troubles = self._stuck(now)
        how = "; ".join(troubles) or self._supervisor.sentence
        generation, jobs = self.engine.snapshot.generation, self.engine.queued
        said = f"STATUS=generation {generation}, {jobs} jobs, {how}"
        notify(said, *(() if troubles else ("WATCHDOG=1",)))
        if troubles:
            log.error("%s", how)

    def _stop(self) -> None:
        """Stop every part; one that fails to keeps no other from stopping."""
        self._stopping = True
        notify("STOPPING=1")
        log.info("stopping")
        for part in (
            self.engine.stop,
            self._supervisor.stop,
            self._watcher.stop,
            self._schedule.stop,
            self._reception.close,
            self._save_offers,
            self._close_ledger,
        ):
            try:
                part()
            except Exception as fault:
                log.error(
                    "%s failed, the rest is stopped all the same: %s", part.__name__, where(fault)
                )

    def _save_offers(self) -> None:
        self.engine.offers.save(self._offers_path)

    def _close_ledger(self) -> None:
        # Who closes the file last folds its log into it; the supervisor may be reading still.
        if self._supervisor.is_alive():
            self._supervisor.join(_SUPERVISOR_STOPS_WITHIN_S)
        if self._writer.stop():
            self.engine.ledger.close()

    # -- signals ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals_noted(self) -> Iterator[None]:
        """Note signals in a list that the loop reads; a byte to the server ends its waiting."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, frame: self._signals.append(received))
        signal.set_wakeup_fd(self._server.wakeup_fd, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)

    def _told_to_stop(self) -> bool:
        if self._idle():
            log.info("nobody asked for anything for so long: stopping")
            return True
        while self._signals:
            if self._signals.pop(0) != signal.SIGHUP:
                return True
            self._on_hangup()
        return False

    def _idle(self) -> bool:
        """Say whether to stop because nobody has asked for anything for long."""
        allowed_s = 60 * self._settled.config.limits.idle_exit_minutes
        idle_s = time.monotonic() - self._server.asked_at
        return 0 < allowed_s < idle_s and not self.engine.queued

    def _on_hangup(self) -> None:
        notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            self.reload()
            log.info("configuration read again")
        except IRError as error:
            log.error("the configuration stays as it was: %s", error.message)
        notify("READY=1")

    def _seek_corpora(self) -> None:
        """Take in the corpora whose known places have appeared since the start."""
        with self._reconfiguring:
            corpora = self._settled.corpora(self.engine.corpora)
            new = {corpus.name for corpus in corpora}.difference(self.engine.corpora)
            if new:
                log.info("found: %s", ", ".join(sorted(new)))
                self.engine.reconfigure(corpora)

    # -- watching --------------------------------------------------------------------------------

    def _on_dirty(self, paths: tuple[str, ...]) -> None:
        """Ask for a look at what changed, from every corpus with a root around it.

        A root that is a file, and still one, has only changed like any other file.
        """
        uprooted = [path for path in paths if not os.path.isfile(path)]
        for corpus in tuple(self.engine.corpora.values()):
            tops = [resolved(root.path) for root in corpus.source.roots()]
            whole = any(at_or_under(top, path) for path in uprooted for top in tops)
            with contextlib.suppress(IRError):  # a corpus that was just removed
                look = Look() if whole else Look(under=paths)
                self.engine.request(Job("reconcile", corpus.name, look))


def _policy(config: Config) -> Policy:
    return Policy(60 * config.health.stale_minutes, 60 * config.schedule.reconcile_minutes)


def _watch_settings(config: Config, socket: str) -> Settings:
    return Settings(
        ignored=(resolved(config.state_dir), resolved(os.path.dirname(socket))),
        polling=config.watch.polling,
        poll_interval=config.watch.poll_s,
        settle=config.watch.settle_ms / 1e3,
        max_wait=config.watch.max_wait_ms / 1e3,
        cookies=os.path.join(os.path.dirname(socket), "cookies"),
    )
