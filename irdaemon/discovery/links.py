"""Items linked to a hit: the skill, the package that it needs, the session that used it.

The links were found when the artifacts were decomposed. A few of each kind are named, from current
artifacts; links affect no ranking, and an item without links has no related ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from irclient.types import RelatedItem
from irdaemon.ledger import ArtifactLinks, StoredArtifact
from irdaemon.strategy.edges import NAMES, REF, USED, normalize_name
from irdaemon.types import Hit

SKILL, PACKAGE, SESSION = "skill", "package", "session"
# Related items of one kind for a hit.
MOST = 2
# Artifacts considered to find them: several may have one name, and a session has many turns.
_LOOKED_AT = 50
# Skills whose links are followed to find items two steps away.
_MOST_BETWEEN = 5
_WORKED = "answered"


@dataclass(frozen=True, slots=True)
class LinkScope:
    """A ledger's links, and the names of the corpora that may be searched for their targets.

    `shown` are the names by which people know corpora that are stored under other names.
    """

    links: ArtifactLinks
    corpora: Sequence[str]
    shown: Mapping[str, str] = field(default_factory=dict)

    def list_stored(self, corpus: str) -> list[str]:
        """Return the names under which a corpus is stored, given the name that people know."""
        return [corpus, *(stored for stored, name in self.shown.items() if name == corpus)]


def classify_fields(fields: Mapping[str, Any]) -> str:
    """Return the type of an artifact, by its fields: a package, a session, a skill, or "".

    An item used like a skill (a command, an agent) counts as one.
    """
    if "has_readme" in fields:
        return PACKAGE
    if "session_id" in fields:
        return SESSION
    return SKILL if "parent" in fields else ""


def add_related(hits: Iterable[Hit], scopes: Sequence[LinkScope]) -> tuple[Hit, ...]:
    """Return hits with related items, at most two of a kind; order and scores do not change.

    For a skill: the packages that it names, and the sessions that used it. For a package: the
    skills that name it, the sessions that used those, and the packages that it depends on. For a
    session: the skills that it used, and the packages that those name.
    """
    finder = _RelatedFinder(scopes)
    return tuple(replace(hit, related=tuple(finder.related_to(hit))) for hit in hits)


class _RelatedFinder:
    """Find the items related to hits among the artifacts of some ledgers."""

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
        """Yield the items that may be shown with a hit, nearest first."""
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
        """Yield the artifacts of a kind that an artifact's edges name, in the edges' order."""
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
        """Return the turns that used a skill, newest first, if they came to an answer."""
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
    """Return an item's identity for showing it once: a session for all its turns, else a name."""
    if item.kind == SESSION:
        return item.artifact_id.rpartition(":")[0]
    return normalize_name(item.name)
