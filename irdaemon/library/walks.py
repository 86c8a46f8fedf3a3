"""Walks over a built corpus: from summaries down to passages, and from packages to dependents.

A node's score is the evidence of its records for the query, as in a search without selection: of
vectors and words, or of words alone if the corpus has no vectors.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from irclient.errors import NotFound, QueryError
from irdaemon.discovery.decide import is_weight
from irdaemon.discovery.legs import compute_evidence
from irdaemon.discovery.query import analyse_query, embed_question, parse_search
from irdaemon.discovery.retrieve import Candidate
from irdaemon.library.built import Built, find_built
from irdaemon.strategy.edges import BY_NAME, REF, Target, normalize_name
from irdaemon.types import Edge, Hit, Query

# The loop of a walk, over any nodes: a policy says what a node is and where it leads.
#
# The loop, not the policy, ensures that a walk ends: a node is committed once, no deeper than
# `max_depth` and at most `node_budget` in all, and the number of waiting nodes is limited. So a
# walk ends even if its policy never stops, leads in circles or yields forever.

MAX_DEPTH = 2
NODE_BUDGET = 64
# The most nodes that wait to be scored in one step.
_MOST_WAITING = 10_000

# A policy's own node, its depth, and its score.
ScoredNode = tuple[Any, int, float]


@dataclass(slots=True)
class WalkState:
    """The state of one walk, for its policy to read.

    `visited` holds the ids of committed nodes, `results` their hits. `cache` belongs to the policy.
    """

    query: str
    max_depth: int
    budget: int
    visited: set[Hashable] = field(default_factory=set)
    results: list[Hit] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class WalkPolicy(Protocol):
    """The policy of a walk: it alone knows what its nodes are."""

    def seed(self, state: WalkState, store: Any) -> Iterable[Any]:
        """Return the nodes to start from."""
        ...

    def score(self, state: WalkState, node: Any, store: Any) -> float:
        """Return how well a node answers the query."""
        ...

    def select(self, state: WalkState, scored: Sequence[ScoredNode]) -> Iterable[ScoredNode]:
        """Return the scored nodes to commit, in order."""
        ...

    def expand(self, state: WalkState, node: Any, store: Any) -> Iterable[Any]:
        """Return the nodes that a committed one leads to."""
        ...

    def node_id(self, node: Any) -> Hashable:
        """Return the identity of a node."""
        ...

    def stop(self, state: WalkState) -> bool:
        """Return whether the results suffice."""
        ...

    def to_hit(self, state: WalkState, node: Any, score: float, depth: int) -> Hit | None:
        """Return a committed node as a hit, None for one that only leads on."""
        ...


@dataclass(frozen=True, slots=True)
class WalkBounds:
    """The limits of a walk, and how many hits it returns."""

    max_depth: int = MAX_DEPTH
    node_budget: int = NODE_BUDGET
    k: int = 10

    def check(self) -> None:
        """Raise QueryError for a bound that is not an integer, or too low."""
        for name, least in (("max_depth", 0), ("node_budget", 1), ("k", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise QueryError(f"{name} must be a whole number from {least}, not {value!r:.60}")


def walk_links(query: str, store: Any, policy: WalkPolicy, bounds: WalkBounds) -> list[Hit]:
    """Return the hits of a walk, best first; ties stay in the order of their commitment.

    `store` is passed to the policy as it is. Raises QueryError for invalid bounds.
    """
    bounds.check()
    found = _Walk(query, store, policy, bounds).hits()
    return sorted(found, key=lambda hit: -hit.score)[: bounds.k]


class _Walk:
    """One walk. It keeps committed nodes here, where no policy can change them."""

    def __init__(self, query: str, store: Any, policy: WalkPolicy, bounds: WalkBounds):
        self._store, self._policy, self._bounds = store, policy, bounds
        self._state = WalkState(query, bounds.max_depth, bounds.node_budget)
        self._committed: set[Hashable] = set()
        self._hits: list[Hit] = []

    def hits(self) -> list[Hit]:
        """Continue until no node is left, the budget is used up or the policy stops."""
        waiting = [
            (node, 0) for node in islice(self._policy.seed(self._state, self._store), _MOST_WAITING)
        ]
        while waiting and len(self._committed) < self._bounds.node_budget:
            waiting = self._step(waiting)
        return self._hits

    def _step(self, waiting: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """Commit the nodes that the policy selects; return the nodes that they lead to."""
        scored = [
            (node, depth, self._policy.score(self._state, node, self._store))
            for node, depth in waiting
            if self._policy.node_id(node) not in self._committed
        ]
        reached: list[tuple[Any, int]] = []
        for node, depth, score in islice(self._policy.select(self._state, scored), len(scored)):
            if len(self._committed) >= self._bounds.node_budget:
                return []
            if not self._commit(node, depth, score):
                continue
            if self._hits and self._policy.stop(self._state):
                return []
            if depth < self._bounds.max_depth:
                further = self._policy.expand(self._state, node, self._store)
                room = _MOST_WAITING - len(reached)
                reached += [(each, depth + 1) for each in islice(further, room)]
        return reached

    def _commit(self, node: Any, depth: int, score: float) -> bool:
        """Commit a node and store its hit; return False if it was committed before."""
        known = self._policy.node_id(node)
        if known in self._committed:
            return False
        self._committed.add(known)
        self._state.visited.add(known)
        hit = self._policy.to_hit(self._state, node, score, depth)
        if hit is not None:
            self._hits.append(replace(hit, fields={**hit.fields, "walk_depth": depth}))
            self._state.results.append(self._hits[-1])
        return True


# The links of a corpus as a graph: from an artifact to its neighbours, and back.

# The id of an artifact or a name, or (corpus, id).
NodeId = str | tuple[str, str]
_NAMESAKES = 1_000


@runtime_checkable
class GraphStore(Protocol):
    """A graph to walk: the content of a node, and its neighbours."""

    def __getitem__(self, node_id: Any) -> Any:
        """Return the content of a node."""
        ...

    def neighbors(self, node_id: Any, *, edge_type: str | None = None) -> Iterable[Any]:
        """Return the nodes that a node leads to, by edges of one type or of any."""
        ...


class CorpusGraph:
    """The artifacts of one corpus and their links, as they are stored at each call.

    `graph[id]` are the artifact's records. A target is an id or a name, or (corpus, id) of another
    corpus. Targets of REF, NAMES and USED are names in a canonical spelling: lower case, `-` for
    every run of `-`, `_` and `.`; those of other types are exact.
    """

    def __init__(self, corpus: Built | str):
        self._built = find_built(corpus)
        self.source = self._built.name

    def __getitem__(self, node_id: str) -> list[dict[str, Any]]:
        """Return an artifact's records in plan order. Raises NotFound for an unknown one."""
        if not self._built.holds(node_id):
            raise NotFound(f"corpus {self.source!r} holds no artifact {node_id!r:.100}")
        return self._built.engine.ledger.artifacts.list_records(self.source, node_id)

    def neighbors(self, node_id: str, *, edge_type: str | None = None) -> list[NodeId]:
        """Return the distinct targets of an artifact's edges, in their order."""
        edges = self._built.engine.ledger.links.list_edges(self.source, node_id)
        wanted = (edge for edge in edges if edge_type in (None, edge.type))
        targets = ((e.corpus, e.target) if e.corpus else e.target for e in wanted)
        return list(dict.fromkeys(targets))

    def edge_types(self, node_id: str) -> list[str]:
        """Return the distinct types of an artifact's edges, in their order."""
        edges = self._built.engine.ledger.links.list_edges(self.source, node_id)
        return list(dict.fromkeys(edge.type for edge in edges))

    def reverse_neighbors(self, node_id: Target, *, edge_type: str = REF) -> list[str]:
        """Return the ids of artifacts with edges to a node: for a package, its dependents.

        The node need not be in the corpus. A node may also be given by an artifact's name.
        """
        links = self._built.engine.ledger.links
        found = (
            links.list_ids_leading_to(self.source, edge)
            for edge in self._make_edges(node_id, edge_type)
        )
        return list(dict.fromkeys(each for ids in found for each in ids))

    def fan_in(self, node_id: Target, *, edge_type: str = REF) -> int:
        """Return how many artifacts have edges to a node."""
        return len(self.reverse_neighbors(node_id, edge_type=edge_type))

    def max_fan_in(self, *, edge_type: str = REF) -> int:
        """Return the greatest `fan_in` of any node, 0 without edges."""
        return self._built.engine.ledger.links.count_most_leading(self.source, edge_type)

    def resolve(self, node_id: Target, *, edge_type: str = REF) -> NodeId:
        """Return the id of the artifact that a node is, else the node as edges refer to it.

        Ids and names are compared in the canonical spelling if edges of the type lead to names. Of
        several artifacts an exact id is taken, else the first by id.
        """
        corpus, target = canonical_node_id(node_id, source=self.source)
        if corpus != self.source:
            return str(corpus), target
        if edge_type not in BY_NAME or self._built.holds(target):
            return target
        name = normalize_name(target)
        found = self._built.engine.ledger.links.find_named(name, [self.source], _NAMESAKES)
        return next((each.artifact_id for each in found), name)

    def _make_edges(self, node_id: Target, type: str) -> list[Edge]:
        """Return the distinct edges that would lead to a node."""
        corpus, target = canonical_node_id(node_id, source="")
        if corpus or type not in BY_NAME:
            return [Edge(type, target, corpus or "")]
        held = self._built.engine.ledger.artifacts.get(self.source, target)
        names = [target, held.name] if held else [target]
        return list(dict.fromkeys(Edge(type, normalize_name(name)) for name in names))


