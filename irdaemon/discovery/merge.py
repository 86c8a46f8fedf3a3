"""Merge: the rankings of several corpora become one order.

By score, which means the same in every corpus; or, if a program asks for it, by reciprocal ranks,
by weighted score, or by a custom function. Whatever the order, no hit has a higher score than the
one before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain
from os.path import dirname
from typing import Any

from irclient.errors import QueryError
from irdaemon.discovery.decide import AUTO, CorpusRanking, Selector, is_weight
from irdaemon.discovery.fuse import RRF_K
from irdaemon.discovery.here import Here
from irdaemon.discovery.preferences import NO_PREFERENCES, Preferences
from irdaemon.discovery.rerank import ScoreBoost
from irdaemon.discovery.retrieve import Candidate
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.text import tokenize
from irdaemon.types import Hit

MERGES = ("confidence", "rrf", "score")
_WEIGHTED = ("rrf", "score")

# Takes the hits above their floors by corpus, best first, and returns those to keep, in order.
MergeHits = Callable[[Mapping[str, Sequence[Hit]]], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """How to choose among the candidates, as far as a query cannot express it.

    `selector` replaces the query's strategy. `merge` is how the corpora's rankings become one;
    `weights` (by corpus, default 1) and `rrf_k` belong to `rrf` and `score`. `floors` are floors on
    scores by corpus, None for none, instead of the query's. `boost` adds to the scores of
    candidates. `session` is the id of the querying session: it gets none of its own turns.
    `preferences` are the items that the person wants never offered, or first.
    """

    selector: Selector | None = None
    merge: str | MergeHits = "confidence"
    weights: Mapping[str, float] = field(default_factory=dict)
    rrf_k: float = RRF_K
    floors: Mapping[str, float | str | None] = field(default_factory=dict)
    boost: ScoreBoost | None = None
    session: str = ""
    preferences: Preferences = NO_PREFERENCES


DEFAULT_OPTIONS = SelectionOptions()


def check_options(options: SelectionOptions, corpora: Collection[str]) -> None:
    """Raise QueryError for invalid options, or options for a corpus that is not queried."""
    merge = options.merge
    if not callable(merge) and merge not in MERGES:
        near = did_you_mean(merge, MERGES) if isinstance(merge, str) else ""
        raise QueryError(
            f"unknown merge {merge!r}{near}",
            f"merges: {', '.join(MERGES)}, or a function {{corpus: hits}} -> hits",
        )
    if options.weights and merge not in _WEIGHTED:
        raise QueryError("merge_weights need a merge by rank or score", 'add merge="rrf"')
    for corpus in options.weights:
        _check_name("merge_weights", corpus, corpora)
    check_weights(options.weights)
    for corpus, floor in options.floors.items():
        _check_name("min_score", corpus, corpora)
        if floor not in (None, AUTO) and not is_weight(floor, 1):
            wanted = f"a number from 0 to 1, {AUTO!r} or None"
            raise QueryError(f"min_score of {corpus!r} must be {wanted}, not {floor!r}")
    check_rrf_k(options.rrf_k)
    if options.boost is not None and not callable(options.boost):
        raise QueryError(f"dep_boost is a function hit -> number, not {options.boost!r:.60}")


def check_weights(weights: Mapping[str, float]) -> None:
    """Raise QueryError for a weight of a source that is not a number from 0 up."""
    for source, weight in weights.items():
        if not is_weight(weight):
            raise QueryError(f"the weight of {source!r} must be a number from 0, not {weight!r}")


def check_rrf_k(rrf_k: Any) -> None:
    """Raise QueryError for an invalid constant of reciprocal ranks."""
    if not is_weight(rrf_k) or not rrf_k:
        raise QueryError(f"rrf_k must be a number above 0, not {rrf_k!r}")


def _check_name(parameter: str, corpus: Any, corpora: Collection[str]) -> None:
    if corpus not in corpora:
        raise QueryError(
            f"{parameter} names {corpus!r}, which is not asked{did_you_mean(str(corpus), corpora)}",
            f"asked here: {', '.join(sorted(corpora))}",
        )


def merge_rankings(rankings: Sequence[CorpusRanking], options: SelectionOptions) -> list[Candidate]:
    """Return the candidates of several rankings in one order, scores never rising."""
    rankings = [each for each in rankings if each.retrieved.candidates]
    if callable(options.merge):
        ordered = _sort_by_function(rankings, options.merge)
    elif options.merge == "rrf":
        ordered = _sort_by_rank(rankings, options)
    elif options.merge == "score":
        ordered = _sort_by_score(rankings, options.weights)
    else:  # a score means the same in every corpus
        ranked = (each.retrieved.candidates for each in rankings)
        return sorted(chain.from_iterable(ranked), key=lambda found: -found.score)
    lowest = accumulate((each.score for each in ordered), min)
    return [each._replace(score=score) for each, score in zip(ordered, lowest, strict=True)]


def _sort_by_rank(rankings: Sequence[CorpusRanking], options: SelectionOptions) -> list[Candidate]:
    """Order by weight / (rrf_k + rank); ties by rank, then by the order of the corpora."""
    placed = [
        (_get_weight(options.weights, ranking) / (options.rrf_k + rank), rank, place, each)
        for place, ranking in enumerate(rankings)
        for rank, each in enumerate(ranking.retrieved.candidates, start=1)
    ]
    placed.sort(key=lambda found: (-found[0], found[1], found[2]))
    return [each for *_, each in placed]


def _sort_by_score(
    rankings: Sequence[CorpusRanking], weights: Mapping[str, float]
) -> list[Candidate]:
    """Order by evidence, weighted; ties keep the order of the corpora.

    Raises QueryError if the evidence comes from vectors of different embedders.
    """
    spaces = {
        each.index.corpus: each.index.embedder
        for each in rankings
        if "dense" in each.retrieved.took_part
    }
    if len(set(spaces.values())) > 1:
        named = ", ".join(f"{corpus}: {embedder}" for corpus, embedder in spaces.items())
        raise QueryError(
            f"scores of different embedders do not compare ({named})", 'use merge="rrf"'
        )
    found = [
        (_get_weight(weights, ranking) * each.score, each)
        for ranking in rankings
        for each in ranking.retrieved.candidates
    ]
    return [each for _, each in sorted(found, key=lambda pair: -pair[0])]


def _get_weight(weights: Mapping[str, float], ranking: CorpusRanking) -> float:
    return float(weights.get(ranking.index.corpus, 1.0))


def _sort_by_function(rankings: Sequence[CorpusRanking], merge: MergeHits) -> list[Candidate]:
    """Order as a function does, which may omit hits. Raises QueryError for hits it made up."""
    given: dict[str, list[Hit]] = {}
    found: dict[tuple[str, str, int], Candidate] = {}
    for ranking in rankings:
        candidates = ranking.retrieved.candidates
        hits = given[ranking.index.corpus] = [each.make_hit() for each in candidates]
        found |= zip(map(_identify_hit, hits), candidates, strict=True)
    order = dict.fromkeys(_identify_hit(hit) for hit in merge(given))
    if foreign := [reference for reference in order if reference not in found]:
        raise QueryError(f"merge returned hits it was not given: {foreign[0]!r:.80}")
    return [found[reference] for reference in order]


def _identify_hit(hit: Any) -> tuple[str, str, int]:
    if not isinstance(hit, Hit):
        raise QueryError(f"merge must return hits, not {hit!r:.60}")
    return hit.corpus, hit.artifact_id, hit.surface_index


# Duplicates: a thing found in several places becomes one hit, that of the best scope.
#
# Exact duplicates have the same searched content. Near ones have nearly the same words and the same
# name: other versions of one thing, between which an agent could not choose. Items with other names
# in one directory or by one author are near duplicates too, if they have no word of the query that
# the better one lacks: an author who says the same thirty times is one voice. Turns of a session
# take one place.

SESSION = "session_id"
SCOPES = ("project", "user", "plugin", "other")
Counts = Mapping[Any, float]
# Cosine of the term counts from which texts of one name count as versions of each other.
NEARLY = 0.9
# Texts of one voice say the same from lower cosines on, of counts and of vectors, if one has few
# words that the other lacks: at most this number, or this share of its own.
_ONE_VOICE, _ALIKE = 0.6, 0.5
_FEW_WORDS, _FEW_OF_MANY = 5, 0.1
# New words of a query count as nothing if they weigh at most this share of the known ones.
_LITTLE = 0.25


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """How near duplicates are joined before selection.

    Items of one voice are compared until `places` are taken. `terms` are the query's by corpus.
    With `turns` the turns of one session are kept apart.
    """

    places: int
    terms: Mapping[str, Collection[int]] = field(default_factory=dict)
    turns: bool = False


def join_duplicates(
    candidates: Iterable[Candidate],
    *,
    near: NearDuplicates | None = None,
    by_passage: bool = False,
    here: Here | None = None,
) -> Iterator[Candidate]:
    """Yield each content once, by its candidate of the best scope, the others in `duplicates`.

    It takes the rank and the displayed score of the best ranked of them. With `by_passage` the
    records of a content are kept apart. Further turns of a session are left out. An item of the
    project that the query comes from replaces items of the same name that lie farther away.
    """
    groups: dict[tuple[str, int], list[Candidate]] = {}
    for candidate in candidates:
        record = candidate.surface_index if by_passage else 0
        groups.setdefault((candidate.card.content, record), []).append(candidate)
    found = list(groups.values())
    found = _join_namesakes(found, here) if here else found
    kept = _join_near(found, near) if near else found
    return (_merge_group(group, here) for group in kept)


def _join_namesakes(groups: Sequence[list[Candidate]], here: Here) -> list[list[Candidate]]:
    """Join the nearest item of a name with farther ones, at their best rank.

    Equally near ones stay apart, and so do those of the person alone.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for place, group in enumerate(groups):
        first = group[0]
        if first.index.corpus in here.one_of_a_name:
            places.setdefault((first.index.corpus, first.card.name.casefold()), []).append(place)
    joined: dict[int, list[Candidate]] = dict(enumerate(groups))
    for namesakes in places.values():
        far = [min(here.measure_distance(each.card) for each in groups[at]) for at in namesakes]
        least = min(far)
        farther = [at for at, distance in zip(namesakes, far, strict=True) if distance > least]
        if not farther:
            continue
        taken = sorted([namesakes[far.index(least)], *farther])
        whole = [each for at in taken for each in joined.pop(at)]
        joined[taken[0]] = whole
    return [joined[at] for at in sorted(joined)]


