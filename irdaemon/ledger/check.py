"""Check a ledger's integrity: its file, its tables, and whether its rows are consistent.

SQLite checks pages and keys; it keeps no checksum of their content. So every record's text is
compared with its digest, and every packed value is unpacked.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import msgpack
import numpy as np

from irclient.counts import format_count
from irdaemon.ledger.files import UNDECODABLE, is_transient, strip_text
from irdaemon.ledger.index_rows import UNUSED, Vectors
from irdaemon.ledger.rows import digest_text, make_record_id, unpack_stated
from irdaemon.ledger.schema import MIGRATIONS, LedgerError
from irdaemon.ledger.store import Store, suggest_cure
from irdaemon.source import SOURCES
from irdaemon.source.opening import is_within
from irdaemon.types import Floor

REPAIR = "irdaemon check --repair repairs it, with the daemon stopped"
REBUILD = "irdaemon check --repair sets the file aside, and it is rebuilt from its sources"
_PROBLEMS_SHOWN = 10
_READ_WHOLE = (
    "corpora", "entries", "artifacts", "terms", "failures", "floors", "jobs", "counters",
    "secrets", "projects", "pins", "links", "expected_prompts", "prompt_gates", "imported_uses",
    "known_projects", "preferences", "fading", "moment_counts",
)  # fmt: skip
# Entries of these kinds lead elsewhere: to a dependency's text, not the manifest that requires it.
_ELSEWHERE = {"dependencies"}
# The errors that reading a corrupt file may raise: in a row, or in SQLite's own messages.
_UNREADABLE = (sqlite3.DatabaseError, *UNDECODABLE)


@dataclass(frozen=True, slots=True)
class IntegrityProblem:
    """A problem: where, what, and what to do.

    `part` is what the ledger was compared with: sqlite, itself, index, disk. A problem that is not
    `severe` disappears by itself.
    """

    part: str
    what: str
    advice: str
    corpus: str = ""
    severe: bool = True


class InvalidArtifact(NamedTuple):
    """An artifact with invalid stored values, by its row number."""

    row: int
    corpus: str
    why: str


def check(store: Store) -> list[IntegrityProblem]:
    """Check a ledger's integrity; problems that make the whole file unusable are returned alone.

    Raises LedgerError if it cannot be checked: a later format, a failing disk.
    """
    if corrupt := _check_file(store):
        return [IntegrityProblem("sqlite", what, REBUILD) for what in corrupt]
    odd = [IntegrityProblem("itself", what, REPAIR) for what in _check_schema(store)]
    if store.format < len(MIGRATIONS):
        what = f"its format is {store.format}, the present one {len(MIGRATIONS)}"
        return [*odd, IntegrityProblem("sqlite", what, "the next start brings it up", severe=False)]
    try:
        _read_all(store)
        return [
            *odd,
            *_find_orphans(store),
            *_check_artifacts(store),
            *_check_values(store),
            *_check_vectors(store),
        ]
    except _UNREADABLE as error:
        return [IntegrityProblem("sqlite", f"it cannot be read: {strip_text(error)}", REBUILD)]


def _check_file(store: Store) -> list[str]:
    """Return the problems of the file as a whole: its pages, its tables."""
    try:
        if store.format > len(MIGRATIONS):
            raise LedgerError(
                f"{store.path} has format {store.format}, this version knows formats up to"
                f" {len(MIGRATIONS)}",
                "install the newer irdaemon again",
            )
        report = store.fetch_column(f"PRAGMA integrity_check({_PROBLEMS_SHOWN})")
        return _find_wrong_tables(store) if report == ["ok"] else report
    except _UNREADABLE as error:
        if is_transient(error):
            raise LedgerError(f"{store.path}: {error}", suggest_cure(store.path)) from error
        return [strip_text(error)]


# The statement that made each part of a database, normalised, by type and name.
Schema = Mapping[tuple[str, str], str]


def _select_tables(schema: Schema) -> dict[str, str]:
    """Return the statements of the tables, by name."""
    return {name: sql for (kind, name), sql in schema.items() if kind == "table"}


def _find_wrong_tables(store: Store) -> list[str]:
    """Return the tables that differ from the ledger's format."""
    if not store.format:
        return ["there is no ledger in it"]
    wanted = _select_tables(make_pattern(store.format))
    found = _select_tables(read_schema(store))
    wrong = [name for name in wanted if found.get(name) != wanted[name]]
    return [f"table {name} is missing, or has another layout" for name in sorted(wrong)]


