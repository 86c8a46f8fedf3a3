"""What a session was shown is not shown to it again, and not remembered for ever."""

from dataclasses import replace

import pytest

from irclient.errors import LimitError, QueryError
from irdaemon.discovery.impressions import ClientSession, Impressions
from irdaemon.types import Hit, Query, Selection, SelectSpec
from tests.support.clocks import Clock
from tests.support.searching import engine_of, tool


def hit(name, *duplicates):
    return Hit("skills", name, name, "capability", 0.7, {}, "", "", {}, duplicates)


def own(session):
    return ClientSession("", session)


def answer(*hits):
    signals = {"n_candidates": 3}
    return Selection("q", "hybrid", hits, False, "max_k", signals, 3, len(hits), 1, {}, 0.1)


def test_what_was_shown_is_left_out_and_the_rest_keeps_its_order():
    impressions = Impressions()
    impressions.note(own("s"), ["skills/b"])
    left = impressions.drop_seen(answer(hit("a"), hit("b"), hit("c")), own("s"))
    assert [each.name for each in left.results] == ["a", "c"]
    assert (left.n_selected, left.abstained, left.reason) == (2, False, "max_k")
    assert left.signals == {"n_candidates": 3, "n_offered_before": 1}


def test_a_turn_is_not_shown_to_the_session_that_it_is_of():
    def turn(session, file):
        fields = {"session_id": session}
        return replace(hit(f"{session} in {file}"), corpus="sessions", fields=fields, pointer=file)

    asked = answer(
        turn("5f1c", "/a/x.jsonl"),
        turn("77ab", "/a/5f1c.jsonl"),  # which it went on with
        turn("77ab", "/a/rollout-2026-5f1c.jsonl"),
        turn("77ab", "/a/77ab.jsonl"),
    )
    left = Impressions().drop_seen(asked, own("claude:5f1c"))
    assert [each.name for each in left.results] == ["77ab in /a/77ab.jsonl"]
    for other in ("claude:77aa", "claude:", ""):
        assert Impressions().drop_seen(asked, own(other)) is asked


def test_where_nothing_new_is_left_the_answer_is_an_abstention_with_its_own_reason():
    impressions = Impressions()
    impressions.note(own("s"), ["skills/a"])
    left = impressions.drop_seen(answer(hit("a")), own("s"))
    assert (left.results, left.abstained, left.reason) == ((), True, "offered_before")
    assert not left.sufficient


def test_a_copy_of_what_was_shown_is_not_new():
    impressions = Impressions()
    impressions.note(own("s"), ["plugins/a"])
    assert impressions.drop_seen(answer(hit("a", "plugins/a")), own("s")).results == ()


def test_sessions_know_nothing_of_each_other_and_no_session_was_shown_nothing():
    impressions = Impressions()
    impressions.note(own("s"), ["skills/a"])
    asked = answer(hit("a"))
    assert impressions.drop_seen(asked, own("t")) is asked
    assert impressions.drop_seen(asked, own("")) is asked


def test_a_client_neither_reads_nor_displaces_what_another_ones_sessions_were_shown(tmp_path):
    impressions = Impressions()
    impressions.note(own("claude:a"), ["skills/a"])
    impressions.note(own("agent/b"), ["skills/a"])
    for n in range(300):
        impressions.note(ClientSession("agent", f"t{n}"), ["skills/b"])
    impressions.save(str(tmp_path / "offers.json"))
    after = Impressions()
    after.load(str(tmp_path / "offers.json"))
    for each in (impressions, after):
        assert list(each.find_items(own("claude:a"))) == ["skills/a"]
        assert each.find_items(ClientSession("agent", "claude:a")) == {}
        assert each.find_items(ClientSession("agent", "b")) == {}
        assert each.find_items(ClientSession("agent", "t43")) == {}
        assert each.find_items(ClientSession("agent", "t44"))


def test_an_answer_alone_is_no_offer():
    impressions = Impressions()
    impressions.drop_seen(answer(hit("a")), own("s"))
    assert impressions.find_items(own("s")) == {}


def test_only_so_many_items_and_sessions_are_remembered_the_latest():
    impressions = Impressions()
    impressions.note(own("s"), [f"skills/{n}" for n in range(500)])
    assert list(impressions.find_items(own("s"))) == [f"skills/{n}" for n in range(300, 500)]
    for n in range(300):
        impressions.note(own(f"t{n}"), ["skills/a"])
    assert impressions.find_items(own("s")) == {}
    assert impressions.find_items(own("t43")) == {}
    assert impressions.find_items(own("t44"))


def test_a_session_is_forgotten_a_week_after_its_last_item():
    clock = Clock(1000000.0)
    impressions = Impressions(clock)
    impressions.note(own("old"), ["skills/a"])
    impressions.note(own("kept"), ["skills/a"])
    clock.now += 6 * 86_400
    impressions.note(own("kept"), ["skills/b"])
    clock.now += 2 * 86_400
    impressions.note(own("new"), ["skills/a"])
    assert impressions.find_items(own("old")) == {}
    assert list(impressions.find_items(own("kept"))) == ["skills/a", "skills/b"]


def test_a_restart_forgets_nothing_and_leaves_no_file(tmp_path):
    path = tmp_path / "offers.json"
    before, after = Impressions(), Impressions()
    before.note(own("s"), ["skills/ä"])
    before.save(str(path))
    after.load(str(path))
    assert after.find_items(own("s")) == before.find_items(own("s")) != {}
    assert not path.exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"s": 1, "t": {}, "u": {"a": "b"}}', '{"s": {"a": null}}', "\xff"]
)
def test_a_saved_file_that_holds_nothing_usable_is_no_reason_not_to_start(tmp_path, text):
    path = tmp_path / "offers.json"
    path.write_text(text, "latin-1")
    impressions = Impressions()
    impressions.load(str(path))
    impressions.note(own("s"), ["skills/a"])
    assert list(impressions.find_items(own("s"))) == ["skills/a"]


def test_a_disk_that_takes_nothing_costs_no_more_than_the_memory(tmp_path):
    Impressions().save(str(tmp_path / "none" / "offers.json"))


def test_a_nameless_session_and_an_endless_name_are_errors():
    impressions = Impressions()
    with pytest.raises(QueryError):
        impressions.note(own(""), ["skills/a"])
    with pytest.raises(LimitError):
        impressions.note(own("s" * 257), ["skills/a"])


def test_the_places_of_a_sessions_own_turns_go_to_others():
    turns = {
        f"{session}-{n}": tool(f"{said} the invoices of the tax office", session_id=session)
        for session in "ABCD"
        for n, said in enumerate(["merge", "split"])
    }
    turns["fork"] = {**turns["A-0"], "session_id": "E", "name": "A-0"}
    made = engine_of(turns)
    asked = Query("split, merge invoices", select=SelectSpec("top_k", min_score=None))
    found = made.discover(asked, session="claude:A").results
    assert {hit.fields["session_id"] for hit in found} == {"B", "C", "D"}
    everyone = made.discover(replace(asked, k=20, select=SelectSpec("top_k", 20, min_score=None)))
    assert "A" in {hit.fields["session_id"] for hit in everyone.results}
