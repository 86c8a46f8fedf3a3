"""What belongs to a hit, by links: the skill, the package that it needs, the session that used it.

The links were found when the artifacts were decomposed. A few of each kind are named, from what is
held now; nothing is ranked by them, and what nothing is linked with has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irclient.types import RelatedItem
from irdaemon.ledger import ArtifactLinks, LinkedArtifact
from irdaemon.strategy.edges import NAMES, REF, USED, link_name
from irdaemon.types import Hit

SKILL, PACKAGE, SESSION = "skill", "package", "session"
# Items of one kind beside a hit.
MOST = 2
# Artifacts looked at to find them: several may have one name, and a session has many turns.
_LOOKED_AT = 50
# Skills by whose links those at two steps are found.
_MOST_BETWEEN = 5
_WORKED = "answered"


@dataclass(frozen=True, slots=True)
class Shelf:
    """A ledger's links, and those of its corpora in which may be looked."""

    links: ArtifactLinks
    corpora: Sequence[str]


def kind_of(fields: Mapping[str, Any]) -> str:
    """Return what an artifact is, by its fields: a package, a session, a skill, or "" for others.

    What is used as a skill (a command, an agent) counts as one.
    """
    if "has_readme" in fields:
        return PACKAGE
    if "session_id" in fields:
        return SESSION
    return SKILL if "parent" in fields else ""


def with_related(hits: Iterable[Hit], shelves: Sequence[Shelf]) -> tuple[Hit, ...]:
    """Return hits with what belongs to each, at most two of a kind; neither order nor score change.

    Of a skill: the packages that it names, and the sessions that used it. Of a package: the skills
    that name it, the sessions that used those, and the packages that it depends on. Of a session:
    the skills that it used, and the packages that those name.
    """
    finder = _RelatedFinder(shelves)
    return tuple(replace(hit, related=tuple(finder.beside(hit))) for hit in hits)


class _RelatedFinder:
    """Find what belongs to hits among the artifacts of some ledgers."""

    def __init__(self, shelves: Sequence[Shelf]):
        self._shelves = [shelf for shelf in shelves if shelf.corpora]

    def beside(self, hit: Hit) -> Iterator[RelatedItem]:
        own = (str(hit.corpus), hit.artifact_id)
        found: dict[tuple[str, str], RelatedItem] = {}
        for item in self._items(hit):
            same_kind = [each for each in found.values() if each.kind == item.kind]
            is_own = (item.corpus, item.artifact_id) == own
            if not is_own and len(same_kind) < MOST:
                found.setdefault((item.kind, _identity(item)), item)
        yield from found.values()

    def _items(self, hit: Hit) -> Iterator[RelatedItem]:
        """Yield what may be shown beside a hit, nearest first."""
        kind = kind_of(hit.fields)
        if kind == SKILL:
            yield from self._of_skill(hit)
        elif kind == PACKAGE:
            yield from self._of_package(hit)
        elif kind == SESSION:
            yield from self._of_session(hit)

    def _of_skill(self, hit: Hit) -> Iterator[RelatedItem]:
        yield from _items("names", self._named_by(hit.corpus, hit.artifact_id, NAMES, PACKAGE))
        yield from _items("used_in", self._sessions(hit.name))

    def _of_package(self, hit: Hit) -> Iterator[RelatedItem]:
        skills = list(self._leading_to(hit.name, NAMES, SKILL))[:_MOST_BETWEEN]
        yield from _items("named_by", skills)
        for skill in skills:
            yield from _items("used_in", self._sessions(skill.name), via=skill.name)
        yield from _items("needs", self._named_by(hit.corpus, hit.artifact_id, REF, PACKAGE))

    def _of_session(self, hit: Hit) -> Iterator[RelatedItem]:
        skills = list(self._named_by(hit.corpus, hit.artifact_id, USED, SKILL))[:_MOST_BETWEEN]
        yield from _items("used", skills)
        for skill in skills:
            packages = self._named_by(skill.corpus, skill.artifact_id, NAMES, PACKAGE)
            yield from _items("names", packages, via=skill.name)

    def _named_by(
        self, corpus: str, artifact_id: str, type: str, kind: str
    ) -> Iterator[LinkedArtifact]:
        """Yield the artifacts of a kind that the edges of one name, in the order of its edges."""
        for shelf in self._shelves:
            for edge in shelf.links.of(corpus, artifact_id):
                if edge.type == type and not edge.corpus:
                    yield from self._called(edge.target, kind)

    def _called(self, name: str, kind: str) -> Iterator[LinkedArtifact]:
        for shelf in self._shelves:
            named = shelf.links.named(name, shelf.corpora, _LOOKED_AT)
            yield from (each for each in named if kind_of(each.fields) == kind)

    def _leading_to(self, name: str, type: str, kind: str) -> Iterator[LinkedArtifact]:
        for shelf in self._shelves:
            linked = shelf.links.leading_to(link_name(name), type, shelf.corpora, _LOOKED_AT)
            yield from (each for each in linked if kind_of(each.fields) == kind)

    def _sessions(self, skill: str) -> list[LinkedArtifact]:
        """Return the turns that used a skill, newest first, those that came to an answer alone."""
        turns = self._leading_to(skill, USED, SESSION)
        worked = [each for each in turns if each.fields.get("outcome") == _WORKED]
        return sorted(worked, key=_at, reverse=True)


def _items(relation: str, found: Iterable[LinkedArtifact], via: str = "") -> Iterator[RelatedItem]:
    for each in found:
        yield RelatedItem(
            corpus=each.corpus,
            artifact_id=each.artifact_id,
            name=each.name,
            kind=kind_of(each.fields),
            relation=relation,
            pointer=each.pointer,
            via=via,
            at=_at(each),
        )


def _at(artifact: LinkedArtifact) -> str:
    return str(artifact.fields.get("timestamp") or "")


def _identity(item: RelatedItem) -> str:
    """Return what is shown once: a session, whichever of its turns, and else a name."""
    if item.kind == SESSION:
        return item.artifact_id.rpartition(":")[0]
    return link_name(item.name)
