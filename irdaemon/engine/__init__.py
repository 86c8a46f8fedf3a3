"""The engine: the whole library behind one object, without a thread of its own.

It owns the ledger, the queue of jobs and the current snapshot. Anyone may `request` a job; one
writer calls `step` (the daemon's writer thread) or `drain` (a library call); queries read
`snapshot` once and are never held up. Whoever wants to hear of progress passes `notify`.

A file for each side, one upon the other: `state`; for the writer `publishing`, `mending`,
`erasing`, `upkeep` and `doing`; for queries `answering`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from irdaemon.config.corpus import Corpus
from irdaemon.engine.reader import Answering
from irdaemon.engine.state import EngineOptions, Notify
from irdaemon.engine.writer import Doing
from irdaemon.ledger import Ledger

__all__ = ["Engine", "EngineOptions", "Notify"]


class Engine(Doing, Answering):
    """Index corpora into a ledger and answer queries about them."""

    def __init__(
        self,
        ledger: Ledger,
        corpora: Iterable[Corpus] = (),
        options: EngineOptions | None = None,
        clock: Callable[[], float] = time.time,
        notify: Notify = lambda topic, data: None,
    ):
        super().__init__(ledger, options or EngineOptions(), clock, notify)
        self.set_corpora(corpora)
