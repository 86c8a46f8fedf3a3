"""The baseline: plain BM25, as bm25s has it, over the same words and without the rest of ours.

What hybrid ranking, names and duplicates bring on labelled cases is the distance to this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from irdaemon.evaluate.cases import Case
from irdaemon.evaluate.runs import Run
from irdaemon.index import CorpusIndex, Rows
from irdaemon.index.lexical import K1, B
from irdaemon.runtime.plugins import load_quiet
from irdaemon.text import tokenize
from irdaemon.types import Hit

_DEPTH = 10


def plain_bm25(
    indexes: Sequence[CorpusIndex], vocabulary: Mapping[str, int], cases: Sequence[Case]
) -> list[Run]:
    """Return what BM25 alone ranks first for each case, over the records of all indexes."""
    bm25s = load_quiet("bm25s")  # with scipy behind it 28 MB and 0.15 s: for evaluation only
    documents = [words for index in indexes for words in _documents(index.rows)]
    owners = [owner for index in indexes for owner in _owners(index.rows)]
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
        runs.append(_run(case, _best(scores, owners)))
    return runs


def _documents(rows: Rows) -> list[list[int]]:
    return [
        [term for term, count in rows.counts_of(at).items() for _ in range(int(count))]
        for at in rows.positions()
    ]


def _owners(rows: Rows) -> list[str]:
    return [rows.cards[rows.artifact_of.array[at]].artifact_id for at in rows.positions()]


def _best(scores: np.ndarray, owners: Sequence[str]) -> list[tuple[str, float]]:
    order = np.argsort(-scores, kind="stable")
    best = {owners[at]: float(scores[at]) for at in order[::-1].tolist() if scores[at] > 0}
    return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:_DEPTH]


def _run(case: Case, ranked: list[tuple[str, float]]) -> Run:
    hits = tuple(Hit("", id, id, "", score, {}, "", "", {}) for id, score in ranked)
    return Run(case, hits, (), not hits, None)