def canonical_node_id(target: Target, *, source: str | None) -> tuple[str | None, str]:
    """Return a target as (corpus, id), with the corpus of `source` if it names none.

    Raises QueryError for a list that is not such a pair.
    """
    if isinstance(target, str):
        return source, target
    if len(target) != 2:
        raise QueryError(f"a node of another corpus is (corpus, id), not {target!r:.60}")
    corpus, artifact_id = map(str, target)
    return corpus, artifact_id


SUMMARY_KINDS = ("description", "synopsis", "capability", "document")
LEAF_KINDS = ("chunk", "readme_chunk")
SEED_K = 10
_OF_WALK = "scorer"
_OF_GRAPH = "graph"
_BEST = "best"


def traverse(
    query: str,
    store: Any,
    *,
    policy: WalkPolicy,
    max_depth: int = MAX_DEPTH,
    node_budget: int = NODE_BUDGET,
    k: int = 10,
) -> list[Hit]:
    """Walk from a query under a policy and return the `k` best hits.

    `store` is what the policy walks over, a built corpus for the policies of this module. No node
    is committed twice, none deeper than `max_depth`, and at most `node_budget` in all, regardless
    of the policy. A hit's `fields` hold its `walk_depth`.
    """
    return walk_links(query, store, policy, WalkBounds(max_depth, node_budget, k))


