"""What a session was shown is not shown to it again, and not remembered for ever."""

import pytest

from irclient.errors import LimitError, QueryError
from irdaemon.offers import Offers
from irdaemon.types import Hit, Selection


def hit(name, *copies):
    return Hit("skills", name, name, "capability", 0.7, {}, "", "", {}, copies)


def answer(*hits):
    signals = {"n_candidates": 3}
    return Selection("q", "hybrid", hits, False, "max_k", signals, 3, len(hits), 1, {}, 0.1)


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def test_what_was_shown_is_left_out_and_the_rest_keeps_its_order():
    offers = Offers()
    offers.note("s", ["skills/b"])
    left = offers.unseen(answer(hit("a"), hit("b"), hit("c")), "s")
    assert [each.name for each in left.results] == ["a", "c"]
    assert (left.n_selected, left.abstained, left.reason) == (2, False, "max_k")
    assert left.signals == {"n_candidates": 3, "n_offered_before": 1}


def test_where_nothing_new_is_left_the_answer_is_an_abstention_with_its_own_reason():
    offers = Offers()
    offers.note("s", ["skills/a"])
    left = offers.unseen(answer(hit("a")), "s")
    assert (left.results, left.abstained, left.reason) == ((), True, "offered_before")
    assert not left.sufficient


def test_a_copy_of_what_was_shown_is_not_new():
    offers = Offers()
    offers.note("s", ["plugins/a"])
    assert offers.unseen(answer(hit("a", "plugins/a")), "s").results == ()


def test_sessions_know_nothing_of_each_other_and_no_session_was_shown_nothing():
    offers = Offers()
    offers.note("s", ["skills/a"])
    asked = answer(hit("a"))
    assert offers.unseen(asked, "t") is asked
    assert offers.unseen(asked, "") is asked


def test_an_answer_alone_is_no_offer():
    offers = Offers()
    offers.unseen(answer(hit("a")), "s")
    assert offers.of("s") == {}


def test_only_so_many_items_and_sessions_are_remembered_the_latest():
    offers = Offers()
    offers.note("s", [f"skills/{n}" for n in range(500)])
    assert list(offers.of("s")) == [f"skills/{n}" for n in range(300, 500)]
    for n in range(300):
        offers.note(f"t{n}", ["skills/a"])
    assert offers.of("s") == {}
    assert offers.of("t43") == {}
    assert offers.of("t44")


def test_a_session_is_forgotten_a_week_after_its_last_item():
    clock = Clock()
    offers = Offers(clock)
    offers.note("old", ["skills/a"])
    offers.note("kept", ["skills/a"])
    clock.now += 6 * 86_400
    offers.note("kept", ["skills/b"])
    clock.now += 2 * 86_400
    offers.note("new", ["skills/a"])
    assert offers.of("old") == {}
    assert list(offers.of("kept")) == ["skills/a", "skills/b"]


def test_a_restart_forgets_nothing_and_leaves_no_file(tmp_path):
    path = tmp_path / "offers.json"
    before, after = Offers(), Offers()
    before.note("s", ["skills/ä"])
    before.save(str(path))
    after.load(str(path))
    assert after.of("s") == before.of("s") != {}
    assert not path.exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"s": 1, "t": {}, "u": {"a": "b"}}', '{"s": {"a": null}}', "\xff"]
)
def test_a_saved_file_that_holds_nothing_usable_is_no_reason_not_to_start(tmp_path, text):
    path = tmp_path / "offers.json"
    path.write_text(text, "latin-1")
    offers = Offers()
    offers.load(str(path))
    offers.note("s", ["skills/a"])
    assert list(offers.of("s")) == ["skills/a"]


def test_a_disk_that_takes_nothing_costs_no_more_than_the_memory(tmp_path):
    Offers().save(str(tmp_path / "none" / "offers.json"))


def test_a_nameless_session_and_an_endless_name_are_errors():
    offers = Offers()
    with pytest.raises(QueryError):
        offers.note("", ["skills/a"])
    with pytest.raises(LimitError):
        offers.note("s" * 257, ["skills/a"])
    with pytest.raises(LimitError):
        offers.unseen(answer(), "s" * 257)
