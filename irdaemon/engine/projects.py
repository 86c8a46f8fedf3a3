"""Projects: the known ones, their parts, and which of them a place lies in.

A project's part of a corpus is a corpus too, named `CORPUS@DIGEST` after the corpus and the
project's root. Only queries from the project see it. The writer makes the parts, with
`irdaemon.engine.project_parts`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from irclient.errors import QueryError
from irdaemon.config.sections import Config, ProjectsConfig
from irdaemon.index import Snapshot
from irdaemon.ledger import KnownProject
from irdaemon.source.opening import is_within
from irdaemon.source.projects import Located, PlaceRules, clean_place, locate_project
from irdaemon.types import Hit, Project, Root, RootWatch

# Separates the corpus from the project in a part's name; no configured name contains it.
AT = "@"
_DIGITS = 10
_NONE: Mapping[str, str] = MappingProxyType({})
# After this time the places below the last one are looked for again, and a place is checked again.
OLD_S = 30.0
_TRIED_AGAIN_S = 1.0
_MOST_PLACES, _MOST_SHOWN = 4_096, 10
ASKED, ADDED = "asked from", "irc projects add"


def name_part(corpus: str, root: str) -> str:
    """Return the name of the part that the project at a root has of a corpus."""
    digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{corpus}{AT}{digest[:_DIGITS]}"


def is_part_of(name: str, root: str) -> bool:
    """Return whether a corpus' name is that of a part of the project at a root."""
    corpus, at, _ = name.rpartition(AT)
    return bool(at) and name == name_part(corpus, root)


@dataclass(frozen=True, slots=True)
class _Place:
    """The project that a place lies in, or none and why; and when that was found.

    `failed`: the place could not be looked at, so only the reason is of use. `real` is the place's
    real path, or "" if unknown.
    """

    root: str | None
    reason: str
    at: float
    failed: bool = False
    real: str = ""


@dataclass(frozen=True, slots=True)
class Tended:
    """A project as the writer last updated it: its parts, its watches, the notes, and when."""

    at: float
    watched: tuple[Root, ...] = ()
    notes: tuple[str, ...] = ()


