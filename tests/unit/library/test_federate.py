"""Several corpora in one call: one order over ledgers that share nothing."""

import json

import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError
from tests.support.searching import tool

SKILLS = {
    "deploy": tool("Deploy the app to the server"),
    "review": tool("Review a pull request"),
    "release": tool("Tag and publish a release"),
}
PACKAGES = {
    "shipit": tool("Ship the app to a server over ssh"),
    "lint": tool("Find style errors in the code"),
}


def built(name, items, embedder="hashing"):
    source = ir.CorpusSource.from_mapping(items, name=name)
    return ir.build(source, store=":memory:", embedder=embedder)


@pytest.fixture
def skills():
    corpus = built("skills", SKILLS)
    yield corpus
    corpus.close()


@pytest.fixture
def packages():
    corpus = built("packages", PACKAGES)
    yield corpus
    corpus.close()


def references(hits):
    return [f"{hit.corpus}/{hit.artifact_id}" for hit in hits]


def test_a_list_of_corpora_gives_one_order_over_all(skills, packages):
    hits = ir.search([skills, packages], "deploy the app to the server")
    assert references(hits)[:2] == ["skills/deploy", "packages/shipit"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_one_corpus_in_a_list_is_ranked_as_it_is_alone(skills):
    alone, listed = (ir.search(each, "publish the app") for each in (skills, [skills]))
    assert alone == listed


def test_terms_of_each_ledger_are_looked_up_in_its_own_vocabulary(skills, packages):
    for corpus, text in ((skills, "pull request"), (packages, "style errors")):
        alone = ir.search(corpus, text)[0]
        both = ir.search([packages, skills], text)[0]
        assert (both.artifact_id, both.scores) == (alone.artifact_id, alone.scores)


def test_corpora_may_be_named(skills, packages):
    answer = ir.discover(["skills", "packages"], "review a pull request")
    assert references(answer.results) == ["skills/review"]


def test_what_was_found_in_each_corpus_is_in_the_signals(skills, packages):
    signals = ir.discover([skills, packages], "deploy the app to the server").signals
    assert signals["merge"] == "confidence"
    assert list(signals["per_source"]) == ["skills", "packages"]
    assert signals["per_source"]["skills"]["n_candidates"] == 3


def test_a_floor_by_name_holds_for_that_corpus_alone(skills, packages):
    text = "deploy the app to the server"
    free = ir.discover([skills, packages], text, strategy="top_k", min_score=None)
    assert {hit.corpus for hit in free.results} == {"skills", "packages"}
    floored = ir.discover(
        [skills, packages], text, strategy="top_k", min_score={"packages": 1.0, "skills": 0.1}
    )
    assert {hit.corpus for hit in floored.results} == {"skills"}
    assert floored.signals["per_source"]["packages"]["above_floor"] is False


def test_floors_that_nothing_reaches_are_an_abstention(skills, packages):
    floors = {"packages": 1.0, "skills": 1.0}
    answer = ir.discover([skills, packages], "put the app on a server", min_score=floors)
    assert (answer.abstained, answer.reason) == (True, "below_floor")


@pytest.mark.parametrize(
    "floors", [{"skils": 0.3}, {"skills": True}, {"skills": "high"}, {"skills": 1.5}, {3: 0.3}]
)
def test_a_floor_that_is_none_is_refused(skills, packages, floors):
    with pytest.raises(QueryError, match=r"min_score (names|of)"):
        ir.discover([skills, packages], "deploy", min_score=floors)


def test_an_unknown_name_among_the_floors_is_answered_with_the_nearest(skills, packages):
    with pytest.raises(QueryError, match="did you mean 'skills'"):
        ir.discover([skills, packages], "deploy", min_score={"skils": 0.3})


def test_by_ranks_the_corpora_take_turns_and_weights_move_them(skills, packages):
    text = "deploy review lint publish the app"
    order = references(ir.search([skills, packages], text, merge="rrf"))
    assert [each.split("/")[0] for each in order[:4]] == [
        "skills",
        "packages",
        "skills",
        "packages",
    ]
    weighted = ir.search([skills, packages], text, merge="rrf", merge_weights={"packages": 2})
    assert [hit.corpus for hit in weighted][:2] == ["packages", "packages"]


def test_by_scores_the_best_evidence_comes_first(skills, packages):
    hits = ir.search([packages, skills], "deploy the app to the server", merge="score")
    evidence = [hit.scores["evidence"] for hit in hits]
    assert references(hits)[0] == "skills/deploy"
    assert evidence == sorted(evidence, reverse=True)


class Constant:
    id = "constant"
    dim = 2

    def embed(self, texts):
        import numpy as np

        return np.tile(np.array([[1, 0]], np.float32), (len(texts), 1))


def test_scores_of_different_embedders_are_not_compared(skills):
    other = built("other", PACKAGES, f"{__name__}:Constant")
    with pytest.raises(QueryError, match=r"do not compare .*constant"):
        ir.search([skills, other], "deploy the app", merge="score")
    assert ir.search([skills, other], "deploy the app", merge="score", mode="lexical")
    assert ir.search([skills, other], "deploy the app", merge="rrf")
    other.close()


def test_a_function_merges_as_it_likes_and_may_leave_out(skills, packages):
    def last_first(hits_by_source):
        assert list(hits_by_source) == ["skills", "packages"]
        return [*reversed(hits_by_source["packages"]), hits_by_source["skills"][0]]

    hits = ir.search([skills, packages], "deploy the app", merge=last_first)
    assert [hit.corpus for hit in hits] == ["packages"] * (len(hits) - 1) + ["skills"]
    assert len({hit.artifact_id for hit in hits}) == len(hits)


@pytest.mark.parametrize("merge", [lambda found: ["skills/deploy"], lambda found: [3]])
def test_a_function_that_returns_no_hits_is_refused(skills, packages, merge):
    with pytest.raises(QueryError, match="merge must return hits"):
        ir.search([skills, packages], "deploy the app", merge=merge)


def test_a_function_that_returns_hits_it_was_not_given_is_refused(skills, packages):
    (hit,) = ir.search(packages, "lint", k=1)
    with pytest.raises(QueryError, match="merge returned hits it was not given"):
        ir.search([skills], "deploy the app", merge=lambda found: [hit])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge": "rff"}, "unknown merge 'rff'; did you mean 'rrf'"),
        ({"merge": None}, "unknown merge None"),
        ({"merge_weights": {"skills": 2}}, "merge_weights need a merge"),
        ({"merge": "rrf", "merge_weights": {"skils": 2}}, "merge_weights names 'skils'"),
        ({"merge": "rrf", "merge_weights": {"skills": -1}}, "the weight of 'skills'"),
        ({"merge": "rrf", "merge_weights": {"skills": True}}, "the weight of 'skills'"),
        ({"merge": "rrf", "merge_rrf_k": 0}, "rrf_k must be a number above 0"),
    ],
)
def test_what_cannot_be_followed_is_refused(skills, packages, options, message):
    with pytest.raises(QueryError, match=message):
        ir.discover([skills, packages], "deploy", **options)


