"""A synopsis as one more surface of an artifact, and what makes it stale."""

import functools

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.contrib.models.synopsis import ModelSynthesizer, find_shown, make_identity
from irdaemon.strategy import build_recipe
from irdaemon.types import Artifact

DOCS = {
    "a": {"text": "the body of a", "synopsis": "about alpha matters"},
    "b": {"text": "the body of b", "synopsis": ""},
}
PACKAGES = {
    "empty": {"name": "empty", "description": "", "readme": "Does audio things."},
    "short": {"name": "short", "description": "dates", "readme": "Parses dates."},
    "rich": {
        "name": "rich",
        "description": "A thorough set of tools to parse and write calendar dates",
        "readme": "Parses dates.",
    },
}
PACKAGE = {
    "name": "pkg",
    "description": "Parses dates",
    "readme": "A long readme",
    "owner": "ours",
    "deps": ["numpy>=1"],
    "path": "/home/someone/pkg",
}


def from_field(artifact):
    return artifact.raw.get("synopsis", "")


def other(artifact):
    return "other"


class Counting:
    """Count for which artifacts a synopsis was asked."""

    synthesizer_id = "counting"

    def __init__(self):
        self.asked = []

    def __call__(self, artifact):
        self.asked.append(artifact.artifact_id)
        return f"summary of {artifact.artifact_id}"

    def taken(self):
        asked, self.asked = sorted(self.asked), []
        return asked


def built(strategy, items=DOCS, store=":memory:"):
    source = ir.CorpusSource.from_mapping(items, name="synopses", strategy=strategy)
    return ir.build(source, store=store, embedder="hashing")


def kinds(corpus, artifact_id):
    return [record["kind"] for record in ir.records_for_artifact(corpus, artifact_id)]


def artifact(raw, artifact_id="x"):
    return Artifact(artifact_id, raw, artifact_id)


def test_a_synopsis_stands_first_says_who_wrote_it_and_is_found():
    corpus = built(ir.with_synopsis(ir.Chunked(), synthesize=from_field, synthesizer_id="v1"))
    first = ir.records_for_artifact(corpus, "a")[0]
    assert (first["kind"], first["surface_index"], first["text"]) == (
        "synopsis",
        0,
        "about alpha matters",
    )
    assert first["metadata"] == {"synthesizer_id": "v1"}
    assert kinds(corpus, "a") == ["synopsis", "chunk"]
    (hit,) = ir.search(corpus, "alpha matters", surfaces=["synopsis"])
    assert (hit.artifact_id, hit.kind) == ("a", "synopsis")


@pytest.mark.parametrize("given", ["", "  \n", None, 123, ["text"]])
def test_what_is_empty_or_no_text_adds_no_surface(given):
    strategy = ir.with_synopsis(ir.Chunked(), synthesize=lambda each: given)
    assert kinds(built(strategy), "a") == ["chunk"]


def test_the_description_of_a_package_comes_after_its_synopsis():
    strategy = ir.with_synopsis(ir.Package(), synthesize=other, kind="summary")
    assert kinds(built(strategy, PACKAGES), "short") == ["summary", "description", "readme_chunk"]


def test_names_are_searched_as_the_inner_strategy_has_it():
    inner = ir.ClaudeTurn()
    assert ir.with_synopsis(inner, synthesize=other).named is inner.named is False
    assert ir.with_synopsis(ir.Skill(), synthesize=other).named is True


def test_only_what_changed_is_summarised_again(tmp_path):
    asked, store = Counting(), str(tmp_path / "s.sqlite")
    built(ir.with_synopsis(ir.Chunked(), synthesize=asked), store=store).close()
    assert asked.taken() == ["a", "b"]
    built(ir.with_synopsis(ir.Chunked(), synthesize=asked), store=store).close()
    assert asked.taken() == []
    changed = {**DOCS, "a": {"text": "another body"}}
    built(ir.with_synopsis(ir.Chunked(), synthesize=asked), changed, store).close()
    assert asked.taken() == ["a"]
    strategy = ir.with_synopsis(ir.Chunked(), synthesize=asked, synthesizer_id="v2")
    built(strategy, changed, store).close()
    assert asked.taken() == ["a", "b"]
    reopened = ir.open_corpus("synopses", store=store)
    assert kinds(reopened, "a") == ["synopsis", "chunk"]
    reopened.close()


def test_the_recipe_holds_the_inner_strategy_the_synthesizer_and_the_gate():
    def recipe(inner=None, synthesize=from_field, **more):
        return build_recipe(ir.with_synopsis(inner or ir.Chunked(), synthesize=synthesize, **more))

    thin = ir.make_thin_description_predicate
    different = [
        recipe(),
        recipe(ir.Chunked(chunk_size=900)),
        recipe(synthesize=other),
        recipe(synthesizer_id="v1"),
        recipe(when=thin()),
        recipe(when=thin(min_chars=3)),
        recipe(when=lambda each: True, when_id="all-v1"),
        recipe(kind="summary"),
    ]
    assert len(set(different)) == len(different)
    assert recipe(when="always") == recipe() == recipe()
    assert recipe(synthesizer_id="v1") == recipe(synthesize=other, synthesizer_id="v1")


def test_a_function_without_a_name_counts_by_its_code():
    one = ir.with_synopsis(ir.Chunked(), synthesize=lambda each: "x")
    same = ir.with_synopsis(ir.Chunked(), synthesize=lambda each: "x")
    two = ir.with_synopsis(ir.Chunked(), synthesize=lambda each: "y")
    assert build_recipe(one) == build_recipe(same) != build_recipe(two)
    partial = ir.with_synopsis(ir.Chunked(), synthesize=functools.partial(other))
    assert build_recipe(partial) != build_recipe(ir.with_synopsis(ir.Chunked(), synthesize=other))


