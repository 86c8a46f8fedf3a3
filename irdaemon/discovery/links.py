"""What belongs to a hit, by links: the skill, the package that it needs, the session that used it.

The links were found when the artifacts were decomposed. A few of each kind are named, from what is
held now; nothing is ranked by them, and what nothing is linked with has none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from irclient.errors import QueryError
from irclient.types import RelatedItem
from irdaemon.ledger import ArtifactLinks, StoredArtifact
from irdaemon.strategy.edges import NAMES, REF, USED, normalize_name
from irdaemon.types import Hit

# Walks along links: `traverse` is the loop, a policy says what a node is and where it leads.
#
# What makes a walk end belongs to the loop and not to the policy: a node is committed once, no
# deeper than `max_depth` and no more than `node_budget` of them, and only so many wait to be. So a
# policy that never stops, leads in circles or yields for ever still ends.

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


def walk_links(query: str, store: Any, policy: WalkPolicy, bounds: WalkBounds) -> list[Hit]:
    """Return the hits of a walk, best first; ties stay in the order of their commitment.

    `store` is handed to the policy as it is. Raises QueryError for invalid bounds.
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


SKILL, PACKAGE, SESSION = "skill", "package", "session"
# Items of one kind beside a hit.
MOST = 2
# Artifacts looked at to find them: several may have one name, and a session has many turns.
_LOOKED_AT = 50
# Skills by whose links those at two steps are found.
_MOST_BETWEEN = 5
_WORKED = "answered"


@dataclass(frozen=True, slots=True)
class LinkScope:
    """A ledger's links, and those of its corpora in which may be looked.

    `shown` are the names that people know corpora by which are stored under others.
    """

    links: ArtifactLinks
    corpora: Sequence[str]
    shown: Mapping[str, str] = field(default_factory=dict)

    def list_stored(self, corpus: str) -> list[str]:
        """Return the names under which what people know as a corpus is stored."""
        return [corpus, *(stored for stored, name in self.shown.items() if name == corpus)]


def classify_fields(fields: Mapping[str, Any]) -> str:
    """Return what an artifact is, by its fields: a package, a session, a skill, or "" for others.

    What is used as a skill (a command, an agent) counts as one.
    """
    if "has_readme" in fields:
        return PACKAGE
    if "session_id" in fields:
        return SESSION
    return SKILL if "parent" in fields else ""


def add_related(hits: Iterable[Hit], scopes: Sequence[LinkScope]) -> tuple[Hit, ...]:
    """Return hits with what belongs to each, at most two of a kind; neither order nor score change.

    Of a skill: the packages that it names, and the sessions that used it. Of a package: the skills
    that name it, the sessions that used those, and the packages that it depends on. Of a session:
    the skills that it used, and the packages that those name.
    """
    finder = _RelatedFinder(scopes)
    return tuple(replace(hit, related=tuple(finder.related_to(hit))) for hit in hits)


class _RelatedFinder:
    """Find what belongs to hits among the artifacts of some ledgers."""

    def __init__(self, scopes: Sequence[LinkScope]):
        self._scopes = [scope for scope in scopes if scope.corpora]
        self._shown = {stored: name for each in scopes for stored, name in each.shown.items()}

    def related_to(self, hit: Hit) -> Iterator[RelatedItem]:
        own = (str(hit.corpus), hit.artifact_id)
        found: dict[tuple[str, str], RelatedItem] = {}
        for item in map(self._name_corpus, self._find_items(hit)):
            same_kind = [each for each in found.values() if each.kind == item.kind]
            is_own = (item.corpus, item.artifact_id) == own
            if not is_own and len(same_kind) < MOST:
                found.setdefault((item.kind, _identify_item(item)), item)
        yield from found.values()

    def _name_corpus(self, item: RelatedItem) -> RelatedItem:
        return replace(item, corpus=self._shown.get(item.corpus, item.corpus))

    def _find_items(self, hit: Hit) -> Iterator[RelatedItem]:
        """Yield what may be shown beside a hit, nearest first."""
        corpus, artifact_id = hit.corpus, hit.artifact_id
        kind = classify_fields(hit.fields)
        if kind == SKILL:
            yield from _list_items("names", self._follow(corpus, artifact_id, NAMES, PACKAGE))
            yield from _list_items("used_in", self._find_sessions(hit.name))
        elif kind == PACKAGE:
            skills = list(self._find_leading(hit.name, NAMES, SKILL))[:_MOST_BETWEEN]
            yield from _list_items("named_by", skills)
            for skill in skills:
                yield from _list_items("used_in", self._find_sessions(skill.name), via=skill.name)
            yield from _list_items("needs", self._follow(corpus, artifact_id, REF, PACKAGE))
        elif kind == SESSION:
            skills = list(self._follow(corpus, artifact_id, USED, SKILL))[:_MOST_BETWEEN]
            yield from _list_items("used", skills)
            for skill in skills:
                packages = self._follow(skill.corpus, skill.artifact_id, NAMES, PACKAGE)
                yield from _list_items("names", packages, via=skill.name)

    def _follow(
        self, corpus: str, artifact_id: str, type: str, kind: str
    ) -> Iterator[StoredArtifact]:
        """Yield the artifacts of a kind that the edges of one name, in the order of its edges."""
        for scope in self._scopes:
            stored = scope.list_stored(corpus)
            for edge in (e for name in stored for e in scope.links.list_edges(name, artifact_id)):
                if edge.type == type and not edge.corpus:
                    yield from self._find_named(edge.target, kind)

    def _find_named(self, name: str, kind: str) -> Iterator[StoredArtifact]:
        for scope in self._scopes:
            named = scope.links.find_named(name, scope.corpora, _LOOKED_AT)
            yield from (each for each in named if classify_fields(each.fields) == kind)

    def _find_leading(self, name: str, type: str, kind: str) -> Iterator[StoredArtifact]:
        for scope in self._scopes:
            linked = scope.links.find_leading_to(
                normalize_name(name), type, scope.corpora, _LOOKED_AT
            )
            yield from (each for each in linked if classify_fields(each.fields) == kind)

    def _find_sessions(self, skill: str) -> list[StoredArtifact]:
        """Return the turns that used a skill, newest first, those that came to an answer alone."""
        turns = self._find_leading(skill, USED, SESSION)
        worked = [each for each in turns if each.fields.get("outcome") == _WORKED]
        return sorted(worked, key=_get_moment, reverse=True)


def _list_items(
    relation: str, found: Iterable[StoredArtifact], via: str = ""
) -> Iterator[RelatedItem]:
    for each in found:
        yield RelatedItem(
            corpus=each.corpus,
            artifact_id=each.artifact_id,
            name=each.name,
            kind=classify_fields(each.fields),
            relation=relation,
            pointer=each.pointer,
            via=via,
            at=_get_moment(each),
        )


def _get_moment(artifact: StoredArtifact) -> str:
    return str(artifact.fields.get("timestamp") or "")


def _identify_item(item: RelatedItem) -> str:
    """Return what is shown once: a session, whichever of its turns, and else a name."""
    if item.kind == SESSION:
        return item.artifact_id.rpartition(":")[0]
    return normalize_name(item.name)
