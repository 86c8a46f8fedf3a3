"""The ledger's tables, as migrations: ordered functions, each run once, in one transaction.

SQLite's `user_version` counts those that have run; it is the ledger's format version, independent
of the package's. A ledger of a later format is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from irclient.errors import IRError


class LedgerError(IRError):
    """The ledger cannot be used; the daemon must not go on without it."""

    code = "ledger"


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the first format.

    An entry is what a source scans, with the position up to which it was read; its artifacts and
    their records are deleted with it. Vectors belong to texts, not to records: a rename or another
    recipe finds them again. Term ids are per ledger and never reused.
    """
    for statement in _TABLES:
        connection.execute(statement)


_TABLES = (
    """CREATE TABLE corpora (
        name TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        recipe TEXT NOT NULL,
        embedder TEXT NOT NULL,
        last_reconcile REAL,
        problems TEXT NOT NULL DEFAULT '[]',
        roots TEXT NOT NULL DEFAULT '{}'
    )""",
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        stamp TEXT NOT NULL,
        racy INTEGER NOT NULL,
        recipe TEXT NOT NULL,
        cursor BLOB,
        skipped TEXT NOT NULL DEFAULT '{}',
        UNIQUE (corpus, key)
    )""",
    "CREATE INDEX entries_by_path ON entries(corpus, path)",
    """CREATE TABLE artifacts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        entry INTEGER NOT NULL REFERENCES entries(id) ON DELETE CASCADE,
        corpus TEXT NOT NULL,
        artifact_id TEXT NOT NULL,
        name TEXT NOT NULL,
        pointer TEXT NOT NULL,
        fields BLOB NOT NULL,
        body TEXT,
        digest TEXT NOT NULL,
        content TEXT NOT NULL,
        version TEXT NOT NULL,
        indexed_at REAL NOT NULL,
        UNIQUE (corpus, artifact_id)
    )""",
    "CREATE INDEX artifacts_by_entry ON artifacts(entry)",
    """CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        artifact INTEGER NOT NULL REFERENCES artifacts(id) ON DELETE CASCADE,
        record_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        granularity TEXT NOT NULL,
        surface_index INTEGER NOT NULL,
        text TEXT NOT NULL,
        metadata BLOB NOT NULL,
        digest BLOB NOT NULL,
        terms BLOB NOT NULL,
        counts BLOB NOT NULL
    )""",
    "CREATE INDEX records_by_artifact ON records(artifact)",
    "CREATE INDEX records_by_digest ON records(digest)",
    "CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE)",
    """CREATE TABLE vectors (
        digest BLOB NOT NULL,
        embedder TEXT NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (digest, embedder)
    ) WITHOUT ROWID""",
    """CREATE TABLE failures (
        corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        reason TEXT NOT NULL,
        stamp TEXT NOT NULL,
        since REAL NOT NULL,
        PRIMARY KEY (corpus, key)
    )""",
    """CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        corpus TEXT NOT NULL,
        report TEXT NOT NULL,
        started REAL NOT NULL,
        took_ms REAL NOT NULL
    )""",
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "INSERT INTO counters VALUES ('generation', 0)",
)


def add_name_terms(connection: sqlite3.Connection) -> None:
    """Keep the term ids of each artifact's name; older rows get theirs at their next reading."""
    connection.execute("ALTER TABLE artifacts ADD COLUMN name_terms BLOB NOT NULL DEFAULT x''")


def add_floors(connection: sqlite3.Connection) -> None:
    """Keep each corpus' calibrated floors, as JSON, one for each mode."""
    connection.execute(
        """CREATE TABLE floors (
            corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
            mode TEXT NOT NULL,
            floor TEXT NOT NULL,
            PRIMARY KEY (corpus, mode)
        ) WITHOUT ROWID"""
    )


def add_served(connection: sqlite3.Connection) -> None:
    """Remember which embedder's vectors serve each corpus' queries, by name and id."""
    connection.execute("ALTER TABLE corpora ADD COLUMN served_name TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE corpora ADD COLUMN served TEXT NOT NULL DEFAULT ''")


def add_gone(connection: sqlite3.Connection) -> None:
    """Add a tombstone for every deleted artifact row, for the indexes that hold it."""
    connection.execute(
        "CREATE TABLE gone ("
        "id INTEGER PRIMARY KEY AUTOINCREMENT, corpus TEXT NOT NULL, artifact INTEGER NOT NULL)"
    )
    connection.execute(
        "CREATE TRIGGER artifact_gone AFTER DELETE ON artifacts BEGIN"
        " INSERT INTO gone(corpus, artifact) VALUES (old.corpus, old.id); END"
    )


