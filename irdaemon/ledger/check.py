"""The ledger held against itself: its file, its tables, and whether its rows fit together.

What SQLite checks is whether pages and keys hang together; it keeps no checksum of what is in them.
So every record's text is held against its digest, and every packed value is unpacked.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import msgpack
import numpy as np

from irdaemon.ledger.rows import record_id
from irdaemon.ledger.schema import MIGRATIONS, LedgerError
from irdaemon.ledger.sqlite_errors import is_passing
from irdaemon.ledger.store import Store, advice
from irdaemon.ledger.vectors import UNUSED
from irdaemon.source import SOURCES
from irdaemon.source.tree import at_or_under

MEND = "irdaemon check --repair mends it, with the daemon stopped"
REBUILD = "irdaemon check --repair sets the file aside, and it is rebuilt from its sources"
_FAULTS_SHOWN = 10
_READ_WHOLE = (
    "corpora", "entries", "artifacts", "terms", "failures", "floors", "jobs", "counters",
    "secrets", "projects", "pins",
)  # fmt: skip
# What reading a damaged file may raise: text that is none, in a row or in SQLite's own words.
_UNREADABLE = (sqlite3.DatabaseError, ValueError, TypeError)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be: where, what, and what to do.

    `part` says what the ledger was held against: sqlite, itself, index, disk. What is not `grave`
    goes away by itself.
    """

    part: str
    what: str
    advice: str
    corpus: str = ""
    grave: bool = True


class Broken(NamedTuple):
    """An artifact of which something cannot be right, by its row number."""

    row: int
    corpus: str
    why: str


def faults(store: Store) -> list[Finding]:
    """Hold a ledger against itself; what makes the file as a whole unusable comes alone.

    Raises LedgerError where nothing can be said of it: a later format, a failing disk.
    """
    if damaged := _file_faults(store):
        return [Finding("sqlite", what, REBUILD) for what in damaged]
    odd = [Finding("itself", what, MEND) for what in _odd_schema(store)]
    if store.format < len(MIGRATIONS):
        what = f"its format is {store.format}, the present one {len(MIGRATIONS)}"
        return [*odd, Finding("sqlite", what, "the next start brings it up", grave=False)]
    try:
        _read_all(store)
        return [*odd, *_strays(store), *_broken(store), *_odd_values(store), *_vectors(store)]
    except _UNREADABLE as error:
        return [Finding("sqlite", f"it cannot be read: {error}", REBUILD)]


def _file_faults(store: Store) -> list[str]:
    """Return what is wrong with the file as a whole: its pages, its tables."""
    try:
        if store.format > len(MIGRATIONS):
            raise LedgerError(
                f"{store.path} has format {store.format}, this version knows formats up to"
                f" {len(MIGRATIONS)}",
                "install the newer irdaemon again",
            )
        said = [row[0] for row in store.all(f"PRAGMA integrity_check({_FAULTS_SHOWN})")]
        return _misshapen(store) if said == ["ok"] else said
    except _UNREADABLE as error:
        if is_passing(error):
            raise LedgerError(f"{store.path}: {error}", advice(store.path)) from error
        return [str(error)]


class Schema(NamedTuple):
    """What a database is made of, by type and name: the statement that made it, in one form."""

    made_by: Mapping[tuple[str, str], str]

    @property
    def tables(self) -> dict[str, str]:
        """Return the statements of the tables, by name."""
        return {name: sql for (kind, name), sql in self.made_by.items() if kind == "table"}


def _misshapen(store: Store) -> list[str]:
    """Return which tables are not as the ledger's format has them."""
    if not store.format:
        return ["it holds no ledger"]
    wanted, found = pattern_of(store.format).tables, schema_of(store).tables
    wrong = [name for name in wanted if found.get(name) != wanted[name]]
    return [f"table {name} is missing, or made in another way" for name in sorted(wrong)]


