"""What a line of expected prompts may hold, and what is said of one that may not."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.prompts import MOST_LINES, GivenPrompts, LineProblem, read_lines, read_record

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "name", "path", "prompts", "not", "corpus"]) | st.text(), inner
        )
    ),
    max_leaves=12,
)
LINE = st.binary() | JSON.map(lambda value: json.dumps(value).encode())


def read(*lines):
    return list(read_lines(io.BytesIO(b"\n".join(lines))))


def line(**given):
    return json.dumps(given).encode()


@given(st.lists(LINE, max_size=8))
def test_any_bytes_give_prompts_or_a_problem_for_each_line_that_is_not_blank(lines):
    data = b"\n".join(lines)
    found = list(read_lines(io.BytesIO(data)))
    assert all(isinstance(each, (GivenPrompts, LineProblem)) for each in found)
    # Bytes that mean nothing at the end of a line are blank.
    assert len(found) == sum(
        bool(each.strip(b" \t\r\n\xef\xbb\xbf")) for each in io.BytesIO(data).readlines()
    )
    assert [each.line for each in found] == sorted({each.line for each in found})


@given(JSON)
def test_what_is_taken_is_taken_the_same_again(value):
    taken = read_record(value, 3)
    if isinstance(taken, GivenPrompts):
        plain = taken.to_dict()
        assert plain.pop("line") == 3
        assert read_record(plain, 3) == taken


def test_a_line_gives_each_text_once_with_single_spaces():
    (taken,) = read(
        line(name="pdf", prompts=["sign  the\nlease", "sign the lease"], **{"not": ["x"]})
    )
    assert (taken.by, taken.item) == ("name", "pdf")
    assert (taken.prompts, taken.misses) == (("sign the lease",), ("x",))


def test_a_mark_of_the_byte_order_before_the_first_line_is_passed_over():
    (taken,) = read(b"\xef\xbb\xbf" + line(id="a", prompts=["x"]))
    assert taken.item == "a"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (b"[]", "not a list"),
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nests too deep"),
        (b'{"id": "a", "prompts": ["\\ud800"]}', "surrogate"),
        (line(prompts=["x"]), "not none of them"),
        (line(id="a", name="b", prompts=["x"]), "not id and name"),
        (line(id="a", prompt=["x"]), "unknown key 'prompt'"),
        (line(id=3, prompts=["x"]), "'id' is a text, not 3"),
        (line(id="a", prompts="x"), "'prompts' is a list of texts, not 'x'"),
        (line(id="a", prompts=[{}]), "a map is none"),
        (line(id="a", prompts=[" "]), "is empty"),
        (line(id="a", prompts=[]), "no prompts"),
        (line(id="a", **{"not": ["x"]}), "no prompts"),
        (line(id="a", prompts=["x"], **{"not": ["x"]}), "'x' is a prompt and a near miss"),
        (line(id="a", prompts=["x"] * 51), "51 texts, the limit is 50"),
        (line(id="a", prompts=["x" * 1001]), "1,001 characters, the limit is 1,000"),
        (line(id="a", prompts=["x"], corpus=1), "'corpus' is a text"),
        (b"x" * 2_000_000, "longer than"),
    ],
)
def test_a_bad_line_is_told_and_the_one_after_it_is_taken(given, told):
    bad, good = read(given, line(id="a", prompts=["x"]))
    assert (bad.line, good.line) == (1, 2)
    assert told in bad.message
    assert isinstance(good, GivenPrompts)


def test_beyond_the_most_lines_nothing_is_read():
    *taken, bad = read(*[line(id="a", prompts=["x"])] * (MOST_LINES + 3))
    assert len(taken) == MOST_LINES
    assert (bad.line, bad.message) == (
        MOST_LINES + 1,
        "more than 100,000 lines: the rest is not read",
    )
