"""The process of a front end: it serves corpora in backends, and has no files but its locks.

Threads: the main thread serves; another asks the backends for their state every second. Any number
of such processes may use one backend, and any may be killed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from irclient.errors import IRError
from irdaemon.config.backends import hide_password
from irdaemon.config.checking import ConfigError
from irdaemon.config.config import load_config
from irdaemon.config.sections import Config
from irdaemon.contrib.backends.front import FrontEngine
from irdaemon.contrib.backends.making import make_backend
from irdaemon.daemon.active_config import describe_refusal, make_engine_options
from irdaemon.daemon.place import ServingPlace, SignalQueue, notify
from irdaemon.daemon.resources import describe_process, set_open_files
from irdaemon.daemon.threads import TickThread
from irdaemon.index.backend import IndexBackend
from irdaemon.serve.listen import Listener, make_rules
from irdaemon.serve.loop import RequestLoop
from irdaemon.serve.sockets import AlreadyRunning

log = logging.getLogger(__name__)

_TICK_S = 1.0
# Wait this long for the first answer of a backend before reporting that the front end is ready.
_FIRST_S = 5.0


class RefreshThread(TickThread):
    """Refresh a front end every second, until the process ends."""

    failure = "the backends could not be asked; going on"

    def __init__(self, engine: FrontEngine, tick_s: float = _TICK_S):
        super().__init__("refresh", tick_s)
        self.first = threading.Event()
        self._engine = engine

    def tick(self, now: float) -> None:
        """Ask the backends for their state, and release unused memory."""
        try:
            self._engine.refresh()
            self._engine.unload_idle()
        finally:
            self.first.set()


class FrontProcess:
    """All parts of a front end's process. It is the host of its engine."""

    def __init__(self, path: str | None, socket: str):
        self._path, self._socket = path, socket
        self._started = time.monotonic()
        config = self._config = load_config(path)
        self._refused: IRError | None = None
        backends = _open_backends(config)
        self._place = ServingPlace(config.state_dir, socket)
        os.umask(0o077)
        set_open_files(config.limits)
        names = (config.embedder, *(each.embedder for each in config.corpora if each.embedder))
        self.engine = FrontEngine(backends, names, make_engine_options(config), self)
        self._refresh = RefreshThread(self.engine)
        self._signals = SignalQueue()
        self._backends = backends
        self._loop = RequestLoop(self.engine, make_rules(config), config.serve.max_message_bytes)
        self._listener = Listener(self._loop, config, socket)

    def describe_process(self) -> Mapping[str, Any]:
        """Return this process' part of the status."""
        facts = describe_process(self._started, self._socket, self._config.path)
        return (
            facts
            if self._refused is None
            else {**facts, "refused": describe_refusal(self._refused)}
        )

    def reload(self) -> list[int]:
        """Reload the clients' permissions and limits; other changes need a restart."""
        try:
            config = load_config(self._path)
            self._loop.rules = make_rules(config)
        except IRError as error:
            self._refused = error
            raise
        self._config, self._refused = config, None
        return []

    def run(self) -> bool:
        """Serve until asked to stop; return False if another process has replaced this one."""
        with self._signals.receive(self._loop.wakeup_fd):
            try:
                self._refresh.start()
                self._refresh.first.wait(_FIRST_S)
                notify("READY=1", "STATUS=serving from backends")
                log.info("serving at %s, from %s", self._socket, self._names)
                while not self._signals.take_stop(self._on_hangup):
                    self._loop.tick(_TICK_S)
                    self._place.keep(self._listener, time.monotonic())
                    notify("WATCHDOG=1")
            except AlreadyRunning as error:
                log.critical("another process has this one's place; ending: %s", error)
                return False
            finally:
                self._stop()
        return True

    @property
    def _names(self) -> str:
        return "; ".join(name for name, _ in self._backends)

    def _on_hangup(self) -> None:
        try:
            self.reload()
            log.info("configuration read again")
        except IRError as error:
            log.error("the configuration stays as it was: %s", error.message)

    def _stop(self) -> None:
        notify("STOPPING=1")
        log.info("stopping")
        self._refresh.stop()
        self._listener.close()
        for _, backend in self._backends:
            backend.close()


def _open_backends(config: Config) -> Sequence[tuple[str, IndexBackend]]:
    """Return the servers that a configuration names, each once. Raises ConfigError for none."""
    addresses = config.list_backends()
    if not addresses:
        raise ConfigError(
            f"{config.path}: a front end needs a backend; configure one",
            '[index] backend = "postgresql://HOST/DATABASE"',
        )
    each = {url: address.password_env for address in addresses for url in address.urls}
    return [(hide_password(url), make_backend(url, variable)) for url, variable in each.items()]
