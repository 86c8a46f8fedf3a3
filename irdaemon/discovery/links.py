"""Walks along links: `traverse` is the loop, a policy says what a node is and where it leads.

What makes a walk end belongs to the loop and not to the policy: a node is committed once, no deeper
than `max_depth` and no more than `node_budget` of them, and only so many wait to be. So a policy
that never stops, leads in circles or yields for ever still ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from irclient.errors import QueryError
from irdaemon.types import Hit

MAX_DEPTH = 2
NODE_BUDGET = 64
# Nodes that wait to be scored in one step.
_MOST_WAITING = 10_000

# A node of a policy's own, how deep it lies, and its score.
ScoredNode = tuple[Any, int, float]


@dataclass(slots=True)
class WalkState:
    """The state of one walk, for its policy to read.

    `visited` holds the ids of committed nodes, `results` their hits. `cache` is the policy's own.
    """

    query: str
    max_depth: int
    budget: int
    visited: set[Hashable] = field(default_factory=set)
    results: list[Hit] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class WalkPolicy(Protocol):
    """What a walk goes over: any nodes, of which the policy alone knows what they are."""

    def seed(self, state: WalkState, store: Any) -> Iterable[Any]:
        """Return the nodes to begin with."""
        ...

    def score(self, state: WalkState, node: Any, store: Any) -> float:
        """Return how well a node answers the query."""
        ...

    def select(self, state: WalkState, scored: Sequence[ScoredNode]) -> Iterable[ScoredNode]:
        """Return which of the scored nodes to commit, in order."""
        ...

    def expand(self, state: WalkState, node: Any, store: Any) -> Iterable[Any]:
        """Return the nodes that a committed one leads to."""
        ...

    def node_id(self, node: Any) -> Hashable:
        """Return by what a node is known again."""
        ...

    def stop(self, state: WalkState) -> bool:
        """Return whether what was found suffices."""
        ...

    def to_hit(self, state: WalkState, node: Any, score: float, depth: int) -> Hit | None:
        """Return a committed node as a hit, None for one that only leads on."""
        ...


@dataclass(frozen=True, slots=True)
class WalkBounds:
    """How far a walk may go, and how many hits it returns."""

    max_depth: int = MAX_DEPTH
    node_budget: int = NODE_BUDGET
    k: int = 10

    def check(self) -> None:
        """Raise QueryError for a bound that is no whole number, or too low."""
        for name, least in (("max_depth", 0), ("node_budget", 1), ("k", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise QueryError(f"{name} must be a whole number from {least}, not {value!r:.60}")


def walked(query: str, store: Any, policy: WalkPolicy, bounds: WalkBounds) -> list[Hit]:
    """Return the hits of a walk, best first; ties stay in the order of their commitment.

    `store` is handed to the policy as it is. Raises QueryError for bounds that are none.
    """
    bounds.check()
    found = _Walk(query, store, policy, bounds).hits()
    return sorted(found, key=lambda hit: -hit.score)[: bounds.k]


class _Walk:
    """One walk. What was committed is kept here too, where no policy can change it."""

    def __init__(self, query: str, store: Any, policy: WalkPolicy, bounds: WalkBounds):
        self._store, self._policy, self._bounds = store, policy, bounds
        self._state = WalkState(query, bounds.max_depth, bounds.node_budget)
        self._committed: set[Hashable] = set()
        self._hits: list[Hit] = []

    def hits(self) -> list[Hit]:
        """Go on until nothing is left, the budget is used up or the policy says so."""
        waiting = [
            (node, 0) for node in islice(self._policy.seed(self._state, self._store), _MOST_WAITING)
        ]
        while waiting and len(self._committed) < self._bounds.node_budget:
            waiting = self._step(waiting)
        return self._hits

    def _step(self, waiting: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """Commit those nodes that the policy selects; return what they lead to."""
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
        """Commit a node and keep its hit; return false for one that was committed before."""
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
