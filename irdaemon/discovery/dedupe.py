"""Duplicates: the same thing found in several places becomes one hit, that of the best scope.

Exact duplicates have the same searched content. Near ones have nearly the same words and the same
name: other versions of one thing, between which an agent could not choose. So are those of other
names that lie in one directory or are of one author, where they have no word of the query that the
better one lacks: who says the same thirty times is one voice. Turns of a session take one place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import dirname
from typing import Any

from irdaemon.discovery.retrieve import Candidate
from irdaemon.text import tokenize
from irdaemon.types import Hit

SESSION = "session_id"
SCOPES = ("project", "user", "plugin", "other")
Counts = Mapping[Any, float]
# Cosine of the term counts from which texts of one name count as versions of each other.
NEARLY = 0.9
# Texts of one voice say the same from lower cosines on, of counts and of vectors, where one has few
# words that the other lacks: so many, or such a share of its own.
_ONE_VOICE, _ALIKE = 0.6, 0.5
_FEW_WORDS, _FEW_OF_MANY = 5, 0.1
# Words of a query count as nothing new beside others of which they weigh at most this share.
_LITTLE = 0.25


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """How near duplicates are joined, which comes before selection.

    Of one voice are compared as many as take `places`. `terms` are the query's by corpus. With
    `turns` those of one session are kept apart.
    """

    places: int
    terms: Mapping[str, Collection[int]] = field(default_factory=dict)
    turns: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A content that was found: the candidate of the best scope, and where its others are.

    It stands where the best ranked of its duplicates stood, with the score of that, as shown. A hit
    is made of it only where one is needed: few of many are.
    """

    candidate: Candidate
    score: float
    duplicates: tuple[str, ...] = ()

    @property
    def corpus(self) -> str:
        """Name its corpus."""
        return self.candidate.index.corpus

    @property
    def artifact_id(self) -> str:
        """Return the id of its artifact."""
        return self.candidate.card.artifact_id

    def hit(self, summarised: bool = True) -> Hit:
        """Return it as an answer shows it, with or without its summary."""
        hit = self.candidate.hit(summarised)
        if not self.duplicates:
            return hit
        return replace(hit, score=self.score, duplicates=self.duplicates)


def join_duplicates(
    candidates: Iterable[Candidate],
    *,
    near: NearDuplicates | None = None,
    by_passage: bool = False,
) -> Iterator[Found]:
    """Yield each content once, at its best rank, the others in `duplicates`.

    With `by_passage` the records of a content are kept apart. Further turns of a session are left
    out.
    """
    groups: dict[tuple[str, int], list[Candidate]] = {}
    for candidate in candidates:
        record = candidate.surface_index if by_passage else 0
        groups.setdefault((candidate.content, record), []).append(candidate)
    kept = _near_joined(list(groups.values()), near) if near else groups.values()
    return map(_merge_group, kept)


def _near_joined(groups: Sequence[list[Candidate]], near: NearDuplicates) -> list[list[Candidate]]:
    kept: list[list[Candidate]] = []
    by_name: dict[str, list[list[Candidate]]] = {}
    sessions: set[tuple[str, Any]] = set()
    for group in groups:
        first = group[0]
        namesakes = by_name.setdefault(first.card.name.casefold(), [])
        same = next(
            (each for each in namesakes if _cosine(*_counts(each[0], first)) >= NEARLY), None
        )
        if same is None and len(kept) <= near.places:
            same = next((each for each in kept if _is_one_voice(each[0], first, near)), None)
        if same is not None:
            same += group
            continue
        session = first.index.corpus, first.card.fields.get(SESSION)
        if session[1] and not near.turns and session in sessions:
            continue
        sessions.add(session)
        namesakes.append(group)
        kept.append(group)
    return kept


def _is_one_voice(one: Candidate, other: Candidate, near: NearDuplicates) -> bool:
    """Return whether the worse of two candidates only says again what the better one says."""
    if one.index is not other.index or not _voices(one) & _voices(other):
        return False
    rows = one.index.rows
    records = [*rows.records_of(one.owner), *rows.records_of(other.owner)]
    if len(records) > 2:  # what says so much has a name of its own: a package, a document
        return False
    if one.index.has_vectors:
        first, second = rows.vectors.array[records]
        if float(first @ second) < _ALIKE:
            return False
    mine, theirs = map(rows.count_terms, records)
    new = theirs.keys() - mine.keys()
    few = max(_FEW_WORDS, _FEW_OF_MANY * len(theirs))
    if len(new) > few or _cosine(mine, theirs) < _ONE_VOICE:
        return False
    asked, lexical = near.terms.get(one.index.corpus, ()), one.index.lexical
    wanted = lexical.weight([term for term in asked if term in new], 0)
    return wanted <= _LITTLE * lexical.weight([term for term in asked if term in mine], 0)


def _voices(candidate: Candidate) -> set[str]:
    """Return whose an item is: its author, and the directory that holds it or its directory."""
    card = candidate.card
    return {str(card.fields.get("author") or ""), dirname(dirname(card.pointer))} - {""}


def _cosine(mine: Counts, theirs: Counts) -> float:
    """Return the cosine of the term counts of two records."""
    shared = sum(count * theirs.get(term, 0) for term, count in mine.items())
    norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
    return shared / norms if norms else 0.0


def _counts(one: Candidate, other: Candidate) -> tuple[Counts, Counts]:
    """Return the term counts of two records; by words where their term ids do not compare."""
    if one.index.vocabulary is other.index.vocabulary:
        return one.index.rows.count_terms(one.position), other.index.rows.count_terms(
            other.position
        )
    return _words(one), _words(other)


def _words(candidate: Candidate) -> Counts:
    return Counter(tokenize(candidate.index.rows.shown[candidate.position].text))


def _merge_group(group: list[Candidate]) -> Found:
    best = min(group, key=_scope_rank) if len(group) > 1 else group[0]
    others = (f"{each.index.corpus}/{each.card.artifact_id}" for each in group if each is not best)
    return Found(best, round(group[0].score, 4), tuple(others))


def _scope_rank(candidate: Candidate) -> int:
    scope = candidate.card.fields.get("scope")
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)
