"""`irc prompts write`: what a person is told and asked before anything is sent."""

import pytest

from irclient.cli import prompts_write
from irclient.cli.main import make_program
from irclient.cli.prompts import manage_prompts
from irclient.errors import QueryError
from irclient.results import PromptPlan, PromptWriting
from irclient.terminal.help import parse_options

PLAN = PromptPlan(
    "claude", "/bin/claude", "", [{"corpus": "s", "items": 3, "outdated": 1}], 3, 900, 20_000
)


class Daemon:
    def __init__(self, plan=PLAN, state="done", left=0):
        self.plan, self.begun, self.changes = plan, [], []
        self.run = PromptWriting(
            state, "claude", ["s"], 20_000, items=3, written=3 - left, left=left
        )

    def prompts_plan(self, corpora, writer):
        return self.plan

    def prompts_write(self, corpora, writer, budget):
        self.begun.append((corpora, writer, budget))
        return self.run

    def prompts_writing(self, change=""):
        self.changes.append(change)
        return self.run


def run(daemon, *words):
    words = ["prompts", "write", *words]
    return manage_prompts.run(daemon, parse_options(make_program(words), words))


@pytest.fixture
def answers(monkeypatch):
    """Have a person at a terminal, who answers with what is in the list."""
    given = []
    monkeypatch.setattr(prompts_write, "_may_ask", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: given.pop(0))
    return given


def test_it_is_asked_for_and_begun_for_what_was_shown(answers, capsys):
    daemon = Daemon()
    answers.append("y")
    assert run(daemon) == 0
    assert daemon.begun == [(["s"], "claude", 20_000)]
    told = capsys.readouterr().out
    assert "3 items, about 900 tokens (at most 20,000), by claude: /bin/claude" in told
    assert "without secrets" in told


@pytest.mark.parametrize("answer", ["", "n", "what?"])
def test_anything_but_yes_sends_nothing(answers, answer):
    daemon = Daemon()
    answers.append(answer)
    assert run(daemon, "s") == 0
    assert daemon.begun == []


def test_without_a_terminal_nothing_is_sent_and_that_is_said(capsys):
    daemon = Daemon()
    assert run(daemon) == 2
    assert daemon.begun == []
    assert "--yes starts without asking" in capsys.readouterr().err


def test_a_budget_of_ones_own_is_that(capsys):
    daemon = Daemon()
    assert run(daemon, "s", "--yes", "--budget", "500", "--with", "codex") == 0
    assert daemon.begun == [(["s"], "codex", 500)]


def test_who_cannot_be_used_and_nothing_to_write_are_told():
    with pytest.raises(QueryError, match="not on the daemon's PATH"):
        run(Daemon(PromptPlan("claude", problem="claude is not on the daemon's PATH")), "--yes")
    assert run(Daemon(PromptPlan("claude")), "--yes") == 4


@pytest.mark.parametrize(
    ("state", "left", "code"), [("failed", 0, 5), ("done", 1, 5), ("done", 0, 0)]
)
def test_the_exit_code_says_whether_all_was_written(state, left, code):
    assert run(Daemon(state=state, left=left), "--yes") == code


def test_a_run_can_be_held_and_ended():
    daemon = Daemon(state="paused")
    assert run(daemon, "--pause") == run(daemon, "--stop") == 0
    assert daemon.changes == ["pause", "stop"]
