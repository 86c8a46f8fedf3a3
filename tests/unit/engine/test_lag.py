"""Where a corpus stands, as the queue of jobs sees it."""

from irdaemon.engine.queue import Job, Work
from irdaemon.ingest.reconcile import Report
from irdaemon.ingest.scan import ScanRequest
from tests.support.clocks import Clock


def working(**more):
    clock = Clock(100.0)
    return Work(clock, **more), clock


def change(*paths):
    return Job("reconcile", "a", ScanRequest(paths))


def test_a_change_is_seen_when_it_is_asked_for_and_indexed_when_its_look_is_done():
    work, clock = working()
    work.add(change("/x"))
    seen = work.get_watermarks("a")
    clock.now = 107.0
    work.end(work.take().number, "done", "")
    done = work.get_watermarks("a")
    assert (seen.changed_at, seen.indexed_at, seen.waiting_since) == (100.0, None, 100.0)
    assert (done.changed_at, done.indexed_at, done.waiting_since) == (100.0, 100.0, None)


def test_the_oldest_wish_counts_for_waiting_and_the_newest_for_what_is_indexed():
    work, clock = working()
    work.add(change("/x"))
    clock.now = 105.0
    work.add(change("/y"))
    assert work.get_watermarks("a").waiting_since == 100.0
    work.end(work.take().number, "done", "")
    assert work.get_watermarks("a").indexed_at == 105.0


def test_a_change_during_a_look_is_not_indexed_by_it():
    work, clock = working()
    work.add(change("/x"))
    running = work.take()
    clock.now = 105.0
    work.add(change("/x"))
    work.end(running.number, "done", "")
    watermarks = work.get_watermarks("a")
    assert (watermarks.changed_at, watermarks.indexed_at, watermarks.waiting_since) == (
        105,
        100,
        105,
    )


def test_a_running_look_still_waits_to_be_done():
    work, clock = working()
    work.add(change("/x"))
    work.take()
    clock.now = 900.0
    assert work.get_watermarks("a").waiting_since == 100.0


def test_a_look_that_failed_is_a_fault_until_one_succeeds():
    work, _ = working()
    work.add(change("/x"))
    work.end(work.take().number, "failed", "disk full")
    watermarks = work.get_watermarks("a")
    assert [(job.kind, job.reason) for job in watermarks.failed_jobs] == [
        ("reconcile", "disk full")
    ]
    assert watermarks.indexed_at is None
    work.add(change("/x"))
    work.end(work.take().number, "done", "")
    assert work.get_watermarks("a").failed_jobs == ()


def test_a_whole_look_that_finds_a_change_saw_it():
    work, _ = working()
    work.add(Job("reconcile", "a"))
    job = work.take()
    work.note_scan(job, Report(written=1))
    work.end(job.number, "done", "")
    watermarks = work.get_watermarks("a")
    assert (watermarks.changed_at, watermarks.indexed_at) == (100.0, 100.0)


def test_only_a_routine_look_tells_of_changes_without_an_event():
    work, _ = working()
    for routine, late in ((False, 5), (True, 2)):
        work.add(Job("reconcile", "a", ScanRequest(routine=routine)))
        job = work.take()
        work.note_scan(job, Report(written=5, missed_events=late))
        work.end(job.number, "done", "")
    assert work.get_watermarks("a").missed_events == 2


def test_a_look_that_a_client_asked_for_too_is_no_routine():
    work, _ = working()
    work.add(Job("reconcile", "a", ScanRequest(routine=True)))
    work.add(Job("reconcile", "a"))
    assert not work.take().scan.routine


def test_what_was_refused_stands_until_a_whole_look_refuses_nothing():
    work, _ = working()
    work.note_scan(change("/x"), Report(refused=1, refusal="full"))
    work.note_scan(change("/y"), Report())
    assert (work.get_watermarks("a").refused, work.get_watermarks("a").refusal) == (1, "full")
    work.note_scan(Job("reconcile", "a"), Report())
    assert work.get_watermarks("a").refused == 0


def test_a_corpus_that_is_gone_has_no_standing():
    work, _ = working()
    work.add(change("/x"))
    work.drop("a", "gone")
    assert work.get_watermarks("a").changed_at is None


def test_too_many_waiting_paths_become_one_look_around_them_all():
    work, _ = working(most_paths=3)
    number = work.add(change("/n/x/1", "/n/x/2", "/n/x/3"))
    assert work.get_watermarks("a").collapsed_at is None
    assert work.add(change("/n/y/4")) == number
    job = work.take()
    assert (job.scan.under, job.collapsed) == (("/n",), True)
    assert work.get_watermarks("a").collapsed_at == 100.0


def test_the_writer_gives_a_sign_whenever_it_comes_by():
    work, _ = working()
    before = work.last_progress
    work.take()
    taken = work.last_progress
    work.take_before(Job("embed", "a"))
    assert before <= taken <= work.last_progress
