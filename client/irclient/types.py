"""The nouns that cross the wire, defined once for client and daemon.

Each is a frozen dataclass with `to_dict` (plain data, ready for JSON or msgpack) and, where the
other side sends it, `from_dict`, which ignores keys it does not know so that an older peer keeps
working with a newer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from irclient.errors import QueryError
from irclient.fast.choices import FUSIONS as FUSIONS
from irclient.fast.choices import LEVELS as LEVELS
from irclient.fast.choices import MODES as MODES
from irclient.fast.choices import STRATEGIES as STRATEGIES
from irclient.fast.plain import OPTIONAL
from irclient.fast.plain import Plain as Plain
from irclient.fast.plain import dump_fields as plain_fields
from irclient.fast.plain import plain_data as plain_data


@dataclass(frozen=True, slots=True)
class SelectSpec(Plain):
    """How to commit: a strategy by name and its parameters.

    `max_k` caps every strategy. `rel` is a share of the top score; None: 0.9, less of it where the
    strategy `conservative` has scores of a search before it. `gap_ratio` is a share of the
    previous one. `min_score` is an absolute floor on the score (0 to 1), "auto" the floor that
    the daemon calibrated for each corpus where that separates well, None no floor.
    """

    strategy: str = "conservative"
    max_k: int = 3
    # Older daemons want a number.
    rel: float | None = field(default=None, metadata=OPTIONAL)
    gap_ratio: float = 0.5
    min_score: float | str | None = "auto"


@dataclass(frozen=True, slots=True)
class Query(Plain):
    """A question to the daemon, with everything that shapes its answer.

    `corpora` empty means all. `k` is how many candidates retrieval brings to selection. `where`
    is a filter over fields, `surfaces` the surface kinds to search (empty: all), `weights` what
    their fused scores are multiplied by. `fusion` names how the rankings become one ("": as
    the daemon is configured). `expand` asks for the text around what matched: `none`, `window:K`
    (neighbouring records) or `artifact`.
    `rerank` lets the configured reranker read the best candidates again. With `fresh` the answer
    waits, at most `wait_ms`, until it includes every change made before it was asked for. With a
    `budget_ms` above 0 it comes from the best tier that usually takes no longer. With `rounds`
    (1 to 8 at most) the parts of the query that no hit serves are asked again.
    `passages` is how many records of one artifact a search may answer with, each as a hit.
    With `related` each committed hit comes with what belongs to it. `place` is the absolute path of
    the directory it comes from: what belongs to the project there is searched too ("": nowhere).
    With `exact` a search answers with records that hold the text itself, character by character,
    with `ignore_case` in any case.
    """

    text: str
    corpora: tuple[str, ...] = ()
    k: int = 10
    mode: str = "hybrid"
    where: Mapping[str, Any] = field(default_factory=dict)
    surfaces: tuple[str, ...] = ()
    select: SelectSpec = field(default_factory=SelectSpec)
    level: str = "metadata"
    # Older daemons refuse optional fields, which they do not know.
    fusion: str = field(default="", metadata=OPTIONAL)
    weights: Mapping[str, float] = field(default_factory=dict)
    expand: str = "none"
    rerank: bool = False
    fresh: bool = False
    wait_ms: float = 1000.0
    budget_ms: float = 0.0
    rounds: int | None = None
    passages: int = field(default=1, metadata=OPTIONAL)
    related: bool = field(default=False, metadata=OPTIONAL)
    place: str = field(default="", metadata=OPTIONAL)
    exact: bool = field(default=False, metadata=OPTIONAL)
    ignore_case: bool = field(default=False, metadata=OPTIONAL)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Query:
        """Build a query from plain data; its values are validated where it is run."""
        return cls(**Query.read_fields(data))

    @staticmethod
    def read_fields(data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a query that plain data has, in their types; none is checked."""
        known = Query.select_fields(data)
        if isinstance(known.get("select"), Mapping):
            known["select"] = SelectSpec(**SelectSpec.select_fields(known["select"]))
        for name in ("corpora", "surfaces"):
            if isinstance(known.get(name), (list, tuple)):
                known[name] = tuple(known[name])
        return known


def as_query(asked: Query | str | Mapping[str, Any]) -> Query:
    """Return a query as it is, and a text or plain data as the query of that.

    Raises QueryError for anything else.
    """
    if isinstance(asked, str):
        return Query(asked)
    if isinstance(asked, Query):
        return asked
    if isinstance(asked, Mapping):
        return Query.from_dict(asked)
    raise QueryError(f"a query is a text or a Query, not {asked!r:.60}")


@dataclass(frozen=True, slots=True)
class RelatedItem(Plain):
    """An item related to a hit: a skill, a package or a session that a link leads to.

    `relation` is the kind of link, `kind` that of the item (`skill`, `package`, `session`). `via`
    is empty, or the name of the item between the two. `at` is a session's own time.
    """

    corpus: str
    artifact_id: str
    name: str
    kind: str
    relation: str
    pointer: str = ""
    via: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Verdict(Plain):
    """Whether the result of a session's turn still holds.

    `state` is `holds`, `changed`, or `gone` if none of its files exists any more. `files` counts
    those that could be compared with their state at the turn; `changed` and `gone` are the paths of
    those that differ or are missing. `lost_symbols` are names in its text that have disappeared
    from its files, `lost_commits` the commits it made that are on no branch.
    """

    state: str
    files: int = 0
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    lost_symbols: tuple[str, ...] = ()
    lost_commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """One retrieved artifact.

    `score` is the probability (0 to 1) that it is what is wanted; `scores` has each retriever's raw
    value beside it. `fields` are the artifact's, and those of the surface that matched (its
    `chunk_index`, `n_chunks`, `heading`). `duplicates` lists the other places the same content was
    found in; `surface_index` is the place in the artifact's plan of the record that matched.
    `disclosure` is there only when the query asked for a level above metadata. `hidden` names the
    kinds of characters in its name, summary or pointer that a person would not see. `related` is
    None where it was not asked for; it may be empty. `verdict` is that of a turn of a session, None
    where nothing is known of it.
    """

    corpus: str
    artifact_id: str
    name: str
    kind: str
    score: float
    scores: Mapping[str, float]
    summary: str
    pointer: str
    fields: Mapping[str, Any]
    duplicates: tuple[str, ...] = ()
    disclosure: Disclosure | None = field(default=None, metadata=OPTIONAL)
    surface_index: int = 0
    hidden: tuple[str, ...] = ()
    related: tuple[RelatedItem, ...] | None = field(default=None, metadata=OPTIONAL)
    verdict: Verdict | None = field(default=None, metadata=OPTIONAL)

    @property
    def body(self) -> str | None:
        """Return the text that was disclosed with it, or None."""
        return self.disclosure.body if self.disclosure else None


