"""The types of what the ledger stores and returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import msgpack

from irdaemon.ledger.terms import TermTable
from irdaemon.text import normalize
from irdaemon.types import Artifact, Edge, Entry, SessionTurn, Surface

_HEAD = "head "


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry as the ledger knows it; see `irdaemon.types.Entry`."""

    key: str
    path: str
    stamp: str
    racy: bool
    recipe: str
    cursor: bytes | None

    @property
    def is_head(self) -> bool:
        """Return whether only the head of the entry was read."""
        return self.stamp.startswith(_HEAD)


@dataclass(frozen=True, slots=True)
class Delta:
    """The changes of a scan: entries to read, keys that are gone, unchanged entries."""

    stale: tuple[Entry, ...]
    gone: tuple[str, ...]
    unchanged: int
    known: Mapping[str, KnownEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TabledTerms:
    """Term counts by `places` (int32) in a TermTable, and the `counts` (float32).

    The terms are distinct.
    """

    places: bytes
    counts: bytes


# The terms of a record.
RecordTerms = Mapping[str, int] | TabledTerms


@dataclass(frozen=True, slots=True)
class Record:
    """A surface ready to store: its text, its term counts, and the digest that keys its vector."""

    record_id: str
    kind: str
    granularity: str
    surface_index: int
    text: str
    metadata: Mapping[str, Any]
    terms: RecordTerms

    @property
    def digest(self) -> bytes:
        """Return the 16-byte digest of the text that is embedded."""
        return digest_text(self.text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class ExpectedPrompt:
    """An expected prompt for an artifact: its redacted text, and its weight (up to 1).

    One with a negative weight is a near miss. `session` and `at` are set for a use.
    """

    text: str
    session: str = ""
    at: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PromptRate:
    """The weight of expected prompts beside a record's own text.

    A word of a prompt counts `words` as much as one of the text; `share` of the vector is that of
    the prompts.
    """

    words: float
    share: float


# The rate where no uses tell a better one. Six rates that bench/prompts.py measured on metatool and
# bfcl, and judged on apibench and metatool-multi, gain about the same.
EXPECTED_RATE = PromptRate(words=0.5, share=0.5)
# The weight of a near miss, relative to a prompt.
MISS_WEIGHT = -0.5


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected prompts of an artifact from one provenance, and how much they count."""

    prompts: tuple[ExpectedPrompt, ...]
    rate: PromptRate = EXPECTED_RATE

    @classmethod
    def from_prompts(cls, prompts: Iterable[str], misses: Iterable[str] = ()) -> Expected:
        """Make them of prompts and near misses, each once."""
        meant = {text: 1.0 for text in prompts}
        weights = {**{text: MISS_WEIGHT for text in misses}, **meant}
        return cls(tuple(ExpectedPrompt(text, weight=each) for text, each in weights.items()))


@dataclass(frozen=True, slots=True)
class Decomposed:
    """An artifact with its plan's fields and its records: what one upsert stores.

    Equal `content` means the same text at any path; an equal `version` means that an upsert would
    store the same, apart from `edges`, which the version does not cover. `stated` are the expected
    prompts that come with it, by provenance.
    """

    artifact: Artifact
    fields: Mapping[str, Any]
    records: tuple[Record, ...]
    content: str
    version: str
    name_terms: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    stated: Mapping[str, Expected] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Secret:
    """The place of a secret: the line of a file, from 1 on (0: unknown), and its kind."""

    path: str
    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class Pin:
    """An artifact's text as it was disclosed, at which level and when (Unix seconds)."""

    corpus: str
    artifact_id: str
    level: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Upsert:
    """One read entry and its decomposed artifacts; see Reading for `partial` and `cursor`.

    `projects` maps the directories it is about to whether they had opted out. `turns` are not
    stored in the ledger. A head (`is_head`) is stored with a stamp that keeps it stale. `table`
    holds the terms that TabledTerms of its records refer to.
    """

    entry: Entry
    recipe: str
    artifacts: tuple[Decomposed, ...]
    cursor: bytes | None = None
    partial: bool = False
    skipped: Mapping[str, int] = field(default_factory=dict)
    secrets: tuple[Secret, ...] = ()
    projects: Mapping[str, bool] = field(default_factory=dict)
    turns: tuple[SessionTurn, ...] = ()
    is_head: bool = False
    table: TermTable | None = None

    @property
    def stamp(self) -> str:
        """Return the stamp with which the entry is stored."""
        return mark_head(self.entry.stamp) if self.is_head else self.entry.stamp


def mark_head(stamp: str) -> str:
    """Return the stamp of an entry whose head alone was read; no source makes such a stamp."""
    return _HEAD + stamp


@dataclass(frozen=True, slots=True)
class Failure:
    """An entry that could not be read: where, why, since when (Unix seconds), tried how often."""

    corpus: str
    path: str
    key: str
    reason: str
    stamp: str
    since: float
    tries: int = 1


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact as stored in the ledger."""

    corpus: str
    artifact_id: str
    name: str
    pointer: str
    body: str | None
    digest: str
    indexed_at: float
    fields: Mapping[str, Any]

    @classmethod
    def unpack(cls, row: tuple[Any, ...]) -> StoredArtifact:
        """Make an artifact from a row of ARTIFACT_COLUMNS."""
        *kept, fields = row
        return cls(*(*kept, msgpack.unpackb(fields)))


ARTIFACT_COLUMNS = (
    "artifacts.corpus, artifact_id, name, pointer, body, artifacts.digest, indexed_at, fields"
)


@dataclass(frozen=True, slots=True)
class Namesake:
    """One of the artifacts that a name may mean. Equal `content` means the same searched text."""

    artifact_id: str
    content: str
    scope: str | None


@dataclass(frozen=True, slots=True)
class ArtifactPage:
    """Which artifacts to list: of one corpus ("": all), with a pointer at or under a path.

    At most `limit` of them, in the order of (corpus, artifact id), beyond `after`.
    """

    corpus: str = ""
    under: str = ""
    after: tuple[str, str] = ("", "")
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Counts:
    """The size of a corpus in the ledger; `vectors` counts records that have theirs."""

    artifacts: int
    records: int
    vectors: int
    failures: int


def digest_text(text: bytes, prompts: bytes | None = None) -> bytes:
    """Return the 16-byte digest of what is embedded: a text, and the prompts expected of it.

    `prompts` is as `records` keeps it; see `irdaemon.ledger.prompts`.
    """
    digest = hashlib.blake2b(text, digest_size=16)
    if prompts:
        digest.update(msgpack.packb(msgpack.unpackb(prompts)[:3]))
    return digest.digest()


def make_record_id(artifact_id: str, kind: str, surface_index: int) -> str:
    """Return the id of a record: 24 hex digits, stable while its place in the plan is."""
    joined = "\u241f".join((artifact_id, kind, str(surface_index)))
    return hashlib.sha256(joined.encode("utf-8", "replace")).hexdigest()[:24]


def hash_content(surfaces: Iterable[Surface], written: Iterable[Surface] = ()) -> str:
    """Hash the searched text of an artifact, whatever its path: equal hashes are copies.

    Its synopsis, `written`, is hashed after its own text: see OWN_CONTENT.
    """
    own, others = (
        [[each.kind, each.text, each.lexical] for each in some] for some in (surfaces, written)
    )
    return f"{_hash(own)} {_hash(others)}" if others else _hash(own)


# The part of a content hash that does not depend on a synopsis, in SQL.
OWN_CONTENT = "substr(content, 1, 64)"


def hash_version(artifact: Artifact, fields: Mapping[str, Any], recipe: str) -> str:
    """Hash everything an upsert would store; an equal version needs no upsert."""
    place = [artifact.name, artifact.pointer, artifact.digest, artifact.body]
    # A strategy may use metadata in its surfaces that it does not hand on as a field.
    return _hash([_normalize(artifact.raw), *place, artifact.metadata, fields, recipe])


def pack(value: Any) -> bytes:
    """Pack fields; types that msgpack lacks, and keys that it would not unpack, become strings."""
    packed: bytes = msgpack.packb(
        _key_by_text(value), default=_make_plain, unicode_errors="replace"
    )
    return packed


def _key_by_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _key_by_text(item) for key, item in value.items()}
    return [_key_by_text(item) for item in value] if isinstance(value, (list, tuple)) else value


def make_storable(text: str) -> str:
    """Replace lone surrogates, which JSON allows and UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _make_plain(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, (set, frozenset)) else str(value)


def _normalize(raw: Any) -> Any:
    if isinstance(raw, str):
        text = raw.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        return text if text.isascii() else normalize(text, "NFC")
    if isinstance(raw, Mapping):
        return {key: _normalize(value) for key, value in raw.items()}
    if isinstance(raw, (list, tuple)):
        return [_normalize(item) for item in raw]
    return raw


def _hash(value: Any) -> str:
    packed = msgpack.packb(_order(value), default=_make_plain, unicode_errors="replace")
    return hashlib.sha256(packed).hexdigest()


def _order(value: Any) -> Any:
    """Return plain data in canonical order: mappings as sorted items, huge numbers as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        items = [(str(key), _order(item)) for key, item in value.items()]
        return ["map", *sorted(items, key=itemgetter(0))]
    if isinstance(value, (list, tuple)):
        return [_order(item) for item in value]
    return str(value) if isinstance(value, int) and value.bit_length() > 63 else value


def pack_stated(stated: Mapping[str, Expected]) -> bytes | None:
    """Pack an artifact's own prompts: {provenance: [rate, [[prompt, weight], ...]]}."""
    packed = {
        provenance: [
            [each.rate.words, each.rate.share],
            [[prompt.text, prompt.weight] for prompt in each.prompts],
        ]
        for provenance, each in sorted(stated.items())
        if each.prompts
    }
    return msgpack.packb(packed) if packed else None


def hash_stated(stated: Mapping[str, Expected]) -> str:
    """Hash the prompts that come with an artifact."""
    return _hash([(pack_stated(stated) or b"").hex()])


def unpack_stated(packed: bytes) -> dict[str, Expected]:
    """Return the prompts that `pack_stated` packed."""
    return {
        provenance: Expected(
            tuple(ExpectedPrompt(text, weight=weight) for text, weight in prompts),
            PromptRate(*rate),
        )
        for provenance, (rate, prompts) in msgpack.unpackb(packed).items()
    }
