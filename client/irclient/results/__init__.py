"""What the operations return, except Selection and Disclosure (`irclient.types`).

Each is a frozen dataclass. `from_dict` ignores unknown keys, and every field except names has a
default, so that either side may be newer. Times are Unix seconds. If a shape is deep and has no
fixed form (a profile, the stages of an explanation), only its top level is typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irclient.fast.plain import OPTIONAL
from irclient.results.base import Result as Result
from irclient.results.moments import (
    Clash as Clash,
)
from irclient.results.moments import (
    OfferPreference as OfferPreference,
)
from irclient.results.moments import (
    UsedArtifact as UsedArtifact,
)
from irclient.results.prompts import (
    ExpectedPrompts as ExpectedPrompts,
)
from irclient.results.prompts import (
    ExportedPrompts as ExportedPrompts,
)
from irclient.results.prompts import (
    ImportedPrompts as ImportedPrompts,
)
from irclient.results.prompts import (
    PromptBatch as PromptBatch,
)
from irclient.results.prompts import (
    PromptPlan as PromptPlan,
)
from irclient.results.prompts import (
    PromptWriting as PromptWriting,
)
from irclient.results.prompts import (
    TakenPrompts as TakenPrompts,
)


@dataclass(frozen=True, slots=True)
class PingReply(Result):
    """Who answers: the daemon's version, the protocol's number, and its process."""

    version: str
    protocol: int
    pid: int


@dataclass(frozen=True, slots=True)
class SessionTouch(Result):
    """A turn of a session that touched a file: its question, time and verdict.

    `session` is AGENT:ID, `is_write` whether the turn wrote the file; `verdict` is as in a Hit,
    empty if unknown.
    """

    corpus: str
    artifact_id: str
    session: str = ""
    at: float = 0.0
    path: str = ""
    is_write: bool = False
    question: str = ""
    title: str = ""
    commits: Sequence[str] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownCure(Result):
    """How an error was solved in an earlier session (AGENT:ID), in a turn with a `question`.

    `command` was run last before the failed one succeeded; `files` were written, and `more_files`
    counts others. Without either, the command itself was run `again`: `as it was`, or as the
    command line that succeeded.
    """

    corpus: str
    artifact_id: str
    session: str = ""
    at: float = 0.0
    question: str = ""
    command: str = ""
    files: Sequence[str] = ()
    more_files: int = 0
    again: str = ""


@dataclass(frozen=True, slots=True)
class StoredRecord(Result):
    """One record of an artifact; `surface_index` is its position in the artifact's plan."""

    record_id: str
    kind: str = ""
    granularity: str = ""
    surface_index: int = 0
    text: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexedArtifact(Result):
    """An indexed artifact, and when its present version was indexed.

    `asset_type` is text, code, pdf, image or multimodal.
    """

    corpus: str
    artifact_id: str
    name: str = ""
    pointer: str = ""
    indexed_at: float = 0.0
    asset_type: str = ""


@dataclass(frozen=True, slots=True)
class EntryFailure(Result):
    """An entry that could not be read: why, since when, and the number of tries."""

    corpus: str
    path: str
    reason: str = ""
    since: float = 0.0
    tries: int = 1


@dataclass(frozen=True, slots=True)
class SecretLocation(Result):
    """Where a secret is and of what kind; `line` is 0 if unknown."""

    corpus: str
    path: str
    line: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ChangedArtifact(Result):
    """An artifact whose text differs from what was last disclosed.

    `state` is `changed`, with a unified `diff`, or `unreadable`, with the reason in `diff`.
    """

    corpus: str
    artifact_id: str
    name: str = ""
    pointer: str = ""
    state: str = ""
    disclosed_at: float = 0.0
    mtime: float = 0.0
    diff: str = ""


@dataclass(frozen=True, slots=True)
class CorpusCoverage(Result):
    """How much of the files below a corpus' roots is indexed, from a separate walk.

    `on_disk` counts what may be an item: `indexed`, `missing`, and `excluded` by reason (reasons
    that start with "directory: " count directories that were not entered). `ratio` is indexed /
    (indexed + missing), None if nothing could be compared; `missing_paths` has the first thousand.
    `unchecked` says what could not be walked, "" if nothing.
    """

    corpus: str
    on_disk: int = 0
    indexed: int = 0
    missing: int = 0
    ratio: float | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    missing_paths: Sequence[str] = ()
    unchecked: str = ""