def _odd_schema(store: Store) -> Iterator[str]:
    """Yield what the file has beside the tables that is not as its format has it."""
    for kind, name in foreign(store):
        yield f"the {kind} {name} is not irdaemon's"
    for kind, name in lacking(store):
        yield f"the {kind} {name} is missing"


def foreign(store: Store) -> list[tuple[str, str]]:
    """Return type and name of what no migration made: what could run, or fail, unasked."""
    wanted = pattern_of(store.format).made_by
    return [key for key, sql in schema_of(store).made_by.items() if wanted.get(key) != sql]


def lacking(store: Store) -> list[tuple[str, str]]:
    """Return type and name of what the migrations made and the file has not."""
    found = schema_of(store).made_by
    return [key for key in pattern_of(store.format).made_by if key not in found]


def pattern_of(version: int) -> Schema:
    """Return what the migrations up to a format make."""
    with closing(sqlite3.connect(":memory:")) as pattern:
        for step in MIGRATIONS[:version]:
            step(pattern)
        return _schema(pattern.execute(_SCHEMA).fetchall())


def schema_of(store: Store) -> Schema:
    """Return what a ledger is made of."""
    return _schema(store.all(_SCHEMA))


# What SQLite makes by itself, for keys and counters, has names that begin so; nobody else's may.
_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE substr(name, 1, 7) != 'sqlite_'"


def _schema(rows: Iterable[tuple[Any, ...]]) -> Schema:
    return Schema({(kind, name): " ".join((sql or "").split()) for kind, name, sql in rows})


def _read_all(store: Store) -> None:
    """Read what the checks below do not: text that is none raises where it is met."""
    for table in _READ_WHOLE:
        for _ in store.each(f"SELECT * FROM {table}"):
            pass


def _strays(store: Store) -> Iterator[Finding]:
    """Yield rows whose owner is missing."""
    strays = Counter((row[0], row[2]) for row in store.all("PRAGMA foreign_key_check"))
    for (table, owner), count in sorted(strays.items()):
        yield Finding("itself", f"{count} rows of {table} belong to none of {owner}", MEND)


def _broken(store: Store) -> Iterator[Finding]:
    found = Counter((each.corpus, each.why) for each in broken_artifacts(store))
    for (corpus, why), count in sorted(found.items()):
        yield Finding("itself", f"{count} artifacts: {why}", MEND, corpus)


def broken_artifacts(store: Store) -> Iterator[Broken]:
    """Yield the artifacts of which something stored cannot be right, each once for each reason."""
    words = vocabulary_size(store)
    own = {name for name, kind in store.all("SELECT name, kind FROM corpora") if kind in SOURCES}
    for row, corpus, owner, path, pointer, fields, names in store.each(
        "SELECT artifacts.id, artifacts.corpus, entries.corpus, path, pointer, fields, name_terms"
        " FROM artifacts JOIN entries ON entries.id = artifacts.entry"
    ):
        if corpus != owner:
            yield Broken(row, corpus, "their entry is of another corpus")
        if corpus in own and pointer and not (path and at_or_under(pointer, path)):
            yield Broken(row, corpus, "their pointer leads to elsewhere than they were read from")
        if not _unpacks(fields) or not _are_terms(names, words):
            yield Broken(row, corpus, "their fields or names are garbled")
    for artifact, records in groupby(_records(store), lambda record: record.artifact):
        of_artifact = list(records)
        reasons = {_record_fault(at, record, words) for at, record in enumerate(of_artifact)}
        for why in sorted(reasons - {""}):
            yield Broken(artifact, of_artifact[0].corpus, why)


class _StoredRecord(NamedTuple):
    artifact: int
    corpus: str
    artifact_id: str
    record_id: str
    kind: str
    surface_index: int
    text: bytes
    metadata: bytes
    digest: bytes
    terms: bytes
    counts: bytes


