"""Reranking by the call: by a function or a model's name, of a surface or of a whole artifact."""

import functools
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError, Unavailable
from irdaemon.ledger import artifacts
from irdaemon.library import reranking
from irdaemon.library.reranking import Reranking
from tests.support.built import hold
from tests.support.searching import tool

TOOLS = {
    "a": tool("Merge pdf forms quickly"),
    "b": tool("Merge pdf forms quickly too"),
    "c": tool("Deploy cloud forms slowly"),
}
TEXT = "merge pdf forms"
README = (
    "The thing is made of general parts. " * 6
    + "It schedules directed graphs of audio pipelines. "
    + "What follows says nothing in particular. " * 6
)
PACKAGES = {
    "thin": {"name": "thin", "description": "a toolkit", "readme": README},
    "queue": {"name": "queue", "description": "runs graphs of tasks", "readme": "Queued. " * 30},
    "paper": {"name": "paper", "description": "pdf tools", "readme": "Merge paper. " * 30},
}
ASKED = "audio pipelines of directed graphs"


@pytest.fixture
def tools():
    with hold(TOOLS) as made:
        yield made


@pytest.fixture
def packages():
    with hold(PACKAGES, strategy=ir.Package(chunk_size=150, overlap=30)) as made:
        yield made


def ids(hits):
    return [hit.artifact_id for hit in hits]


def shared(query, texts):
    words = set(query.split())
    return [len(words & set(text.replace(".", "").split())) / len(words) for text in texts]


class Spy:
    """A reranker that keeps what it was given, and scores all alike."""

    def __init__(self):
        self.calls = []

    def __call__(self, query, texts):
        self.calls.append((query, texts))
        return [0.5] * len(texts)

    @property
    def texts(self):
        return [text for _, texts in self.calls for text in texts]


# -- what reads ------------------------------------------------------------------------------------


def test_a_function_reads_the_candidates_again_and_its_scores_are_their_evidence(tools):
    def prefers_cloud(query, texts):
        assert query == TEXT
        return [0.9 if "cloud" in text else 0.1 for text in texts]

    hits = ir.search(tools, TEXT, rerank=prefers_cloud)
    assert ids(hits)[0] == "c"
    assert hits[0].score == pytest.approx(0.9)
    answer = ir.discover([tools], TEXT, rerank=prefers_cloud, min_score=None)
    assert ids(answer.results) == ["c"]
    assert answer.tier == "rerank"


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
@pytest.mark.parametrize("per_artifact", [True, False])
def test_a_reranker_decides_in_every_mode(tools, mode, per_artifact):
    def prefers_too(query, texts):
        return [0.9 if "too" in text else 0.1 for text in texts]

    asked = {"mode": mode, "rerank": prefers_too, "per_artifact": per_artifact}
    assert ids(ir.search(tools, TEXT, **asked))[0] == "b"


def test_a_floor_is_compared_with_what_the_function_gave(tools):
    answer = ir.discover(tools, TEXT, rerank=lambda query, texts: [0.2] * len(texts), min_score=0.5)
    assert (answer.abstained, answer.reason) == (True, "below_floor")


@pytest.mark.parametrize(
    ("rerank", "said"),
    [
        ("cros-encoder", "unknown reranker 'cros-encoder'; did you mean 'cross-encoder'"),
        ("", "unknown reranker ''"),
        (3, "rerank must be a function or a name, not 3"),
        (True, "rerank must be a function or a name, not True"),
        ([], "rerank must be a function or a name"),
        (lambda query, texts: [1.0], "rerank gave no number"),
        (lambda query, texts: [7.5] * len(texts), "rerank gave no number"),
        (lambda query, texts: [float("nan")] * len(texts), "rerank gave no number"),
        (lambda query, texts: None, "rerank gave no number"),
        (lambda query: [], "rerank failed: TypeError"),
    ],
)
def test_what_is_no_reranker_is_refused(tools, rerank, said):
    for call in (ir.search, ir.discover):
        with pytest.raises(QueryError, match=said):
            call(tools, TEXT, rerank=rerank)


