"""What the engine holds: ledger, corpora, queue and snapshot, and what all its sides need."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import NotFound, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.disclosure.references import unknown_corpus
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.budget import Ladder
from irdaemon.discovery.impressions import Offers
from irdaemon.embed import Embedder
from irdaemon.embed.pool import Embedders
from irdaemon.embed.rerankers import NOT_CONFIGURED, NoReranker, Reranker, make_reranker
from irdaemon.engine.health import Policy
from irdaemon.engine.host import Host, Library
from irdaemon.engine.queue import Job, Progress, Work
from irdaemon.engine.retry import Retries, Setbacks
from irdaemon.index import (
    Images,
    Snapshot,
)
from irdaemon.ledger import MOST_PINS, Ledger, LedgerError, Pin
from irdaemon.ledger.corruption import Corruption
from irdaemon.ledger.sqlite_errors import is_corrupt

log = logging.getLogger(__name__)

Notify = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How an engine works.

    `images`: where large corpora are laid out, None for nowhere; `hnsw_above`: vectors from which a
    graph helps, 0 for never; `embedder_idle_s`: after so long unused a model goes, 0 for never;
    `calibrating`: whether floors are sought; `reranker`: its name, "" for none; `policy`: when an
    index counts as stale; `queued_paths`: changed paths that wait before one look stands for them.
    """

    images: Images | None = None
    hnsw_above: int = 50_000
    embedder_idle_s: float = 0.0
    calibrating: bool = True
    reranker: str = ""
    policy: Policy = field(default_factory=Policy)
    queued_paths: int = 0


class State(ABC):
    """The state that queries read and the writer changes."""

    def __init__(
        self, ledger: Ledger, options: Options, clock: Callable[[], float], notify: Notify
    ):
        self.ledger = ledger
        self.notify = notify
        self.host: Host = Library()
        self._images = options.images
        self.offers = Offers(clock)
        self._hnsw_above = options.hnsw_above
        self._calibrating = options.calibrating
        self._embedders = Embedders(options.embedder_idle_s)
        self._models = discovery.Models(self._embedders.vector, _reranker(options.reranker))
        self._clock = clock
        self._corpora: dict[str, Corpus] = {}
        self._policy = options.policy
        self._work = Work(clock, options.queued_paths)
        self._setbacks = Setbacks()
        self._retries = Retries()
        self._rereading: set[str] = set()
        self.loss: Corruption | None = None
        self._discovering, self._searching = Ladder(), Ladder()
        self._published_at = 0.0
        self._next_corpora: tuple[Corpus, ...] = ()
        self._disclosed_now: deque[Pin] = deque(maxlen=MOST_PINS)
        self.snapshot = Snapshot(ledger.generation(), {}, ledger.terms.table())

    @property
    def corpora(self) -> Mapping[str, Corpus]:
        """Return the corpora by name."""
        return self._corpora

    def request(self, job: Job) -> int:
        """Queue a job and return its number; equal wishes become one."""
        if job.corpus and job.corpus not in self._corpora:
            raise self._unknown(job.corpus)
        return self._work.add(job)

    @abstractmethod
    def drain(self) -> None:
        """Do all jobs there are: the engine without a writer thread."""

    @abstractmethod
    def _run(self, job: Job) -> None:
        """Do one job."""

    def stop(self) -> None:
        """Make a waiting `step` return, and a running job end after its present transaction."""
        self._work.stop()

    def progress(self, number: int) -> Progress:
        """Return how far a job is. Raises NotFound for one that is not remembered."""
        return self._work.progress(number)

    @property
    def pending(self) -> int:
        """Count the changes seen and not yet in the snapshot."""
        looks = (look for look in self._work.running() if look.job.kind == "reconcile")
        waiting = self._work.paths() + self._setbacks.paths() + self._retries.paths()
        return waiting + sum(look.todo - look.done for look in looks)

    @property
    def breath(self) -> float:
        """Return when, on the monotonic clock, the writer last got on."""
        return self._work.breath

    @property
    def queued(self) -> int:
        """Count the jobs that wait or run."""
        return self._work.queued

    def doze(self) -> None:
        """Let go of what is only kept to be quick, where nobody has needed it for a while."""
        self._embedders.release_idle()

    def _serving(self, corpus: Corpus) -> Embedder:
        return self._embedders.serving(corpus.embedder, self.ledger.corpora.served(corpus.name))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Ledger]:
        """Give a view of the ledger. Raises Unavailable where there is none to be had."""
        try:
            with self.ledger.reading() as ledger:
                yield ledger
        except (sqlite3.DatabaseError, LedgerError) as error:
            if is_corrupt(error.__cause__ or error):
                self._work.add(Job("mend"))
            raise Unavailable(
                f"the ledger cannot be read: {error}",
                "it may mend itself in a moment; irdaemon check says more",
            ) from error

    def _check_known(self, corpus: str | None) -> None:
        if corpus is not None and corpus not in self._corpora:
            raise self._unknown(corpus)

    def _unknown(self, name: str) -> NotFound:
        return unknown_corpus(name, self._corpora)


def _reranker(name: str) -> Reranker:
    """Return the reranker of that name; a stand-in that says why where there is none."""
    if not name:
        return NOT_CONFIGURED
    try:
        return make_reranker(name)
    except Unavailable as error:
        return NoReranker(error)