def add_secrets(connection: sqlite3.Connection) -> None:
    """Keep the places of secrets, the projects of entries, and what was last disclosed."""
    for statement in _ABOUT_SECRETS:
        connection.execute(statement)


_ABOUT_SECRETS = (
    """CREATE TABLE secrets (
        entry INTEGER NOT NULL REFERENCES entries(id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        kind TEXT NOT NULL,
        PRIMARY KEY (entry, path, line, kind)
    ) WITHOUT ROWID""",
    """CREATE TABLE projects (
        entry INTEGER NOT NULL REFERENCES entries(id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        opted_out INTEGER NOT NULL,
        PRIMARY KEY (entry, path)
    ) WITHOUT ROWID""",
    """CREATE TABLE pins (
        corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
        artifact_id TEXT NOT NULL,
        level TEXT NOT NULL,
        digest TEXT NOT NULL,
        text BLOB NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (corpus, artifact_id)
    )""",
)


def add_tries(connection: sqlite3.Connection) -> None:
    """Count how often each failed entry was tried."""
    connection.execute("ALTER TABLE failures ADD COLUMN tries INTEGER NOT NULL DEFAULT 1")


def add_spec(connection: sqlite3.Connection) -> None:
    """Keep the spec of a corpus, as JSON, so that another program can open it by its name."""
    connection.execute("ALTER TABLE corpora ADD COLUMN spec TEXT NOT NULL DEFAULT ''")


# The name by which links find an artifact, as `irdaemon.strategy.edges.normalize_name` writes it.
LINK_NAME = (
    "lower(replace(replace(replace(replace(name, '_', '-'), '.', '-'), '--', '-'), '--', '-'))"
)
# An artifact without name terms has no searched name: a turn's name is its first words.
HAS_LINK_NAME = "name_terms != x''"
_WITHOUT_LINKS = ("files", "reports")


def add_links(connection: sqlite3.Connection) -> None:
    """Keep the links of artifacts.

    Artifacts that may have links are read again; unchanged text is not embedded again.
    """
    connection.execute(
        """CREATE TABLE links (
            artifact INTEGER NOT NULL REFERENCES artifacts(id) ON DELETE CASCADE,
            place INTEGER NOT NULL,
            type TEXT NOT NULL,
            corpus TEXT NOT NULL,
            target TEXT NOT NULL,
            PRIMARY KEY (artifact, place)
        ) WITHOUT ROWID"""
    )
    connection.execute("CREATE INDEX links_by_target ON links(target, type)")
    connection.execute(
        f"CREATE INDEX artifacts_by_link_name ON artifacts({LINK_NAME}) WHERE {HAS_LINK_NAME}"
    )
    connection.execute(
        "UPDATE entries SET stamp = '', cursor = NULL"
        " WHERE corpus IN (SELECT name FROM corpora WHERE kind NOT IN (?, ?))",
        _WITHOUT_LINKS,
    )


def add_learned(connection: sqlite3.Connection) -> None:
    """Keep the prompts that led to a use of an artifact, the served ones and the previous ones.

    Imported uses are kept unchanged, to be learned from again. A record that prompts count for also
    keeps them, beside the counts of its own text: `learned`.
    """
    connection.execute(
        """CREATE TABLE learned (
            corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
            artifact_id TEXT NOT NULL,
            served INTEGER NOT NULL,
            place INTEGER NOT NULL,
            prompt TEXT NOT NULL,
            session TEXT NOT NULL,
            at REAL NOT NULL,
            weight REAL NOT NULL,
            words REAL NOT NULL,
            share REAL NOT NULL,
            PRIMARY KEY (corpus, artifact_id, served, place)
        ) WITHOUT ROWID"""
    )
    connection.execute(
        """CREATE TABLE imported_uses (
            corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
            prompt TEXT NOT NULL,
            gold TEXT NOT NULL,
            session TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (corpus, prompt, gold, session, at)
        ) WITHOUT ROWID"""
    )
    connection.execute("ALTER TABLE records ADD COLUMN learned BLOB")
    connection.execute("ALTER TABLE corpora ADD COLUMN learning TEXT NOT NULL DEFAULT ''")