def collapsed_tree_policy(
    *,
    summary_kinds: Iterable[str] = SUMMARY_KINDS,
    leaf_kinds: Iterable[str] = LEAF_KINDS,
    seed_k: int = SEED_K,
) -> WalkPolicy:
    """Return the policy that goes from the best `seed_k` summaries down to their passages.

    A summary whose artifact has passages only leads to them; one without passages is itself a hit.
    A corpus without summaries yields nothing: search it instead.
    """
    if not isinstance(seed_k, int) or isinstance(seed_k, bool) or seed_k < 1:
        raise QueryError(f"seed_k must be a whole number from 1, not {seed_k!r:.60}")
    return _CollapsedTree(tuple(summary_kinds), tuple(leaf_kinds), seed_k)


def reverse_dependency_policy(
    *,
    seeds: Iterable[Target],
    edge_type: str = REF,
    fan_in_weight: float = 0.0,
    proximity_weight: float = 0.0,
) -> WalkPolicy:
    """Return the policy that goes from packages to their dependents, and on to theirs.

    `seeds` are names, or (corpus, id); their order and spelling do not matter. A seed outside the
    corpus only leads on. A score is the best evidence of the artifact's records, plus
    `fan_in_weight` times its share of the greatest fan-in, plus `proximity_weight` / (1 + steps). A
    hit's `fields` hold its `fan_in`, and the `seed` that it depends on. Raises TypeError for a bare
    text, QueryError for a weight that is not a number of at least 0.
    """
    if isinstance(seeds, str):
        raise TypeError(f"seeds are a collection of names, not the text {seeds!r:.60}")
    weights = {"fan_in_weight": fan_in_weight, "proximity_weight": proximity_weight}
    for name, weight in weights.items():
        if not is_weight(weight):
            raise QueryError(f"{name} must be a finite number from 0, not {weight!r:.60}")
    nodes = frozenset(_parse_seed(each) for each in seeds)
    return _ReverseDependency(nodes, edge_type, float(fan_in_weight), float(proximity_weight))


