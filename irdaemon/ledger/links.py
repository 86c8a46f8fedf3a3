"""Links between artifacts: an edge belongs to the artifact it leads from, and goes with it.

An edge by name (see `irdaemon.strategy.edges.BY_NAME`) holds a normalized name, so that it is found
from either end; whether an artifact has that name is checked at each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irdaemon.ledger.rows import Decomposed, StoredArtifact
from irdaemon.ledger.schema import HAS_LINK_NAME, LINK_NAME
from irdaemon.ledger.store import Store
from irdaemon.types import Edge

# ARTIFACT_COLUMNS without the body: many artifacts may link, and a turn's body fills many pages.
_LINKED_COLUMNS = "artifacts.corpus, artifact_id, name, pointer, NULL, '', 0.0, fields"


class ArtifactLinks:
    """Keep the edges of every artifact, and find artifacts by them."""

    def __init__(self, store: Store):
        self._store = store

    # -- storing ---------------------------------------------------------------------------------

    def put(self, artifact: int, edges: Sequence[Edge]) -> None:
        """Store the edges of an artifact that has none yet, in the caller's transaction."""
        self._store.run_many(
            "INSERT INTO links(artifact, place, type, corpus, target) VALUES (?, ?, ?, ?, ?)",
            [
                (artifact, place, edge.type, edge.corpus, edge.target)
                for place, edge in enumerate(edges)
            ],
        )

    def update(self, entry: int, artifacts: Iterable[Decomposed]) -> None:
        """Store the edges of an entry's artifacts where they differ from the stored ones."""
        rows = dict(
            self._store.fetch_all("SELECT artifact_id, id FROM artifacts WHERE entry = ?", (entry,))
        )
        held: dict[int, list[Edge]] = {}
        for row, *edge in self._store.fetch_all(
            "SELECT artifact, type, links.corpus, target FROM links"
            " JOIN artifacts ON artifacts.id = links.artifact WHERE entry = ?"
            " ORDER BY artifact, place",
            (entry,),
        ):
            held.setdefault(row, []).append(_make_edge(*edge))
        for each in artifacts:
            row = rows[each.artifact.artifact_id]
            if held.get(row, []) != list(each.edges):
                self._store.run("DELETE FROM links WHERE artifact = ?", (row,))
                self.put(row, each.edges)

    # -- from an artifact ------------------------------------------------------------------------

    def list_edges(self, corpus: str, artifact_id: str) -> list[Edge]:
        """Return the edges of an artifact in order; none for an unknown artifact."""
        rows = self._store.fetch_all(
            "SELECT type, links.corpus, target FROM links"
            " JOIN artifacts ON artifacts.id = links.artifact"
            " WHERE artifacts.corpus = ? AND artifact_id = ? ORDER BY place",
            (corpus, artifact_id),
        )
        return [_make_edge(*row) for row in rows]

    def find_named(self, name: str, corpora: Sequence[str], limit: int) -> list[StoredArtifact]:
        """Return the artifacts of some corpora that have a link's name, by id, without bodies."""
        return self._find_linked(
            f"SELECT {_LINKED_COLUMNS} FROM artifacts"
            f" WHERE {LINK_NAME} = ? AND {HAS_LINK_NAME} AND {_make_condition(corpora)}"
            " ORDER BY artifacts.corpus, artifact_id LIMIT ?",
            (name, *corpora, limit),
        )

    # -- to an artifact --------------------------------------------------------------------------

    def find_leading_to(
        self, target: str, type: str, corpora: Sequence[str], limit: int
    ) -> list[StoredArtifact]:
        """Return artifacts of some corpora whose edges of a type name a target, newest first.

        Their bodies are left out.
        """
        return self._find_linked(
            f"SELECT {_LINKED_COLUMNS} FROM links JOIN artifacts ON artifacts.id = links.artifact"
            f" WHERE target = ? AND type = ? AND links.corpus = '' AND {_make_condition(corpora)}"
            " GROUP BY artifacts.id ORDER BY artifacts.id DESC LIMIT ?",
            (target, type, *corpora, limit),
        )

    def list_ids_leading_to(self, corpus: str, edge: Edge) -> list[str]:
        """Return the ids of a corpus' artifacts that have such an edge, in storage order."""
        return self._store.fetch_column(
            "SELECT artifact_id FROM links JOIN artifacts ON artifacts.id = links.artifact"
            " WHERE target = ? AND type = ? AND links.corpus = ? AND artifacts.corpus = ?"
            " GROUP BY artifacts.id ORDER BY artifacts.id",
            (edge.target, edge.type, edge.corpus, corpus),
        )

    def count_most_leading(self, corpus: str, type: str) -> int:
        """Return the number of a corpus' artifacts that lead to its most linked target."""
        return self._store.read_number(
            "SELECT count(DISTINCT artifact) AS n FROM links"
            " JOIN artifacts ON artifacts.id = links.artifact"
            " WHERE artifacts.corpus = ? AND type = ? GROUP BY links.corpus, target"
            " ORDER BY n DESC LIMIT 1",
            (corpus, type),
        )

    def _find_linked(self, statement: str, values: Sequence[object]) -> list[StoredArtifact]:
        return [StoredArtifact.unpack(row) for row in self._store.fetch_all(statement, values)]


def _make_edge(type: str, corpus: str, target: str) -> Edge:
    return Edge(type, target, corpus)


def _make_condition(corpora: Sequence[str]) -> str:
    return f"artifacts.corpus IN ({', '.join('?' for _ in corpora)})"
