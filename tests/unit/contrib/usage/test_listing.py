"""The estimate of an agent's own listing of skills."""

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.usage.names import NamedItem
from irdaemon.contrib.usage.reports import make_listing


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
    report = make_listing(Ledger(chars), names, {("skills", "cc"): 3}, context_tokens=27_000)
    assert report["budget_chars"] == 1_080
    whole = {row["name"]: row["whole"] for row in report["items"]}
    assert whole == {"cc": True, "aa": True, "bb": False}
    assert (report["skills"], report["cut"]) == (3, 1)
    assert report["wanted_chars"] > report["budget_chars"]
    assert "estimate" in report["source"]


def test_a_description_is_cut_at_1536_characters():
    (row,) = make_listing(Ledger({"aa": 5_000}), Names(skill("aa")), {})["items"]
    assert 1_536 <= row["chars"] < 1_560


def test_only_what_claude_code_lists_counts():
    chars = {"aa": 10, "bb": 10, "cc": 10}
    names = Names(skill("aa"), skill("bb", hidden=True), skill("cc", "/h/.codex/skills"))
    assert [row["name"] for row in make_listing(Ledger(chars), names, {})["items"]] == ["aa"]
    assert make_listing(Ledger({}), Names(), {})["skills"] == 0


def list_for_codex(chars, tokens, folder="/h/.codex/skills"):
    names = Names(*(skill(name, folder) for name in chars))
    return make_listing(Ledger(chars), names, {}, tokens, "codex")


def test_codex_cuts_the_longest_descriptions_and_keeps_short_ones_whole():
    chars = {"aa": 40, "bb": 500, "cc": 600}
    report = list_for_codex(chars, 10_000)
    assert (report["agent"], report["budget_chars"]) == ("codex", 800)
    shown = {row["name"]: row["shown"] for row in report["items"]}
    assert shown["aa"] == 40
    assert abs(shown["bb"] - shown["cc"]) <= 1
    lines = [row["chars"] - chars[row["name"]] + row["shown"] for row in report["items"]]
    assert 797 <= sum(lines) <= 800
    assert report["cut"] == 2


def test_codex_leaves_out_skills_whose_names_do_not_fit():
    report = list_for_codex({"aa": 10, "bb": 10, "cc": 10}, 1_000)
    assert [row["shown"] for row in report["items"]] == [0, -1, -1]
    assert report["cut"] == 3


def test_codex_counts_the_path_and_1024_characters_of_a_description():
    (row,) = list_for_codex({"aa": 5_000}, 0, "/h/.agents/skills")["items"]
    assert row["whole"]
    assert row["chars"] == 1_024 + len("- aa:  (file: /h/.agents/skills/aa/SKILL.md)\n")


def test_an_agent_whose_listing_is_not_known_is_an_error():
    with pytest.raises(QueryError, match="unknown agent 'vim'"):
        make_listing(Ledger({}), Names(), {}, agent="vim")