def _check_schema(store: Store) -> Iterator[str]:
    """Yield the differences of the file from its format, apart from its tables."""
    for kind, name in find_foreign(store):
        yield f"the {kind} {name} is not irdaemon's"
    for kind, name in find_lacking(store):
        yield f"the {kind} {name} is missing"


def find_foreign(store: Store) -> list[tuple[str, str]]:
    """Return type and name of foreign parts, such as a trigger that would run."""
    wanted = make_pattern(store.format)
    return [key for key, sql in read_schema(store).items() if wanted.get(key) != sql]


def find_lacking(store: Store) -> list[tuple[str, str]]:
    """Return type and name of parts that the migrations created and the file lacks."""
    found = read_schema(store)
    return [key for key in make_pattern(store.format) if key not in found]


def make_pattern(version: int) -> Schema:
    """Return the schema that the migrations up to a format make."""
    with closing(sqlite3.connect(":memory:")) as pattern:
        for step in MIGRATIONS[:version]:
            step(pattern)
        return _normalize_schema(pattern.execute(_SCHEMA).fetchall())


def read_schema(store: Store) -> Schema:
    """Return the schema of a ledger."""
    return _normalize_schema(store.fetch_all(_SCHEMA))


# Names with this prefix are reserved for the parts that SQLite creates for keys and counters.
_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE substr(name, 1, 7) != 'sqlite_'"


def _normalize_schema(rows: Iterable[tuple[Any, ...]]) -> Schema:
    return {(kind, name): " ".join((sql or "").split()) for kind, name, sql in rows}


def _read_all(store: Store) -> None:
    """Read the values that no other check reads; invalid text or a value of a wrong type raises."""
    for table in _select_tables(make_pattern(store.format)):
        if count := count_rows(store, f"{table} WHERE {_match_other_types(store, table)}"):
            raise TypeError(f"{format_count(count, 'row')} of {table} with values of another type")
    for table in _READ_WHOLE:
        for _ in store.iterate_rows(f"SELECT * FROM {table}"):
            pass


def _match_other_types(store: Store, table: str) -> str:
    """Return a condition for rows with a value of a type that its column never has."""
    return " OR ".join(
        f"typeof({column}) != '{declared.lower()}'"
        + ("" if required or key else f" AND {column} IS NOT NULL")
        for _, column, declared, required, _, key in store.fetch_all(f"PRAGMA table_info({table})")
    )


def _find_orphans(store: Store) -> Iterator[IntegrityProblem]:
    """Yield rows whose owner is missing."""
    orphans = Counter((row[0], row[2]) for row in store.fetch_all("PRAGMA foreign_key_check"))
    for (table, owner), count in sorted(orphans.items()):
        yield IntegrityProblem(
            "itself", f"{format_count(count, 'row')} of {table} without a {owner}", REPAIR
        )


def _check_artifacts(store: Store) -> Iterator[IntegrityProblem]:
    found = Counter((each.corpus, each.why) for each in find_invalid_artifacts(store))
    for (corpus, why), count in sorted(found.items()):
        yield IntegrityProblem(
            "itself", f"{format_count(count, 'artifact')}: {why}", REPAIR, corpus
        )


