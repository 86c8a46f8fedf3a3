"""The lexical leg: BM25 as bm25s computes it, whatever came and went before."""

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.evaluate.evaluation import EvaluationRequest, evaluate_corpora
from irdaemon.discovery.cases import Case
from irdaemon.engine.queue import Job
from irdaemon.index import lexical, rows
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import WholeText
from irdaemon.text import tokenize
from irdaemon.types import Query
from tests.support.corpora import engine, mapped

WORDS = "pdf form invoice cloud python deploy test note".split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def scores_of(engine, query):
    """Return our score of each artifact, by id."""
    index = engine.snapshot.corpora["m"]
    known = engine.snapshot.vocabulary
    scores = index.lexical.score_all(
        [known[t] for t in dict.fromkeys(tokenize(query)) if t in known]
    )
    cards, owner_of = index.rows.cards, index.rows.artifact_of.array
    return {cards[owner_of[at]].artifact_id: scores[at] for at in index.rows.list_positions()}


@given(st.dictionaries(st.text("abc", min_size=1), texts, min_size=1, max_size=8), texts)
def test_scores_are_those_of_bm25s_but_for_the_rounded_mean_length(items, query):
    ours = scores_of(built(items), query)
    tokens = [tokenize(text) for text in items.values()]
    peer = bm25s.BM25(k1=lexical.K1, b=lexical.B, method="lucene")
    peer.index(tokens, show_progress=False)
    asked = [t for t in dict.fromkeys(tokenize(query)) if any(t in each for each in tokens)]
    theirs = peer.get_scores(asked) if asked else np.zeros(len(items))
    # Lucene leaves out the constant factor k1 + 1.
    expected = [pytest.approx(s * (lexical.K1 + 1), rel=0.02, abs=1e-5) for s in theirs]
    assert [ours[id] for id in items] == expected


@given(
    st.dictionaries(st.text("abc", min_size=1), texts, min_size=1, max_size=8),
    texts,
    st.sampled_from([(1.2, 0.5), (0.0, 0.0), (3.0, 1.0), (1.5, 0.75)]),
)
def test_scores_by_other_numbers_are_those_of_the_formula(items, query, numbers):
    k1, b = numbers
    index = built(items).snapshot.corpora["m"]
    found, rows = index.lexical, index.rows
    terms = sorted({term for at in rows.list_positions() for term in rows.count_terms(at)})[:4]
    scores = found.score_all(terms, k1, b)
    idf = found.compute_idf(np.array(terms, np.int64))
    for at in rows.list_positions():
        held, length = rows.count_terms(at), float(rows.lengths.array[at])
        norm = k1 * (1 - b + b * length / found.mean_length)
        expected = sum(
            float(weight) * held[term] * (k1 + 1) / (held[term] + norm)
            for term, weight in zip(terms, idf, strict=True)
            if held.get(term)
        )
        assert scores[at] == pytest.approx(expected, rel=1e-4)
    if numbers == (lexical.K1, lexical.B):
        assert scores == pytest.approx(found.score_all(terms), rel=1e-4)


def test_what_is_gone_has_no_score_by_other_numbers_either():
    items = {f"note {n}": f"pdf {WORDS[n % 5]}" for n in range(20)}
    made = built(items)
    del items["note 3"]
    made.request(Job("reconcile", "m"))
    made.drain()
    index, known = made.snapshot.corpora["m"], made.snapshot.vocabulary
    scores = index.lexical.score_all([known["pdf"]], 1.2, 0.5)
    assert np.count_nonzero(scores) == index.rows.n_records == 19


def built(items):
    made = engine(mapped(items))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


steps = st.lists(st.tuples(st.sampled_from("abcdef"), texts | st.none()), min_size=1, max_size=12)


@given(steps, texts, st.sampled_from([(0, 0.0, 0), (256, 0.2, 1_000), (0, 0.9, 1)]))
def test_scores_after_any_changes_are_exactly_those_of_a_fresh_build(steps, query, thresholds):
    kept = rows._MOST_GONE, rows._GONE_SHARE, lexical._TAIL
    rows._MOST_GONE, rows._GONE_SHARE, lexical._TAIL = thresholds
    try:
        items, made = {}, built({"a": "pdf form"})
        for id, text in steps:
            items = {**items, id: text} if text else {k: v for k, v in items.items() if k != id}
            made.reconfigure([Corpus("m", "mapping", InMemory(items), WholeText(), "hashing")])
            made.request(Job("reconcile", "m", ScanRequest(prune=True)))
            made.drain()
            assert scores_of(made, query) == scores_of(built(items), query)
    finally:
        rows._MOST_GONE, rows._GONE_SHARE, lexical._TAIL = kept


def test_an_older_snapshot_scores_as_it_did_after_newer_ones_were_published():
    items = {f"note {n}": f"{WORDS[n % 8]} {WORDS[n % 5]}" for n in range(20)}
    made = built(items)
    before = made.snapshot
    index = before.corpora["m"]
    terms = [before.vocabulary["pdf"]]
    wanted = index.lexical.score_all(terms).tolist()
    vectors = index.rows.vectors.array.copy()
    for n in range(0, 20, 2):
        items[f"note {n}"] = f"pdf pdf pdf number{n}"
        made.request(Job("reconcile", "m"))
        made.drain()
    assert index.lexical.score_all(terms).tolist() == wanted
    assert (index.rows.vectors.array == vectors).all()
    assert index.names.find_named("note 0") == [0]
    assert made.snapshot.corpora["m"].names.find_named("note 0") != [0]


def test_plain_bm25_is_measured_beside_ours_on_request():
    made = built({"git": "commit and push", "pdf": "fill a pdf form", "csv": "clean up a table"})
    cases = [Case("fill the pdf form", ("pdf",)), Case("push a commit", ("git",))]
    beside = EvaluationRequest(baseline=True)
    told = evaluate_corpora(made, cases, Query(""), beside)
    assert told["baseline"]["ndcg@10"] == 1.0
    assert "baseline" not in evaluate_corpora(made, cases, Query(""))
    assert (
        evaluate_corpora(engine(mapped({})), cases, Query(""), beside)["baseline"]["ndcg@10"] == 0
    )
