"""Health: judged by what was seen and what was done, never by a heartbeat."""

import pytest

from irclient.counts import format_largest_unit
from irdaemon.config.reindex import Reindex
from irdaemon.engine.health import Facts, Policy, ProcessHealth, judge_health
from irdaemon.engine.queue import FailedJob, Watermarks
from irdaemon.ledger import Failure
from irdaemon.types import Problem, RootWatch

NOW = 1_000_000.0
POLICY = Policy(stale_s=600, scan_every_s=900)
WATCHED = RootWatch("/real/notes", "inotify")


def failed(kind, reason):
    return Watermarks(failed_jobs=(FailedJob(kind, reason, NOW),))


def facts(watermarks=None, **more):
    known = {"scanned_at": NOW - 300, **more}
    return Facts("notes", {"/real/notes": "/notes"}, watermarks or Watermarks(), **known)


def judge(given, *watched, **process):
    found = judge_health(
        (given,), ProcessHealth(tuple(watched) or (WATCHED,), **process), POLICY, NOW
    )
    return found, found.corpora[0]


def test_a_corpus_that_is_watched_and_up_to_date_is_ok():
    watermarks = Watermarks(changed_at=NOW - 5, indexed_at=NOW - 5, embedded_at=NOW - 5)
    found, notes = judge(facts(watermarks))
    assert (found.level, notes.level, found.format_line()) == ("ok", "ok", "ok")
    assert notes.changed_at == notes.indexed_at


def test_a_change_that_waits_longer_than_the_policy_allows_is_stale_however_alive_the_process_is():
    _, soon = judge(facts(Watermarks(waiting_since=NOW - 599)))
    found, late = judge(facts(Watermarks(waiting_since=NOW - 1800)))
    assert (soon.level, soon.waiting_s) == ("ok", 599)
    assert (found.level, late.level, late.waiting_s) == ("stale", "stale", 1800)
    assert found.format_line() == "stale: notes: changes wait to be indexed since 30 min"


@pytest.mark.parametrize(
    ("watermarks", "more", "word"),
    [
        (
            Watermarks(failed_jobs=(FailedJob("reconcile", "disk full", NOW),)),
            {},
            "scan failed: disk full",
        ),
        (
            Watermarks(failed_jobs=(FailedJob("embed", "no answer", NOW),)),
            {},
            "embedding failed: no answer",
        ),
        (Watermarks(refused=3, refusal="its limit is 5"), {}, "3 new entries are not taken in"),
        (Watermarks(missed_events=2), {}, "2 changes were found that no event had reported"),
        (Watermarks(), {"missing": "no such model"}, "nothing is embedded: no such model"),
        (Watermarks(), {"scanned_at": NOW - 2401}, "the last whole scan ended 40 min ago"),
    ],
)
def test_what_keeps_an_index_behind_its_source_is_named(watermarks, more, word):
    _, notes = judge(facts(watermarks, **more))
    assert notes.level == "stale"
    assert word in notes.stale[0]


def test_what_is_scanned_at_an_interval_is_overdue_by_that_and_what_is_by_hand_never():
    daily, by_hand = Reindex("interval", 86_400.0), Reindex("manual")
    for reindex, days, level in ((daily, 1.9, "ok"), (daily, 2.1, "stale"), (by_hand, 900, "ok")):
        _, notes = judge(facts(reindex=reindex, scanned_at=NOW - days * 86_400))
        assert notes.level == level
    put_off = Policy(600, 900, put_off_s=86_400.0)
    given = facts(reindex=daily, scanned_at=NOW - 2.9 * 86_400)
    assert judge_health((given,), ProcessHealth((WATCHED,)), put_off, NOW).level == "ok"


def test_what_is_watched_of_a_project_in_a_root_may_be_missing():
    inside = RootWatch("/real/notes/shop/.noirdaemon", "missing", "nothing is at this path")
    found, _ = judge(facts(), WATCHED, inside)
    assert found.level == "ok"


def test_what_does_not_follow_changes_need_not_be_watched():
    elsewhere = RootWatch("/real/elsewhere", "inotify")
    for reindex, level in ((Reindex(), "offline"), (Reindex("manual"), "ok")):
        _, notes = judge(facts(reindex=reindex), elsewhere)
        assert notes.level == level


