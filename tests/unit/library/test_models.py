"""What asks a model, made without one: by functions, or by an endpoint that is not asked yet."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.strategy import build_recipe
from tests.support.built import hold
from tests.support.searching import TOOLS

MODELS = '[models]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "{}"\n'
TEXT = "fill or merge a pdf"
PACKAGE = {"name": "pkg", "description": "Parses dates", "readme": "Long", "path": "/home/me/pkg"}


@pytest.fixture
def tools():
    with hold(TOOLS, name="tools") as made:
        yield made


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Return a function that configures a model of a name, at an endpoint where nothing listens."""
    path = tmp_path / "irdaemon.toml"
    monkeypatch.setenv("IRDAEMON_CONFIG", str(path))
    path.write_text("")
    return lambda model: path.write_text(MODELS.format(model))


def test_a_selector_chooses_in_select_and_in_discover(tools):
    selector = ir.make_llm_selector(TEXT, lambda *, query, candidates: ["merge", "fill"])
    choice = ir.select(ir.search(tools, TEXT), strategy=selector, min_score=None)
    assert [hit.artifact_id for hit in choice.hits] == ["merge", "fill"]
    answer = ir.discover(tools, TEXT, strategy=selector, min_score=None)
    assert [hit.artifact_id for hit in answer.results] == ["merge", "fill"]
    assert answer.reason == "llm"


def test_a_selector_that_says_none_abstains_and_one_that_fails_is_replaced(tools):
    none = ir.make_llm_selector(TEXT, lambda *, query, candidates: [])
    answer = ir.discover(tools, TEXT, strategy=none, min_score=None)
    assert (answer.abstained, answer.reason, answer.results) == (True, "llm:none", ())

    def broken(*, query, candidates):
        raise RuntimeError("no model")

    plain = ir.discover(tools, TEXT, min_score=None)
    answer = ir.discover(tools, TEXT, strategy=ir.make_llm_selector(TEXT, broken), min_score=None)
    assert [hit.artifact_id for hit in answer.results] == [h.artifact_id for h in plain.results]
    assert answer.signals["fallback"] == "RuntimeError: no model"


def test_a_formulator_of_a_function_asks_no_endpoint(configured):
    assert ir.make_llm_formulator(rewriter=lambda query: query)("anything") == ["anything"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ir.make_llm_selector("x"),
        ir.make_llm_formulator,
        ir.make_llm_synthesizer,
        lambda: ir.with_synopsis(ir.Chunked()),
    ],
)
def test_without_a_function_and_without_a_configured_model_one_is_asked_for(make, configured):
    with pytest.raises(QueryError, match="no model is configured"):
        make()
    configured("tiny")
    make()  # and nothing is asked


@pytest.mark.parametrize("timeout_s", [0, -1.0, True, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout_s):
    with pytest.raises(QueryError, match="timeout_s"):
        ir.make_llm_selector("x", endpoint="http://127.0.0.1:9/v1#m", timeout_s=timeout_s)


def test_the_configured_model_and_the_prompt_are_the_identity_of_a_synthesizer(configured):
    configured("tiny")
    plain = ir.make_llm_synthesizer().synthesizer_id
    assert ir.make_llm_synthesizer().synthesizer_id == plain
    others = {
        ir.make_llm_synthesizer(prompt="Shorter: {text}").synthesizer_id,
        ir.make_llm_synthesizer(text_fields=("name",)).synthesizer_id,
        ir.make_llm_synthesizer(endpoint="http://127.0.0.1:9/v1#large").synthesizer_id,
        ir.make_llm_synthesizer(synthesizer_id="mine").synthesizer_id,
    }
    assert len(others | {plain}) == 5
    before = build_recipe(ir.with_synopsis(ir.Chunked()))
    configured("large")
    assert build_recipe(ir.with_synopsis(ir.Chunked())) != before
    package = ir.with_synopsis(ir.Package()).synthesizer_id
    assert package != ir.with_synopsis(ir.Chunked()).synthesizer_id


def test_a_synthesizer_of_ones_own_function_is_shown_the_fields_alone():
    seen = []
    synthesize = ir.make_llm_synthesizer(
        summarize=lambda text: seen.append(text) or "S", text_fields=("name", "description")
    )
    assert synthesize(ir.Artifact("pkg", PACKAGE, "pkg")) == "S"
    assert seen == ["pkg\n\nParses dates"]


def test_an_artifact_without_text_gets_no_synopsis_and_asks_nobody(configured):
    configured("tiny")
    assert ir.make_llm_synthesizer()(ir.Artifact("x", "", "x")) == ""