# -- a model by its name ---------------------------------------------------------------------------


class Model:
    """Stands in for the library's cross-encoder: logits by the words that two texts share."""

    made = ()
    broken = False

    def __init__(self, name, local_files_only=False):
        if "gone" in name:
            raise OSError("no such model here")
        self.name, self.local_files_only = name, local_files_only
        Model.made = (*Model.made, self)

    def predict(self, pairs, activation_fn=None):
        scores = [2.0 * len(set(q.split()) & set(t.split())) - 3 for q, t in pairs]
        return np.array([*scores[:-1], float("nan")] if Model.broken else scores)


@pytest.fixture
def models(monkeypatch):
    library = SimpleNamespace(CrossEncoder=Model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setattr(Model, "made", ())
    reranking._load_reranker.cache_clear()
    yield Model
    reranking._load_reranker.cache_clear()


def test_a_cross_encoder_is_named_in_the_call_and_loaded_once(packages, models):
    asked = {"rerank": "cross-encoder:my/model", "rerank_text": "artifact"}
    for _ in range(3):
        hits = ir.search(packages, ASKED, **asked)
    ir.discover([packages], ASKED, **asked)
    (model,) = models.made
    assert (model.name, model.local_files_only) == ("my/model", True)
    assert ids(hits)[0] == "thin"
    assert all(0 < hit.score < 1 for hit in hits)


def test_a_cross_encoder_is_loaded_once_for_all_wordings(packages, models):
    hits = ir.search(packages, "x", rerank="cross-encoder", formulate=lambda q: [ASKED, "pdf"])
    assert hits
    assert len(models.made) == 1


def test_without_a_model_the_usual_one_is_meant(packages, models):
    ir.search(packages, ASKED, rerank="cross-encoder")
    assert models.made[0].name == "cross-encoder/ms-marco-MiniLM-L-6-v2"


def test_a_candidate_without_a_score_is_not_the_best(packages, models, monkeypatch):
    monkeypatch.setattr(Model, "broken", True)
    hits = ir.search(packages, ASKED, rerank="cross-encoder:my/model")
    assert hits[-1].score == 0
    assert all(0 <= hit.score < 1 for hit in hits)


def test_a_model_is_not_loaded_where_nothing_is_reranked(packages, models):
    with pytest.raises(QueryError, match="rerank_text"):
        ir.search(packages, ASKED, rerank="cross-encoder", rerank_text="readme")
    assert models.made == ()


def test_without_the_package_the_error_says_what_to_install(packages, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    reranking._load_reranker.cache_clear()
    with pytest.raises(Unavailable, match="sentence_transformers") as caught:
        ir.search(packages, ASKED, rerank="cross-encoder")
    assert caught.value.hint.endswith("install 'sentence-transformers>=3'")


def test_a_model_that_is_not_here_is_an_error_that_says_how_to_get_it(packages, models):
    with pytest.raises(Unavailable, match="'gone/model' of cross-encoder is not on") as caught:
        ir.search(packages, ASKED, rerank="cross-encoder:gone/model")
    assert "irdaemon fetch cross-encoder:gone/model" in caught.value.hint


# -- what is read ----------------------------------------------------------------------------------


def test_the_surface_that_matched_is_read_unless_more_is_asked_for(packages):
    plain, surface = Spy(), Spy()
    ir.search(packages, ASKED, rerank=plain)
    ir.search(packages, ASKED, rerank=surface, rerank_text="surface")
    assert plain.calls == surface.calls
    assert max(map(len, plain.texts)) < 200


@pytest.mark.parametrize("per_artifact", [True, False])
def test_of_a_whole_artifact_all_surfaces_are_read_once(packages, per_artifact):
    spy = Spy()
    asked = {"k": 20, "rerank": spy, "rerank_text": "artifact", "per_artifact": per_artifact}
    hits = ir.search(packages, ASKED, fetch_k=100, **asked)
    assert len(spy.texts) == len(set(spy.texts)) == len(PACKAGES)
    assert any("a toolkit" in text and "audio pipelines" in text for text in spy.texts)
    assert (len(hits) > len(PACKAGES)) is not per_artifact


def test_neighbouring_chunks_are_put_together_and_cut_at_a_number_of_characters(packages):
    whole, cut = Spy(), Spy()
    ir.search(packages, ASKED, rerank=whole, rerank_text="artifact")
    (thin,) = [text for text in whole.texts if "toolkit" in text]
    assert thin.count("audio pipelines") == 1
    ir.search(packages, ASKED, rerank=cut, rerank_text="artifact", rerank_max_chars=120)
    assert {len(text) for text in cut.texts} == {120}


def test_a_thin_description_is_judged_by_all_that_the_artifact_says(packages):
    asked = {"rerank": shared, "surfaces": ["description"]}
    assert ids(ir.search(packages, ASKED, **asked))[0] == "queue"
    assert ids(ir.search(packages, ASKED, rerank_text="artifact", **asked))[0] == "thin"


def test_a_function_says_what_is_read_of_a_hit(packages):
    spy = Spy()

    def named(corpus, hit):
        assert corpus is packages
        return f"called {hit.name} in {hit.corpus}"

    ir.search(packages, ASKED, rerank=spy, rerank_text=named)
    assert set(spy.texts) == {f"called {name} in tools" for name in PACKAGES}


def test_an_artifact_that_is_held_no_more_is_read_by_its_surface(packages, monkeypatch):
    spy = Spy()
    monkeypatch.setattr(artifacts.Artifacts, "list_records", lambda *args: [])
    assert ir.search(packages, ASKED, rerank=spy, rerank_text="artifact")
    assert spy.texts
    assert max(map(len, spy.texts)) < 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rerank_text": "artefact"}, "unknown rerank_text 'artefact'; did you mean 'artifact'"),
        ({"rerank_text": 3}, "unknown rerank_text 3"),
        ({"rerank_text": ["surface"]}, "unknown rerank_text"),
        ({"rerank_text": lambda corpus, hit: None}, "rerank_text must give a text, not None"),
        ({"rerank_max_chars": 0}, "rerank_max_chars must be a whole number from 1 up, not 0"),
        ({"rerank_max_chars": True}, "rerank_max_chars must be a whole number"),
        ({"rerank_max_chars": float("nan")}, "rerank_max_chars must be a whole number"),
    ],
)
def test_what_cannot_be_read_is_refused(packages, options, said):
    with pytest.raises(QueryError, match=said):
        ir.search(packages, ASKED, rerank=Spy(), **options)


