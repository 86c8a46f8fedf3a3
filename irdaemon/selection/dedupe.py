"""Duplicates: the same thing found in several places becomes one hit, that of the best scope.

Exact duplicates have the same searched content. Near ones have the same name and nearly the same
words: other versions of one thing, between which an agent could not choose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irdaemon.retrieve import Candidate
from irdaemon.text import tokenize
from irdaemon.types import Hit

SCOPES = ("project", "user", "plugin", "other")
Counts = Mapping[Any, float]
# Cosine of the term counts from which texts of one name count as versions of each other.
NEARLY = 0.9


def joined(
    candidates: Iterable[Candidate],
    *,
    near: bool = False,
    summarised: bool = True,
    by_passage: bool = False,
) -> Iterator[Hit]:
    """Yield a hit for each content, at its best rank, the others in `duplicates`.

    With `by_passage` the records of a content are kept apart. Where few of many hits will be shown,
    their summaries can be left for then.
    """
    groups: dict[tuple[str, int], list[Candidate]] = {}
    for candidate in candidates:
        record = candidate.surface_index if by_passage else 0
        groups.setdefault((candidate.content, record), []).append(candidate)
    kept = _near_joined(list(groups.values())) if near else groups.values()
    return (_representative(group, summarised) for group in kept)


def _near_joined(groups: Sequence[list[Candidate]]) -> list[list[Candidate]]:
    kept: list[list[Candidate]] = []
    by_name: dict[str, list[list[Candidate]]] = {}
    for group in groups:
        namesakes = by_name.setdefault(group[0].card.name.casefold(), [])
        for other in namesakes:
            if _likeness(other[0], group[0]) >= NEARLY:
                other += group
                break
        else:
            namesakes.append(group)
            kept.append(group)
    return kept


def _likeness(one: Candidate, other: Candidate) -> float:
    """Return the cosine of the term counts of two candidates' records."""
    mine, theirs = _counts(one, other)
    shared = sum(count * theirs.get(term, 0) for term, count in mine.items())
    norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
    return shared / norms if norms else 0.0


def _counts(one: Candidate, other: Candidate) -> tuple[Counts, Counts]:
    """Return the term counts of two records; by words where their term ids do not compare."""
    if one.index.vocabulary is other.index.vocabulary:
        return one.index.rows.counts_of(one.position), other.index.rows.counts_of(other.position)
    return _words(one), _words(other)


def _words(candidate: Candidate) -> Counts:
    return Counter(tokenize(candidate.index.rows.shown[candidate.position].text))


def _representative(group: list[Candidate], summarised: bool) -> Hit:
    if len(group) == 1:
        return group[0].hit(summarised)
    best = min(group, key=_scope_rank)
    others = tuple(
        f"{each.index.corpus}/{each.card.artifact_id}" for each in group if each is not best
    )
    # It stands where the best ranked of its duplicates stood.
    return replace(best.hit(summarised), score=round(group[0].score, 4), duplicates=others)


def _scope_rank(candidate: Candidate) -> int:
    scope = candidate.card.fields.get("scope")
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)
