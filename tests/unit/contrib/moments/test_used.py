"""What a session used lately comes back in the order in which it is likely needed."""

from irdaemon.contrib.moments.used import rank_uses
from tests.support.usage import turn

A, B, C = ("skill", "a"), ("read", "/b/SKILL.md"), ("agent", "c")


def ranked(*turns):
    """Rank the uses of turns, given oldest first."""
    kept = [turn(f"S:{n}", *uses) for n, uses in enumerate(turns)]
    return rank_uses(kept[::-1])


def test_what_was_used_last_comes_first():
    assert ranked([A], [B], [C]) == [C, B, A]


def test_what_was_used_often_comes_before_what_was_used_once():
    assert ranked([A], [A], [A], [B]) == [A, B]


def test_turns_without_uses_count_as_turns():
    assert ranked([A], [], [B], []) == [B, A]


def test_what_the_last_ten_turns_did_not_use_is_left_out():
    assert ranked([A], [B], *[[]] * 9) == [B]
    assert ranked() == []