@pytest.mark.parametrize("options", [{"merge": "rrf"}, {"min_score": {"skills": 0.3}}])
def test_what_belongs_to_several_corpora_is_refused_for_one(skills, options):
    with pytest.raises(QueryError, match="are for a list of corpora"):
        ir.discover(skills, "deploy", **options)


def test_no_corpus_and_one_named_twice_are_refused(skills):
    with pytest.raises(QueryError, match="no corpus is named"):
        ir.search([], "deploy")
    with pytest.raises(QueryError, match="'skills' is named twice"):
        ir.search([skills, "skills"], "deploy")
    with pytest.raises(NotFound, match="no corpus 'nothing'"):
        ir.search([skills, "nothing"], "deploy")
    with pytest.raises(QueryError, match="a corpus is what build returned"):
        ir.search([skills, 3], "deploy")


def test_payloads_come_from_the_corpus_of_each_hit(skills, packages):
    answer = ir.discover(
        [skills, packages],
        "deploy the app to the server",
        strategy="top_k",
        min_score=None,
        disclose_level="body",
    )
    bodies = {hit.corpus: hit.disclosure.body for hit in answer.results}
    assert "ssh" in bodies["packages"]
    later = ir.disclose(ir.search([skills, packages], "ssh server", k=1))
    assert "ssh" in later[0].body


