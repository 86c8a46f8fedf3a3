# ruff: noqa: I001 (each module is imported once, with the names that are offered again)
"""The nouns of the write path: what a source yields, a strategy makes and the ledger stores.

Public nouns (Query, Hit, Selection, Disclosure) live in `irclient.types` and are re-exported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from irclient.errors import IRError
from irclient.types import (
    BundledFile as BundledFile,
    Disclosure as Disclosure,
    Hit as Hit,
    Query as Query,
    RelatedItem as RelatedItem,
    Selection as Selection,
    SelectSpec as SelectSpec,
)

# The valid names of a corpus or a client.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
# In a raw artifact: the line of its file, counted from 1, at which its text begins.
FIRST_LINE = "first_line"


class SourceError(IRError):
    """An entry could not be read: a value that the ledger stores, never a reason to stop."""

    code = "source"


class Refused(SourceError):
    """An entry may not be read: unlike an unreadable one, its indexed content is forgotten."""


LinkPolicy = Literal["none", "direct", "any"]
"""Which links to directories out of the roots are followed: none, those directly in a root, any."""
# From the narrowest to the widest.
LINK_POLICIES: tuple[LinkPolicy, ...] = ("none", "direct", "any")


@dataclass(frozen=True, slots=True)
class Root:
    """A directory or file of a source. `scope` is `project`, `user`, `plugin` or `other`.

    `within` is the root of the project that a root belongs to: links that lead out of it are not
    even followed to look at their targets, and what git ignores in it is left out.
    """

    path: str
    scope: str = "user"
    links: LinkPolicy = "direct"
    within: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """A repository or workspace that queries come from.

    `root` is its real path, `name` what people see; `marks` are the names of the files and
    directories in `root` by which it was recognised, such as `.git` and `package.json`.
    """

    root: str
    name: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the rankings of one corpus are fused if a query does not say.

    `fusion` is used for queries that name none. `alpha` (0 to 1) is the share of the cosine in the
    fusions `alpha` and `alpha+mmr`, `mmr_lambda` (0 to 1) that of relevance against similarity in
    `mmr` and `alpha+mmr`, and `rrf_k` the constant that `rrf` adds to ranks. `k1` and `b` are the
    parameters of BM25. `fetch_k` is how many records each leg returns, and how many candidates a
    reranker reads; None for the default.
    """

    fusion: str = "standard"
    alpha: float = 0.7
    mmr_lambda: float = 0.7
    rrf_k: float = 60.0
    k1: float = 1.5
    b: float = 0.75
    fetch_k: int | None = None


WatchMode = Literal["inotify", "observer", "polling", "missing"]


@dataclass(frozen=True, slots=True)
class RootWatch:
    """How one root is watched.

    `path` is real. `directories` counts those watched for this root; one within nested roots
    counts for the innermost. `last_event` is in Unix seconds, None before the first.
    """

    path: str
    mode: WatchMode
    reason: str = ""
    directories: int = 0
    last_event: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A readable thing as seen without opening it: a SKILL.md, a package, a session file.

    `key` identifies it within its corpus; `path` is the real path of its file or directory ("" if
    it is not on disk); an equal `stamp` means unchanged; `mtime_ns` is the newest modification time
    behind the stamp (0: unknown), by which a racy stamp is recognised.
    """

    key: str
    path: str
    stamp: str
    mtime_ns: int = 0
    scope: str = "user"


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that could not be scanned, and why. Entries known below it are kept."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The entries that a source found, and the paths for which they are complete.

    A known entry has been deleted if its path lies at or under a `covered` path, is not at or under
    the path of a problem, and is not among `entries`. `covered` of `("",)` covers everything; with
    an empty `covered` nothing counts as deleted. `left_out` counts, by reason, the files that a
    whole scan saw and that are not entries.
    """

    entries: tuple[Entry, ...]
    covered: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Artifact:
    """The unit of identity, change and disclosure, as read from its source.

    `raw` is what the strategy decomposes: text, or a mapping of named parts. `metadata` becomes
    filter fields. `pointer` is the file or directory that disclosure follows ("" if `body` has the
    payload instead). `digest` is the SHA-256 of the pointed-to bytes, hex, by which a later
    disclosure checks whether the file still has the indexed content. `flags` name harmless oddities
    (`name_mismatch`, `lenient_yaml`, ...) for status output. `project` is the directory of the
    project it is about, if that is elsewhere: an opt-out marker there keeps it out. `uses` are the
    names of the skills used in it. `prompts` are the ones its author expects from people who need
    it, `misses` are similar ones that mean another.
    """

    artifact_id: str
    raw: str | Mapping[str, Any]
    name: str
    pointer: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    body: str | None = None
    digest: str = ""
    flags: tuple[str, ...] = ()
    project: str = ""
    uses: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


