import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.agents.hook.context import make_plain as in_hook
from irclient.invisible import (
    MOST_MARKS,
    drop_hidden,
    escape_json,
    is_hidden,
    make_safe,
    replace_hidden,
    spell_hidden,
)
from irclient.mcp.items import make_plain as over_mcp
from irdaemon.discovery.disclose import find_hidden

TRICKY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x07\r\x7f\x9b\u200b\u200d\u202e\u2066\u2028\u3164\ufe01\U000e0041"),
    )
)


@given(TRICKY)
def test_nothing_hidden_is_printed(text):
    shown = replace_hidden(text)
    assert not any(map(is_hidden, shown))
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in shown)


@given(st.recursive(TRICKY, lambda inner: st.lists(inner) | st.dictionaries(TRICKY, inner)))
def test_json_stays_exact_data_and_prints_nothing_hidden(value):
    told = escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(told) == json.loads(json.dumps(value))
    assert not any(map(is_hidden, told))


@given(TRICKY)
def test_a_text_is_flagged_where_something_in_it_is_hidden(text):
    kinds = {kind for kind in find_hidden(text) if kind != "marks"}
    assert bool(kinds) == any(map(is_hidden, text.replace("\r\n", "\n")))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("plain words,\n\tlines, tabs", ()),
        ("ends of\r\nlines", ()),
        ("ünïcode, 漢字, emoji ⚠️ and a no-break\u00a0space", ()),
        ("\x1b[2J", ("control",)),
        ("a\rb", ("control",)),
        ("\u202egnp.exe", ("bidi",)),
        ("zero\u200bwidth", ("invisible",)),
        ("blank \u3164 letter", ("invisible",)),
        ("tag \U000e0041", ("invisible",)),
        ("\u202e\u200b\x07", ("bidi", "control", "invisible")),
        (None, ()),
    ],
)
def test_hidden_characters_are_told_by_kind(text, kinds):
    assert find_hidden(text, "more") == kinds


# Code points that show nothing, a few of each range of Default_Ignorable_Code_Point, assigned or
# not, and the blank ones that are not among them.
UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u180f\u200b\u200f\u2060\u2065\u206f\u2800"
    "\u3164\ufe00\ufeff\uffa0\ufff0\ufff8\U0001bca0\U0001d159\U0001d173\U000e0000\U000e0001\U000e0041"
    "\U000e0080\U000e00ff\U000e0100\U000e01ef\U000e01f0\U000e0f00\U000e0f41\U000e0fff"
)


@pytest.mark.parametrize("char", UNSEEN)
def test_what_shows_nothing_is_hidden_to_everybody_assigned_or_not(char):
    text = f"Trombone{char} lessons"
    assert find_hidden(text)
    assert "\ufffd" in replace_hidden(text)
    assert spell_hidden(text) == text.replace(char, char.encode("unicode_escape").decode())
    assert char not in escape_json(json.dumps(text, ensure_ascii=False))
    assert over_mcp(text) == in_hook(text, 80) == drop_hidden(text) == "Trombone lessons"


def test_the_table_holds_what_unicode_calls_controls_and_nothing_that_is_seen():
    hidden = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    for char in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(char)
        if category in hidden and char not in "\n\t":
            assert is_hidden(char), hex(ord(char))
        elif category[0] in "PSZ" or category in ("Nd", "Nl", "No", "Lu", "Ll", "Lt", "Mc"):
            assert not is_hidden(char) or char in "\u2800\U0001d159", hex(ord(char))


LETTERS = (
    "caf\u00e9 na\u0308i\u0308ve \u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"
    " \u0e01\u0e34\u0e49 \u65e5\u672c \U0001f600\ufe0f"
)


def test_a_flood_of_combining_marks_is_named_and_bounded():
    flood = "Z" + "\u0335\u0301\u0489" * 1_700 + "algo"
    assert find_hidden(flood) == ("marks",)
    assert find_hidden(LETTERS) == ()
    for show in (replace_hidden, spell_hidden, drop_hidden):
        assert len(show(flood)) == len("Zalgo") + MOST_MARKS + 1
        assert show(show(flood)) == show(flood)
    assert replace_hidden(LETTERS) == spell_hidden(LETTERS) == LETTERS


def test_a_line_end_or_tab_hides_in_a_name_and_not_in_a_text():
    assert find_hidden("two\nlines\tof text") == ()
    assert find_hidden(names=["two\nlines"]) == find_hidden(names=["a\tb"]) == ("control",)
    assert find_hidden(names=["a\r\nb\u202e"]) == ("bidi", "control")
    assert find_hidden(names=["/plain/name"]) == ()


@given(TRICKY)
def test_a_name_is_one_line_without_a_control(name):
    told = spell_hidden(name)
    assert len(told.splitlines()) <= 1
    assert not any(map(is_hidden, told))
    assert "\t" not in told


def test_a_byte_that_is_no_utf8_is_spelt_as_it_is():
    assert spell_hidden(b"bad\xff\n.txt".decode("utf-8", "surrogateescape")) == "bad\\xff\\n.txt"


def test_only_texts_keep_their_lines_in_what_is_shown():
    told = make_safe(
        {"name": "a\nb", "summary": "a\n b", "body": "a\nb\x1b", "n": 3, "k\n": ["c\td"]}
    )
    assert told == {
        "name": "a\\nb",
        "summary": "a b",
        "body": "a\nb\ufffd",
        "n": 3,
        "k\\n": ["c\\td"],
    }