def _records(store: Store) -> Iterator[_StoredRecord]:
    """Yield the records artifact by artifact; the text as bytes, a damaged one may be no text."""
    rows = store.each(
        "SELECT artifact, corpus, artifact_id, record_id, records.kind, surface_index,"
        " CAST(text AS BLOB), metadata, records.digest, terms, counts"
        " FROM artifacts CROSS JOIN records ON records.artifact = artifacts.id"
        " ORDER BY artifacts.id, surface_index"
    )
    return map(_StoredRecord._make, rows)


def _record_fault(at: int, record: _StoredRecord, words: int) -> str:
    """Return what is wrong with the record at a place of its artifact's plan; "" for nothing."""
    if record.surface_index != at:
        return "a record is missing or there twice"
    if hashlib.blake2b(record.text, digest_size=16).digest() != record.digest:
        return "a record's text is not what its digest says"
    if record.record_id != record_id(record.artifact_id, record.kind, at):
        return "a record has another's id"
    if len(record.terms) != len(record.counts) or not _are_terms(record.terms, words):
        return "a record's terms are garbled"
    return "" if _unpacks(record.metadata) else "a record's metadata is garbled"


def _unpacks(packed: bytes) -> bool:
    try:
        return isinstance(msgpack.unpackb(packed), dict)
    except (ValueError, TypeError, msgpack.UnpackException):
        return False


def _are_terms(packed: bytes, words: int) -> bool:
    if len(packed) % 4:
        return False
    ids = np.frombuffer(packed, np.int32)
    return not len(ids) or bool(ids.min() >= 0 and ids.max() < words)


def vocabulary_size(store: Store) -> int:
    """Return how many terms there are; -1 where their ids are not 0, 1, 2 and so on."""
    row = store.one("SELECT count(*), coalesce(min(id), 0), coalesce(max(id), -1) FROM terms")
    count, first, last = row or (0, 0, -1)
    return int(count) if (first, last) == (0, count - 1) else -1


def _odd_values(store: Store) -> Iterator[Finding]:
    """Yield what else the daemon would stumble over."""
    if vocabulary_size(store) < 0:
        yield Finding("itself", "the vocabulary has gaps", MEND)
    if not store.one("SELECT 1 FROM counters WHERE name = 'generation'"):
        yield Finding("itself", "the count of generations is missing", MEND)
    for table, column in JSON_COLUMNS:
        count = count_of(store, f"{table} WHERE NOT json_valid({column})")
        if count:
            yield Finding("itself", f"{count} rows of {table}: {column} is no JSON", MEND)


JSON_COLUMNS = (
    ("corpora", "problems"),
    ("corpora", "roots"),
    ("entries", "skipped"),
    ("floors", "floor"),
)


def _vectors(store: Store) -> Iterator[Finding]:
    if count := sum(1 for _ in broken_vectors(store)):
        yield Finding("itself", f"{count} vectors are garbled", MEND)
    if count := count_of(store, f"vectors WHERE {UNUSED}"):
        what = f"{count} vectors that no record needs"
        yield Finding("itself", what, "compaction drops them", grave=False)


def broken_vectors(store: Store) -> Iterator[tuple[bytes, str]]:
    """Yield the (digest, embedder) of vectors of another length than most, or not of numbers."""
    sizes: dict[str, Counter[int]] = {}
    for embedder, size, count in store.all(
        "SELECT embedder, length(vector), count(*) FROM vectors GROUP BY embedder, length(vector)"
    ):
        sizes.setdefault(embedder, Counter())[size] = count
    usual = {embedder: of.most_common(1)[0][0] for embedder, of in sizes.items()}
    for digest, embedder, vector in store.each("SELECT digest, embedder, vector FROM vectors"):
        right = len(vector) == usual[embedder] and len(vector) % 4 == 0
        if not right or not np.isfinite(np.frombuffer(vector, np.float32)).all():
            yield digest, embedder


def count_of(store: Store, rows: str) -> int:
    """Count rows: "TABLE WHERE ..."."""
    row = store.one(f"SELECT count(*) FROM {rows}")
    return int(row[0]) if row else 0