@dataclass(frozen=True, slots=True)
class MaintenanceTask(Result):
    """A piece of upkeep: `work` is `scan`, `embed`, `calibrate` or `compact`.

    `due` says whether it should run now, `reason` why or why not. `corpus` is "" for work on all of
    them; `job` is the number of the requested job, or 0.
    """

    corpus: str
    work: str
    due: bool = False
    reason: str = ""
    job: int = 0


@dataclass(frozen=True, slots=True)
class Here(Result):
    """The project that a place lies in, and what of it is indexed; where there is none, why.

    `project` is its name, "" for none, and then `reason` says why. `marks` are the names by which
    it was recognised, `ecosystems` those whose dependencies it declares (`npm`, `pypi`, ...).
    `reading` is true until it was read as a whole once. `corpora` are `{corpus, items, indexed_at,
    reading}`, `indexed_at` None before the first whole scan; `notes` say what is left out, and
    `lately` are the newest references (CORPUS/ID) that answers to places in it showed.
    """

    project: str = ""
    root: str = ""
    marks: Sequence[str] = ()
    reading: bool = False
    ecosystems: Sequence[str] = ()
    corpora: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    lately: Sequence[str] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProjectRow(Result):
    """A project that is known.

    `state` is `read`, `reading`, `listed` (by sessions, and not read) or `put aside` (it was not
    asked from for long: its rows are kept for a month). `why` says how it became known. `asked_at`
    is when something was last asked from it, 0 for never.
    """

    root: str
    name: str = ""
    state: str = "listed"
    items: int = 0
    asked_at: float = 0.0
    why: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ReadDirectory(Result):
    """A directory that is read: why, since when, and the command that ends it.

    `project` is the name of the project that it is read for, "" for a corpus of one's own.
    """

    path: str
    project: str = ""
    why: str = ""
    since: float = 0.0
    how_to_end: str = ""


@dataclass(frozen=True, slots=True)
class ShownItem(Result):
    """An item (CORPUS/ID) shown to a session, and when."""

    reference: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class JobProgress(Result):
    """A job's progress: `state` is `queued`, `running`, `done` or `failed`.

    `since` is when it started, 0 if it has not.
    """

    number: int
    kind: str = ""
    corpus: str = ""
    state: str = "queued"
    done: int = 0
    todo: int = 0
    report: str = ""
    since: float = 0.0

    @property
    def ended(self) -> bool:
        """Say whether the job is over, done or failed."""
        return self.state not in ("queued", "running")


@dataclass(frozen=True, slots=True)
class WaitResult(Result):
    """The generation that is served, and whether it has reached the one waited for."""

    generation: int
    reached: bool


@dataclass(frozen=True, slots=True)
class FoundDocument(Result):
    """A client's own document that answers a query: its position from 0, and its whole text.

    Secrets have been removed from `text` and `meta`.
    """

    position: int
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class WrittenDocument(Result):
    """What became of a managed document, and the generation that shows it.

    `status` is `stored`, `stored_partial` where it is found by its words but has no vector yet,
    `removed`, or `pending` where the index did not show the change in the time that was given.
    `document_id` is its reference (CORPUS/ID), `digest` the SHA-256 of what the file holds now, ""
    where there is none; `trash` is where a deleted file is kept for thirty days.
    """

    path: str
    document_id: str = ""
    status: str = "pending"
    generation: int = 0
    digest: str = ""
    trash: str = ""


