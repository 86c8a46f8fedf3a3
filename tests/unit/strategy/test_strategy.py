import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.strategy import (
    STRATEGY_REGISTRY,
    Chunked,
    ClaudeTurn,
    Package,
    Skill,
    WholeText,
    recipe_of,
    strategy_from_spec,
    strategy_to_spec,
    text_of,
)
from irdaemon.strategy.chunked import chunk_text, count_words
from irdaemon.strategy.package import bare_name, deps_text


def kinds(plan):
    return [surface.kind for surface in plan.surfaces]


def test_text_of_takes_a_string_a_named_part_the_text_or_all_strings():
    assert text_of("plain") == "plain"
    assert text_of({"body": "b", "text": "t"}, "body") == "b"
    assert text_of({"body": "b", "text": "t"}) == "t"
    assert text_of({"a": "1", "n": 2, "b": "3"}) == "1\n3"
    assert text_of(5) == "5"


def test_whole_text_makes_one_surface_and_none_of_blank_text():
    (surface,) = WholeText().decompose("id", "words", {"team": "a"}).surfaces
    assert (surface.kind, surface.text, surface.granularity) == ("document", "words", "document")
    assert WholeText().decompose("id", " \n ").surfaces == ()


def test_a_skill_is_always_one_surface_of_name_and_description():
    raw = {"name": "pdf", "description": "Fill forms", "text": "Use qpdf.", "parent": "docs"}
    plan = Skill().decompose("id", raw, {"scope": "user"})
    (surface,) = plan.surfaces
    assert (surface.kind, surface.granularity) == ("capability", "field")
    assert surface.text == "pdf\n\nFill forms"
    assert surface.lexical == "Use qpdf."
    assert plan.filter_fields == {"name": "pdf", "parent": "docs", "scope": "user"}
    assert len(Skill().decompose("bare", {}).surfaces) == 1
    assert Skill(read_body=False).decompose("id", raw).surfaces[0].lexical == ""


def test_a_package_has_its_description_first_and_counts_readme_chunks_apart():
    readme = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(12))
    raw = {"name": "acme", "description": "Does it", "readme": readme, "deps": ["numpy>=1"]}
    plan = Package(embed_deps=True).decompose("id", raw)
    assert plan.surfaces[0].text == "acme: Does it"
    chunks = plan.surfaces[1:-1]
    assert [chunk.metadata["chunk_index"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.metadata["n_chunks"] for chunk in chunks} == {len(chunks)}
    assert (plan.surfaces[-1].kind, plan.surfaces[-1].text) == ("deps", "Depends on: numpy")
    assert plan.filter_fields["deps"] == ["numpy>=1"]
    assert plan.filter_fields["has_readme"] is True


def test_a_package_without_deps_has_no_deps_surface_and_empty_parts_are_dropped():
    assert kinds(Package(embed_deps=True).decompose("id", {"name": "x"})) == ["description"]
    assert Package().decompose("id", {"name": "x", "deps": ["a"]}).surfaces[0].text == "x"


def test_bare_names_lose_version_extras_and_marker_and_are_listed_once():
    assert bare_name("PyPDF[crypto]>=4; python_version>'3'") == "pypdf"
    assert bare_name("@babel/core ^7.0.0") == "@babel/core"
    assert deps_text(["a>1", "B", "a", "c @ git+x"]) == "Depends on: a, b, c"
    assert deps_text([]) == ""


def test_a_turn_has_a_surface_for_each_side_and_the_whole_answer_on_request():
    raw = {
        "user_prompt": " why? ",
        "assistant_summary": "Because.",
        "assistant_full": "Hm. Because.",
    }
    assert kinds(ClaudeTurn().decompose("id", raw)) == ["user_prompt", "assistant_summary"]
    full = ClaudeTurn(include_full=True).decompose("id", raw)
    assert [s.granularity for s in full.surfaces] == ["field", "field", "document"]
    same = {**raw, "assistant_full": "Because."}
    assert len(ClaudeTurn(include_full=True).decompose("id", same).surfaces) == 2
    assert full.filter_fields["has_tool_use"] is False


def test_a_title_record_is_one_surface_of_the_title():
    raw = {"record_type": "session_title", "session_title": "Parser work"}
    assert kinds(ClaudeTurn().decompose("S:__title__", raw)) == ["session_title"]


@pytest.mark.parametrize("name", STRATEGY_REGISTRY)
def test_every_registered_strategy_can_be_written_down_and_rebuilt(name):
    strategy = STRATEGY_REGISTRY[name]()
    spec = strategy_to_spec(strategy)
    assert spec["name"] == name
    assert recipe_of(strategy_from_spec(spec)) == recipe_of(strategy)


def test_an_unknown_strategy_or_parameter_is_a_value_error_that_names_the_known():
    assert strategy_from_spec(None) is None
    with pytest.raises(ValueError, match="did you mean 'Skill'"):
        strategy_from_spec({"name": "Skil"})
    with pytest.raises(ValueError, match="bogus"):
        strategy_from_spec({"name": "Skill", "params": {"bogus": 1}})


def test_a_parameter_or_a_swapped_callable_changes_the_recipe():
    assert recipe_of(Chunked(chunk_size=5)) != recipe_of(Chunked())
    assert recipe_of(Package(deps_template=str)) != recipe_of(Package())


def test_chunks_carry_the_tail_of_the_one_before():
    text = "\n\n".join(letter * 60 for letter in "abcd")
    chunks = chunk_text(text, 130, 10)
    assert chunks[0] == "a" * 60 + "\n\n" + "b" * 60
    assert chunks[1].startswith("b" * 10 + "\n\n" + "c" * 60)


def test_a_long_paragraph_is_cut_and_closes_what_was_open():
    chunks = chunk_text("intro\n\n" + "x" * 250, 100, 20)
    assert chunks[0] == "intro"
    assert [len(chunk) for chunk in chunks[1:]] == [100, 100, 90, 10]


@given(st.text(), st.integers(1, 80), st.integers(0, 40))
def test_no_chunk_is_blank_and_nothing_but_white_space_is_lost(text, size, overlap):
    chunks = chunk_text(text, size, overlap)
    assert all(chunk.strip() for chunk in chunks)
    assert set("".join(text.split())) <= set("".join(chunks))


def test_markdown_is_cut_at_headings_but_not_inside_code():
    text = (
        "before\n\n# One\n\n```sh\n# not a heading\n```\n\n## Two\n\ntext\n\n### deeper\n\nmore\n"
    )
    plan = Chunked(headings=True).decompose("id", {"text": text}, {"suffix": ".md"})
    assert [s.metadata.get("heading") for s in plan.surfaces] == [None, "One", "Two"]
    assert [s.metadata["chunk_index"] for s in plan.surfaces] == [0, 1, 2]
    assert "# not a heading" in plan.surfaces[1].text
    assert len(Chunked().decompose("id", text).surfaces) == 1
    assert len(Chunked(headings=True).decompose("id", text, {"suffix": ".rst"}).surfaces) == 1


def test_max_tokens_bounds_every_chunk():
    plan = Chunked(max_tokens=7).decompose("id", "one two three, four " * 50)
    assert max(count_words(surface.text) for surface in plan.surfaces) <= 7
