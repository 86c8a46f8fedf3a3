"""`irc maintain`: what it prints, what it follows, and how it ends."""

import argparse

import pytest

from irclient.cli.indexing import maintain_corpora
from irclient.cli.main import make_program
from irclient.results import JobProgress, MaintenanceTask
from irclient.terminal.exits import COMMITTED, UNHEALTHY

DUE = MaintenanceTask("notes", "scan", True, "it was never scanned", 7)
NOT_DUE = MaintenanceTask("old", "scan", False, "only by hand: irc build old")


class Daemon:
    """Has every job end in one way."""

    def __init__(self, state="done"):
        self.state = state
        self.followed = []

    def maintain(self, corpus, dry_run):
        return [DUE if not dry_run else MaintenanceTask("notes", "scan", True, "why"), NOT_DUE]

    def progress(self, job):
        self.followed.append(job)
        return JobProgress(job, "reconcile", "notes", self.state, report="the disk is full")


def run(daemon, dry_run=False, no_wait=False):
    options = argparse.Namespace(corpus=None, dry_run=dry_run, no_wait=no_wait, json=False)
    return maintain_corpora.run(daemon, options)


def test_what_is_due_is_followed_to_its_end(capsys):
    daemon = Daemon()
    assert run(daemon) == COMMITTED
    assert daemon.followed == [7]
    shown = capsys.readouterr().out
    assert "job 7" in shown
    assert "it was never scanned" in shown


@pytest.mark.parametrize("how", [{"dry_run": True}, {"no_wait": True}])
def test_a_dry_run_and_one_that_does_not_wait_follow_nothing(how, capsys):
    daemon = Daemon("failed")
    assert run(daemon, **how) == COMMITTED
    assert daemon.followed == []
    assert "only by hand: irc build old" in capsys.readouterr().out


def test_what_failed_is_told_beside_the_whole_report(capsys):
    assert run(Daemon("failed")) == UNHEALTHY
    shown = capsys.readouterr()
    assert "notes" in shown.out
    assert "old" in shown.out
    assert shown.err == "irc: reconcile notes: the disk is full\n"


@pytest.mark.parametrize("command", ["maintain", "coverage"])
def test_the_corpus_of_maintain_and_of_coverage_is_an_optional_argument_and_no_option(
    command, capsys
):
    assert make_program([command]).parse_args([command]).corpus is None
    assert make_program([command]).parse_args([command, "notes"]).corpus == "notes"
    with pytest.raises(SystemExit):
        make_program([command]).parse_args([command, "--corpus", "notes"])
    assert "--corpus" in capsys.readouterr().err