def _join_near(groups: Sequence[list[Candidate]], near: NearDuplicates) -> list[list[Candidate]]:
    # With the voices of the first of each, as far as they are compared.
    kept: list[tuple[list[Candidate], set[str]]] = []
    by_name: dict[str, list[list[Candidate]]] = {}
    sessions: set[tuple[str, Any]] = set()
    for group in groups:
        first, same = group[0], None
        card, voices = first.card, set[str]()
        namesakes = by_name.setdefault(card.name.casefold(), [])
        if namesakes:
            near_by = (each for each in namesakes if _compare_texts(each[0], first) >= NEARLY)
            same = next(near_by, None)
        if same is None and len(kept) <= near.places:
            # The voices: the author, and the directory that contains the item's directory.
            voices = {str(card.get_field("author") or ""), dirname(dirname(card.pointer))} - {""}
            alike = (each for each, theirs in kept if theirs & voices)
            same = next((each for each in alike if _is_one_voice(each[0], first, near)), None)
        if same is not None:
            same += group
            continue
        if not near.turns and (name := card.get_field(SESSION)):
            session = first.index.corpus, name
            if session in sessions:
                continue
            sessions.add(session)
        namesakes.append(group)
        kept.append((group, voices))
    return [group for group, _ in kept]


def _is_one_voice(one: Candidate, other: Candidate, near: NearDuplicates) -> bool:
    """Return whether the worse of two candidates of a voice only repeats the other."""
    if one.index is not other.index:
        return False
    rows = one.index.rows
    records = [*rows.find_records(one.owner), *rows.find_records(other.owner)]
    if len(records) > 2:  # items with so many records have a distinct name: a package, a document
        return False
    if one.index.has_vectors:
        first, second = rows.vectors.take(records)
        if float(first @ second) < _ALIKE:
            return False
    mine, theirs = map(rows.count_terms, records)
    new = theirs.keys() - mine.keys()
    few = max(_FEW_WORDS, _FEW_OF_MANY * len(theirs))
    if len(new) > few or _compare(mine, theirs) < _ONE_VOICE:
        return False
    asked, lexical = near.terms.get(one.index.corpus, ()), one.index.lexical
    wanted = lexical.sum_idf([term for term in asked if term in new])
    return wanted <= _LITTLE * lexical.sum_idf([term for term in asked if term in mine])


