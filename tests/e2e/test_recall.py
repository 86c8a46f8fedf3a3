"""Which sessions touched a file and whether it is as it was, by the real daemon and clients."""

import os
import time
from itertools import count
from typing import NamedTuple

import pytest

from irclient import Query
from tests.support.claude_session import Session
from tests.support.prompt_hook import asks
from tests.support.recall import Checkout
from tests.support.running import Home, Running, until

QUESTION = "accept carriage returns at the ends of lines in the parser"


class Recalled(NamedTuple):
    """A running daemon's home, a project that it has read, and two files of it."""

    home: Home
    app: Checkout
    parser: str
    notes: str


def write_session(home, app):
    """Write a session in which a file was read and one was written and committed; return both."""
    app.root.chmod(0o755)
    parser = app.write("src/parser.py", "def parse_line(): ...\n")
    notes = app.write("notes.md", "old\n")
    commit = app.commit(time.time())
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    session = Session(sessionId="S1", cwd=str(app.root), timestamp=now)
    session.user("u1", QUESTION).calls("a1", "Read", {"file_path": notes})
    session.calls("a2", "Write", {"file_path": "src/parser.py"})
    session.calls("a3", "Bash", {"command": "git commit -m x"}, f"[main {commit[:7]}] x")
    session.says("a4", "Carriage returns are accepted by `parse_line()` now.", "end_turn")
    directory = home.path / ".claude" / "projects" / "-app"
    directory.mkdir(parents=True)
    (directory / "S1.jsonl").write_text("".join(line + "\n" for line in session.lines))
    return parser, notes


@pytest.fixture
def recalled(home):
    """Give a daemon that has read that session, and the project that it was in."""
    app = Checkout(home.path / "code" / "app")
    parser, notes = write_session(home, app)
    with Running(home) as daemon:
        daemon.wait_idle()
        with home.client() as client:
            client.add_project(str(app.root))
            until(lambda: any(each.verdict for each in client.sessions("parser.py")))
        yield Recalled(home, app, parser, notes)


def test_a_file_tells_the_sessions_that_touched_it_and_whether_it_is_as_it_was(recalled):
    home = recalled.home
    (row,) = home.answer("sessions", recalled.parser)
    assert (row["session"], row["is_write"], row["question"]) == ("claude:S1", True, QUESTION)
    assert (row["verdict"]["state"], row["verdict"]["files"]) == ("holds", 2)
    said = home.irc("sessions", "notes.md")
    assert said.returncode == 0
    assert "read" in said.stdout
    assert "its 2 files are as they were" in said.stdout
    missed = home.irc("sessions", "never.py")
    assert (missed.returncode, missed.stdout) == (
        1,
        "no session is known to have touched never.py\n",
    )


def test_a_recalled_turn_says_what_changed_since(recalled):
    home, told = recalled.home, "1 of its 2 files changed since, 1 is gone"
    recalled.app.write("src/parser.py", "def parse_lines(): ...\n", time.time() + 60)
    os.unlink(recalled.notes)
    with home.client() as client:
        (row,) = client.sessions("parser.py")
        assert row.verdict["changed"] == [recalled.parser]
        assert row.verdict["gone"] == [recalled.notes]
        assert row.verdict["lost_symbols"] == ["parse_line"]
        # Where there is no time for it nothing is said.
        asked = Query(QUESTION, corpora=("sessions",))
        until(lambda: describe(client.discover(asked).results[0].verdict) == ("changed", 2))
        until(lambda: describe(client.disclose(["sessions/S1:u1"])[0].verdict) == ("changed", 2))
    until(lambda: told in home.irc("discover", QUESTION, "-c", "sessions").stdout)
    asking = count()
    until(lambda: f"; {told}\n" in asks(home, QUESTION, session=f"T{next(asking)}"))
    assert "parse_line no longer" not in asks(home, QUESTION, session="last")


def describe(verdict):
    return (verdict.state, verdict.files) if verdict else None


def test_turns_are_found_by_file_and_commit(recalled):
    home, commit = recalled.home, recalled.app.git("rev-parse", "HEAD").strip()
    paths = ("file=src/parser.py", f"file={recalled.notes}", "file_written=parser.py")
    for condition in (*paths, f"commit={commit}"):
        found = home.answer("search", QUESTION, "-c", "sessions", "--where", condition)
        assert [hit["artifact_id"] for hit in found["results"]] == ["S1:u1"], condition
    found = home.answer("search", QUESTION, "-c", "sessions", "--where", "file_written=notes.md")
    assert found["results"] == []


def test_a_project_that_is_forgotten_has_no_verdicts(recalled):
    with recalled.home.client() as client:
        client.forget_project(str(recalled.app.root))
        until(lambda: not any(each.verdict for each in client.sessions("parser.py")))


def test_the_explanation_of_a_turn_says_what_became_of_it(recalled):
    home = recalled.home
    until(
        lambda: (
            "its 2 files are as they were"
            in home.irc("explain", QUESTION, "--item", "sessions/S1:u1").stdout
        )
    )


def test_with_recall_switched_off_nothing_is_kept(home):
    home.config.write_text(home.config.read_text() + "[recall]\nenabled = false\n")
    write_session(home, Checkout(home.path / "code" / "app"))
    with Running(home) as daemon:
        daemon.wait_idle()
        said = home.irc("sessions", "src/parser.py")
        assert said.returncode == 3
        assert "what sessions did is not recorded" in said.stderr
    assert not (home.path / ".local" / "state" / "irdaemon" / "recall.sqlite").exists()