def find_invalid_artifacts(store: Store) -> Iterator[InvalidArtifact]:
    """Yield the artifacts with invalid stored values, each once for each reason."""
    words = count_vocabulary(store)
    kinds = SOURCES.keys() - _ELSEWHERE
    own = {
        name for name, kind in store.fetch_all("SELECT name, kind FROM corpora") if kind in kinds
    }
    for row, corpus, owner, path, pointer, fields, names, stated in store.iterate_rows(
        "SELECT artifacts.id, artifacts.corpus, entries.corpus, path, pointer, fields, name_terms,"
        " stated FROM artifacts JOIN entries ON entries.id = artifacts.entry"
    ):
        if corpus != owner:
            yield InvalidArtifact(row, corpus, "the entry is of another corpus")
        if corpus in own and pointer and not (path and is_within(pointer, path)):
            yield InvalidArtifact(row, corpus, "the pointer does not lead to the entry")
        if not _does_unpack(fields) or not _are_terms(names, words):
            yield InvalidArtifact(row, corpus, "fields or names are garbled")
        if stated is not None and not _are_prompts(stated):
            yield InvalidArtifact(row, corpus, "expected prompts are garbled")
    for artifact, records in groupby(_read_records(store), lambda record: record.artifact):
        of_artifact = list(records)
        reasons = {_find_record_problem(at, record, words) for at, record in enumerate(of_artifact)}
        for why in sorted(reasons - {""}):
            yield InvalidArtifact(artifact, of_artifact[0].corpus, why)


class _StoredRecord(NamedTuple):
    artifact: int
    corpus: str
    artifact_id: str
    record_id: str
    kind: str
    granularity: str
    surface_index: int
    text: bytes
    metadata: bytes
    digest: bytes
    terms: bytes
    counts: bytes
    prompts: bytes | None


def _read_records(store: Store) -> Iterator[_StoredRecord]:
    """Yield the records artifact by artifact; the text as bytes, since it may not decode."""
    rows = store.iterate_rows(
        "SELECT artifact, corpus, artifact_id, record_id, records.kind, granularity, surface_index,"
        " CAST(text AS BLOB), metadata, records.digest, terms, counts, prompts"
        " FROM artifacts CROSS JOIN records ON records.artifact = artifacts.id"
        " ORDER BY artifacts.id, surface_index"
    )
    return map(_StoredRecord._make, rows)


def _find_record_problem(at: int, record: _StoredRecord, words: int) -> str:
    """Return the problem of the record at a position of its artifact's plan, or ""."""
    if record.surface_index != at:
        return "a record is missing or there twice"
    if record.prompts is not None and not _are_counted(record.prompts, words):
        return "a record's expected prompts are garbled"
    if digest_text(record.text, record.prompts) != record.digest:
        return "a record's text does not match its digest"
    if record.record_id != make_record_id(record.artifact_id, record.kind, at):
        return "a record has another's id"
    if len(record.terms) != len(record.counts) or not _are_terms(record.terms, words):
        return "a record's terms are garbled"
    return "" if _does_unpack(record.metadata) else "a record's metadata is garbled"


def _does_unpack(packed: bytes) -> bool:
    try:
        return isinstance(msgpack.unpackb(packed), dict)
    except (ValueError, TypeError, msgpack.UnpackException):
        return False


def _are_prompts(packed: bytes) -> bool:
    try:
        return all(
            isinstance(each.text, str) and isinstance(each.weight * expected.rate.words, float)
            for expected in unpack_stated(packed).values()
            for each in expected.prompts
        )
    except (*UNDECODABLE, msgpack.UnpackException):
        return False


def _are_counted(packed: bytes, words: int) -> bool:
    """Return whether a record's prompts are stored in the form of prompts that count for it."""
    try:
        prompts, share, common, ids, counts = msgpack.unpackb(packed)
        return (
            all(
                isinstance(text, str) and isinstance(weight, (int, float))
                for text, weight in prompts
            )
            and isinstance(share, (int, float))
            and isinstance(common, str)
            and isinstance(ids, bytes)
            and len(ids) == len(counts)
            and _are_terms(ids, words)
        )
    except (*UNDECODABLE, msgpack.UnpackException):
        return False


def _are_terms(packed: bytes, words: int) -> bool:
    if len(packed) % 4:
        return False
    ids = np.frombuffer(packed, np.int32)
    return not len(ids) or bool(ids.min() >= 0 and ids.max() < words)


