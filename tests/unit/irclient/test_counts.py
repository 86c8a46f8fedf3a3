import pytest

from irclient.counts import format_count


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "corpus", "1 corpus"),
        (0, "corpus", "0 corpora"),
        (2, "unused vector", "2 unused vectors"),
        (1, "entry", "1 entry"),
        (1200, "new entry", "1,200 new entries"),
        (2, "day", "2 days"),
        (2, "match", "2 matches"),
        (1, "secret", "1 secret"),
    ],
)
def test_a_noun_agrees_with_its_number(number, noun, said):
    assert format_count(number, noun) == said


@pytest.mark.parametrize(
    ("verb", "one", "two"),
    [
        ("is", "1 item is", "2 items are"),
        ("has", "1 item has", "2 items have"),
        ("was", "1 item was", "2 items were"),
        ("belongs", "1 item belongs", "2 items belong"),
    ],
)
def test_so_does_a_verb(verb, one, two):
    assert (format_count(1, "item", verb), format_count(2, "item", verb)) == (one, two)
