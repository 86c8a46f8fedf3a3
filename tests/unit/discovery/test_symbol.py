"""A symbol is put together from the records of its text, with lines of those around it."""

import pytest

from irdaemon.discovery.expand import find_symbol_passage


def record(index, text, start, end, name=""):
    place = {"start_line": start, "end_line": end}
    named = {"symbol": name, "qualified_name": name, "symbol_kind": "function"} if name else {}
    return {
        "record_id": str(index), "kind": "symbol" if name else "chunk", "surface_index": index,
        "text": text, "metadata": {**named, **place},
    }  # fmt: skip


RECORDS = [
    record(0, "one\ntwo\nthree", 1, 3),
    record(1, "def plant():\n  a", 4, 5, "plant"),
    record(2, "def plant():\n  b\n  c", 6, 7, "plant"),
    record(3, "def water():\n  d", 9, 10, "water"),
]


def shown(seed, context):
    found = find_symbol_passage(RECORDS, seed, context)
    return found.text.split("\n"), found.records


def test_the_parts_of_a_symbol_are_joined_without_the_signature_that_is_repeated():
    whole = ["def plant():", "  a", "  b", "  c"]
    assert shown(1, 0) == shown(2, 0) == (whole, ("1", "2"))


@pytest.mark.parametrize(
    ("context", "before", "after"),
    [(1, ["three"], []), (2, ["two", "three"], ["def water():"]),
     (9, ["one", "two", "three"], ["def water():", "  d"])],
)  # fmt: skip
def test_lines_before_and_after_it_are_shown_as_far_as_there_are_any(context, before, after):
    lines, _ = shown(1, context)
    assert lines == [*before, "def plant():", "  a", "  b", "  c", *after]


def test_a_line_that_is_several_records_is_one_line_again():
    parts = [record(0, "xxx", 1, 1, "x"), record(1, "yyy", 1, 1, "x")]
    assert find_symbol_passage(parts, 1, 0).text == "xxxyyy"


@pytest.mark.parametrize("seed", [0, 7])
def test_a_record_that_is_about_no_symbol_has_none(seed):
    assert find_symbol_passage(RECORDS, seed, 5) is None


def test_a_record_of_another_strategys_symbol_has_no_lines_and_so_none():
    other = {**RECORDS[1], "metadata": {"symbol": "plant"}}
    assert find_symbol_passage([other], 1, 5) is None