@dataclass(frozen=True, slots=True)
class Round(Plain):
    """One round of a bounded loop: its query, results and judgement.

    `query` and `top_k` are those of the retrieval; `evidence` compares rounds when none was
    sufficient. `error` is empty, or the failure of a stage that ended the loop.
    """

    query: str
    top_k: int
    n_candidates: int = 0
    n_selected: int = 0
    sufficient: bool = False
    evidence: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Selection(Plain):
    """The answer to `discover`: few hits, or none with a typed reason.

    `reason` is why the selection stopped where it did, or why it abstained. `freshness` holds
    `pending` (changes seen and not yet served), `last_reconcile` (Unix seconds of the oldest full
    scan of the asked corpora, None before the first), `building` and `degraded` (corpora not yet
    whole, or with a root that cannot be read) and `legs` (the retrievers that took part). While
    bodies are read for the first time it has `heads`, the corpora that answer by name and
    description so far. Where a fresh answer was asked for, `unproved` lists the roots of which that
    could not be shown. `tier` is what answered: `rerank`, a mode, or `cached`. `rounds` is empty
    where none were asked for. `project` is the name of the project that the query's place lies in,
    "" for none; while that is still being read `freshness` has `reading`, its name. An answer
    without hits may have `roots`, those of each corpus that is building.
    """

    query: str
    mode: str
    results: tuple[Hit, ...]
    abstained: bool
    reason: str
    signals: Mapping[str, Any]
    n_retrieved: int
    n_selected: int
    generation: int
    freshness: Mapping[str, Any]
    took_ms: float
    tier: str = ""
    rounds: tuple[Round, ...] = field(default=(), metadata=OPTIONAL)
    project: str = field(default="", metadata=OPTIONAL)

    @property
    def sufficient(self) -> bool:
        """Return whether something was committed: a signal for the caller's own loop.

        If rounds were requested, whether it also serves every part of the query.
        """
        committed = not self.abstained and bool(self.results)
        return committed and (not self.rounds or self.rounds[-1].sufficient)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, with `sufficient`."""
        return {**plain_fields(self), "sufficient": self.sufficient}


@dataclass(frozen=True, slots=True)
class BundledFile(Plain):
    """A file that travels with an artifact: path relative to it, size in bytes, text if it fit.

    Where there is no text, `note` is the reason.
    """

    path: str
    size: int
    text: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Disclosure(Plain):
    """The payload of one artifact at one level.

    `note` is empty, or why `body` is missing or not what was indexed (`pointer_unreadable`,
    `changed`; `gone`, of a hit whose artifact is held no more; `as_indexed`, where a front end has
    the text and not the file). `stale` is true when the file no
    longer holds the content that was indexed: then `indexed_digest` and `current_digest` (SHA-256,
    hex; "" where unknown) differ. `files_omitted` counts the files that a full bundle left out.
    `passage` is the expanded text around what matched, of the records `passage_records`;
    `expansion` is empty, or names what it lacks (`seed_not_found`, `no_ledger_entry`). Where it
    came from: `root` is the watched directory it lies under, `mtime` when the file was last
    changed, `indexed_at` when it was last indexed (Unix seconds). `redacted` counts the secrets
    that were taken out just now; `hidden` names the kinds of characters in it that a person would
    not see (`bidi`, `control`, `invisible`, `marks`). `reason` explains a note. `summary` and
    `score` are those of the hit that was disclosed; "" and None where a reference was. `verdict` as
    of a hit.
    """

    corpus: str
    artifact_id: str
    level: str
    name: str
    pointer: str
    body: str | None = None
    files: tuple[BundledFile, ...] = ()
    stale: bool = False
    truncated: bool = False
    note: str = ""
    indexed_digest: str = ""
    current_digest: str = ""
    files_omitted: int = 0
    passage: str | None = None
    passage_records: tuple[str, ...] = ()
    expansion: str = ""
    reason: str = ""
    root: str = ""
    mtime: float = 0.0
    indexed_at: float = 0.0
    redacted: int = 0
    hidden: tuple[str, ...] = ()
    summary: str = ""
    score: float | None = field(default=None, metadata=OPTIONAL)
    verdict: Verdict | None = field(default=None, metadata=OPTIONAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, without a summary if no hit was disclosed."""
        plain = plain_fields(self)
        if self.score is None:
            del plain["summary"]
        return plain


# Events that the daemon publishes.
TOPICS = ("generation", "job", "failure", "evaluation")


class Event(NamedTuple):
    """Something that happened in the daemon: a topic, and its data.

    A topic is one of TOPICS (docs/protocol.md), or of the client's own two: `lost` when the daemon
    went away, `back` when one is there again. Events between the two were missed.
    """

    topic: str
    data: Mapping[str, Any]
