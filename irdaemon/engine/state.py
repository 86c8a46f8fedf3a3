"""The state shared by reader and writer: ledger, corpora, queue, snapshot, and common questions."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from irclient.errors import IRError, Unavailable
from irdaemon.config.addons import load_addons, load_part
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import ALWAYS, QuietHours
from irdaemon.config.sections import Config
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.cases import Case
from irdaemon.discovery.disclose import unknown_corpus
from irdaemon.discovery.impressions import Impressions
from irdaemon.discovery.query import Tiers
from irdaemon.discovery.rerank import Rereading
from irdaemon.embed import Embedder
from irdaemon.embed.pool import Absent, Embedders
from irdaemon.embed.rerankers import NOT_CONFIGURED, NoReranker, Reranker, make_reranker
from irdaemon.engine.health import Policy
from irdaemon.engine.host import Host, InProcess, ServingHost
from irdaemon.engine.jobs import JOBS
from irdaemon.engine.observer import Observer
from irdaemon.engine.projects import Projects
from irdaemon.engine.queue import Job, Work
from irdaemon.engine.retries import Retries
from irdaemon.index import Images, Snapshot
from irdaemon.index.scope import Scopes
from irdaemon.ledger import IN_MEMORY, MOST_PINS, Ledger, LedgerError, Pin
from irdaemon.ledger.backups import Corruption
from irdaemon.ledger.files import UNDECODABLE, is_corrupt, is_transient, strip_text
from irdaemon.runtime.minutes import AnswerMinutes, Refusals
from irdaemon.runtime.model_endpoint import ModelEndpoint
from irdaemon.runtime.tracebacks import describe_error
from irdaemon.types import Selection, Tuning

# For this time after a check found the ledger sound, an error that led to the check counts as a
# bug.
_CLEARED_S = 600.0
Notify = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The options of an engine.

    `images`: the images of large corpora, None for no images; `hnsw_above`: number of vectors from
    which a graph is built, 0 for never; `embedder_idle_s`: seconds after which an unused model is
    unloaded, 0 for never; `calibrating`: whether floors are calibrated; `reranker`: its name, or
    ""; `policy`: when an index counts as stale; `queued_paths`: changed paths of a corpus that may
    wait before one scan replaces them all, 0 for any number; `embedders`: embedders that exist
    already, by the names that corpora have for them; `tuning`: how legs are fused; `quiet`: when
    scans at intervals and compaction may run; `compact_every_s`: how often compaction is due, 0 for
    never; `model`: the endpoint of the model that corpora may use, or None, which is waited for at
    most `model_timeout_s`; `addons`: the options of add-ons, by name; `on_battery`: whether the
    machine runs on its battery, in which case upkeep waits; `workers`: the number of child
    processes for large scans, 0 for none; `projects`: the configuration by which parts of projects
    are made, None if projects are not read.
    """

    images: Images | None = None
    hnsw_above: int = 50_000
    embedder_idle_s: float = 0.0
    calibrating: bool = True
    reranker: str = ""
    policy: Policy = field(default_factory=Policy)
    queued_paths: int = 0
    embedders: Mapping[str, Embedder] = field(default_factory=dict)
    tuning: Tuning = field(default_factory=Tuning)
    quiet: QuietHours = ALWAYS
    compact_every_s: float = 0.0
    model: ModelEndpoint | None = None
    model_timeout_s: float = 10.0
    addons: Mapping[str, Any] = field(default_factory=dict)
    on_battery: Callable[[], bool] = lambda: False
    workers: int = 0
    projects: Config | None = None


class Served(NamedTuple):
    """The corpora and the snapshot with an index of each, replaced together.

    A corpus, or a project's part of one, that is in one of them is in both.
    """

    corpora: Mapping[str, Corpus]
    snapshot: Snapshot
    parts: Mapping[str, Corpus] = MappingProxyType({})