def count_vocabulary(store: Store) -> int:
    """Return the number of terms; -1 if their ids are not 0, 1, 2 and so on."""
    row = store.fetch_one("SELECT count(*), coalesce(min(id), 0), coalesce(max(id), -1) FROM terms")
    count, first, last = row or (0, 0, -1)
    return int(count) if (first, last) == (0, count - 1) else -1


def _check_values(store: Store) -> Iterator[IntegrityProblem]:
    """Yield further values that the daemon cannot use."""
    if count_vocabulary(store) < 0:
        yield IntegrityProblem("itself", "the vocabulary has gaps", REPAIR)
    if not store.fetch_one("SELECT 1 FROM counters WHERE name = 'generation'"):
        yield IntegrityProblem("itself", "the count of generations is missing", REPAIR)
    for table, column in JSON_COLUMNS:
        for text in find_garbled_texts(store, table, column):
            row = store.fetch_one(f"SELECT count(*) FROM {table} WHERE {column} = ?", (text,))
            rows = format_count(row[0] if row else 0, "row")
            what = f"{rows} of {table}: {column} does not decode"
            yield IntegrityProblem("itself", what, REPAIR)


def _are_strings(values: Iterable[object]) -> bool:
    return all(isinstance(each, str) for each in values)


# Columns of JSON: whether a decoded value has the form that the daemon reads.
JSON_COLUMNS: Mapping[tuple[str, str], Callable[[Any], object]] = {
    ("corpora", "problems"): lambda pairs: all(
        len(each) == 2 and _are_strings(each) for each in pairs
    ),
    ("corpora", "roots"): lambda roots: _are_strings(roots.values()),
    ("corpora", "spec"): lambda spec: isinstance(spec, dict),
    ("corpora", "learning"): lambda state: isinstance(state, dict),
    ("entries", "skipped"): lambda skipped: all(isinstance(n, int) for n in skipped.values()),
    ("floors", "floor"): Floor.from_dict,
    ("prompt_gates", "report"): lambda report: isinstance(report, dict),
    ("imported_uses", "gold"): lambda gold: isinstance(gold, list) and _are_strings(gold),
}


def find_garbled_texts(store: Store, table: str, column: str) -> list[str]:
    """Return the texts in a column of JSON that do not decode to the type of the column."""
    may_be_empty = "" if (table, column) in _MAY_BE_EMPTY else None
    return [
        text
        for text in store.fetch_column(f"SELECT DISTINCT {column} FROM {table}")
        if text not in (None, may_be_empty) and not _does_decode(text, JSON_COLUMNS[table, column])
    ]


_MAY_BE_EMPTY = (("corpora", "spec"), ("corpora", "learning"))


def _does_decode(text: str, is_kept: Callable[[Any], object]) -> bool:
    try:
        return bool(is_kept(json.loads(text)))
    except (*UNDECODABLE, RecursionError):
        return False


def _check_vectors(store: Store) -> Iterator[IntegrityProblem]:
    if count := sum(1 for _ in find_invalid_vectors(store)):
        yield IntegrityProblem("itself", f"{format_count(count, 'vector', 'is')} garbled", REPAIR)
    if count := count_rows(store, f"vectors WHERE {UNUSED}"):
        what = f"{format_count(count, 'vector')} that no record needs"
        yield IntegrityProblem("itself", what, "compaction drops them", severe=False)


def find_invalid_vectors(store: Store) -> Iterator[tuple[bytes, str]]:
    """Yield the (digest, embedder) of vectors of an unusual length, or with values not finite."""
    sizes: dict[str, Counter[int]] = {}
    for embedder, size, count in store.fetch_all(
        "SELECT embedder, length(vector), count(*) FROM vectors GROUP BY embedder, length(vector)"
    ):
        sizes.setdefault(embedder, Counter())[size] = count
    usual = {embedder: of.most_common(1)[0][0] for embedder, of in sizes.items()}
    for digest, embedder, vector in store.iterate_rows(
        "SELECT digest, embedder, vector FROM vectors"
    ):
        right = len(vector) == usual[embedder] and len(vector) % 4 == 0
        if not right or not np.isfinite(np.frombuffer(vector, np.float32)).all():
            yield digest, embedder