# -- the names that floors are kept by -------------------------------------------------------------


def named(name):
    def score(query, texts):
        return [0.5] * len(texts)

    score.model_name = name
    return score


def whole(corpus, hit):
    return hit.summary


def key(rerank, *text):
    return Reranking(rerank, *text).bind({}).key


def test_no_two_ways_to_rerank_have_one_name():
    def artifact(corpus, hit):
        return ""

    artifact.rerank_id = "artifact"
    keys = [
        *(key(named(name)) for name in ("m", "org/m", "org-m", "org m", "m+artifact", "x" * 300)),
        *(key(named("m"), text) for text in ("artifact", artifact, whole)),
        *(key(named("m"), "artifact", chars) for chars in (100, 500)),
        *(key(named("x" * 300 + end)) for end in "ab"),
        key(shared),
    ]
    assert "" not in keys
    assert len(set(keys)) == len(keys)
    assert key(shared) == "tests.unit.library.test_reranking.shared"


def test_what_is_made_anew_each_time_has_no_name_unless_it_is_given_one():
    def closure(query, texts):
        return []

    for unnamed in (closure, lambda query, texts: [], functools.partial(shared), Spy().__call__):
        assert key(unnamed) == ""
        assert key(unnamed, "artifact") == ""
    assert key(Spy()) == ""
    assert key(named("m" * 300), lambda corpus, hit: "") == ""
    closure.rerank_id = "v1"
    assert key(closure) == "v1"


def test_functions_of_one_name_in_two_modules_are_two():
    other = type(shared)(shared.__code__, {}, "shared")
    other.__module__ = "another.module"
    assert key(other) == "another.module.shared"
