import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.frontmatter import NONE, NOT_MAPPING, UNCLOSED, decode, split_front


def test_fields_and_body_are_told_apart():
    found = split_front("---\nname: pdf\n---\n# Steps\n")
    assert (found.fields, found.body, found.flags) == ({"name": "pdf"}, "# Steps\n", ())


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm():
    text, flags = decode(b"\xef\xbb\xbf---\r\nname: pdf\r\n---\r\nBody\r\n")
    assert flags == ()
    assert split_front(text).fields == {"name": "pdf"}
    assert split_front(text).body == "Body\n"


def test_invalid_utf8_is_replaced_and_flagged():
    assert decode(b"caf\xe9") == ("caf\ufffd", ("invalid_utf8",))


def test_a_file_without_frontmatter_is_all_body():
    found = split_front("# Title\n\nText.\n")
    assert (found.fields, found.body, found.flags) == ({}, "# Title\n\nText.\n", (NONE,))


def test_empty_frontmatter_has_no_fields_and_no_flag():
    assert split_front("---\n---\nBody") == split_front("---\n\n---\nBody")
    assert split_front("---\n---\nBody").flags == ()


def test_frontmatter_that_never_closes_ends_where_its_keys_end():
    found = split_front(
        "---\nname: pdf\ndescription: Fill\n  forms\n\n# Steps\n\nNote: this is body.\n"
    )
    assert found.fields == {"name": "pdf", "description": "Fill forms"}
    assert found.body.strip().startswith("# Steps")
    assert found.flags == (UNCLOSED,)


def test_a_rule_in_the_body_does_not_close_frontmatter():
    found = split_front("---\nname: pdf\n\n# Steps\n\nDo this now\nand that.\n\n---\n\nMore.\n")
    assert found.fields == {"name": "pdf"}
    assert "Do this now" in found.body
    assert "More." in found.body
    assert UNCLOSED in found.flags


def test_a_rule_on_the_first_line_is_no_frontmatter():
    found = split_front("---\n\nJust prose, no keys\n")
    assert (found.fields, found.flags) == ({}, (NONE,))
    assert "Just prose" in found.body


@pytest.mark.parametrize("block", ["- a\n- b", "only words", "[a, b]"])
def test_frontmatter_that_is_no_mapping_is_flagged_and_kept_as_text(block):
    found = split_front(f"---\n{block}\n---\nBody\n")
    assert (found.fields, found.flags) == ({}, (NOT_MAPPING,))
    assert block in found.body


@given(st.text(max_size=300))
def test_no_text_makes_it_raise(text):
    split_front(text)


@given(st.text(alphabet="-abc: \n#\t", max_size=120))
def test_nothing_that_begins_with_a_rule_makes_it_raise(text):
    split_front("---\n" + text)


@given(st.binary(max_size=200))
def test_any_bytes_become_text_without_carriage_returns(data):
    assert "\r" not in decode(data)[0]
