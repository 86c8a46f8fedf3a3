"""A question that was broken off is found by every client, and goes where it is answered."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

import irclient
from irclient import Query
from tests.support.running import Home, Running, until

START = str(Path(irclient.__file__).parent / "agents" / "hook" / "start.py")
QUESTION = "why does the websocket reconnect in a loop"
ANSWER = "The backoff is reset too early."
SAYS = "2026-09-01, chat, claude."
BROKEN_OFF = f"{SAYS} Interrupted after: I read the client first."


class Transcript:
    """A session of Claude Code that grows."""

    def __init__(self, home: Home):
        self.path = home.path / ".claude" / "projects" / "-chat" / "S.jsonl"
        self.path.parent.mkdir(parents=True)
        self.last: str | None = None

    def add(self, kind: str, content: object, **parts: object) -> None:
        uuid = f"u{self.path.stat().st_size if self.path.exists() else 0}"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last,
            "sessionId": "S",
            "timestamp": "2026-09-01T10:00:00.000Z",
            "cwd": "/w/chat",
            "version": "2.1.263",
            "message": {"role": kind, "content": content, **parts},
        }
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.last = uuid

    def says(self, text: str, stop_reason: str | None = None) -> None:
        self.add("assistant", [{"type": "text", "text": text}], stop_reason=stop_reason)


@pytest.fixture
def session(home):
    made = Transcript(home)
    made.add("user", "list the open ports")
    made.says("Ports 80 and 443.", "end_turn")
    made.add("user", QUESTION)
    made.says("I read the client first.")
    return made


def outcomes(home):
    with home.client() as client:
        found = client.search(Query(QUESTION, ("sessions",))).results
    return [each.fields["outcome"] for each in found if each.name == QUESTION]


def hook(home, prompt, session_id):
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session_id, "prompt": prompt}
    command = [sys.executable, "-I", "-S", START, "--agent", "claude", "--budget-ms", "5000"]
    env = {"HOME": str(home.path), "XDG_RUNTIME_DIR": str(home.runtime)}
    done = subprocess.run(command, input=json.dumps(event), capture_output=True, text=True, env=env)
    return done.stdout


def over_mcp(home, prompt):
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "irclient.quick", "mcp"], env=home.env
    )

    async def asked():
        async with Client(server) as client:
            return await client.call_tool("discover", {"query": prompt})

    return anyio.run(asked)


def test_a_question_that_was_interrupted_is_found_and_says_so(home, session):
    with Running(home) as running:
        running.wait_idle()
        # The agent works on it: what it is asked must not come back to it.
        assert outcomes(home) == []
        session.add("user", [{"type": "text", "text": "[Request interrupted by user]"}])
        until(lambda: outcomes(home) == ["interrupted"])
        (hit,) = home.answer("discover", QUESTION)["results"]
        assert (hit["name"], hit["summary"]) == (QUESTION, BROKEN_OFF)
        assert hit["fields"]["outcome"] == "interrupted"
        shown = " ".join(home.irc("discover", QUESTION).stdout.split())
        assert "Interrupted after: I read the client first." in shown
        assert BROKEN_OFF in hook(home, QUESTION, "another")
        assert hook(home, QUESTION, "S") == ""
        assert BROKEN_OFF in str(over_mcp(home, QUESTION).structured_content)
        assert home.answer("discover", QUESTION, "--where", "outcome=answered")["abstained"]
        body = home.irc("disclose", f"sessions/{hit['artifact_id']}").stdout
        assert "Answer (interrupted)" in body


def test_a_question_asked_again_is_there_once_and_answered(home, session):
    session.add("user", [{"type": "text", "text": "[Request interrupted by user]"}])
    with Running(home) as running:
        running.wait_idle()
        assert outcomes(home) == ["interrupted"]
        session.add("user", QUESTION)
        until(lambda: outcomes(home) == [])
        session.says(ANSWER, "end_turn")
        until(lambda: outcomes(home) == ["answered"])
        (hit,) = home.answer("discover", QUESTION)["results"]
        assert hit["summary"] == f"{SAYS} Answered: {ANSWER}"