def test_without_a_schedule_no_scan_is_overdue():
    found = judge_health((facts(scanned_at=0.0),), ProcessHealth((WATCHED,)), Policy(600, 0), NOW)
    assert found.level == "ok"


@pytest.mark.parametrize(
    ("problems", "watched", "reason"),
    [
        ((Problem("/notes", "gone"),), WATCHED, "gone"),
        ((Problem("/real/notes", "suddenly empty"),), WATCHED, "suddenly empty"),
        ((), RootWatch("/real/notes", "missing", "nothing is here"), "nothing is here"),
        ((), RootWatch("/real/elsewhere", "inotify"), "it is not watched"),
    ],
)
def test_a_root_that_is_not_seen_makes_its_corpus_offline(problems, watched, reason):
    found, notes = judge(facts(problems=problems), watched)
    assert (found.level, notes.level) == ("offline", "offline")
    assert [(place.path, place.reason) for place in notes.offline] == [("/notes", reason)]


def test_a_place_within_a_root_that_cannot_be_read_does_not_take_it_offline():
    _, notes = judge(facts(problems=(Problem("/notes/private", "Permission denied"),)))
    assert notes.level == "ok"


def test_a_source_without_roots_is_dark_when_it_cannot_be_asked():
    asked = Facts("notes", {}, Watermarks(), NOW, (Problem("mine:fetch", "it raised"),))
    _, notes = judge(asked)
    assert notes.offline[0].reason == "it raised"


def test_a_root_just_added_has_a_minute_to_be_watched():
    _, notes = judge(facts(scanned_at=NOW - 1), RootWatch("/real/elsewhere", "inotify"))
    assert notes.level == "ok"


def test_a_library_that_watches_nothing_is_not_offline_for_that():
    assert judge_health((facts(),), ProcessHealth(), POLICY, NOW).level == "ok"


def test_a_polled_root_is_named_and_well():
    _, notes = judge(facts(), RootWatch("/real/notes", "polling", "nfs"))
    assert (notes.level, notes.polled[0].reason) == ("ok", "nfs")


def test_a_network_file_system_within_a_root_is_named():
    _, notes = judge(facts(), WATCHED, RootWatch("/real/notes/nfs", "polling", "nfs"))
    assert (notes.level, notes.polled[0].path) == ("ok", "/real/notes/nfs")


def test_what_failed_is_quarantined_with_how_often_and_makes_nothing_stale():
    failure = Failure("notes", "/notes/a", "a", "not UTF-8", "1", NOW - 60, tries=4)
    _, notes = judge(facts(failures=(failure,)))
    (kept,) = notes.quarantined
    assert (notes.level, kept.path, kept.reason, kept.tries) == ("ok", "/notes/a", "not UTF-8", 4)


def test_a_thread_that_makes_no_progress_is_worse_than_ok_and_named_first():
    found, _ = judge(facts(Watermarks(missed_events=1)), stuck=("the writer died",))
    assert found.level == "stale"
    assert found.format_line() == "stale: the writer died (and 1 more)"


def test_a_configuration_that_was_refused_is_worse_than_ok_while_every_corpus_is_well():
    found, notes = judge(facts(), refused=True)
    assert (found.level, notes.level) == ("stale", "ok")


def test_every_limit_that_is_exceeded_has_a_line():
    watermarks = Watermarks(refused=1, refusal="its limit is 5", collapsed_at=NOW - 60)
    found, _ = judge(facts(watermarks, overlong=2), limits=("memory",))
    assert [said.split(":")[0] for said in found.limits] == ["memory", "notes", "notes", "notes"]


def test_a_scan_for_too_many_paths_is_forgotten_after_an_hour():
    found, _ = judge(facts(Watermarks(collapsed_at=NOW - 3601)))
    assert found.limits == ()


def test_it_is_plain_data_for_the_wire():
    _, notes = judge(facts(problems=(Problem("/notes", "gone"),)))
    assert notes.to_dict()["offline"] == [{"path": "/notes", "reason": "gone"}]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_800, "2 d")],
)
def test_a_duration_is_said_in_its_largest_unit(seconds, said):
    assert format_largest_unit(seconds) == said
