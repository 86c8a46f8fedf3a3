from irdaemon.engine.jobs import CHANGE
from irdaemon.engine.queue import Job, JobQueue
from irdaemon.ingest.scan import ScanRequest


def queue(*jobs):
    made = JobQueue()
    for job in jobs:
        made.add(job)
    return made


def change(corpus, *paths):
    return Job("reconcile", corpus, ScanRequest(paths))


def test_a_change_comes_before_a_whole_look_before_vectors_before_upkeep():
    jobs = [Job("compact"), Job("embed", "a"), Job("reconcile", "a"), change("a", "/x")]
    waiting = queue(*jobs)
    taken = [waiting.take() for _ in jobs]
    assert [(job.kind, bool(job.scan.under)) for job in taken] == [
        ("reconcile", True), ("reconcile", False), ("embed", False), ("compact", False)
    ]  # fmt: skip
    assert waiting.take() is None


def test_equally_urgent_jobs_are_done_in_the_order_they_came():
    waiting = queue(change("b", "/x"), change("a", "/y"))
    assert [waiting.take().corpus, waiting.take().corpus] == ["b", "a"]


def test_equal_wishes_become_one_job_that_grants_all():
    waiting = JobQueue()
    first = waiting.add(Job("reconcile", "a", ScanRequest(full=True)))
    second = waiting.add(Job("reconcile", "a", ScanRequest(prune=True)))
    assert second.number == first.number
    assert len(waiting) == 1
    assert waiting.take().scan == ScanRequest(full=True, prune=True)


def test_changes_of_one_corpus_are_joined_without_repeats_and_apart_from_a_whole_look():
    waiting = queue(change("a", "/x"), Job("reconcile", "a"), change("a", "/y", "/x"))
    assert len(waiting) == 2
    assert waiting.count_paths() == 3
    assert waiting.take().scan.under == ("/x", "/y")


def test_only_what_is_urgent_enough_is_taken():
    waiting = queue(Job("embed", "a"))
    assert waiting.take(at_most=CHANGE) is None
    assert len(waiting) == 1


def test_what_waits_for_a_removed_corpus_is_dropped_and_named():
    waiting = queue(change("a", "/x"), Job("embed", "a"), Job("reconcile", "b"))
    assert [job.kind for job in waiting.drop("a")] == ["reconcile", "embed"]
    assert len(waiting) == 1