# -- the gate --------------------------------------------------------------------------------------


def test_a_description_of_fewer_than_forty_characters_is_thin():
    thin = ir.thin_description_predicate
    flags = {name: thin(artifact(raw)) for name, raw in PACKAGES.items()}
    assert flags == {"empty": True, "short": True, "rich": False}
    assert thin(artifact({"description": " \n"}))
    assert not thin(artifact("x" * 40))
    assert thin(artifact("x" * 39))
    assert not ir.make_thin_description_predicate(3, "readme")(artifact(PACKAGES["short"]))


def test_a_gate_decides_for_which_artifacts_a_synopsis_is_asked():
    asked = Counting()
    strategy = ir.with_synopsis(ir.Package(), synthesize=asked, when=ir.thin_description_predicate)
    corpus = built(strategy, PACKAGES)
    assert asked.taken() == ["empty", "short"]
    assert kinds(corpus, "empty")[0] == kinds(corpus, "short")[0] == "synopsis"
    assert kinds(corpus, "rich") == ["description", "readme_chunk"]
    never = ir.with_synopsis(ir.Package(), synthesize=asked, when=lambda a: False, when_id="always")
    built(never, PACKAGES)
    assert asked.taken() == []


def test_another_threshold_asks_anew(tmp_path):
    asked, store = Counting(), str(tmp_path / "s.sqlite")
    for most, expected in ((3, ["empty"]), (99, ["empty", "rich", "short"])):
        gate = ir.make_thin_description_predicate(min_chars=most)
        built(ir.with_synopsis(ir.Package(), synthesize=asked, when=gate), PACKAGES, store).close()
        assert asked.taken() == expected


def test_an_artifact_that_the_gate_leaves_out_later_loses_its_synopsis(tmp_path):
    store = str(tmp_path / "s.sqlite")
    strategy = ir.with_synopsis(ir.Package(), synthesize=other, when=ir.thin_description_predicate)
    built(strategy, PACKAGES, store).close()
    changed = {**PACKAGES, "empty": {**PACKAGES["empty"], "description": "x" * 60}}
    corpus = built(strategy, changed, store)
    assert "synopsis" not in kinds(corpus, "empty")
    corpus.close()


def test_what_is_no_gate_is_refused():
    with pytest.raises(QueryError, match="'always'"):
        ir.with_synopsis(ir.Package(), synthesize=other, when="never")
    with pytest.raises(TypeError):
        ir.with_synopsis(ir.Package(), synthesize=other, when=3)
    with pytest.raises(QueryError, match="when_id"):
        ir.with_synopsis(ir.Package(), synthesize=other, when_id="x")


# -- what a model is shown -------------------------------------------------------------------------


def shown(raw, **more):
    seen = []
    synthesizer = ModelSynthesizer(lambda text: seen.append(text) or " S ", "id", **more)
    assert synthesizer(artifact(raw)) == "S"
    return seen[0]


def test_of_a_package_only_name_description_and_readme_are_shown():
    assert find_shown(ir.Package()) == (None, ("name", "description", "readme"))
    text = shown(PACKAGE, text_fields=("name", "description", "readme"))
    assert text == "pkg\n\nParses dates\n\nA long readme"
    wrapped = ir.with_synopsis(ir.with_synopsis(ir.Package(), synthesize=other), synthesize=other)
    assert find_shown(wrapped) == find_shown(ir.Package())


def test_else_the_text_that_the_strategy_indexes_is_shown():
    assert find_shown(ir.Chunked(text_key="body")) == ("body", None)
    assert shown({"body": "the body", "text": "no"}, text_key="body") == "the body"
    assert shown("plain", text_fields=("name",)) == "plain"


def test_a_text_key_of_a_strategy_comes_before_its_fields():
    class Both(ir.Chunked):
        synopsis_fields = ("name",)

    assert find_shown(Both(text_key="body")) == ("body", None)


def test_secrets_are_taken_out_of_what_is_shown():
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    text = shown(f"log in with {token}, password = hunter2-hunter2")
    assert token not in text
    assert "hunter2-hunter2" not in text
    assert "[secret: " in text


def test_an_artifact_without_text_is_not_shown_at_all():
    def never(text):
        raise AssertionError("asked")

    assert ModelSynthesizer(never, "id")(artifact("  ")) == ""
    fields = ModelSynthesizer(never, "id", text_fields=("name",))
    assert fields(artifact({"name": "", "description": "d"})) == ""


def test_a_model_that_fails_or_gives_no_text_leaves_no_synopsis():
    def broken(text):
        raise RuntimeError("no model")

    assert ModelSynthesizer(broken, "id")(artifact("body")) == ""
    assert ModelSynthesizer(lambda text: 7, "id")(artifact("body")) == ""


def test_the_fields_are_names_and_exclude_a_text_key():
    with pytest.raises(TypeError, match="sequence of names"):
        ModelSynthesizer(str, "id", text_fields="readme")
    with pytest.raises(QueryError, match="not both"):
        ModelSynthesizer(str, "id", text_key="a", text_fields=("b",))


def test_the_identity_of_a_synthesizer_is_its_model_its_prompt_and_its_fields():
    every = {
        make_identity("m", "p"),
        make_identity("n", "p"),
        make_identity("m", "q"),
        make_identity("m", "p", ("name",)),
        make_identity("m", "p", ("name", "readme")),
    }
    assert len(every) == 5
    assert make_identity("m", "p") == make_identity("m", "p")
