"""Measure how accuracy falls as a catalogue grows: the gold among more and more distractors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb
from statistics import fmean
from typing import Any

import numpy as np

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.ranking import Run
from irdaemon.discovery.cases import Case
from irdaemon.index import CorpusIndex, Rows
from irdaemon.index.lexical import K1, B
from irdaemon.runtime.plugins import load_quiet
from irdaemon.text import tokenize
from irdaemon.types import Hit

# The baseline: plain BM25 by bm25s over the same words, without the rest of our pipeline.
#
# The gain of hybrid ranking, names and duplicates on labelled cases is the difference from this.

_DEPTH = 10


def rank_by_bm25(
    indexes: Sequence[CorpusIndex], vocabulary: Mapping[str, int], cases: Sequence[Case]
) -> list[Run]:
    """Return what BM25 alone ranks first for each case, over the records of all indexes."""
    bm25s = load_quiet("bm25s")  # with scipy, a dependency: 28 MB, 0.15 s; evaluation only
    documents = [words for index in indexes for words in _list_documents(index.rows)]
    owners = [
        index.rows.cards[index.rows.artifact_of.array[at]].artifact_id
        for index in indexes
        for at in index.rows.list_positions()
    ]
    retriever = bm25s.BM25(k1=K1, b=B, method="lucene")
    corpus = bm25s.tokenization.Tokenized(ids=documents, vocab=dict(vocabulary))
    if any(documents):
        retriever.index(corpus, show_progress=False)
    held = {term for words in documents for term in words}
    runs = []
    for case in cases:
        terms = [vocabulary[token] for token in tokenize(case.query) if token in vocabulary]
        terms = [term for term in dict.fromkeys(terms) if term in held]
        scores = retriever.get_scores_from_ids(terms) if terms else np.zeros(len(owners))
        ranked = _rank_owners(scores, owners)
        hits = tuple(Hit("", id, id, "", score, {}, "", "", {}) for id, score in ranked)
        runs.append(Run(case, hits, (), not hits, None))
    return runs


def _list_documents(rows: Rows) -> list[list[int]]:
    return [
        [term for term, count in rows.count_terms(at).items() for _ in range(int(count))]
        for at in rows.list_positions()
    ]


def _rank_owners(scores: np.ndarray, owners: Sequence[str]) -> list[tuple[str, float]]:
    order = np.argsort(-scores, kind="stable")
    best = {owners[at]: float(scores[at]) for at in order[::-1].tolist() if scores[at] > 0}
    return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:_DEPTH]


SIZES = (1, 4, 8, 16, 32, 64, 128)

Item = str | Mapping[str, Any]
# Indexes some items; the result returns the ids of the k best for a query.
Ranker = Callable[[Mapping[str, Item]], Callable[[str, int], Sequence[str]]]


def distractor_robustness_curve(
    scope: Mapping[str, Item],
    probes: Sequence[Case],
    ranker: Ranker,
    sizes: Sequence[int] = SIZES,
    trials: int = 20,
    seed: int = 0,
    k: int = 1,
) -> dict[int, float]:
    """Return, by catalogue size, the share of probes with gold among the first `k`.

    For each size every probe is tried `trials` times with the gold and size - 1 distractors drawn
    at random (once, if the catalogue is the whole scope); the draw is seeded by `seed` + size.

    Raises QueryError for a probe without a gold, or with one that is not in the scope.
    """
    for probe in probes:
        _check_probe(scope, probe)

    def accuracy(size: int) -> float:
        chance = random.Random(seed + size)
        draws = 1 if size >= len(scope) else trials
        found = [
            probe.gold[0] in ranker(_draw_catalogue(scope, probe, size, chance))(probe.query, k)
            for probe in probes
            for _ in range(draws)
        ]
        return round(fmean(found), 4) if found else 0.0

    return {size: accuracy(size) for size in _clip_sizes(sizes, len(scope))}


def curve_of_ranks(
    ranks: Iterable[int | None], n: int, sizes: Sequence[int] = SIZES
) -> dict[int, float]:
    """Return, by catalogue size, the expected share of cases with the gold first, from its ranks.

    A rank is the place of the gold, from 1, among all `n` artifacts; None: not found. In a
    catalogue drawn at random the gold is first if no artifact ranked before it was drawn, provided
    that scores do not depend on the other artifacts. So nothing is indexed again.
    """
    before = [None if rank is None else rank - 1 for rank in ranks]
    return {
        size: round(fmean(_compute_chance(each, size, n) for each in before), 4) if before else 0.0
        for size in _clip_sizes(sizes, n)
    }


def _compute_chance(before: int | None, size: int, n: int) -> float:
    """Return the chance that none of `before` artifacts is among size - 1 drawn out of n - 1."""
    if before is None:
        return float(size == 1)
    return comb(n - 1 - before, size - 1) / comb(n - 1, size - 1)


def _clip_sizes(sizes: Sequence[int], most: int) -> list[int]:
    if any(size < 1 for size in sizes):
        raise QueryError("a catalogue has one item at least", f"not one of {list(sizes)!r:.60}")
    return sorted({min(size, most) for size in sizes if most})


def _check_probe(scope: Mapping[str, Item], probe: Case) -> None:
    if not probe.gold:
        raise QueryError(f"the probe {probe.query!r} has no gold", "leave it out")
    if probe.gold[0] not in scope:
        raise QueryError(
            f"the gold {probe.gold[0]!r} of the probe {probe.query!r} is not in the scope",
            "a gold is the id of an item of the scope",
        )


def _draw_catalogue(
    scope: Mapping[str, Item], probe: Case, size: int, chance: random.Random
) -> dict[str, Item]:
    """Return a catalogue of one size: a probe's gold, and distractors."""
    others = [each for each in scope if each not in probe.gold]
    drawn = [probe.gold[0], *chance.sample(others, min(size - 1, len(others)))]
    return {each: scope[each] for each in sorted(drawn)}
