import argparse
import io
import sys

import pytest

from irclient.cli import follow
from irclient.results import JobProgress, Status


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Answering:
    """A client whose daemon has told how a job is, one state after the other."""

    def __init__(self, *states, running=()):
        self.states = list(states)
        self.running = tuple(running)

    def progress(self, job):
        return self.states.pop(0)

    def status(self):
        return Status(jobs=self.running)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(follow, "_POLL_S", 0)


def drawn(monkeypatch, client):
    """Follow a job to its end on a terminal; return what was drawn there."""
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Terminal())
        (ended,) = follow.await_jobs(client, [1])
        assert ended.state == "done"
        return sys.stderr.getvalue()


def job(state, done=0, todo=0, corpus="big", report=""):
    return JobProgress(1, "reconcile", corpus, state, done, todo, report)


def test_how_far_a_job_is_is_drawn_on_a_terminal_and_erased(monkeypatch):
    text = drawn(monkeypatch, Answering(job("running", 500, 2000), job("done")))
    assert "reconcile big [######" in text
    assert "500/2,000" in text
    assert text.endswith("\r\x1b[K")


def test_while_a_job_waits_the_one_that_runs_is_drawn_of_the_same_corpus_first(monkeypatch):
    others = [job("running", 1, 9, "other"), job("running", 300, 400)]
    assert "300/400" in drawn(monkeypatch, Answering(job("queued"), job("done"), running=others))
    alone = Answering(job("queued"), job("done"), running=others[:1])
    assert "reconcile other" in drawn(monkeypatch, alone)


def test_off_a_terminal_nothing_is_drawn(capsys):
    follow.await_jobs(Answering(job("running", 1, 2), job("done")), [1])
    assert capsys.readouterr() == ("", "")


def test_a_failed_job_is_said_with_its_exit_code(capsys):
    options = argparse.Namespace(no_wait=False, json=False)
    assert follow.follow(Answering(job("failed", report="the disk is full")), [1], options) == 5
    assert capsys.readouterr().out == "big: the disk is full\n"