class Projects:
    """The known projects, by their roots. Any thread may use it.

    `request` has the writer update the project at a root. Only `locate` touches files.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        snapshot: Callable[[], Snapshot],
        request: Callable[[str], object],
    ):
        self._clock = clock
        self._snapshot = snapshot
        self._request = request
        # None if no project is read.
        self.config: Config | None = None
        # Without a lock: each change is one assignment, and a change lost between two threads is
        # made again by the next query.
        self._by_root: dict[str, KnownProject] = {}
        self._parts: dict[str, Mapping[str, str]] = {}
        self._tended: Mapping[str, Tended] = {}  # replaced as a whole: the watcher compares it
        self._places: dict[str, _Place] = {}
        self._again: dict[str, str] = {}  # earlier places, and what they were found to lie in
        self._requested: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        self._last_place: dict[str, str] = {}
        self._shown: dict[str, list[str]] = {}

    @property
    def settings(self) -> ProjectsConfig | None:
        """Return how projects are read; None if they are not."""
        config = self.config
        return config.projects if config and config.projects.enabled else None

    # -- by any thread ---------------------------------------------------------------------------

    def find(self, place: str) -> Project | None:
        """Return the innermost known project that a clean place lies in, if any.

        No file is touched. The project is noted as queried.
        """
        if not place or self.settings is None:
            return None
        by_root, seen = self._by_root, self._places.get(place)
        if seen is None or seen.failed:
            root = next((top for top in list_upward(place) if top in by_root), None)
        else:
            root = seen.root
        if root is None or (known := by_root.get(root)) is None:
            return None
        self._note_asked(root, place)
        if seen and not self._is_new(seen) and place not in self._again:
            self._again[place] = root
            self._request(root)
        return known.project

    def _note_asked(self, root: str, place: str) -> None:
        now = self._clock()
        self._asked[root], self._last_place[root] = now, self.resolve(place)
        patience = OLD_S if root in self._tended else _TRIED_AGAIN_S
        if not 0 <= now - self._requested.get(root, float("-inf")) < patience:
            self._requested[root] = now
            self._request(root)

    def note_shown(self, place: str, hits: Iterable[Hit]) -> None:
        """Note the items shown to a place, so that people can see what applied there lately."""
        if (project := self.find(place)) is not None:
            shown = [f"{hit.corpus}/{hit.artifact_id}" for hit in hits]
            known = dict.fromkeys((*shown, *self._shown.get(project.root, ())))
            self._shown[project.root] = list(known)[:_MOST_SHOWN]

    def list_shown(self, root: str) -> list[str]:
        """Return the items of recent answers in the project at a root, newest first."""
        return self._shown.get(root, [])

    def is_known(self, place: str) -> bool:
        """Return whether it is known which project, if any, a clean place lies in."""
        if not place or self.settings is None or place in self._by_root:
            return True
        seen = self._places.get(place)
        if seen is None or seen.failed:
            return False
        return seen.root is not None or self._is_new(seen)

    def _is_new(self, seen: _Place) -> bool:
        return 0 <= self._clock() - seen.at < OLD_S

    def locate(self, place: str) -> Project | None:
        """Return the project that a place lies in and make it known; None if there is none.

        A child process takes a quick look, and the result is remembered. If it fails, a known
        project around the place is returned. Raises QueryError for a place that does not exist, is
        no directory, or cannot be read.
        """
        if self.settings is None:
            return None
        place = clean_place(place)
        if not self.is_known(place):
            self._remember(place, self.look(place))
        return self.find(place)

    def resolve(self, place: str) -> str:
        """Return the real path of a clean place that was located; any other place unchanged.

        No file is touched.
        """
        seen = self._places.get(place)
        return seen.real if seen and seen.real else place

    def explain(self, place: str) -> str:
        """Return why a located place lies in no project."""
        seen = self._places.get(place)
        return seen.reason if seen else ""

    def look(self, place: str) -> Located:
        """Return what a clean place lies in now. Raises QueryError as `locate` does."""
        found = locate_project(place, self.make_rules())
        if found.problem:
            raise QueryError(
                f"place {place!r:.200}: {found.problem}", "pass a directory that can be read"
            )
        return found

    def _remember(self, place: str, found: Located) -> None:
        if found.project:
            self.register(found.project)
        root = found.project.root if found.project else None
        if len(self._places) >= _MOST_PLACES:
            self._places = dict(list(self._places.items())[_MOST_PLACES // 2 :])
        self._places[place] = _Place(root, found.reason, self._clock(), found.failed, found.place)

    def make_rules(self) -> PlaceRules:
        """Return the rules for where projects may lie."""
        settings = self.settings or ProjectsConfig()
        home = os.path.expanduser("~")
        return PlaceRules(home, os.getuid(), settings.roots, settings.ignore)

    def register(self, project: Project, why: str = ASKED) -> KnownProject:
        """Add a project to the known and active ones; return its record."""
        before, now = self._by_root.get(project.root), self._clock()
        if before is None:
            known = KnownProject(project, why, now, now)
            # Another project was the innermost one for places at or below it.
            top = project.root
            self._keep_places(
                lambda at, seen: seen.root is not None and not is_within(seen.real or at, top)
            )
        else:
            known = replace(before, project=project, gone_at=0.0)
            known = replace(known, why=why) if why == ADDED else known
        self._by_root[project.root] = known
        if before is None or why == ADDED:
            self._asked[project.root] = self._requested[project.root] = now
            self._request(project.root)
        return known

    def list_parts(self, project: Project) -> Mapping[str, str]:
        """Return the names of a project's parts, by the corpora they belong to."""
        return self._parts.get(project.root, _NONE)

    def is_part(self, name: str, project: Project) -> bool:
        """Return whether a corpus' name is that of a part of a project."""
        return is_part_of(name, project.root)

    def has_part(self, name: str) -> bool:
        """Return whether a corpus' name is that of a part of a known project."""
        return any(is_part_of(name, root) for root in tuple(self._by_root))

    def is_reading(self, project: Project) -> bool:
        """Return whether a part of a project has not been read for the first time yet."""
        if project.root not in self._tended:
            known = self._by_root.get(project.root)
            return known is None or not known.gone_at
        parts, indexes = self.list_parts(project), self._snapshot().parts
        held = (indexes.get(name) for name in parts.values())
        return any(index is None or index.last_reconcile is None for index in held)

    def list_known(self) -> list[KnownProject]:
        """Return the known projects, the most recently queried first."""
        asked = self._asked
        known = [
            replace(each, asked_at=max(each.asked_at, asked.get(root, 0.0)))
            for root, each in tuple(self._by_root.items())
        ]
        return sorted(known, key=lambda each: (-each.asked_at, each.project.root))

    def get(self, root: str) -> KnownProject | None:
        """Return the record of the project at a root."""
        return self._by_root.get(root)

    def find_around(self, path: str) -> list[str]:
        """Return the roots of the known projects that a real path lies in, innermost first."""
        by_root = self._by_root
        return [top for top in list_upward(path) if top in by_root]

    def get_tended(self, root: str) -> Tended | None:
        """Return the project as last updated; None if that is yet to come, or it is put aside."""
        return self._tended.get(root)

    def leave_out(self, watches: Iterable[RootWatch]) -> tuple[RootWatch, ...]:
        """Return watches without those of projects that are missing or only polled."""
        paths = {root.path for each in self._tended.values() for root in each.watched}
        idle = ("missing", "polling")
        return tuple(each for each in watches if each.mode not in idle or each.path not in paths)

    @property
    def tended(self) -> Mapping[str, Tended]:
        """Return each active project as last updated, by its root."""
        return self._tended

    # -- by the writer ---------------------------------------------------------------------------

    def load(self, known: Iterable[KnownProject]) -> None:
        """Load the known projects of a ledger."""
        for each in known:
            self._by_root.setdefault(each.project.root, each)

    def keep(self, known: KnownProject) -> None:
        """Replace the record of a known project."""
        if known.project.root in self._by_root:
            self._by_root[known.project.root] = known

    def forget(self, root: str) -> None:
        """Forget the project at a root."""
        self._by_root.pop(root, None)
        self._keep_places(lambda at, seen: seen.root != root)
        for times in (self._asked, self._requested):
            times.pop(root, None)
        self._last_place.pop(root, None)
        self._shown.pop(root, None)
        self.set_parts(root, {})
        self.note_tended(root, None)

    def configure(self, config: Config) -> None:
        """Apply another configuration; each active project is updated by it."""
        self.config = config
        self.forget_places()
        for root in self._tended:
            self._request(root)

    def forget_places(self) -> None:
        """Forget every place, so that each is located again."""
        self._places = {}

    def look_again(self, root: str) -> None:
        """Look again at the earlier places from which the project at a root was queried."""
        for place in [at for at, top in tuple(self._again.items()) if top == root]:
            try:
                found = self.look(place)
            except QueryError:  # it is gone: queries from it get an error
                self._places.pop(place, None)
            else:
                if not found.failed:
                    self._remember(place, found)
            self._again.pop(place, None)

    def _keep_places(self, wanted: Callable[[str, _Place], bool]) -> None:
        self._places = {at: seen for at, seen in tuple(self._places.items()) if wanted(at, seen)}

    def set_parts(self, root: str, parts: Mapping[str, str]) -> None:
        """Note the parts of a project, by the corpora they belong to."""
        if parts:
            self._parts[root] = parts
        else:
            self._parts.pop(root, None)

    def note_tended(self, root: str, tended: Tended | None) -> None:
        """Note a project as updated, or None when it is put aside."""
        others = {top: each for top, each in self._tended.items() if top != root}
        self._tended = {**others, root: tended} if tended else others

    def find_last_place(self, root: str) -> str:
        """Return the place of the last query from a project."""
        return self._last_place.get(root, root)

    def take_questions(self) -> dict[str, float]:
        """Return when projects were last queried, if the ledger does not have it yet."""
        by_root = self._by_root
        asked = {
            root: at
            for root, at in tuple(self._asked.items())
            if root in by_root and at > by_root[root].asked_at
        }
        for root, at in asked.items():
            self.keep(replace(by_root[root], asked_at=at))
        return asked


def list_upward(place: str) -> Iterator[str]:
    """Yield a clean place and the directories above it, innermost first."""
    while place:
        yield place
        place = place.rpartition("/")[0]
