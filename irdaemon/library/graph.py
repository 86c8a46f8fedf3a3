"""The links of a corpus as a graph: from an artifact to its neighbours, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

from irclient.errors import NotFound, QueryError
from irdaemon.library.built import Built, open_corpus
from irdaemon.strategy.edges import BY_NAME, REF, Target, link_name
from irdaemon.types import Edge

# The id of an artifact or a name, or (corpus, id).
NodeId = str | tuple[str, str]
_NAMESAKES = 1_000


@runtime_checkable
class GraphStore(Protocol):
    """A graph that can be walked: what is at a node, and which nodes are beside it."""

    def __getitem__(self, node_id: Any) -> Any:
        """Return what is at a node."""
        ...

    def neighbors(self, node_id: Any, *, edge_type: str | None = None) -> Iterable[Any]:
        """Return the nodes that a node leads to, by edges of one type or of any."""
        ...


class CorpusGraph:
    """The artifacts of one corpus and their links, as they are held at each call.

    `graph[id]` are the artifact's records. A target is an id or a name, or (corpus, id) of another
    corpus. Targets of REF, NAMES and USED are names in one spelling: lower case, `-` for every run
    of `-`, `_` and `.`; those of other types are exact.
    """

    def __init__(self, corpus: Built | str):
        self._built = open_corpus(corpus) if isinstance(corpus, str) else corpus
        self.source = self._built.name

    def __getitem__(self, node_id: str) -> list[dict[str, Any]]:
        """Return an artifact's records in plan order. Raises NotFound for an unknown one."""
        if not self._built.holds(node_id):
            raise NotFound(f"corpus {self.source!r} holds no artifact {node_id!r:.100}")
        return self._built.engine.ledger.artifacts.records_of(self.source, node_id)

    def neighbors(self, node_id: str, *, edge_type: str | None = None) -> list[NodeId]:
        """Return the targets of an artifact's edges in their order, each once."""
        edges = self._built.engine.ledger.links.of(self.source, node_id)
        wanted = (edge for edge in edges if edge_type in (None, edge.type))
        return list(dict.fromkeys(_target(edge) for edge in wanted))

    def edge_types(self, node_id: str) -> list[str]:
        """Return the types of an artifact's edges in their order, each once."""
        edges = self._built.engine.ledger.links.of(self.source, node_id)
        return list(dict.fromkeys(edge.type for edge in edges))

    def reverse_neighbors(self, node_id: Target, *, edge_type: str = REF) -> list[str]:
        """Return the ids of the artifacts whose edges lead to a node: of a package its dependents.

        The node need not be in the corpus. An artifact is also found by its name.
        """
        links = self._built.engine.ledger.links
        found = (
            links.ids_leading_to(self.source, edge) for edge in self._edges(node_id, edge_type)
        )
        return list(dict.fromkeys(each for ids in found for each in ids))

    def fan_in(self, node_id: Target, *, edge_type: str = REF) -> int:
        """Return how many artifacts have edges that lead to a node."""
        return len(self.reverse_neighbors(node_id, edge_type=edge_type))

    def max_fan_in(self, *, edge_type: str = REF) -> int:
        """Return the greatest `fan_in` of any node, 0 without edges."""
        return self._built.engine.ledger.links.most_leading_to_one(self.source, edge_type)

    def resolve(self, node_id: Target, *, edge_type: str = REF) -> NodeId:
        """Return the id of the artifact that a node is, else the node as edges lead to it.

        Ids and names are compared in one spelling where edges of the type lead to names. Of several
        artifacts an exact id is taken, else the first by id.
        """
        corpus, target = canonical_node_id(node_id, source=self.source)
        if corpus != self.source:
            return str(corpus), target
        if edge_type not in BY_NAME or self._built.holds(target):
            return target
        ids = self._ids_called(link_name(target))
        return next(ids, link_name(target))

    def _edges(self, node_id: Target, type: str) -> list[Edge]:
        """Return the edges that would lead to a node, each once."""
        corpus, target = canonical_node_id(node_id, source="")
        if corpus or type not in BY_NAME:
            return [Edge(type, target, corpus or "")]
        held = self._built.engine.ledger.artifacts.get(self.source, target)
        names = [target, held.name] if held else [target]
        return list(dict.fromkeys(Edge(type, link_name(name)) for name in names))

    def _ids_called(self, name: str) -> Iterator[str]:
        found = self._built.engine.ledger.links.named(name, [self.source], _NAMESAKES)
        return (each.artifact_id for each in found)


def canonical_node_id(target: Target, *, source: str | None) -> tuple[str | None, str]:
    """Return a target as (corpus, id), that of `source` where it names no corpus.

    Raises QueryError for a list that is no such pair.
    """
    if isinstance(target, str):
        return source, target
    if len(target) != 2:
        raise QueryError(f"a node of another corpus is (corpus, id), not {target!r:.60}")
    corpus, artifact_id = map(str, target)
    return corpus, artifact_id


def _target(edge: Edge) -> NodeId:
    return (edge.corpus, edge.target) if edge.corpus else edge.target
