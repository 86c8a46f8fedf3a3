"""The text around what matched, put together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.discovery.expand import Expand, expand_record, parse_expand, stitch_records
from irdaemon.strategy import Chunked
from irdaemon.strategy.chunked import chunk_text
from tests.support.built import hold


def records(*texts, kind="chunk"):
    return [
        {"record_id": f"r{n}", "kind": kind, "surface_index": n, "text": text}
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("none", None),
        ("window", Expand("window", 1)),
        ("window:3", Expand("window", 3)),
        ("artifact", Expand("artifact")),
    ],
)
def test_an_expansion_is_said_in_a_word(said, meant):
    assert parse_expand(said) == meant


@pytest.mark.parametrize("wrong", ["windw", "window:0", "window:x", "artifact:2", "", "window:²"])
def test_anything_else_is_refused(wrong):
    with pytest.raises(QueryError):
        parse_expand(wrong)


def test_a_window_takes_neighbours_of_the_same_kind_in_plan_order():
    plan = [
        *records("title", kind="description"),
        *[{**r, "surface_index": r["surface_index"] + 1} for r in records("a", "b", "c", "d")],
    ]
    assert expand_record(plan, 2, Expand("window", 1)).text == "a\n\nb\n\nc"
    assert expand_record(plan, 0, Expand("window", 5)).text == "title"
    assert expand_record(plan, 2, Expand("artifact")).text == "title\n\na\n\nb\n\nc\n\nd"


def test_an_overlap_of_eight_characters_is_said_once_and_a_shorter_one_twice():
    assert stitch_records(records("one two three", "two three four")) == "one two three four"
    assert stitch_records(records("one two", "two three")) == "one two\n\ntwo three"


def test_an_overlap_is_never_found_across_the_blank_line_that_joins_two_records():
    apart = records("AAAA", "HELLOWORLD", "A\n\nHELLOWORLDXYZ")
    assert stitch_records(apart) == "AAAA\n\nHELLOWORLD\n\nA\n\nHELLOWORLDXYZ"


def test_surfaces_of_different_kinds_or_not_in_a_row_are_never_merged():
    a, b = records("0123456789"), records("0123456789", kind="other")
    assert stitch_records([a[0], {**b[0], "surface_index": 1}]) == "0123456789\n\n0123456789"
    assert stitch_records([a[0], {**a[0], "surface_index": 2}]) == "0123456789\n\n0123456789"


def test_a_seed_that_is_gone_is_a_note_and_no_error():
    assert expand_record(records("a", "b"), 9, Expand("window")).note == "seed_not_found"
    assert expand_record([], 0, Expand("window")).note == "no_ledger_entry"


words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
paragraphs = st.lists(st.lists(words, min_size=3, max_size=12).map(" ".join), min_size=2)


@given(paragraphs, st.integers(40, 120), st.integers(10, 30))
def test_stitching_overlapping_chunks_loses_no_paragraph(parts, size, overlap):
    whole = stitch_records(records(*chunk_text("\n\n".join(parts), size, overlap)))
    for part in parts:
        if len(part) <= size:
            assert part in whole


ANIMALS = "ant bee cat dog emu fox gnu hen".split()
TEXT = "\n\n".join(f"Paragraph {n} is about {word}." for n, word in enumerate(ANIMALS))


@pytest.fixture
def notes():
    with hold({"long": TEXT}, name="notes", strategy=Chunked(60, 10)) as made:
        yield made


def test_a_hit_brings_the_text_around_what_matched(notes):
    answer = ir.discover(notes, "paragraph about an emu", expand="window", min_score=None)
    (hit,) = answer.results
    assert "about emu." in hit.disclosure.passage
    assert len(hit.disclosure.passage_records) == 3
    assert hit.disclosure.body is None


def test_the_whole_artifact_comes_back_as_it_was(notes):
    answer = ir.discover(notes, "paragraph about an emu", min_score=None)
    before = answer.to_dict()
    (payload,) = ir.disclose(answer, level="metadata", expand="artifact")
    assert all(part in payload.passage for part in TEXT.split("\n\n"))
    assert answer.to_dict() == before


def test_a_policy_of_ones_own_chooses_the_records_and_may_not_bring_strangers(notes):
    answer = ir.discover(notes, "paragraph about an emu", min_score=None)
    (last,) = ir.disclose(answer, expand=lambda records, seed: records[-1:])
    assert "about hen." in last.passage
    (alone,) = ir.disclose(answer, expand=lambda records, seed: [])
    assert len(alone.passage_records) == 1
    with pytest.raises(QueryError, match="another artifact"):
        ir.disclose(answer, expand=lambda records, seed: [{**seed, "record_id": "x"}])


def test_the_body_may_come_from_a_loader_or_a_store_but_not_from_both(notes):
    answer = ir.discover(notes, "paragraph about an emu", min_score=None)
    (loaded,) = ir.disclose(answer, loader=lambda fields: "loaded")
    assert loaded.body == "loaded"
    (missing,) = ir.disclose(answer, store={})
    assert (missing.body, missing.note) == (None, "pointer_unreadable")
    with pytest.raises(QueryError):
        ir.disclose(answer, loader=lambda fields: "", store={})