@dataclass(frozen=True, slots=True)
class CorpusPreview(Result):
    """What a corpus that is not added yet would hold.

    `items` counts what would be read, a document, a skill or a session each, and `first` names
    some; `left_out` counts by reason what would not be indexed. `problems` say what could not be
    looked at, the first twenty of them.
    """

    corpus: str
    kind: str = ""
    roots: Sequence[str] = ()
    items: int = 0
    first: Sequence[str] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IndexedDirectory(Result):
    """A directory that became the corpus `corpus`, or would become it.

    `files` is how many documents it has, `first` are some of them, `left_out` counts by reason what
    is not indexed. `jobs` are those that take it up, none where it was only asked about; its first
    scan follows.
    """

    directory: str
    corpus: str = ""
    files: int = 0
    first: Sequence[str] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    jobs: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class UsageReport(Result):
    """What was offered from `since` to `until`, and what of it the transcripts say was used.

    `answers` counts what is noted, `abstained` those of them that offered nothing, and
    `without_session` those that can be joined with no turn. `states` counts uses: `offered`,
    `near_miss`, `buried`, `absent`, `unjoined`, `not_installed`. `items` and `adoption` have a
    share (`adopted` of `offered`, each item once a session) with its 95% interval, `low` to `high`.
    `not_installed` are names that nothing indexed has; `context` is about what offers took of
    agents' context. `learned` says for each corpus what came of learning from use. `moments` count
    what came of the hook's events, by agent: `told`, `silent`, `bad`. `muted` and `pinned` are
    references; `faded` were offered to so many `sessions` in vain that they are not offered to
    others.
    """

    since: float = 0.0
    until: float = 0.0
    kept_days: int = 0
    answers: int = 0
    abstained: int = 0
    without_session: int = 0
    turns: int = 0
    uses: int = 0
    states: Mapping[str, int] = field(default_factory=dict)
    items: Sequence[Mapping[str, Any]] = ()
    adoption: Sequence[Mapping[str, Any]] = ()
    not_installed: Sequence[Mapping[str, Any]] = ()
    never_offered: Mapping[str, Any] = field(default_factory=dict)
    offered_never_used: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, int] = field(default_factory=dict)
    learned: Sequence[Mapping[str, Any]] = ()
    moments: Sequence[Mapping[str, Any]] = ()
    muted: Sequence[str] = ()
    pinned: Sequence[str] = ()
    faded: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class KnownUse(Result):
    """A use found in a transcript: its prompt, without secrets, and the ids used."""

    prompt: str
    gold: Sequence[str] = ()
    session: str = ""
    at: float = 0.0
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class GapReport(Result):
    """What was needed and not found since a time, each with a remedy.

    A gap's `kind` is `missed` (its item was used and not offered), `nothing_found`, or
    `not_indexed` (what was used is not there). `watching` counts the prompts of which too few show
    the same, `replayed` those that were asked again because no answer to them is known.
    """

    since: float = 0.0
    gaps: Sequence[Mapping[str, Any]] = ()
    watching: int = 0
    replayed: int = 0