def test_the_same_content_in_two_ledgers_is_one_hit(skills):
    copies = built("copies", {"deploy": SKILLS["deploy"]})
    hits = ir.search([skills, copies], "deploy the app to the server")
    both = {"skills/deploy", "copies/deploy"}
    assert {references(hits)[0], *hits[0].duplicates} == both
    assert len(both & {*references(hits)}) == 1
    copies.close()


def test_versions_of_one_thing_in_two_ledgers_are_one_hit(skills):
    newer = {
        "x": {"name": "filler", "description": "zebra"},
        "deploy": tool("Deploy the app to the server now"),
    }
    later = built("later", newer)
    answer = ir.discover([skills, later], "deploy the app to the server", min_score=None)
    assert len(answer.results) == 1
    assert len(answer.results[0].duplicates) == 1
    later.close()


def test_a_word_that_no_corpus_holds_is_respelled_by_the_words_of_each(skills, packages):
    answer = ir.discover([skills, packages], "find styel erors", mode="lexical")
    assert answer.signals.get("respelled") or references(answer.results) == ["packages/lint"]


def test_an_answer_of_one_corpus_in_a_list_is_that_of_the_corpus_alone(skills):
    text = "deploy the app to the server"
    alone, listed = ir.discover(skills, text), ir.discover([skills], text)
    assert references(listed.results) == references(alone.results)
    assert [hit.score for hit in listed.results] == [hit.score for hit in alone.results]


def test_an_answer_of_several_corpora_is_plain_data(skills, packages):
    answer = ir.discover([skills, packages], "deploy the app to the server")
    again = json.loads(json.dumps(answer.to_dict()))
    assert [hit["corpus"] for hit in again["results"]] == [hit.corpus for hit in answer.results]


def test_a_merge_of_the_callers_own_is_told_as_that(skills, packages):
    def in_turn(found):
        return [hit for hits in found.values() for hit in hits]

    answer = ir.discover([skills, packages], "deploy the app to the server", merge=in_turn)
    assert answer.signals["merge"] == "custom"


def test_a_floor_of_one_corpus_is_no_reason_where_a_filter_left_nothing_of_the_other(
    skills, packages
):
    answer = ir.discover(
        [skills, packages],
        "put the app on a server",
        min_score={"skills": 1.0},
        filter={"name": ["deploy"]},
    )
    per_source = answer.signals["per_source"]
    assert answer.abstained
    assert per_source["skills"]["above_floor"] is False
    assert per_source["packages"]["n_candidates"] == 0
    assert answer.reason == "filtered_out"


@pytest.mark.parametrize("name", ["", "   "])
def test_a_name_that_no_corpus_can_have_is_refused_and_nothing_is_made(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises((QueryError, NotFound)):
        ir.discover([name], "deploy")
    assert list(tmp_path.iterdir()) == []


def test_the_text_around_a_hit_comes_from_its_own_corpus(skills, packages):
    answer = ir.discover(
        [skills, packages],
        "deploy the app to the server",
        strategy="top_k",
        min_score=None,
        expand="window:1",
    )
    assert {hit.corpus for hit in answer.results} == {"skills", "packages"}
    for hit in answer.results:
        records = ir.records_for_artifact(hit.corpus, hit.artifact_id)
        assert hit.disclosure.passage == "\n\n".join(record["text"] for record in records)
