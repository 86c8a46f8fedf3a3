"""What the person wants offered never, first, or no longer by itself: mute, pin, and fading.

Muted items are not candidates; `discover` offers pinned ones first. What faded is left out of
answers to a session, unless its odds are clearly better than they ever were when it was offered in
vain. `search` only marks its hits, and `disclose` knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.legs import Question
from irdaemon.discovery.retrieve import Candidate, Retrieved, retrieve
from irdaemon.discovery.where import Filter
from irdaemon.index import Columns, CorpusIndex
from irdaemon.types import Hit

# A corpus and the id of an artifact in it.
Item = tuple[str, str]

PINNED = "pinned"
# How often a corpus is asked again, as what comes next may be unwanted too.
_MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Preferences:
    """What is never offered, what first, and what faded: the score above which that is."""

    muted: frozenset[Item] = frozenset()
    pinned: frozenset[Item] = frozenset()
    faded: Mapping[Item, float] = field(default_factory=dict)

    def without_faded(self) -> Preferences:
        """Return them for an answer that the person asked for."""
        return replace(self, faded={}) if self.faded else self

    def excludes(self, corpus: str, candidate: Candidate) -> bool:
        """Return whether a candidate is not to be offered."""
        item = corpus, candidate.card.artifact_id
        if item in self.muted:
            return True
        return item not in self.pinned and candidate.score <= self.faded.get(item, -1.0)

    def mark(self, hit: Hit) -> Hit:
        """Return a hit that says whether it is muted, or pinned."""
        item = hit.corpus, hit.artifact_id
        verdict = "muted" if item in self.muted else PINNED if item in self.pinned else ""
        return replace(hit, fields={**hit.fields, "offers": verdict}) if verdict else hit


NO_PREFERENCES = Preferences()


def drop_unwanted(
    index: CorpusIndex, question: Question, found: Retrieved, preferences: Preferences
) -> Retrieved:
    """Return what is found of a corpus without what is not to be offered, copies included.

    It is asked again without them: what comes next is measured as if they were not there.
    """
    gone = set[int]()
    for _ in range(_MOST_ROUNDS):
        candidates = found.candidates
        unwanted = {c.card.content for c in candidates if preferences.excludes(index.corpus, c)}
        if not unwanted:
            return found
        gone |= {c.owner for c in candidates if c.card.content in unwanted}
        found = retrieve(index, replace(question, filter=_leave_out(question.filter, gone)))
    left = tuple(c for c in found.candidates if not preferences.excludes(index.corpus, c))
    return replace(found, candidates=left)


def _leave_out(given: Filter, owners: Iterable[int]) -> Filter:
    """Return a filter that also leaves out artifacts, by their places."""
    places = np.fromiter(owners, np.int64)

    def make_mask(columns: Columns) -> NDArray[np.bool_]:
        return ~np.isin(columns.rows.artifact_of.array, places)

    return replace(given, masks=(*given.masks, make_mask))
