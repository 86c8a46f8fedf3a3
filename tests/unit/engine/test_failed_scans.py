"""A fault of one look is that look's fault: it is said, tried again, and ends nothing."""

import pytest

from irdaemon.engine.host import InProcess
from irdaemon.engine.queue import Job
from irdaemon.engine.retries import Retries
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.files import Files
from irdaemon.source.mapping import InMemory
from irdaemon.source.packages import Packages
from irdaemon.source.sessions import Sessions
from irdaemon.source.skills import Skills
from irdaemon.types import Query, Root
from irdaemon.watch.watcher import locate_roots
from tests.support.clocks import Clock
from tests.support.corpora import engine, mapped
from tests.support.hosts import Writing


class Faulty(InMemory):
    """A source whose looks fail as long as it is told to."""

    fault = None

    def scan(self, under=None):
        if self.fault:
            raise self.fault
        return super().scan(under)


@pytest.fixture
def clock():
    return Clock(1000.0)


@pytest.fixture
def made(clock):
    corpus = mapped({"a": "fill a pdf form"})
    source = Faulty({"a": "fill a pdf form"})
    object.__setattr__(corpus, "source", source)
    made = engine(corpus, mapped({"b": "peel potatoes"}, name="other"), clock=clock)
    made.state.host = Writing()
    made.source = source
    for name in ("m", "other"):
        made.request(Job("reconcile", name))
    made.drain()
    return made


def look(made, corpus="m"):
    number = made.request(Job("reconcile", corpus))
    made.drain()
    return made.progress(number)


FAULTS = [
    FileNotFoundError(2, "No such file or directory", "/gone"),
    OSError(22, "Invalid argument", "/was/a/link"),
    OSError(5, "Input/output error"),
    OSError(116, "Stale file handle"),
    OSError(40, "Too many levels of symbolic links"),
    ValueError("embedded null byte"),
    UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"),
    KeyError("a mistake"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_look_that_fails_says_so_and_is_tried_again_until_it_is_done(made, clock, fault):
    made.source.fault = fault
    for _ in range(10):  # however often: the fault is the source's
        progress = look(made)
        assert progress.state == "failed"
        clock.now += 60
    assert "failed" in progress.report
    assert made.state.pending == 1
    assert look(made, "other").state == "done"
    assert made.discover(Query("fill a pdf form")).n_selected == 1
    made.source.fault = None
    clock.now += 60
    made.drain()
    assert look(made).state == "done"
    assert made.judge_health().level == "ok"


def test_what_the_system_cannot_do_for_a_job_is_tried_again_for_as_long_as_it_takes(
    made, clock, monkeypatch
):
    made.source._items = {"a": "fill a pdf form", "c": "weed the garden"}

    def failing(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(made.ledger.entries, "diff", failing)
        for _ in range(20):
            assert look(made).state == "failed"
            clock.now += 60
    made.drain()
    assert made.progress(made.request(Job("reconcile", "m"))).state == "queued"
    made.drain()
    assert not made.state.retries.take_due(clock.now + 1e6)


def test_a_mistake_of_the_program_ends_the_process_once_it_repeats(made, clock, monkeypatch):
    def mistaken(*_, **__):
        raise TypeError("a mistake")

    monkeypatch.setattr(made.ledger.entries, "diff", mistaken)
    for _ in range(3):
        assert look(made).state == "failed"
        clock.now += 60

    def long_after():
        clock.now += 60
        return look(made).state

    with pytest.raises(TypeError):
        [long_after() for _ in range(50)]


def test_a_library_call_hears_of_a_mistake_at_once(made, monkeypatch):
    made.state.host = InProcess()
    monkeypatch.setattr(made.ledger.entries, "diff", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        look(made)


def test_a_job_waits_longer_after_each_try_and_one_that_was_done_waits_no_more():
    retries, job = Retries(), Job("reconcile", "c", ScanRequest(under=("/a",)))
    waits = []
    for _ in range(8):
        waits.append(retries.note(job, 100.0).again_at - 100.0)
        if len(waits) < 8:
            retries.take_due(1e6)
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]
    assert retries.take_due(100.0) == []
    assert [each.scan.under for each in retries.take_due(130.0)] == [("/a",)]
    assert retries.take_due(200.0) == []  # it is being tried
    retries.note(Job("reconcile", "c", ScanRequest(under=("/b",))), 200.0)
    assert [each.scan.under for each in retries.take_due(300.0)] == [("/a", "/b")]
    retries.settle(Job("reconcile", "c", ScanRequest(under=("/a", "/b"))), done=True)
    assert retries.take_due(1e6) == []


def test_a_path_whose_look_failed_is_looked_at_again_whatever_else_is_looked_at_meanwhile():
    retries = Retries()
    retries.note(Job("reconcile", "c", ScanRequest(under=("/a/x", "/b"))), 100.0)
    retries.settle(Job("reconcile", "c", ScanRequest(under=("/a",))), done=True)
    assert [job.scan.under for job in retries.take_due(200.0)] == [("/b",)]


def test_a_look_at_everything_that_failed_is_not_narrowed_to_a_path_that_failed_too():
    retries = Retries()
    retries.note(Job("reconcile", "c"), 100.0)
    retries.note(Job("reconcile", "c", ScanRequest(under=("/a",))), 100.0)
    assert [job.scan.under for job in retries.take_due(200.0)] == [(), ("/a",)]


def test_a_full_scan_that_failed_is_not_forgotten_because_a_plain_one_was_done():
    retries, full = Retries(), Job("reconcile", "c", ScanRequest(full=True))
    retries.note(full, 100.0)
    retries.settle(Job("reconcile", "c"), done=True)
    assert retries.take_due(200.0) == [full]
    retries.settle(full, done=True)
    assert retries.take_due(1e6) == []


def test_a_burst_of_changes_that_fail_is_one_try():
    retries = Retries()
    tries = [
        retries.note(Job("reconcile", "c", ScanRequest(under=(f"/{n}",))), 100.0) for n in range(9)
    ]
    assert {(each.times, each.again_at) for each in tries} == {(1, 101.0)}


def test_jobs_of_a_corpus_that_is_no_more_are_not_tried_again():
    retries = Retries()
    retries.note(Job("reconcile", "c"), 100.0)
    retries.note(Job("reconcile", "d"), 100.0)
    retries.forget("c")
    assert [job.corpus for job in retries.take_due(200.0)] == ["d"]


def test_a_root_whose_name_no_file_can_have_is_a_problem_of_its_corpus(tmp_path):
    for kind in (Files, Packages, Sessions, Skills):
        scan = kind((Root("/tmp/\0"),), {}).scan()
        assert scan.problems, kind
    assert locate_roots([Root("/tmp/\0")])[0].identity is None
