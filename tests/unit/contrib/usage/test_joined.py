"""Joining what was used with what was offered."""

import pytest

from irdaemon.contrib.usage.names import JoinedLog
from tests.support.usage import NOW, considered, offer, turn

PDF = ("skill", "pdf")


class Names:
    """Names that mean the item so called, where there is one."""

    known = ("pdf", "deploy")

    def resolve_use(self, how, what):
        return (("skills", what),) if what in self.known else ()


def states(turns, offers):
    return [each.state for each in JoinedLog(turns, offers, Names()).list_uses()]


@pytest.mark.parametrize(
    ("item", "state"),
    [
        (considered("pdf"), "offered"),
        (considered("pdf", "shown_before"), "offered"),
        (considered("pdf", "cut", 9), "near_miss"),
        (considered("pdf", "below_floor", 3), "near_miss"),
        (considered("pdf", "below_floor", 4), "buried"),
        (considered("deploy"), "absent"),
    ],
)
def test_a_use_is_as_the_answer_to_its_prompt_had_the_item(item, state):
    assert states([turn("S:1", PDF, own=[b"d"])], [offer(b"d", item)]) == [state]


def test_a_use_without_a_known_answer_is_unjoined():
    used = turn("S:1", PDF, own=[b"d"])
    assert states([used], []) == ["unjoined"]
    assert states([used], [offer(b"other", considered("pdf"), at=NOW + 600)]) == ["unjoined"]
    assert states([used], [offer(b"d", considered("pdf"), session="claude:T")]) == ["unjoined"]
    assert states([used], [offer(b"d", considered("pdf"), client="agent")]) == ["unjoined"]
    assert states([used], [offer(b"d", considered("pdf", "ranked"), op="search")]) == ["unjoined"]


def test_what_was_offered_before_in_the_session_counts():
    before = offer(b"first", considered("pdf"), at=NOW - 600)
    assert states([turn("S:2", PDF, own=[b"d"])], [before, offer(b"d")]) == ["offered"]


def test_what_the_agent_asked_itself_is_joined_without_a_session():
    asked = offer(b"q", considered("pdf"), session="", at=NOW + 5)
    assert states([turn("S:1", PDF, asked=[b"q"])], [asked]) == ["offered"]
    long_ago = offer(b"q", considered("pdf"), session="", at=NOW - 1e6)
    assert states([turn("S:1", PDF, asked=[b"q"])], [long_ago]) == ["unjoined"]


def test_what_is_not_indexed_is_told_from_what_agents_bring_along():
    used = turn("S:1", ("skill", "gone"), ("tool", "some_tool"), ("command", "clear"))
    (found,) = JoinedLog([used], [], Names()).list_uses()
    assert (found.state, found.what) == ("not_installed", "gone")