def count_rows(store: Store, rows: str) -> int:
    """Count rows: "TABLE WHERE ..."."""
    return store.read_number(f"SELECT count(*) FROM {rows}")


# Repair a ledger: drop invalid rows, and mark their entries to be read again.
#
# The sources have all the data, so nothing is guessed: a doubtful row is dropped.

_READ_AGAIN = "UPDATE entries SET stamp = '', cursor = NULL"
_ORPHAN_RECORDS = "records WHERE artifact NOT IN (SELECT id FROM artifacts)"
# In this order: a deletion makes orphans for the next.
_ORPHANS = (
    "entries WHERE corpus NOT IN (SELECT name FROM corpora)",
    "failures WHERE corpus NOT IN (SELECT name FROM corpora)",
    "floors WHERE corpus NOT IN (SELECT name FROM corpora)",
    "prompt_gates WHERE corpus NOT IN (SELECT name FROM corpora)",
    "imported_uses WHERE corpus NOT IN (SELECT name FROM corpora)",
    "artifacts WHERE entry NOT IN (SELECT id FROM entries)",
    _ORPHAN_RECORDS,
    "links WHERE artifact NOT IN (SELECT id FROM artifacts)",
)
# In this order: a trigger must not run when a table is dropped.
_DROPPED = ("trigger", "view", "index", "table")
# The replacements of JSON that does not decode; for other columns the row is deleted.
_EMPTY = {
    "problems": "[]", "roots": "{}", "spec": "", "learning": "", "skipped": "{}", "report": "{}",
}  # fmt: skip


def repair(store: Store) -> int:
    """Make the rows of an intact file consistent, in one transaction.

    Returns how many entries are to be read again at the next scan.
    """
    with store.transaction():
        _repair_schema(store)
        if count_rows(store, _ORPHAN_RECORDS):
            store.run(_READ_AGAIN)  # the entry of their artifact is unknown
        for rows in _ORPHANS:
            store.run(f"DELETE FROM {rows}")
        _repair_values(store)
        _repair_vocabulary(store)
        _drop_invalid(store)
        gone = list(find_invalid_vectors(store))
        store.run_many("DELETE FROM vectors WHERE digest = ? AND embedder = ?", gone)
        Vectors(store).drop_unused()
        # It is now another ledger: images of the previous one must not be used.
        store.run("DELETE FROM counters WHERE name = 'identity'")
        return store.read_number("SELECT count(*) FROM entries WHERE stamp = ''")


def _repair_schema(store: Store) -> None:
    """Drop foreign parts and create missing ones, before a trigger can run."""
    for kind, name in sorted(find_foreign(store), key=lambda each: _DROPPED.index(each[0])):
        quoted = name.replace('"', '""')
        store.run(f'DROP {kind} "{quoted}"')
    wanted = make_pattern(store.format)
    for key in find_lacking(store):
        store.run(wanted[key])


def _repair_values(store: Store) -> None:
    store.run("INSERT OR IGNORE INTO counters VALUES ('generation', 0)")
    for table, column in JSON_COLUMNS:
        texts = find_garbled_texts(store, table, column)
        if column == "skipped":
            store.run_many(f"{_READ_AGAIN} WHERE skipped = ?", [(text,) for text in texts])
        for text in texts:
            if column in _EMPTY:
                empty = _EMPTY[column]
                store.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (empty, text))
            else:
                store.run(f"DELETE FROM {table} WHERE {column} = ?", (text,))


def _repair_vocabulary(store: Store) -> None:
    """Begin a new vocabulary if ids are missing, and drop every artifact that used it."""
    if count_vocabulary(store) < 0:
        store.run(_READ_AGAIN)
        store.run("DELETE FROM artifacts")
        store.run("DELETE FROM terms")


def _drop_invalid(store: Store) -> None:
    rows = [(number,) for number in {each.row for each in find_invalid_artifacts(store)}]
    entry = "(SELECT entry FROM artifacts WHERE id = ?)"
    store.run_many(f"{_READ_AGAIN} WHERE id = {entry}", rows)
    store.run_many("DELETE FROM artifacts WHERE id = ?", rows)
