"""The person's preferences: items never offered, offered first, or faded (mute, pin, fading).

Muted items are not candidates; `discover` offers pinned ones first. Faded items are left out of
answers to a session, unless their odds are clearly better than ever when they were offered in vain.
`search` only marks its hits, and `disclose` ignores preferences.
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
# How often a corpus is queried again, as the next candidates may be unwanted too.
_MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Preferences:
    """The muted, pinned and faded items; a faded one is offered only above its score."""

    muted: frozenset[Item] = frozenset()
    pinned: frozenset[Item] = frozenset()
    faded: Mapping[Item, float] = field(default_factory=dict)

    def without_faded(self) -> Preferences:
        """Return them without fading, for an answer that the person asked for."""
        return replace(self, faded={}) if self.faded else self

    def excludes(self, corpus: str, candidate: Candidate) -> bool:
        """Return whether a candidate must not be offered."""
        item = corpus, candidate.card.artifact_id
        if item in self.muted:
            return True
        return item not in self.pinned and candidate.score <= self.faded.get(item, -1.0)

    def mark(self, hit: Hit) -> Hit:
        """Return a hit marked as muted or pinned, if it is."""
        item = hit.corpus, hit.artifact_id
        verdict = "muted" if item in self.muted else PINNED if item in self.pinned else ""
        return replace(hit, fields={**hit.fields, "offers": verdict}) if verdict else hit


NO_PREFERENCES = Preferences()


def drop_unwanted(
    index: CorpusIndex, question: Question, found: Retrieved, preferences: Preferences
) -> Retrieved:
    """Return a corpus' candidates without those not to be offered, copies included.

    The corpus is queried again without them: the next candidates are measured as if they did not
    exist.
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
