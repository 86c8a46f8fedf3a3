"""A failed command, by recorded events of each agent and the real daemon."""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.claude_session import Session
from tests.support.hook_events import AGENTS, load_events, read_context, send
from tests.support.running import Home, Running, until

FAILED = "Exit code 1\nModuleNotFoundError: No module named 'requests'"
TOLD = (
    'in session "claude:past" ("make the tests pass"): it was gone after "uv add requests" and an'
    ' edit of "~/w/conftest.py". irc disclose "sessions/past:u1" has that turn.'
)


def write_session(home, name, error):
    """Write a session in which a command failed, and succeeded after a command and an edit."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86_400))
    session = Session(sessionId=name, cwd=str(home.path / "w"), timestamp=now)
    session.user("u1", "make the tests pass")
    session.calls("a1", "Bash", {"command": "pytest -q"}, error, is_error=True)
    session.calls("a2", "Edit", {"file_path": "conftest.py", "old_string": "1", "new_string": "2"})
    session.calls("a3", "Bash", {"command": "uv add requests"}, "Resolved 3 packages")
    session.calls("a4", "Bash", {"command": "cd . && pytest"}, "4 passed")
    session.says("a5", "They pass.", "end_turn")
    path = home.path / ".claude" / "projects" / "-w" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in session.lines))


@pytest.fixture(scope="module")
def daemon(module_home):
    write_session(module_home, "past", FAILED)
    with Running(module_home) as running:
        running.wait_idle()
        yield running


@pytest.fixture
def home(daemon):
    return daemon.home


def fail(home, agent, session, **changed):
    """Send the failure of an agent's session; return what is said of it."""
    event = load_events(agent)["failure"]
    named = {key: session for key in ("session_id", "sessionId", "conversation_id") if key in event}
    written = send(home, agent, {**event, **named, **changed}, moments="error")
    if written and agent == "cursor":
        return json.loads(written)["additional_context"]
    return read_context(agent, written)


def count(home, agent, outcome):
    found = home.answer("usage")["moments"]
    key = (agent, "error", outcome)
    return sum(e["n"] for e in found if (e["agent"], e["moment"], e["outcome"]) == key)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_same_error_is_told_once_a_session_and_counted(home, agent):
    told, silent = count(home, agent, "told"), count(home, agent, "silent")
    said = fail(home, agent, f"{agent}-1")
    assert said.startswith("<irdaemon>\nThe same error on ")
    assert TOLD in said
    assert fail(home, agent, f"{agent}-1") == ""
    assert TOLD in fail(home, agent, f"{agent}-2")
    assert count(home, agent, "told") == told + 2
    assert count(home, agent, "silent") == silent + 1


def test_what_was_told_is_in_the_report_on_use(home):
    assert TOLD in fail(home, "claude", "noted")
    until(lambda: home.answer("usage", "--item", "sessions/past:u1")["items"])


def test_what_is_told_where_nothing_may_be_noted_is_not_in_the_report_on_use(tmp_path):
    (tmp_path / ".noirdaemon").touch()
    with TemporaryDirectory(prefix="ir") as directory:
        home = Home(Path(directory))
        write_session(home, "past", FAILED)
        with Running(home) as running:
            running.wait_idle()
            assert TOLD in fail(home, "claude", "private", cwd=str(tmp_path))
            assert TOLD in fail(home, "claude", "noted")
            until(lambda: home.answer("usage")["answers"])  # they are written in their order
            assert home.answer("usage")["answers"] == 1


def test_another_error_is_silence(home):
    other = "Exit code 1\nModuleNotFoundError: No module named 'numpy'"
    assert fail(home, "claude", "other", error=other) == ""
    assert fail(home, "claude", "other", tool_input={"command": "npm test"}) == ""


def test_a_session_is_not_told_of_itself(home):
    assert fail(home, "claude", "past") == ""


@pytest.mark.parametrize("agent", ["codex", "gemini", "cursor"])
def test_a_command_that_succeeded_is_silence(home, agent):
    assert send(home, agent, load_events(agent)["success"], moments="error") == ""


def test_an_interrupted_command_is_silence(home):
    assert send(home, "claude", load_events("claude")["interrupted"], moments="error") == ""


@pytest.mark.parametrize("agent", AGENTS)
def test_without_the_switch_nothing_is_said(home, agent):
    for moments in ("", "compact,subagent"):
        assert send(home, agent, load_events(agent)["failure"], moments=moments) == ""


BAD = (
    b'{"hook_event_name": "PostToolUseFailure", "session_id": "S", "tool_na',
    b'{"hook_event_name": "PostToolUseFailure", "session_id": "S"}',
    b'{"hook_event_name": "PostToolUseFailure", "session_id": "S", "tool_name": "Bash"}',
    b'{"hook_event_name": "PostToolUseFailure", "session_id": "S", "tool_name": "Bash",'
    b' "tool_input": {"command": ["x", 7]}, "error": "e"}',
    b'{"hook_event_name": "PostToolUseFailure", "session_id": "S", "tool_name": "Bash",'
    b' "tool_input": {"command": "x"}, "error": {"message": "e"}}',
    b'{"hook_event_name": "PostToolUseFailure", "session_id": 4, "tool_name": "Bash",'
    b' "tool_input": {"command": "x"}, "error": "e"}',
    b'{"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "'
    + b"y" * 5_000_000
    + b'"}',
)


def test_bad_events_are_silent_and_counted(home):
    before = count(home, "claude", "bad")
    for raw in BAD:
        assert send(home, "claude", {}, raw=raw, moments="error") == "", raw[:90]
    until(lambda: count(home, "claude", "bad") == before + len(BAD))


def test_unknown_fields_and_long_outputs_change_nothing(home):
    long = "building\n" * 50_000 + FAILED
    said = fail(home, "claude", "unknown", error=long, new={"deep": [1, None]}, agent_type=7)
    assert TOLD in said