def _parse_seed(seed: Target) -> NodeId:
    corpus, name = canonical_node_id(seed, source=None)
    return name if corpus is None else (corpus, name)


class _Scorer:
    """Score single records of a corpus for one query."""

    def __init__(self, built: Built, text: str):
        state = built.engine.state
        snapshot = state.snapshot
        self._index = index = snapshot.corpora[built.name]
        self._built = built
        query = parse_search(text)
        question = analyse_query(query, snapshot.get_vocabulary(index), state.options.tuning)
        self._question = embed_question(question, index, state.models.embed)
        terms = (*question.terms, *question.unstemmed)
        self._bm25 = index.lexical.score_all(terms)

    def find_seeds(self, kinds: Sequence[str], k: int) -> list[Hit]:
        """Return the `k` best hits by existing surfaces of some kinds."""
        known = tuple(kind for kind in kinds if kind in self._index.rows.kind_names)
        if not known:
            return []
        return list(self._built.search(Query(self._question.text, surfaces=known, k=k)).results)

    def find_positions(self, artifact_id: str, kinds: Sequence[str] = ()) -> NDArray[np.int64]:
        """Return the positions of an artifact's records, of some kinds or of any."""
        rows = self._index.rows
        number = self._built.engine.ledger.artifacts.find_row(self._built.name, artifact_id)
        owner = int(np.searchsorted(rows.numbers.array, number))
        if owner >= len(rows.numbers.array) or rows.numbers.array[owner] != number:
            return np.empty(0, np.int64)
        theirs = np.flatnonzero((rows.artifact_of.array == owner) & rows.present)
        wanted = [at for at in theirs.tolist() if not kinds or rows.get_kind(at) in kinds]
        return np.array(wanted, np.int64)

    def score_records(self, positions: NDArray[np.int64]) -> list[Hit]:
        """Return records as hits, each with its own evidence."""
        if not len(positions):
            return []
        question, index = self._question, self._index
        cosine = np.zeros(len(positions), np.float32)
        if question.vector is not None:
            cosine = index.dense.score_at(question.vector, positions)
        bm25 = self._bm25[positions]
        grounds = compute_evidence(question.mode, question.trust, cosine, bm25)
        return [
            self._make_hit(int(at), float(own), float(near), float(words))
            for at, own, near, words in zip(positions, grounds, cosine, bm25, strict=True)
        ]

    def _make_hit(self, at: int, own: float, cosine: float, bm25: float) -> Hit:
        owner = int(self._index.rows.artifact_of.array[at])
        card = self._index.rows.cards[owner]
        text = self._question.text
        found = Candidate(self._index, owner, card, at, own, own, cosine, bm25, 0.0, own, text)
        return self._built.own([found.make_hit()])[0]


def _get_scorer(state: WalkState, store: Any) -> _Scorer:
    if not isinstance(store, Built):
        raise QueryError(f"this policy walks over what build returned, not {store!r:.60}")
    if _OF_WALK not in state.cache:
        state.cache[_OF_WALK] = _Scorer(store, state.query)
    scorer: _Scorer = state.cache[_OF_WALK]
    return scorer


@dataclass(frozen=True, slots=True)
class _Passage:
    """A record, as a hit; `leads_on` where it stands for its artifact's passages."""

    hit: Hit
    seed: str = ""
    leads_on: bool = False


class _BestFirst:
    """A policy that takes the best nodes first and never stops."""

    def select(self, state: WalkState, scored: Sequence[ScoredNode]) -> list[ScoredNode]:
        return sorted(scored, key=lambda each: -each[2])

    def stop(self, state: WalkState) -> bool:
        return False


