"""Stored artifacts: one by its id, a page of many, and their number."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import msgpack

from irdaemon.ledger.rows import (
    ARTIFACT_COLUMNS,
    OWN_CONTENT,
    ArtifactPage,
    Counts,
    Namesake,
    Pin,
    StoredArtifact,
    make_storable,
)
from irdaemon.ledger.store import Store, Values
from irdaemon.source.asset_types import find_asset_type

# Pins: the text of each artifact as it was last disclosed, to show later changes.
#
# Only the newest thousand are kept, each compressed and no longer than the disclosed text.

MOST_PINS = 1_000


def hash_text(text: str) -> str:
    """Return the digest of a disclosed text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


class Pins:
    """The disclosed texts, one row for each artifact."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, pins: Iterable[Pin]) -> None:
        """Record disclosures, replacing earlier ones; beyond the limit the oldest are dropped.

        Artifacts forgotten since then are left out.
        """
        with self._store.transaction():
            for pin in pins:
                self._store.run(
                    "INSERT OR REPLACE INTO pins(corpus, artifact_id, level, digest, text, at)"
                    " SELECT corpus, artifact_id, ?, ?, ?, ? FROM artifacts"
                    " WHERE corpus = ? AND artifact_id = ?",
                    (
                        pin.level,
                        hash_text(pin.text),
                        zlib.compress(make_storable(pin.text).encode()),
                        pin.at,
                        pin.corpus,
                        pin.artifact_id,
                    ),
                )
            self._store.run(
                "DELETE FROM pins WHERE (corpus, artifact_id) NOT IN"
                " (SELECT corpus, artifact_id FROM pins ORDER BY at DESC LIMIT ?)",
                (MOST_PINS,),
            )

    def rewrite(self, corpus: str, changed: Callable[[str], str]) -> None:
        """Replace the texts of a corpus' disclosures by a function's results."""
        with self._store.transaction():
            for pin in self.list_all(corpus):
                text = changed(pin.text)
                if text != pin.text:
                    self._store.run(
                        "UPDATE pins SET digest = ?, text = ? WHERE corpus = ? AND artifact_id = ?",
                        (
                            hash_text(text),
                            zlib.compress(make_storable(text).encode()),
                            corpus,
                            pin.artifact_id,
                        ),
                    )

    def list_all(self, corpus: str | None = None) -> list[Pin]:
        """Return the disclosures of one corpus or of all, newest first."""
        rows = self._store.fetch_all(
            "SELECT corpus, artifact_id, level, text, at FROM pins"
            " WHERE corpus = coalesce(?, corpus) ORDER BY at DESC, corpus, artifact_id",
            (corpus,),
        )
        return [
            Pin(corpus, artifact_id, level, zlib.decompress(text).decode(), at)
            for corpus, artifact_id, level, text, at in rows
        ]


# The columns of inserted rows.
ARTIFACT_ROW = (
    "entry, corpus, artifact_id, name, pointer, fields, body, digest, content, version,"
    " indexed_at, name_terms, stated"
)
RECORD_ROW = (
    "record_id, kind, granularity, surface_index, text, metadata, digest, terms, counts, prompts"
)


def insert_artifact(store: Store, artifact: Values) -> int:
    """Insert an artifact in the caller's transaction; return its row number."""
    inserted = store.run(
        f"INSERT INTO artifacts({ARTIFACT_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        artifact,
    )
    return inserted.lastrowid or 0


def insert_records(store: Store, artifact: int, records: Iterable[Values]) -> None:
    """Insert the records of an artifact's row in the caller's transaction."""
    store.run_many(
        f"INSERT INTO records(artifact, {RECORD_ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(artifact, *record) for record in records],
    )