def add_known_projects(connection: sqlite3.Connection) -> None:
    """Keep the known projects, which add parts to corpora, and when each last sent a query."""
    connection.execute(
        """CREATE TABLE known_projects (
            root TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            marks TEXT NOT NULL,
            why TEXT NOT NULL,
            since REAL NOT NULL,
            asked_at REAL NOT NULL,
            aside_at REAL NOT NULL,
            gone_at REAL NOT NULL
        ) WITHOUT ROWID"""
    )


def add_provenance(connection: sqlite3.Connection) -> None:
    """Keep expected prompts by provenance, those learned from use among them.

    Prompts that come with an artifact are kept in its row, `stated`. `written_for` is the content
    that prompts were written for, "" if unknown. They outlive their corpus: no source could bring
    them back.
    """
    connection.execute(
        """CREATE TABLE expected_prompts (
            corpus TEXT NOT NULL,
            artifact_id TEXT NOT NULL,
            provenance TEXT NOT NULL,
            served INTEGER NOT NULL,
            place INTEGER NOT NULL,
            prompt TEXT NOT NULL,
            session TEXT NOT NULL,
            at REAL NOT NULL,
            weight REAL NOT NULL,
            words REAL NOT NULL,
            share REAL NOT NULL,
            written_for TEXT NOT NULL,
            PRIMARY KEY (corpus, artifact_id, provenance, served, place)
        ) WITHOUT ROWID"""
    )
    connection.execute(
        "INSERT INTO expected_prompts SELECT corpus, artifact_id, 'use', served, place, prompt,"
        " session, at, weight, words, share, '' FROM learned"
    )
    connection.execute("DROP TABLE learned")
    connection.execute(
        """CREATE TABLE prompt_gates (
            corpus TEXT NOT NULL REFERENCES corpora(name) ON DELETE CASCADE,
            provenance TEXT NOT NULL,
            is_open INTEGER NOT NULL,
            report TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (corpus, provenance)
        ) WITHOUT ROWID"""
    )
    connection.execute("ALTER TABLE records RENAME COLUMN learned TO prompts")
    connection.execute("ALTER TABLE artifacts ADD COLUMN stated BLOB")
    connection.execute(
        "CREATE INDEX artifacts_with_stated ON artifacts(corpus) WHERE stated IS NOT NULL"
    )


def add_preferences(connection: sqlite3.Connection) -> None:
    """Keep muted and pinned items, faded items, and the counts of moments.

    A preference is a person's decision, and outlives its corpus.
    """
    connection.execute(
        """CREATE TABLE preferences (
            corpus TEXT NOT NULL,
            artifact_id TEXT NOT NULL,
            root TEXT NOT NULL,
            name TEXT NOT NULL,
            verdict TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (corpus, artifact_id, root)
        ) WITHOUT ROWID"""
    )
    connection.execute(
        """CREATE TABLE fading (
            corpus TEXT NOT NULL,
            artifact_id TEXT NOT NULL,
            content TEXT NOT NULL,
            since REAL NOT NULL,
            sessions INTEGER NOT NULL,
            evidence REAL NOT NULL,
            PRIMARY KEY (corpus, artifact_id)
        ) WITHOUT ROWID"""
    )
    connection.execute(
        """CREATE TABLE moment_counts (
            day TEXT NOT NULL,
            agent TEXT NOT NULL,
            moment TEXT NOT NULL,
            outcome TEXT NOT NULL,
            n INTEGER NOT NULL,
            PRIMARY KEY (day, agent, moment, outcome)
        ) WITHOUT ROWID"""
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    create_tables,
    add_name_terms,
    add_floors,
    add_served,
    add_gone,
    add_secrets,
    add_tries,
    add_spec,
    add_links,
    add_learned,
    add_known_projects,
    add_provenance,
    add_preferences,
)


# The current ledger format.
FORMAT = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a ledger to the current format. Raises LedgerError for one from the future."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"the ledger has format {version}, this version knows formats up to {len(MIGRATIONS)}",
            "install the newer irdaemon again, or delete the ledger to rebuild it from its sources",
        )
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        with hold_transaction(connection):
            step(connection)
            connection.execute(f"PRAGMA user_version = {number}")


@contextmanager
def hold_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do everything inside the block in one transaction: all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has already rolled back
            connection.execute("ROLLBACK")
        raise
