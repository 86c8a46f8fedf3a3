"""The engine: the whole library behind one object, without a thread of its own.

A State (ledger, corpora, queue, snapshot) with two sides: the Reader answers queries from the
snapshot and writes nothing; the Writer takes jobs from the queue and is the only one to change
ledger and snapshot. Any thread may `request` a job; one thread calls `step` (the daemon's writer)
or `drain` (a library call). Pass `notify` to get an event for each job, generation and failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from irdaemon.config.corpus import Corpus
from irdaemon.engine.due import maintain
from irdaemon.engine.host import Host
from irdaemon.engine.reader import Reader
from irdaemon.engine.state import EngineOptions, Notify, State
from irdaemon.engine.writer import Writer
from irdaemon.index import Snapshot
from irdaemon.ledger import Ledger

__all__ = ["Engine", "EngineOptions", "Notify"]


class Engine:
    """Index corpora into a ledger and answer queries about them.

    Where the ledger is open for reading only, it answers and takes no jobs. What its callers need
    of its parts is here under the parts' own names; see State, Reader and
    Writer for what each does.
    """

    def __init__(
        self,
        ledger: Ledger,
        corpora: Iterable[Corpus] = (),
        options: EngineOptions | None = None,
        clock: Callable[[], float] = time.time,
        notify: Notify = lambda topic, data: None,
    ):
        state = self.state = State(ledger, options or EngineOptions(), clock, notify)
        writer = self.writer = Writer(state)
        reader = self.reader = Reader(state, writer.drain)
        publisher = writer.publisher
        (publisher.show_corpora if ledger.read_only else publisher.set_corpora)(corpora)
        self.discover, self.search, self.explain = reader.discover, reader.search, reader.explain
        self.disclose, self.records, self.audit = reader.disclose, reader.records, reader.audit
        self.status, self.health, self.info = reader.status, reader.health, reader.info
        self.artifacts, self.failures = reader.artifacts, reader.failures
        self.secrets, self.wait = reader.secrets, reader.wait
        self.judged, self.may_ask_model = reader.judged, reader.may_ask_model
        self.coverage = reader.coverage
        self.calibrate = state.calibrate_by
        self.step, self.drain = writer.step, writer.drain
        self.reconfigure, self.shed = writer.reconfigure, writer.shed
        self.request, self.impressions = state.request, state.impressions
        self.maintain = partial(maintain, state)
        self.addons = state.addons
        self.progress, self.stop = state.work.progress, state.work.stop
        self.unload_idle = state.embedders.release_idle

    @property
    def ledger(self) -> Ledger:
        """Return the ledger; a damaged one is replaced while the engine runs."""
        return self.state.ledger

    @property
    def host(self) -> Host:
        """Return the process around the engine."""
        return self.state.host

    @property
    def corpora(self) -> Mapping[str, Corpus]:
        """Return the corpora by name."""
        return self.state.corpora

    @property
    def snapshot(self) -> Snapshot:
        """Return what queries see now."""
        return self.state.snapshot
