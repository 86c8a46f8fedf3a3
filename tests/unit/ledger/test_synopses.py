"""Synopses in the ledger: handed in, read again with their artifacts, and counted by the day."""

from irdaemon.types import Scan
from tests.support.corpora import ledger, upsert

LATE = 4e9


def test_a_synopsis_that_was_handed_in_has_its_entry_read_again_until_it_is_settled():
    made = ledger("c")
    stored = upsert("e", {"a": "text"})
    made.entries.put("c", stored, LATE)
    scan = Scan((stored.entry,), ("",))
    assert made.entries.diff("c", scan, "r").stale == ()
    made.synopses.hand_in("c", "a", "About text.", {"synthesizer_id": "m"})
    assert made.entries.diff("c", scan, "r").stale == (stored.entry,)
    assert made.synopses.find("c", "a", "synopsis") == ("About text.", {"synthesizer_id": "m"})
    made.synopses.settle("c")
    assert made.synopses.find("c", "a", "synopsis") is None


def test_what_a_model_was_asked_is_counted_by_the_day():
    made = ledger("c")
    made.synopses.add_requests(7, 3)
    made.synopses.add_requests(7, 2)
    assert [made.synopses.count_requests(7), made.synopses.count_requests(8)] == [5, 0]
    made.synopses.add_requests(8, 1)
    assert [made.synopses.count_requests(7), made.synopses.count_requests(8)] == [0, 1]