class _CollapsedTree(_BestFirst):
    """See `collapsed_tree_policy`."""

    def __init__(self, summaries: tuple[str, ...], leaves: tuple[str, ...], seed_k: int):
        self._summaries, self._leaves, self._seed_k = summaries, leaves, seed_k

    def seed(self, state: WalkState, store: Any) -> list[_Passage]:
        scorer = _get_scorer(state, store)
        found = scorer.find_seeds(self._summaries, self._seed_k)
        return [
            _Passage(hit, leads_on=bool(len(scorer.find_positions(hit.artifact_id, self._leaves))))
            for hit in found
        ]

    def score(self, state: WalkState, node: _Passage, store: Any) -> float:
        return node.hit.score

    def expand(self, state: WalkState, node: _Passage, store: Any) -> list[_Passage]:
        if not node.leads_on:
            return []
        scorer, own = _get_scorer(state, store), node.hit.artifact_id
        return [
            _Passage(hit, own)
            for hit in scorer.score_records(scorer.find_positions(own, self._leaves))
        ]

    def node_id(self, node: _Passage) -> Hashable:
        return node.hit.artifact_id, node.hit.surface_index

    def to_hit(self, state: WalkState, node: _Passage, score: float, depth: int) -> Hit | None:
        if node.leads_on:
            return None
        return replace(node.hit, fields=_add_seed(node.hit.fields, node.seed))


@dataclass(frozen=True, slots=True)
class _Dependent:
    """A node with the number of its steps from the seed."""

    node: NodeId
    seed: NodeId
    steps: int = 0


class _ReverseDependency(_BestFirst):
    """See `reverse_dependency_policy`."""

    def __init__(
        self, seeds: frozenset[NodeId], edge_type: str, fan_in_weight: float, proximity: float
    ):
        self._seeds, self._edge_type = seeds, edge_type
        self._fan_in_weight, self._proximity_weight = fan_in_weight, proximity

    def seed(self, state: WalkState, store: Any) -> list[_Dependent]:
        _get_scorer(state, store)
        graph = state.cache[_OF_GRAPH] = CorpusGraph(store)
        # Resolve before sorting: neither order nor spelling decides between equals.
        nodes = {graph.resolve(each, edge_type=self._edge_type) for each in self._seeds}
        ordered = sorted(nodes, key=lambda node: (isinstance(node, tuple), node))
        return [_Dependent(node, node) for node in ordered]

    def score(self, state: WalkState, node: _Dependent, store: Any) -> float:
        best = self._find_best(state, node.node, store)
        if best is None:
            return 0.0
        graph: CorpusGraph = state.cache[_OF_GRAPH]
        score = best.score + self._proximity_weight / (1 + node.steps)
        if self._fan_in_weight and (top := graph.max_fan_in(edge_type=self._edge_type)):
            fan_in = graph.fan_in(node.node, edge_type=self._edge_type)
            score += self._fan_in_weight * fan_in / top
        return score

    def expand(self, state: WalkState, node: _Dependent, store: Any) -> list[_Dependent]:
        graph: CorpusGraph = state.cache[_OF_GRAPH]
        dependents = graph.reverse_neighbors(node.node, edge_type=self._edge_type)
        return [_Dependent(each, node.seed, node.steps + 1) for each in dependents]

    def node_id(self, node: _Dependent) -> Hashable:
        return node.node

    def to_hit(self, state: WalkState, node: _Dependent, score: float, depth: int) -> Hit | None:
        best: Hit | None = state.cache[_BEST].get(node.node)
        if best is None:
            return None
        graph: CorpusGraph = state.cache[_OF_GRAPH]
        fan_in = graph.fan_in(node.node, edge_type=self._edge_type)
        fields = _add_seed({**best.fields, "fan_in": fan_in}, node.seed if node.steps else "")
        return replace(best, score=round(score, 4), fields=fields)

    def _find_best(self, state: WalkState, node: NodeId, store: Any) -> Hit | None:
        """Return an artifact by its best record; None for a node that is not in the corpus."""
        known: dict[NodeId, Hit | None] = state.cache.setdefault(_BEST, {})
        if node not in known:
            scorer = _get_scorer(state, store)
            hits = (
                scorer.score_records(scorer.find_positions(node)) if isinstance(node, str) else []
            )
            known[node] = max(hits, key=attrgetter("score"), default=None)
        return known[node]


def _add_seed(fields: Any, seed: NodeId) -> dict[str, Any]:
    return {**fields, "seed": seed} if seed else dict(fields)
