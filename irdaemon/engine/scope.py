"""The scope of a place: its project, and the project's parts that are searched and read there.

Without a place, or outside of every project, it is the person's own corpora alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.disclose import find_artifact, parse_reference
from irdaemon.discovery.here import Here
from irdaemon.discovery.query import ParsedQuery
from irdaemon.engine.state import QueryState, Served
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.ledger import Ledger, StoredArtifact
from irdaemon.types import Project

# In these kinds an item is identified by its name: as for an agent, the nearest one applies.
_ONE_OF_A_NAME = frozenset(("skills", "agents", "commands", "packages", "dependencies"))
# These are found by search and if a query names them; packages may be offered too.
_PACKAGES, _DOCS = frozenset(("packages", "dependencies")), frozenset(("docs", "files"))


@dataclass(frozen=True, slots=True)
class PlaceScope:
    """The corpora and parts visible from a place at one moment; `place` is a real path.

    `parts` are the project's, by the name of the corpus that each belongs to.
    """

    served: Served
    project: Project | None = None
    place: str = ""
    parts: Mapping[str, Corpus] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Return the names of the corpora, those that only the project has last."""
        return list(dict.fromkeys((*self.served.corpora, *self.parts)))

    def list_stored(self, corpus: str) -> Iterator[Corpus]:
        """Yield the parts of a corpus here: the project's, then the person's."""
        for held in (self.parts.get(corpus), self.served.corpora.get(corpus)):
            if held is not None:
                yield held

    def find_stored(self, ledger: Ledger, corpus: str, artifact_id: str) -> Corpus | None:
        """Return the part of a corpus that contains an artifact, or None."""
        stored = self.list_stored(corpus)
        return next((c for c in stored if ledger.artifacts.get(c.name, artifact_id)), None)

    def resolve(self, ledger: Ledger, reference: str) -> tuple[Corpus, str]:
        """Return the part of a corpus and the id of the artifact that a reference means.

        By name, the project's artifact comes before the person's. Raises NotFound naming what
        exists, QueryError for an ambiguous name.
        """
        corpus, wanted = parse_reference(reference, self.names)
        missed: NotFound | None = None
        for held in self.list_stored(corpus):
            try:
                return held, find_artifact(ledger, held.name, wanted, corpus, self.measure)
            except NotFound as error:
                missed = error
        assert missed is not None  # a corpus of the name exists
        raise missed

    def measure(self, artifact: StoredArtifact) -> int:
        """Return how far from the place an artifact is kept; 0 outside of projects."""
        return Here(self.project, self.place).measure_distance(artifact) if self.project else 0

    def list_others(self, corpus: str) -> list[Corpus]:
        """Return the parts of a corpus that belong to other projects."""
        own = self.parts.get(corpus)
        parts = self.served.parts.values()
        return [each for each in parts if each.part_of == corpus and each is not own]


def find_scope(state: QueryState, place: str) -> PlaceScope:
    """Return the scope of a clean place ("" for nowhere). No file is touched."""
    served = state.served
    project = state.projects.find(place) if place else None
    if project is None:
        return PlaceScope(served)
    names = state.projects.list_parts(project).items()
    parts = {corpus: part for corpus, name in names if (part := served.parts.get(name))}
    return PlaceScope(served, project, state.projects.resolve(place), parts)


def narrow_to_project(
    state: QueryState, query: ParsedQuery, offering: bool
) -> tuple[Snapshot, ParsedQuery]:
    """Return the snapshot for a query from a place, and the query with its project.

    If the results are offered and the query names no corpora, dependencies and docs are left out.
    """
    scope = find_scope(state, query.place)
    snapshot = scope.served.snapshot
    if scope.project is None:
        return snapshot, query
    left_out = frozenset[str]()
    if offering and not query.corpora:
        settings = state.projects.settings
        offers_packages = settings and settings.offer_packages
        left_out = _DOCS if offers_packages else _DOCS | _PACKAGES
    parts = {c: part.name for c, part in scope.parts.items() if part.kind not in left_out}
    one_of_a_name = (c for c, part in scope.parts.items() if part.kind in _ONE_OF_A_NAME)
    here = Here(scope.project, scope.place, frozenset(one_of_a_name))
    return state.scopes.scope_snapshot(snapshot, parts), replace(query, here=here)


def find_owner(ledger: Ledger, scope: PlaceScope, reference: str) -> Project | None:
    """Return the other project that an artifact belongs to, or None."""
    corpus, _, wanted = reference.partition("/")
    for part in scope.list_others(corpus):
        with contextlib.suppress(NotFound, QueryError):
            find_artifact(ledger, part.name, wanted)
            return part.project
    return None


def tell_owner(reference: str, owner: Project) -> NotFound:
    """Return the error for a reference to another project's artifact."""
    return NotFound(
        f"{reference!r} belongs to {owner.name}", f"ask from there, or --here {owner.root}"
    )


def list_others(state: QueryState, place: str, reference: str) -> list[CorpusIndex]:
    """Return the indexes of other projects' parts of the corpus in a reference."""
    scope, corpus = find_scope(state, place), reference.partition("/")[0]
    parts = scope.served.snapshot.parts
    return [parts[each.name] for each in scope.list_others(corpus) if each.name in parts]