class QueryState:
    """The state that answers come from, in a daemon and in a front end.

    A query takes `served` once, or the one member that it needs; it is replaced by one assignment.
    A front end has no corpora of its own: its snapshot describes what backends hold.
    """

    def __init__(self, options: EngineOptions, clock: Callable[[], float]):
        self.options = options
        self.clock = clock
        self.host: ServingHost = InProcess()
        self.served = Served({}, Snapshot())
        self.projects = Projects(clock, lambda: self.snapshot, self.tend_project)
        self.scopes = Scopes()
        self.embedders = Embedders(options.embedder_idle_s, options.embedders)
        self.models = discovery.Models(
            self.embedders.embed_query,
            Rereading.of_reranker(find_reranker(options.reranker)),
            options.tuning,
        )
        self.impressions = Impressions(clock)
        # Artifacts that answers showed by their heads, with their corpora: their bodies are read
        # first.
        self.shown_heads: set[tuple[str, str]] = set()
        self.tiers = Tiers()
        self.answered = AnswerMinutes()
        self.mismatched = Refusals(clock)
        self.addons: Mapping[str, Observer] = {}

    @property
    def corpora(self) -> Mapping[str, Corpus]:
        """Return the corpora."""
        return self.served.corpora

    @property
    def parts(self) -> Mapping[str, Corpus]:
        """Return the projects' parts of corpora."""
        return self.served.parts

    def find_corpus(self, name: str) -> Corpus | None:
        """Return a corpus, or a project's part of one, by its name."""
        served = self.served
        return served.corpora.get(name) or served.parts.get(name)

    @property
    def snapshot(self) -> Snapshot:
        """Return the snapshot that is searched."""
        return self.served.snapshot

    @property
    def pending(self) -> int:
        """Count the observed changes that are not yet in the snapshot."""
        return 0

    def tend_project(self, root: str) -> None:
        """Request an update of the project at a root; without a ledger this does nothing."""

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot by another one of the same corpora."""
        self.served = self.served._replace(snapshot=snapshot)

    def note_shown_heads(self, answer: Selection) -> None:
        """Note the artifacts in an answer from corpora whose bodies are still being read."""
        if heads := answer.freshness.get("heads"):
            self.shown_heads |= {
                (hit.corpus, hit.artifact_id) for hit in answer.results if hit.corpus in heads
            }

    def pop_shown_heads(self, corpus: str) -> set[str]:
        """Return the artifacts of a corpus that were shown since the last call."""
        mine = {each for each in tuple(self.shown_heads) if each[0] == corpus}
        self.shown_heads -= mine
        return {artifact_id for _, artifact_id in mine}


class State(QueryState):
    """The state of an engine with a ledger: queries read it, the writer changes it.

    `work` is the only part with a lock, and no query takes it.
    """

    host: Host

    def __init__(
        self, ledger: Ledger, options: EngineOptions, clock: Callable[[], float], notify: Notify
    ):
        super().__init__(options, clock)
        self.ledger = ledger
        self.notify = notify
        self.served = Served({}, Snapshot(ledger.read_generation(), {}, ledger.terms.get_table()))
        self.work = Work(clock, options.queued_paths)
        self.retries = Retries()
        if options.projects and not ledger.read_only:
            self.projects.config = options.projects
            self.projects.load(ledger.known_projects.list_all())
        self.corruption: Corruption | None = None
        # The places of errors that led to a check of the ledger, each with None, or when a check
        # found it sound (Unix seconds).
        self._suspected: dict[str, float | None] = {}
        self.disclosed: deque[Pin] = deque(maxlen=MOST_PINS)
        # The corpora of a new configuration, until the writer applies them.
        self.next_corpora: tuple[Corpus, ...] = ()
        # Corpora that the person removed: the prompts given for them are removed too.
        self.removed: set[str] = set()
        # Whether a compaction waits for the quiet hours, or for mains power.
        self.compaction_waits = False
        # Labelled cases for a requested calibration, by corpus.
        self.labels: dict[str, tuple[Case, ...]] = {}
        self.addons = {
            name: load_part(addon.observer)(self)
            for name, addon in load_addons().items()
            if addon.observer
        }

    def request(self, job: Job) -> int:
        """Queue a job and return its number; equal requests become one.

        Raises Unavailable if the ledger is read-only.
        """
        if job.corpus and JOBS[job.kind].of_corpus and self.find_corpus(job.corpus) is None:
            raise unknown_corpus(job.corpus, self.corpora)
        if self.ledger.read_only:
            raise Unavailable("the ledger is open for reading only", "build the corpus again")
        return self.work.add(job)

    def tend_project(self, root: str) -> None:
        """Request an update of the project at a root."""
        if not self.ledger.read_only:
            self.request(Job("project", root))

    def calibrate_by(self, corpus: str, cases: Sequence[Case]) -> int:
        """Request a calibration of a corpus by labelled cases; return the job's number.

        Raises QueryError if there are too few cases or artifacts.
        """
        corpora, snapshot, _ = self.served
        get_known(corpus, corpora)
        from irdaemon.discovery.calibrate import check_labels  # seldom needed

        inside = sum(bool(case.gold) for case in cases)
        check_labels(snapshot.corpora[corpus], inside, len(cases) - inside)
        self.labels[corpus] = tuple(cases)
        return self.request(Job("calibrate", corpus))

    @property
    def pending(self) -> int:
        """Count the observed changes that are not yet in the snapshot."""
        return self.work.count_pending() + self.retries.count_paths()

    def choose_embedder(self, corpus: Corpus) -> Embedder:
        """Return the embedder whose vectors serve a corpus now."""
        return self.embedders.choose_embedder(
            corpus.embedder, self.ledger.corpora.find_served(corpus.name)
        )

    def explain_no_embedder(self, corpus: Corpus) -> str:
        """Return why a corpus' embedder cannot be used, or ""."""
        target = self.embedders.get_embedder(corpus.embedder)
        return target.error.message if isinstance(target, Absent) else ""

    @contextlib.contextmanager
    def open_reading(self) -> Iterator[Ledger]:
        """Open a view of the ledger for a thread other than the writer's.

        Raises Unavailable if it cannot be read; a repair is then requested.
        """
        try:
            with self.ledger.open_view() as ledger:
                yield ledger
        except (sqlite3.DatabaseError, LedgerError, *UNDECODABLE) as error:
            if isinstance(error, IRError) and not isinstance(error, LedgerError):
                raise
            if not self.suspects_damage(error) and isinstance(error, UNDECODABLE):
                raise
            raise Unavailable(
                f"the ledger cannot be read: {strip_text(error)}",
                "it may be repaired in a moment; irdaemon check shows more",
            ) from error

    def suspects_damage(self, error: Exception) -> bool:
        """Return whether damage to the ledger may have caused an error, and request a repair if so.

        An error that SQLite does not report as corruption may also be a bug: it counts as one if a
        check found the ledger sound after the same error.
        """
        cause = error.__cause__ or error if isinstance(error, LedgerError) else error
        if is_transient(cause) or self.ledger.path == IN_MEMORY or not self.host.writes:
            return False
        if not is_corrupt(cause):
            place = describe_error(cause)
            cleared_at = self._suspected.setdefault(place, None)
            if cleared_at is not None and 0 <= self.clock() - cleared_at < _CLEARED_S:
                return False
            self._suspected[place] = None
        self.work.add(Job("repair"))
        return True

    def clear_suspects(self, *, sound: bool) -> None:
        """Note that the ledger was checked, and whether it was sound; otherwise it was replaced."""
        now = self.clock() if sound else None
        self._suspected = {place: now for place in self._suspected if sound}

    def check_known(self, corpus: str | None) -> None:
        """Raise NotFound, with the nearest name, for an unknown corpus."""
        if corpus is not None:
            get_known(corpus, self.corpora)


def get_known(name: str, corpora: Mapping[str, Corpus]) -> Corpus:
    """Return a corpus by its name. Raises NotFound, with the nearest name."""
    if (corpus := corpora.get(name)) is None:
        raise unknown_corpus(name, corpora)
    return corpus


def find_reranker(name: str) -> Reranker:
    """Return the reranker of that name; if unusable, one whose error explains why."""
    if not name:
        return NOT_CONFIGURED
    try:
        return make_reranker(name)
    except Unavailable as error:
        return NoReranker(error)
