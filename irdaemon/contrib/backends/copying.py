"""Copy corpora into backends, starting when the first corpus gets a backend."""

from __future__ import annotations

import getpass
import os
import platform
import time
from typing import TYPE_CHECKING

from irdaemon.config.sections import Config
from irdaemon.engine import Engine
from irdaemon.engine.observer import Background

if TYPE_CHECKING:
    from irdaemon.contrib.backends.replication import Replication

_TICK_S = 1.0


class CopyWork(Background):
    """Copy every second, and after each publication; release the leases on closing."""

    name, failure = "copies", "a copy failed; it will be retried"
    stops_within_s = 1.5
    follows_generations = True

    def __init__(self, engine: Engine):
        self._engine = engine
        self._replication: Replication | None = None

    def is_needed(self) -> bool:
        """Return whether any corpus has a backend; without one no copying code is imported."""
        return any(corpus.backend for corpus in self._engine.corpora.values())

    def tick(self) -> float:
        """Update the copies. Raises Unavailable while the ledger cannot be read."""
        if self._replication is None:
            self._replication = _make_replication(self._engine)
        self._replication.tick(time.monotonic())
        return _TICK_S

    def close(self) -> None:
        """Release the leases."""
        if self._replication is not None:
            self._replication.close()


def make_background(engine: Engine, config: Config) -> CopyWork:
    """Return the background work that copies the corpora of an engine."""
    return CopyWork(engine)


def _make_replication(engine: Engine) -> Replication:
    from irdaemon.contrib.backends.making import open_backend
    from irdaemon.contrib.backends.replication import Replication

    with engine.state.open_reading() as ledger:
        return Replication(engine.state, name_holder(ledger.read_identity()), open_backend)


def name_holder(identity: int) -> str:
    """Return the lease holder's label: the user, the machine and the ledger."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a uid without a name
        user = str(os.getuid())
    return f"{user}@{platform.node() or 'localhost'} (ledger {identity & 0xFFFFFF:06x})"
