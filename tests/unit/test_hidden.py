import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.hidden import escaped, is_hidden, safe
from irdaemon.hidden import hidden_in

TRICKY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x07\r\x7f\x9b\u200b\u200d\u202e\u2066\u2028\u3164\ufe01\U000e0041"),
    )
)


@given(TRICKY)
def test_nothing_hidden_is_printed(text):
    shown = safe(text)
    assert not any(map(is_hidden, shown))
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in shown)


@given(st.recursive(TRICKY, lambda inner: st.lists(inner) | st.dictionaries(TRICKY, inner)))
def test_json_stays_exact_data_and_prints_nothing_hidden(value):
    told = escaped(json.dumps(value, ensure_ascii=False))
    assert json.loads(told) == json.loads(json.dumps(value))
    assert not any(map(is_hidden, told))


@given(TRICKY)
def test_a_text_is_flagged_where_something_in_it_is_hidden(text):
    assert bool(hidden_in(text)) == any(map(is_hidden, text.replace("\r\n", "\n")))


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
    assert hidden_in(text, "more") == kinds