def _compare(mine: Counts, theirs: Counts) -> float:
    """Return the cosine of the term counts of two records."""
    shared = sum(count * theirs.get(term, 0) for term, count in mine.items())
    norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
    return shared / norms if norms else 0.0


def _compare_texts(*both: Candidate) -> float:
    """Return the cosine of two records' counts, of words if their term ids are not comparable."""
    rows = [(each.index.rows, each.position) for each in both]
    if both[0].index.vocabulary is both[1].index.vocabulary:
        return _compare(*(each.count_terms(position) for each, position in rows))
    return _compare(*(Counter(tokenize(each.shown[position].text)) for each, position in rows))


def _merge_group(group: list[Candidate], here: Here | None) -> Candidate:
    best, score = group[0], round(group[0].score, 4)
    if len(group) == 1:
        return best._replace(score=score)
    best = min(group, key=partial(_rank_place, here))
    others = (f"{each.index.corpus}/{each.card.artifact_id}" for each in group if each is not best)
    return best._replace(score=score, duplicates=tuple(others))


def _rank_place(here: Here | None, candidate: Candidate) -> tuple[int, int]:
    """Return how far from the query's place an item is kept, and the rank of its scope."""
    distance = here.measure_distance(candidate.card) if here else 0
    return distance, rank_scope(candidate.card.get_field("scope"))


def rank_scope(scope: Any) -> int:
    """Return the rank of a scope; unknown scopes come last."""
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)
