"""Pinned items: offered first where they are likely, at a lower bar than others.

One comes first where its corpus has at least half of the score that an offer takes, and where
it has at least four fifths of the best evidence there. A prompt without a task gets none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from irdaemon.discovery.decide import Choice, CorpusRanking
from irdaemon.discovery.merge import Found
from irdaemon.discovery.preferences import PINNED, Item, Preferences
from irdaemon.discovery.retrieve import Candidate
from irdaemon.types import Hit

# The shares of what an offer takes: of its corpus' floor, and of the best evidence there.
# In two labelled homes a skill pinned at random comes first for 4% of the prompts that do not want
# it (at half the evidence 10%), and nine of ten that half would bring up are still brought up.
_OF_FLOOR, _OF_BEST = 0.5, 0.8


def offer_pinned(
    choice: Choice,
    found: Sequence[Found],
    rankings: Sequence[CorpusRanking],
    preferences: Preferences,
    most: int,
) -> Choice:
    """Return a choice with the pinned items first that are near enough, at most `most` hits.

    `found` is what was above the floors, duplicates joined.
    """
    near = list(_find_near(rankings, preferences.pinned))
    if not near:
        return choice
    joined = {item: each for each in found for item in _list_items(each.hit())}
    pinned: dict[Item, Hit] = {}
    for item, candidate in near:
        hit = joined[item].hit() if item in joined else candidate.hit(summarised=True)
        pinned.setdefault((hit.corpus, hit.artifact_id), hit)
    rest = [hit for hit in choice.hits if (hit.corpus, hit.artifact_id) not in pinned]
    hits = (*pinned.values(), *rest)[:most]
    signals = {**choice.signals, "n_pinned": len(pinned), "n_selected": len(hits)}
    reason = PINNED if choice.abstained else choice.reason
    return replace(choice, hits=hits, abstained=False, reason=reason, signals=signals)


def _find_near(
    rankings: Sequence[CorpusRanking], pinned: frozenset[Item]
) -> Iterator[tuple[Item, Candidate]]:
    """Yield the pinned candidates that are near enough, those of most evidence first."""
    near = [
        (item, candidate)
        for ranking in rankings
        if _is_likely(ranking)
        for candidate in ranking.retrieved.candidates
        if (item := (ranking.index.corpus, candidate.card.artifact_id)) in pinned
        and candidate.evidence >= _OF_BEST * _find_best(ranking) > 0
    ]
    yield from sorted(near, key=lambda each: -each[1].evidence)


def _find_best(ranking: CorpusRanking) -> float:
    return max(each.evidence for each in ranking.retrieved.candidates)


def _is_likely(ranking: CorpusRanking) -> bool:
    """Return whether a corpus has half of what an offer takes."""
    return ranking.above_floor or ranking.top_score >= _OF_FLOOR * ranking.least > 0


def _list_items(hit: Hit) -> list[Item]:
    """Return a hit's item, and those that were joined with it."""
    copies = (each.partition("/") for each in hit.duplicates)
    return [(hit.corpus, hit.artifact_id), *((corpus, id) for corpus, _, id in copies)]
