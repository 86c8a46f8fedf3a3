"""Long text becomes overlapping chunks, cut at headings where there are any."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.errors import QueryError
from irdaemon.strategy.chunked import Chunked, chunk_text, count_words, halve_chunks
from irdaemon.strategy.kinds import Package
from irdaemon.types import FIRST_LINE


def test_chunks_carry_the_tail_of_the_one_before():
    text = "\n\n".join(letter * 60 for letter in "abcd")
    chunks = chunk_text(text, 130, 10)
    assert chunks[0] == "a" * 60 + "\n\n" + "b" * 60
    assert chunks[1].startswith("b" * 10 + "\n\n" + "c" * 60)


def test_a_long_text_is_many_surfaces_of_one_kind_that_are_counted_and_share_the_fields():
    text = "\n\n".join(f"Paragraph number {n} with some filler words." for n in range(40))
    plan = Chunked(chunk_size=200, overlap=20).decompose("doc", text, {"p": "proj"})
    n = len(plan.surfaces)
    assert n > 1
    assert plan.filter_fields["p"] == "proj"
    assert {(each.kind, each.granularity) for each in plan.surfaces} == {("chunk", "chunk")}
    counted = [{"chunk_index": at, "n_chunks": n} for at in range(n)]
    assert [each.metadata for each in plan.surfaces] == counted


def test_a_long_paragraph_is_cut_and_closes_what_was_open():
    chunks = chunk_text("intro\n\n" + "x" * 250, 100, 20)
    assert chunks[0] == "intro"
    assert [len(chunk) for chunk in chunks[1:]] == [100, 100, 90, 10]


@given(st.text(), st.integers(1, 80), st.integers(0, 40))
def test_no_chunk_is_blank_and_nothing_but_white_space_is_lost(text, size, overlap):
    chunks = chunk_text(text, size, overlap)
    assert all(chunk.strip() for chunk in chunks)
    assert set("".join(text.split())) <= set("".join(chunks))


@pytest.mark.parametrize("strategy", [Chunked(120, 20), Package(120, 20)])
def test_what_would_be_a_blank_chunk_is_not_counted(strategy):
    text = "start" + " " * 500 + "end"
    plan = strategy.decompose("w", {"name": "w", "text": text, "readme": text})
    chunks = [each for each in plan.surfaces if each.granularity == "chunk"]
    assert {each.text.strip() for each in chunks} == {"start", "end"}
    counted = [{"chunk_index": at, "n_chunks": len(chunks)} for at in range(len(chunks))]
    assert [each.metadata for each in chunks] == counted


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


def of_letters(text):
    """Count letters: a token model of one's own."""
    return sum(map(str.isalpha, text))


def test_a_token_model_of_ones_own_counts_and_one_that_is_not_there_is_refused():
    here = f"{__name__}:of_letters"
    plan = Chunked(max_tokens=10, token_model=here).decompose("id", "abcd efgh ijkl mnop")
    assert max(of_letters(surface.text) for surface in plan.surfaces) <= 10
    with pytest.raises(QueryError, match="cannot be loaded"):
        Chunked(max_tokens=1, token_model="no_such_module:count").decompose("id", "text")


@given(st.text(st.sampled_from("ab "), max_size=200), st.integers(1, 20))
def test_halves_hold_all_the_words_in_their_order_and_no_more_than_is_allowed(text, most):
    halves = halve_chunks([text], most, len)
    assert all(len(half) <= most or len(half) < 2 for half in halves)
    assert "".join(" ".join(halves).split()) == "".join(text.split())


def test_text_without_a_word_makes_no_surface():
    assert Chunked(headings=True).decompose("id", " \n\n ").surfaces == ()


def test_a_chunk_never_reaches_over_two_pages_and_knows_its_own():
    text = "\n\f\n".join(["beans", "", "peas " * 30])
    plan = Chunked(chunk_size=100, overlap=0).decompose("a", text, {"n_pages": 3, "suffix": ".pdf"})
    assert [surface.metadata["page"] for surface in plan.surfaces] == [1, 3, 3]
    assert plan.surfaces[0].text == "beans"


def test_pages_that_are_not_as_many_as_stated_have_no_numbers():
    plan = Chunked().decompose("a", "beans\n\f\npeas", {"n_pages": 3, "suffix": ".pdf"})
    assert [set(surface.metadata) for surface in plan.surfaces] == [{"chunk_index", "n_chunks"}]


def test_words_beside_a_text_count_for_its_first_chunk_alone():
    raw = {"text": "# One\n\nfirst\n\n# Two\n\nsecond\n", "lexical": "zoo"}
    surfaces = Chunked(headings=True).decompose("a.md", raw).surfaces
    assert [each.lexical for each in surfaces] == ["zoo", ""]
    assert all("zoo" not in each.text for each in surfaces)
    assert Chunked().decompose("a.md", {"text": " ", "lexical": "zoo"}).surfaces == ()


WORDS = st.sampled_from("alpha beta gamma delta".split())
LINES = st.lists(
    st.one_of(st.just(""), st.just("  "), st.lists(WORDS, min_size=1, max_size=12).map(" ".join)),
    min_size=1,
    max_size=40,
)


@given(LINES, st.sampled_from([30, 80, 400]), st.sampled_from([0, 15]), st.booleans())
def test_each_chunk_knows_the_lines_that_it_is_of(lines, size, overlap, bounded):
    lines = [f"{line} {at}" if line.strip() else line for at, line in enumerate(lines)]
    strategy = Chunked(size, overlap, max_tokens=9 if bounded else None, headings=True)
    raw = {"text": "\n".join(lines), FIRST_LINE: 1}
    for surface in strategy.decompose("a.md", raw, {"suffix": ".md"}).surfaces:
        start, end = surface.metadata["start_line"], surface.metadata["end_line"]
        own = "".join(surface.text.split())
        assert own in "".join("".join(lines[start - 1 : end]).split())
        assert lines[start - 1].strip()
        assert lines[end - 1].strip()


def test_lines_count_from_where_the_text_begins_in_its_file():
    plan = Chunked().decompose("a", {"text": "\none\n\n\ntwo", FIRST_LINE: 5})
    (only,) = plan.surfaces
    assert (only.metadata["start_line"], only.metadata["end_line"]) == (6, 9)


def test_a_text_of_no_file_and_one_in_pages_has_no_lines():
    pages = {"text": "one\ftwo", FIRST_LINE: 1}
    for raw, fields in (({"text": "one"}, {}), (pages, {"n_pages": 2})):
        for surface in Chunked().decompose("a", raw, fields).surfaces:
            assert "start_line" not in surface.metadata
