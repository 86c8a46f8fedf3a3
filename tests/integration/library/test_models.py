"""Selector, formulator and synopsis of the library with an endpoint that hangs, fails and lies."""

import pytest

import irdaemon as ir
from tests.support.built import hold
from tests.support.model_server import ModelServer
from tests.support.searching import TOOLS

TEXT = "fill or merge a pdf"
SHORT_S = 0.3
PACKAGE = {"name": "pkg", "description": "Parses dates", "readme": "Long", "path": "/home/me/pkg"}
FAILURES = [
    ("hangs", "in time"),
    ("drips", "in time"),
    ("500", "refused"),
    ("401", "refused"),
    ("truncated", "JSON"),
    ("no_json", "JSON"),
    ("wrong_types", "did not answer with a reply"),
]


@pytest.fixture
def tools():
    with hold(TOOLS, name="tools") as made:
        yield made


def ids(hits):
    return [hit.artifact_id for hit in hits]


def discovered(corpus, server, **more):
    selector = ir.make_llm_selector(TEXT, endpoint=server.address, **more)
    return ir.discover(corpus, TEXT, strategy=selector, min_score=None)


def test_a_model_chooses_by_the_ids_it_replies(tools):
    with ModelServer("1. nonsense\n- merge") as server:
        answer = discovered(tools, server)
    assert (ids(answer.results), answer.reason) == (["merge"], "llm")
    (prompt,) = server.prompts
    assert f"Request: {TEXT}" in prompt
    assert "- fill: Fill a pdf form" in prompt or "- fill: fill Fill a pdf form" in prompt


def test_a_model_that_says_none_abstains(tools):
    with ModelServer("none") as server:
        answer = discovered(tools, server)
    assert (answer.abstained, answer.reason) == (True, "llm:none")


@pytest.mark.parametrize(("behaviour", "words"), FAILURES)
def test_an_endpoint_that_fails_leaves_the_choice_to_the_heuristic(tools, behaviour, words):
    plain = ir.discover(tools, TEXT, min_score=None)
    with ModelServer(behaviour=behaviour) as server:
        answer = discovered(tools, server, timeout_s=SHORT_S)
    assert (ids(answer.results), answer.reason) == (ids(plain.results), plain.reason)
    assert words in answer.signals["fallback"]


@pytest.mark.parametrize("reply", ["I would rather not.", "delete-everything", "", "[1, 2]"])
def test_prose_and_unknown_ids_leave_the_choice_to_the_heuristic(tools, reply):
    plain = ir.discover(tools, TEXT, min_score=None)
    with ModelServer(reply) as server:
        answer = discovered(tools, server)
    assert ids(answer.results) == ids(plain.results)
    assert "without a known id" in answer.signals["fallback"]


def test_an_endpoint_that_is_not_there_leaves_the_choice_to_the_heuristic(tools):
    selector = ir.make_llm_selector(TEXT, endpoint="http://127.0.0.1:9/v1#m")
    answer = ir.discover(tools, TEXT, strategy=selector, min_score=None)
    assert answer.results
    assert "cannot be reached" in answer.signals["fallback"]


def test_a_model_words_the_query_anew_and_every_wording_is_searched(tools):
    with ModelServer("deploy to the cloud\nmerge pdf files") as server:
        formulate = ir.make_llm_formulator(endpoint=server.address, n=2)
        hits = ir.search(tools, "zzz", formulate=formulate)
    assert {"deploy", "merge"} <= set(ids(hits))
    assert "into 2 short" in server.prompts[0]


@pytest.mark.parametrize(("behaviour", "words"), FAILURES)
def test_a_formulator_without_a_reply_searches_the_query_itself(tools, behaviour, words):
    with ModelServer(behaviour=behaviour) as server:
        formulate = ir.make_llm_formulator(endpoint=server.address, timeout_s=SHORT_S)
        assert formulate(TEXT) == TEXT


def test_the_configured_model_writes_synopses_and_sees_no_local_path(tmp_path, monkeypatch):
    with ModelServer("Works on calendar dates.") as server:
        config = tmp_path / "irdaemon.toml"
        config.write_text(f'[models]\nendpoint = "{server.url}"\nmodel = "tiny"\n')
        monkeypatch.setenv("IRDAEMON_CONFIG", str(config))
        source = ir.CorpusSource.from_mapping(
            {"pkg": PACKAGE}, name="packages", strategy=ir.with_synopsis(ir.Package())
        )
        built = ir.build(source, store=":memory:", embedder="hashing")
    record = ir.records_for_artifact(built, "pkg")[0]
    assert (record["kind"], record["text"]) == ("synopsis", "Works on calendar dates.")
    (prompt,) = server.prompts
    assert "Parses dates" in prompt
    assert "/home/me" not in prompt
    built.close()


@pytest.mark.parametrize(("behaviour", "words"), FAILURES)
def test_without_a_reply_an_artifact_is_indexed_without_synopsis(behaviour, words):
    with ModelServer(behaviour=behaviour) as server:
        synthesize = ir.make_llm_synthesizer(endpoint=server.address, timeout_s=SHORT_S)
        strategy = ir.with_synopsis(ir.WholeText(), synthesize=synthesize)
        items = {"a": "the body of a", "b": "the body of b"}
        source = ir.CorpusSource.from_mapping(items, name="whole", strategy=strategy)
        built = ir.build(source, store=":memory:", embedder="hashing")
        assert len(built) == 2
        assert [each["kind"] for each in ir.records_for_artifact(built, "a")] == ["document"]
        assert len(server.prompts) == 1, "a model that failed is left alone for a while"
        built.close()
