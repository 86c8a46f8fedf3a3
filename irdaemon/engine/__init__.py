"""The engine: the whole library behind one object, without a thread of its own.

A State (ledger, corpora, queue, snapshot) has two users. A QueryEngine answers queries from the
snapshot and the LedgerStore, and writes nothing. The Writer runs the queued jobs, and it alone
changes ledger and snapshot. Any thread may `request` a job; one thread calls `step` (the daemon's
writer) or `drain` (a library call). Pass `notify` to get an event for each job, generation and
failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from irdaemon.config.corpus import Corpus
from irdaemon.engine.due import maintain
from irdaemon.engine.host import Host
from irdaemon.engine.ledger_store import LedgerStore
from irdaemon.engine.reader import QueryEngine
from irdaemon.engine.state import EngineOptions, Notify, State
from irdaemon.engine.writer import Writer
from irdaemon.ledger import Ledger

__all__ = ["Engine", "EngineOptions", "Notify"]


class Engine(QueryEngine):
    """Index corpora into a ledger and answer queries about them.

    With a read-only ledger it answers and takes no jobs. The methods that callers need of State,
    QueryEngine and Writer are available here under the same names and are documented there.
    """

    state: State
    store: LedgerStore

    def __init__(
        self,
        ledger: Ledger,
        corpora: Iterable[Corpus] = (),
        options: EngineOptions | None = None,
        clock: Callable[[], float] = time.time,
        notify: Notify = lambda topic, data: None,
    ):
        state = State(ledger, options or EngineOptions(), clock, notify)
        writer = self.writer = Writer(state)
        store = LedgerStore(state, writer.drain)
        super().__init__(state, store)
        publisher = writer.publisher
        (publisher.show_corpora if ledger.read_only else publisher.set_corpora)(corpora)
        self.judge_health, self.coverage, self.audit = (
            store.judge_health,
            store.coverage,
            store.audit,
        )
        self.artifacts, self.failures = store.artifacts, store.failures
        self.secrets = store.secrets
        self.calibrate = state.calibrate_by
        self.step, self.drain = writer.step, writer.drain
        self.reconfigure, self.shed = writer.reconfigure, writer.shed
        self.request = state.request
        self.maintain = partial(maintain, state)
        self.progress, self.stop = state.work.progress, state.work.stop

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
