"""A whole text is one surface."""

from irdaemon.strategy.chunked import WholeText, text_of


def test_text_of_takes_a_string_a_named_part_the_text_or_all_strings():
    assert text_of("plain") == "plain"
    assert text_of({"body": "b", "text": "t"}, "body") == "b"
    assert text_of({"body": "b", "text": "t"}) == "t"
    assert text_of({"a": "1", "n": 2, "b": "3"}) == "1\n3"
    assert text_of(5) == "5"


def test_none_is_no_text():
    assert text_of(None) == text_of({"text": None}) == text_of({"body": None}, "body") == ""
    assert WholeText().decompose("id", {"text": None}).surfaces == ()


def test_whole_text_makes_one_surface_and_none_of_blank_text():
    (surface,) = WholeText().decompose("id", "words", {"team": "a"}).surfaces
    assert (surface.kind, surface.text, surface.granularity) == ("document", "words", "document")
    assert WholeText().decompose("id", " \n ").surfaces == ()


def test_the_kind_and_the_part_of_the_text_can_be_chosen():
    (surface,) = WholeText(text_key="body", kind="note").decompose("id", {"body": "b"}).surfaces
    assert (surface.kind, surface.text) == ("note", "b")


def test_words_beside_a_text_are_read_by_the_lexical_leg_alone():
    (surface,) = WholeText().decompose("id", {"text": "words", "lexical": "zoo"}).surfaces
    assert (surface.text, surface.lexical) == ("words", "zoo")
