"""Which hidden characters a text holds, by kind."""

import pytest

from irdaemon.discovery.disclose import find_hidden


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("plain text\n\twith lines\r\n", ()),
        ("naïve café, 天气, Привет", ()),
        ("a\u202eb", ("bidi",)),
        ("a\x1b[31mb", ("control",)),
        ("a\u200bb", ("invisible",)),
        ("a" + "\u0301" * 40, ("marks",)),
        ("\u2066\x07", ("bidi", "control")),
        ("", ()),
        (None, ()),
    ],
)
def test_each_kind_is_named(text, kinds):
    assert find_hidden(text) == kinds


def test_several_texts_are_one_answer_with_each_kind_once():
    assert find_hidden("a\u200bb", None, "c\u200bd", "\u202e") == ("bidi", "invisible")


def test_a_line_end_is_nothing_in_a_text_and_a_control_character_in_a_name():
    assert find_hidden("two\nlines") == ()
    assert find_hidden(names=["two\nlines"]) == ("control",)
    assert find_hidden(names=["a\tb", "plain"]) == ("control",)
    assert find_hidden(names=["plain", ""]) == ()
