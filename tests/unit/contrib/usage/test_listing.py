"""The estimate of an agent's own listing of skills."""

from irdaemon.contrib.usage.adoption import listing
from irdaemon.contrib.usage.names import NamedItem


class Ledger:
    def __init__(self, chars):
        self.artifacts = self
        self._chars = chars

    def list_texts(self, corpus, kind):
        assert kind == "capability"
        return {id: f"{id}\n\n" + "x" * chars for id, chars in self._chars.items()}


class Names:
    def __init__(self, *items):
        self.items = items


def skill(id, folder="/h/.claude/skills", **fields):
    return NamedItem("skills", id, "skills", id, f"{folder}/{id}/SKILL.md", fields)


def test_what_is_used_most_keeps_its_description_and_what_has_no_room_is_listed_by_name():
    chars = {"aa": 500, "bb": 500, "cc": 500}
    names = Names(*map(skill, chars))
    report = listing(Ledger(chars), names, {("skills", "cc"): 3}, context_tokens=27_000)
    assert report["budget_chars"] == 1_080
    whole = {row["name"]: row["whole"] for row in report["items"]}
    assert whole == {"cc": True, "aa": True, "bb": False}
    assert (report["skills"], report["cut"]) == (3, 1)
    assert report["wanted_chars"] > report["budget_chars"]
    assert "estimate" in report["source"]


def test_a_description_is_cut_at_1536_characters():
    (row,) = listing(Ledger({"aa": 5_000}), Names(skill("aa")), {})["items"]
    assert 1_536 <= row["chars"] < 1_560


def test_only_what_claude_code_lists_counts():
    chars = {"aa": 10, "bb": 10, "cc": 10}
    names = Names(skill("aa"), skill("bb", hidden=True), skill("cc", "/h/.codex/skills"))
    assert [row["name"] for row in listing(Ledger(chars), names, {})["items"]] == ["aa"]
    assert listing(Ledger({}), Names(), {})["skills"] == 0