@dataclass(frozen=True, slots=True)
class ListingReport(Result):
    """Which skills an agent's own listing shows with their descriptions, by an estimate.

    `source` says where the estimate comes from; `cut` counts the skills that are shown by name.
    """

    agent: str = ""
    source: str = ""
    context_tokens: int = 0
    budget_chars: int = 0
    wanted_chars: int = 0
    skills: int = 0
    cut: int = 0
    items: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class CorpusStatus(Result):
    """How much of a corpus is indexed, how fresh it is, and what is wrong with its roots.

    `last_reconcile` is None before the first whole scan, and `heads` counts the entries that it has
    read by name and description so far, and whose bodies are to come. `state` is `building`,
    `unscanned` (indexed by hand, and not yet), `degraded`, `embedding`, `re-embedding` or `ready`;
    `problems` are `{path, reason}`; `skipped` counts what was passed over, by reason; `reindex`
    is what has it scanned by itself: `change`, `interval`, or `manual` for nothing. `writable`:
    whether clients may write documents into its roots. `copy` tells of the copy that a backend has,
    None where none has: `{backend, state, generation, holder, reason, since, behind_s}`; `state` is
    `level`, `sending`, `refused` (another daemon writes it) or `degraded` (it cannot be written, or
    read by a front end); `since` is None where it is level.
    """

    name: str
    kind: str = ""
    roots: Sequence[str] = ()
    artifacts: int = 0
    records: int = 0
    vectors: int = 0
    failures: int = 0
    pending: int = 0
    last_reconcile: float | None = None
    heads: int = 0
    state: str = ""
    problems: Sequence[Mapping[str, str]] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    writable: bool = False
    reindex: str = "change"
    copy: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class CorpusInfo(CorpusStatus):
    """The status of a corpus, and what can be asked of it.

    `served_by` is the embedder whose vectors answer now, `floors` are by mode, `fields` are those a
    filter may name; `asset_types` counts the artifacts that have records, by type.
    """

    embedder: str = ""
    served_by: str = ""
    floors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    recipe: str = ""
    fields: Sequence[str] = ()
    surfaces: Sequence[str] = ()
    asset_types: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status(Result):
    """How the daemon and its corpora are; docs/protocol.md explains each part.

    What a limited client does not get is None: `socket`, `config`, `watch`, `waiting_for`,
    `ledger`, `usage`, `queue_s`, `minutes` and `health`. `usage` is None, too, where use is not
    noted, and `profile` ({stage: {total, n, p50, p95, max}}, milliseconds) unless it was asked for.
    `demo` is true where the corpora are examples. `minutes` are the last sixty of them, oldest
    first: `{since, queries: [count, ...], p50: [milliseconds or None, ...]}`. `mismatched` are the
    requests of another protocol in the last hour: `{protocol, op, count, at, fix}`. `model` is the
    language model that is configured, None where none is. `backends` are those that a front end
    answers from, `{backend, problem, since}`; None of a daemon that has a ledger. `refused` is
    why the configuration file cannot be used, `{message, hint}`, None where it is in use, and
    `next_start` which changed settings of it wait for the next start. `projects` is None where none
    is known, else `{known, in_step, reading, items}`. `prompts` is the run in which prompts are
    written, or were last, as PromptWriting; None where there was none. `advice` is what would make
    answers faster, `{message, hint}`, None where nothing is known.
    """

    version: str = ""
    pid: int = 0
    uptime_s: float = 0.0
    rss_bytes: int | None = None
    socket: str | None = field(default=None, metadata=OPTIONAL)
    config: str | None = field(default=None, metadata=OPTIONAL)
    watch: Sequence[Mapping[str, Any]] | None = field(default=None, metadata=OPTIONAL)
    refused: Mapping[str, str] | None = field(default=None, metadata=OPTIONAL)
    next_start: Sequence[str] | None = field(default=None, metadata=OPTIONAL)
    demo: bool = False
    waiting_for: Sequence[Mapping[str, str]] | None = field(default=None, metadata=OPTIONAL)
    model: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    backends: Sequence[Mapping[str, Any]] | None = field(default=None, metadata=OPTIONAL)
    generation: int = 0
    ledger: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    usage: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    prompts: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    projects: Mapping[str, int] | None = field(default=None, metadata=OPTIONAL)
    queue: int = 0
    queue_s: float | None = field(default=None, metadata=OPTIONAL)
    health: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    minutes: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    advice: Mapping[str, str] | None = field(default=None, metadata=OPTIONAL)
    mismatched: Sequence[Mapping[str, Any]] | None = field(default=None, metadata=OPTIONAL)
    jobs: tuple[JobProgress, ...] = ()
    corpora: tuple[CorpusStatus, ...] = ()
    profile: Mapping[str, Mapping[str, float]] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """What each stage of a query did, and what became of one item where that was asked for.

    `stages` are in the order in which they began: `{stage, at_ms, ms, n}`, of which `n` times took
    `ms` in all. A stage within another is in both. `project` is the one that was asked from, where
    there is one: `{name, root, artifacts}`, the last with a number for each corpus. `muted` are
    candidates that answers leave out.
    """

    query: str
    generation: int = 0
    analysis: Mapping[str, Any] = field(default_factory=dict)
    corpora: Sequence[Mapping[str, Any]] = ()
    selection: Mapping[str, Any] = field(default_factory=dict)
    stages: Sequence[Mapping[str, Any]] = ()
    item: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    project: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    muted: Sequence[str] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class Evaluation(Result):
    """How good the answers to cases are, over which corpora and when.

    `asked` is how they were asked (k, mode, max_k); `signature` names the set of `artifacts` that
    there were. `cases` has what became of each case. Only where they were asked for there are
    `baseline`, the measures of plain BM25, with how the answers compare to it in `compared`, and
    the `curve` of accuracy over the size of the catalogue.
    """

    discovery: Mapping[str, Any]
    selection: Mapping[str, Any]
    floor: Mapping[str, Any] = field(default_factory=dict)
    sweep: Sequence[Mapping[str, Any]] = ()
    drift: Mapping[str, Any] = field(default_factory=dict)
    cases: Sequence[Mapping[str, Any]] = ()
    corpora: Sequence[str] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    artifacts: int = 0
    signature: str = ""
    generation: int = 0
    at: float = 0.0
    baseline: Mapping[str, float] | None = field(default=None, metadata=OPTIONAL)
    compared: Mapping[str, Any] | None = field(default=None, metadata=OPTIONAL)
    curve: Sequence[Mapping[str, float]] | None = field(default=None, metadata=OPTIONAL)
