"""What the tool calls of a turn did: files touched, commits made, commands run."""

from pathlib import Path

import pytest

from irdaemon.source.sessions.calls import normalize_path
from irdaemon.source.sessions.item_uses import read_tool_call
from tests.support.claude_session import Session

EDIT = {"file_path": "/home/u/app/p.py", "old_string": "1", "new_string": "2"}


def finished(session: Session, tmp_path: Path, **options: object):
    """Return what a session's one turn holds, once it has its answer."""
    reading = session.says("end", "Done.", "end_turn").read(tmp_path, **options)
    return reading.artifacts[0].raw, reading.turns[0].runs


@pytest.mark.parametrize(
    ("tool", "given", "read", "written"),
    [
        ("Read", {"file_path": "/w/p.py"}, ["/w/p.py"], []),
        ("Write", {"file_path": "p.py"}, [], ["p.py"]),
        ("NotebookEdit", {"notebook_path": "/w/n.ipynb"}, [], ["/w/n.ipynb"]),
        ("str_replace_editor", {"path": "p.py", "command": "view"}, ["p.py"], []),
        ("mcp__fs__read_file", {"path": "p.py"}, ["p.py"], []),
        ("Grep", {"path": "src", "pattern": "x"}, [], []),
        ("Bash", {"command": "cat a.py b.py | head -5"}, ["a.py", "b.py"], []),
        ("Bash", {"command": "head -n 20 a.py && make"}, ["a.py"], []),
        ("Bash", {"command": "sed -n '1,20p' a.py"}, ["a.py"], []),
        ("Bash", {"command": "sed -i s/a/b/ a.py"}, [], ["a.py"]),
        ("Bash", {"command": "echo x > out.txt 2>/dev/null"}, [], ["out.txt"]),
        ("Bash", {"command": "cat > a.md << 'EOF'\n> b.md\nEOF"}, [], ["a.md"]),
        ("Bash", {"command": "cat *.py $FILE > /dev/null"}, [], []),
        ("Bash", {"command": "echo 'not closed"}, [], []),
        ("shell", {"command": ["bash", "-lc", "tail -3 a.py"]}, ["a.py"], []),
        (
            "apply_patch",
            "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n"
            "*** Add File: b.py\n+3\n*** End Patch",
            [],
            ["a.py", "b.py"],
        ),
    ],
)
def test_a_call_tells_which_files_it_reads_and_writes(tool, given, read, written):
    call = read_tool_call("t", tool, given)
    touches = call.touches if call else ()
    assert [path for path, is_write in touches if not is_write] == read
    assert [path for path, is_write in touches if is_write] == written


@pytest.mark.parametrize(
    ("path", "at"),
    [
        ("p.py", "/w/p.py"),
        ("../p.py", "/p.py"),
        ("/a//b/./p.py", "/a/b/p.py"),
        ("C:\\src\\p.py", "C:/src/p.py"),
        ("file:///a/p.py", "/a/p.py"),
        ("", ""),
        ("two\nlines", ""),
    ],
)
def test_a_path_is_made_absolute(path, at):
    assert normalize_path(path, "/w") == at


def test_a_relative_path_without_a_directory_is_no_path():
    assert normalize_path("p.py", "") == ""


def test_a_turn_tells_its_files_by_absolute_path(tmp_path):
    session = Session().user("u1", "fix it").calls("a1", "Read", {"file_path": "q.py"})
    raw, _ = finished(session.calls("a2", "Edit", EDIT), tmp_path)
    assert raw["file"] == ["/home/u/app/q.py", "/home/u/app/p.py"]
    assert raw["file_written"] == ["/home/u/app/p.py"]


def test_a_command_line_is_taken_from_where_it_goes_first(tmp_path):
    command = {"command": "cd sub && cat p.py"}
    raw, _ = finished(Session().user("u1", "look").calls("a1", "Bash", command), tmp_path)
    assert raw["file"] == ["/home/u/app/sub/p.py"]


def test_a_call_that_failed_touched_nothing(tmp_path):
    session = Session().user("u1", "fix it")
    session.calls(
        "a1", "Edit", EDIT, "<tool_use_error>not read yet</tool_use_error>", is_error=True
    )
    raw, runs = finished(session, tmp_path)
    assert "file" not in raw
    assert runs == ()


def test_results_of_calls_made_at_once_are_all_known(tmp_path):
    session = Session().user("u1", "fix it").calls("a1", "Bash", {"command": "make a"})
    session.back_to("a1").calls(
        "a2", "Bash", {"command": "make b"}, "Exit code 1\nno", is_error=True
    )
    _, runs = finished(session, tmp_path)
    assert [(run.command, run.failed, run.output) for run in runs] == [
        ("make a", False, ""),
        ("make b", True, "no"),
    ]


def test_what_was_written_stands_among_the_commands(tmp_path):
    session = Session().user("u1", "fix it").calls("a1", "Bash", {"command": "make"})
    _, runs = finished(session.calls("a2", "Edit", EDIT), tmp_path)
    assert [(run.command, run.wrote) for run in runs] == [("make", ""), ("", "/home/u/app/p.py")]


def test_a_command_that_a_person_refused_was_not_run(tmp_path):
    session = Session().user("u1", "fix it")
    refused = "The user doesn't want to proceed with this tool use."
    _, runs = finished(
        session.calls("a1", "Bash", {"command": "make"}, refused, is_error=True), tmp_path
    )
    assert runs == ()


@pytest.mark.parametrize(
    ("calls", "commits"),
    [
        ([("git commit -m x", "[main 0a1b2c3] x\n 1 file changed")], ["0a1b2c3"]),
        ([("git commit -m x", "[main (root-commit) 0a1b2c3] x")], ["0a1b2c3"]),
        ([("git commit -qm x && git log --oneline -1", "0a1b2c3 x")], ["0a1b2c3"]),
        ([("git commit -qm x", ""), ("git rev-parse HEAD", "0a1b2c3d" * 5)], ["0a1b2c3d" * 5]),
        ([("git log --oneline", "0a1b2c3 x")], []),
        ([("tail build.log", "[main 0a1b2c3] x")], []),
    ],
)
def test_a_turn_tells_the_commits_that_it_made(tmp_path, calls, commits):
    session = Session().user("u1", "commit it")
    for at, (command, output) in enumerate(calls):
        session.calls(f"a{at}", "Bash", {"command": command}, output)
    raw, _ = finished(session, tmp_path)
    assert raw.get("commit", []) == commits


def test_what_a_sub_agent_touched_belongs_to_the_turn_it_worked_in(tmp_path):
    session = Session().user("u1", "fix it").calls("a1", "Task", {"subagent_type": "x"})
    session.calls("b1", "Edit", EDIT)
    for at in (-2, -1):
        session.lines[at] = session.lines[at].replace('"type"', '"isSidechain": true, "type"', 1)
    raw, _ = finished(session.back_to("a1-result"), tmp_path)
    assert raw["file_written"] == ["/home/u/app/p.py"]