UseKind = Literal[
    "skill",  # named to the agent's own tool for skills
    "command",  # typed as a slash command, or run by the agent as one
    "read",  # its file was read
    "shell",  # its file was named in a command line that was run
    "agent",  # a sub-agent of that name was started
    "tool",  # a tool was called: SERVER/TOOL, or the name alone where the agent writes no server
    "package",  # added to a manifest or installed: ECOSYSTEM:NAME
    "disclosed",  # requested from this daemon by its reference
    "asked",  # a query to this daemon: it names no item, and joins the turn with the answer
]


@dataclass(frozen=True, slots=True)
class ItemUse:
    """A use of an item as a transcript reports it: how, and by which name, path or reference."""

    how: UseKind
    what: str


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command line that an agent ran, or ("") a file that it `wrote` by other means.

    `output` is the beginning and end of the output of a command that `failed`.
    """

    command: str
    wrote: str = ""
    failed: bool = False
    output: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A turn of a session: its prompts, the items used in it, and the commands run.

    `session` is AGENT:ID; `at` is in Unix seconds, 0.0 if the transcript has no time; `project` is
    the directory it was about, "" if unknown. `prompts` are unchanged: they are compared with and
    not kept.
    """

    turn_id: str
    session: str
    at: float = 0.0
    project: str = ""
    prompts: tuple[str, ...] = field(default=(), repr=False)
    uses: tuple[ItemUse, ...] = ()
    runs: tuple[CommandRun, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one entry.

    `partial` is false if `artifacts` are everything in the entry, so that its other artifacts are
    deleted; true if they only add to or replace the known ones (a file that grew). `cursor` is the
    source's own note of how far it read, passed back at the next read. `skipped` counts the skipped
    parts, by reason. `turns` are those of a session. `is_head` is whether only the beginning of the
    file was read: name and description are present, the body is read later.
    """

    artifacts: tuple[Artifact, ...]
    cursor: bytes | None = None
    partial: bool = False
    skipped: Mapping[str, int] = field(default_factory=dict)
    turns: tuple[SessionTurn, ...] = ()
    is_head: bool = False


@dataclass(frozen=True, slots=True)
class Surface:
    """An embeddable unit of an artifact.

    `lexical` is further text that only the lexical leg reads (a body beside its description).
    """

    artifact_id: str
    kind: str
    text: str
    granularity: str = "document"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    lexical: str = ""


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A decomposed artifact: fields to filter on, and surfaces in plan order."""

    filter_fields: Mapping[str, Any] = field(default_factory=dict)
    surfaces: tuple[Surface, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from an artifact to another, or to a name: its type, and its target.

    `corpus` is that of the target if it is given by its id there, "" for a target of the artifact's
    own corpus or a name.
    """

    type: str
    target: str
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """A use of artifacts of one corpus: the prompt that led to it, without secrets, and their ids.

    `session` is AGENT:ID, or ""; `at` is in Unix seconds, 0 if unknown. `entry` is the file that
    reports it, or the session in a database, or "".
    """

    prompt: str
    gold: tuple[str, ...]
    session: str = ""
    at: float = 0.0
    corpus: str = ""
    entry: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without the entry."""
        told = asdict(self)
        del told["entry"]
        return {**told, "gold": list(self.gold)}


@dataclass(frozen=True, slots=True)
class LearnReport:
    """The result of learning from uses: `outcome` is published, unchanged, or a reason why not.

    `uses` counts the uses of indexed artifacts, `held_out` the newest of them, which are the test:
    NDCG@10 `before` and `after`, with half the width of the 95% interval of the difference.
    `own_change` is the change for the corpus' own cases. `artifacts` and `prompts` count the served
    ones.
    """

    outcome: str
    uses: int
    held_out: int = 0
    before: float = 0.0
    after: float = 0.0
    half_width: float = 0.0
    own_change: float = 0.0
    artifacts: int = 0
    prompts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.held_out:
            return f"{self.outcome}: {self.uses} uses"
        return (
            f"{self.outcome}: NDCG@10 {self.before:.3f} -> {self.after:.3f}"
            f" (+/- {self.half_width:.3f}) over the newest {self.held_out} of {self.uses} uses"
        )


@dataclass(frozen=True, slots=True)
class Floor:
    """What calibration found for a corpus in one way of searching, its basis, and its quality.

    `shift` is by how much the log-odds of its hits are too high (see irdaemon.discovery.decision).
    `at_least` is the least score (0 to 1) at which a hit is offered; `j` is Youden's J there, over
    `n_inside` answerable and `n_outside` unanswerable queries, labelled ones if `labelled`;
    `labels` is the digest of the file of labelled queries, or "". `artifacts` and `last` (a ledger
    row) identify the artifacts at that time; `formula` is the number of the formulas that it was
    made for.
    """

    mode: str
    embedder: str
    recipe: str
    at_least: float
    j: float
    n_inside: int
    n_outside: int
    calibrated_at: float
    artifacts: int
    last: int
    formula: int
    shift: float = 0.0
    labelled: bool = False
    labels: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Floor:
        """Build a floor from the result of `to_dict`, in this version or another.

        Keys that this version does not know are left out.
        """
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})