class Artifacts:
    """Read artifacts and their records."""

    def __init__(self, store: Store):
        self._store = store

    def get(self, corpus: str, artifact_id: str) -> StoredArtifact | None:
        """Return one artifact by its exact id."""
        row = self._store.fetch_one(
            f"SELECT {ARTIFACT_COLUMNS} FROM artifacts WHERE corpus = ? AND artifact_id = ?",
            (corpus, artifact_id),
        )
        return StoredArtifact.unpack(row) if row else None

    def list_all(self, corpora: Iterable[str]) -> list[tuple[str, str, str, str, dict[str, Any]]]:
        """Return (corpus, artifact_id, name, pointer, fields) of all artifacts of some corpora."""
        return [
            (*row[:-1], msgpack.unpackb(row[-1]))
            for corpus in corpora
            for row in self._store.iterate_rows(
                "SELECT corpus, artifact_id, name, pointer, fields FROM artifacts WHERE corpus = ?"
                " ORDER BY artifact_id",
                (corpus,),
            )
        ]

    def list_values(self, corpus: str, field: str) -> list[str]:
        """Return the distinct texts of a field of a corpus' artifacts, sorted."""
        found = (row[-1].get(field) for row in self.list_all([corpus]))
        return sorted({value for value in found if isinstance(value, str)})

    def measure(self, corpus: str) -> int:
        """Return about how many bytes the texts and terms of a corpus take."""
        return self._store.read_number(
            "SELECT coalesce(sum(length(text) + length(terms) + length(counts)), 0)"
            " FROM records JOIN artifacts ON artifacts.id = records.artifact WHERE corpus = ?",
            (corpus,),
        )

    def list_prompts(self, corpus: str, artifact_id: str) -> list[str]:
        """Return a person's prompts in a turn, as indexed."""
        return self._store.fetch_column(
            "SELECT text FROM records JOIN artifacts ON artifacts.id = records.artifact"
            " WHERE corpus = ? AND artifact_id = ? AND records.kind = 'user_prompt'"
            " ORDER BY surface_index",
            (corpus, artifact_id),
        )

    def list_contents(self, corpus: str, artifact_ids: Iterable[str]) -> dict[str, str]:
        """Return the hash of existing artifacts' own text, by id.

        Writing a synopsis of an artifact does not change it.
        """
        statement = (
            f"SELECT artifact_id, {OWN_CONTENT} FROM artifacts WHERE corpus = ? AND artifact_id IN"
        )
        rows = self._store.select_in(statement, list(artifact_ids), corpus)
        return {artifact_id: content for artifact_id, content in rows}

    def find_named(self, corpus: str, name: str, limit: int = 20) -> list[Namesake]:
        """Return the artifacts called `name`, or whose id ends with it as a path, by id."""
        rows = self._store.fetch_all(
            "SELECT artifact_id, content, fields FROM artifacts WHERE corpus = ?"
            " AND (name = ? OR substr(artifact_id, -length(?) - 1) = '/' || ?)"
            " ORDER BY artifact_id LIMIT ?",
            (corpus, name, name, name, limit),
        )
        return [
            Namesake(artifact_id, content, msgpack.unpackb(fields).get("scope"))
            for artifact_id, content, fields in rows
        ]

    def find_by_length(
        self, corpus: str, lengths: tuple[int, int], limit: int = 20_000
    ) -> list[tuple[str, str]]:
        """Return (id, name) of artifacts whose name length lies between two numbers."""
        return self._store.fetch_all(
            "SELECT artifact_id, name FROM artifacts WHERE corpus = ?"
            " AND length(name) BETWEEN ? AND ? LIMIT ?",
            (corpus, *lengths, limit),
        )

    def list_page(self, wanted: ArtifactPage) -> list[tuple[Any, ...]]:
        """Return (corpus, artifact_id, name, pointer, indexed_at, asset type), by reference.

        Artifacts of projects are included only if their part of a corpus is named.
        """
        rows = self._store.fetch_all(
            "SELECT corpus, artifact_id, name, pointer, indexed_at, fields FROM artifacts"
            " WHERE (corpus, artifact_id) > (?1, ?2)"
            " AND (corpus = ?3 OR ?3 = '' AND corpus NOT LIKE '%@%')"
            " AND (?4 = '' OR pointer = ?4 OR substr(pointer, 1, length(?4) + 1) = ?4 || '/')"
            " ORDER BY corpus, artifact_id LIMIT ?5",
            (*wanted.after, wanted.corpus, wanted.under, wanted.limit),
        )
        return [(*row[:-1], find_asset_type(msgpack.unpackb(row[-1]))) for row in rows]

    def list_records(self, corpus: str, artifact_id: str) -> list[dict[str, Any]]:
        """Return the stored records of an artifact in plan order."""
        names = ("record_id", "kind", "granularity", "surface_index", "text")
        return [
            {**dict(zip(names, row, strict=False)), "metadata": msgpack.unpackb(row[5])}
            for row in self._store.fetch_all(
                "SELECT record_id, records.kind, granularity, surface_index, text, metadata"
                " FROM records JOIN artifacts ON artifacts.id = records.artifact"
                " WHERE corpus = ? AND artifact_id = ? ORDER BY surface_index",
                (corpus, artifact_id),
            )
        ]

    def list_texts(self, corpus: str, kind: str) -> dict[str, str]:
        """Return the text of each artifact's first record of a kind, by the artifact's id."""
        rows = self._store.fetch_all(
            "SELECT artifact_id, text"
            " FROM records JOIN artifacts ON artifacts.id = records.artifact"
            " WHERE corpus = ? AND records.kind = ? ORDER BY surface_index DESC",
            (corpus, kind),
        )
        return dict(rows)  # of several the last, which is the first of the plan

    def find_row(self, corpus: str, artifact_id: str) -> int:
        """Return the row number by which an index knows an artifact, or -1."""
        return self._store.read_number(
            "SELECT id FROM artifacts WHERE corpus = ? AND artifact_id = ?",
            (corpus, artifact_id),
            default=-1,
        )

    def find_last_row(self) -> int:
        """Return the highest row number of any artifact."""
        return self._store.read_number("SELECT coalesce(max(id), 0) FROM artifacts")

    def count(self, corpus: str) -> int:
        """Count the artifacts of a corpus."""
        return self._store.read_number("SELECT count(*) FROM artifacts WHERE corpus = ?", (corpus,))

    def count_all(self, corpus: str, embedder: str) -> Counts:
        """Count the rows of a corpus by type; vectors are those of one embedder."""
        records = "FROM records JOIN artifacts ON artifacts.id = records.artifact"
        row = self._store.fetch_one(
            "SELECT (SELECT count(*) FROM artifacts WHERE corpus = ?1),"
            f" (SELECT count(*) {records} WHERE corpus = ?1),"
            f" (SELECT count(*) {records} JOIN vectors ON vectors.digest = records.digest"
            "   AND embedder = ?2 WHERE corpus = ?1),"
            " (SELECT count(*) FROM failures WHERE corpus = ?1)",
            (corpus, embedder),
        )
        return Counts(*(row or (0, 0, 0, 0)))
