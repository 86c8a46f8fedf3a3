"""A session is told of a cure once, and that is noted where it may be."""

from contextlib import closing

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.recall.observer import RecallObserver
from irdaemon.contrib.usage.notes import UsageOptions
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.engine.queue import Job
from irdaemon.source.sessions import Sessions
from irdaemon.strategy import ClaudeTurn
from irdaemon.types import Root
from tests.support.claude_session import Session
from tests.support.corpora import engine
from tests.support.operations import ask

FAILED = "Exit code 1\nModuleNotFoundError: No module named 'requests'"


@pytest.fixture
def made(tmp_path):
    """Give an engine that has read a session in which an error went away."""
    session = Session(sessionId="past", cwd="/w", timestamp="2026-05-04T10:00:00Z")
    session.user("u1", "make the tests pass")
    session.calls("a1", "Bash", {"command": "pytest -q"}, FAILED, is_error=True)
    session.calls("a2", "Bash", {"command": "uv add requests"}, "Resolved 3 packages")
    session.calls("a3", "Bash", {"command": "pytest"}, "4 passed")
    session.says("a4", "They pass.", "end_turn")
    session.read(tmp_path / "sessions", "past.jsonl")
    source = Sessions((Root(str(tmp_path / "sessions")),), {})
    made = engine(
        Corpus("sessions", "sessions", source, ClaudeTurn(), "hashing"),
        path=str(tmp_path / "ledger.sqlite"),
        addons={
            "recall": str(tmp_path / "recall.sqlite"),
            "usage": UsageOptions(str(tmp_path / "usage.sqlite"), str(tmp_path / "usage.key")),
        },
    )
    made.request(Job("reconcile", "sessions"))
    made.drain()
    yield made
    for addon in made.addons.values():
        addon.close()
    made.ledger.close()


def cure(made, **args):
    """Return the command of the cure that a failed one is told, "" without one."""
    found = ask(made, "find_cure", command="pytest", output=FAILED, **args)
    return found[0]["command"] if found else ""


def list_noted(made):
    observer = UsageObserver.find_in(made.addons)
    observer.tick()
    with closing(observer.notes.open_changing()) as store:
        return [(each.op, each.session) for each in store.list_offers()]


def test_a_session_is_told_once_and_that_is_noted(made):
    assert cure(made, session="claude:new") == "uv add requests"
    assert cure(made, session="claude:new") == ""
    assert list_noted(made) == [("find_cure", "claude:new")]


def test_where_nothing_may_be_noted_it_is_told_once_and_not_noted(made):
    assert cure(made, session="claude:new", noted=False) == "uv add requests"
    assert cure(made, session="claude:new", noted=False) == ""
    assert list_noted(made) == []


def test_without_a_session_it_is_told_whenever_it_is_asked(made):
    assert [cure(made), cure(made)] == ["uv add requests"] * 2
    assert cure(made, session="claude:new") == "uv add requests"


@pytest.mark.parametrize(("field", "keys", "at"), [("command", 6, 8_000), ("output", 30, 40_000)])
def test_of_a_secret_that_a_cut_would_divide_nothing_is_compared(
    made, monkeypatch, field, keys, at
):
    seen = []
    monkeypatch.setattr(RecallObserver, "find_cure", lambda _, failed: seen.append(failed))
    key = f"-----BEGIN PRIVATE KEY-----\n{'A' * 1000}\n-----END PRIVATE KEY-----\n"
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    text = key * keys
    text += "x " * ((at - 20 - len(text)) // 2) + secret
    ask(made, "find_cure", **{"command": "pytest", "output": FAILED, field: text})
    assert "ghp_" not in f"{seen[0].command}{seen[0].output}"
