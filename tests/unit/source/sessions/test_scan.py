"""Which session files are found, and what a scan answers for."""

import os
from pathlib import Path

import pytest

from irclient.errors import QueryError
from irdaemon.source.places import keep_existing
from irdaemon.source.sessions import Sessions, list_known_places
from irdaemon.types import Root, SourceError

LINE = '{"type": "user", "uuid": "u", "parentUuid": null, "message": {"content": "hi"}}\n'


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "projects"
    for name in (
        "-w/A.jsonl",
        "-w/A/subagents/agent-1.jsonl",
        "-v/B.jsonl",
        "-w/A/tool-results/x.jsonl",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(LINE)
    return top


def sessions(top: Path, **options: object) -> Sessions:
    return Sessions((Root(str(top)),), options)


def names(source: Sessions, under: Path | None = None) -> list[str]:
    return [Path(e.path).name for e in source.scan(str(under) if under else None).entries]


def test_session_files_are_found_and_spilled_output_is_not(projects: Path) -> None:
    source = sessions(projects)
    assert names(source) == ["B.jsonl", "A.jsonl", "agent-1.jsonl"]
    assert source.scan().covered == ("",)


def test_a_changed_file_is_scanned_alone(projects: Path) -> None:
    changed = projects / "-w/A.jsonl"
    scan = sessions(projects).scan(str(changed))
    assert [e.path for e in scan.entries] == [str(changed)]
    assert scan.covered == (str(changed),)


def test_a_vanished_file_is_covered_and_not_found(projects: Path) -> None:
    gone = projects / "-w/A.jsonl"
    gone.unlink()
    scan = sessions(projects).scan(str(gone))
    assert (scan.entries, scan.covered) == ((), (str(gone),))


def test_a_changed_directory_is_scanned_below(projects: Path) -> None:
    scan = sessions(projects).scan(str(projects / "-v"))
    assert [Path(e.path).name for e in scan.entries] == ["B.jsonl"]
    assert scan.covered == (str(projects / "-v"),)


def test_a_change_to_anything_else_says_nothing(projects: Path, tmp_path: Path) -> None:
    (projects / "-w/notes.md").write_text("x")
    source = sessions(projects)
    for path in (
        projects / "-w/notes.md",
        projects / "-w/A/tool-results/x.jsonl",
        tmp_path / "y.jsonl",
    ):
        scan = source.scan(str(path))
        assert (scan.entries, scan.covered) == ((), ())


def test_a_missing_root_is_a_problem_and_nothing_in_it_is_gone(tmp_path: Path) -> None:
    scan = sessions(tmp_path / "absent").scan()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "absent")]


def test_a_root_that_appears_is_scanned_when_its_parent_changes(projects: Path) -> None:
    assert len(names(sessions(projects), projects.parent)) == 3


def test_a_file_reached_twice_is_found_once(projects: Path) -> None:
    (projects / "-w/C.jsonl").symlink_to(projects / "-w/A.jsonl")
    (projects / "linked").symlink_to(projects / "-v")
    assert names(sessions(projects)) == ["B.jsonl", "A.jsonl", "agent-1.jsonl"]


def test_a_stamp_changes_when_a_line_is_appended(projects: Path) -> None:
    source = sessions(projects)
    before = source.scan().entries[0].stamp
    with (projects / "-v/B.jsonl").open("a") as file:
        file.write(LINE)
    assert source.scan().entries[0].stamp != before


def test_sessions_older_than_the_window_are_left_out_of_every_scan(projects: Path) -> None:
    old = projects / "-v/B.jsonl"
    os.utime(old, (0, 0))
    source = sessions(projects, since_days=30)
    assert names(source) == ["A.jsonl", "agent-1.jsonl"]
    assert names(source, old) == []


def test_a_fifo_is_neither_found_nor_opened(projects: Path) -> None:
    pipe = projects / "-v/pipe.jsonl"
    os.mkfifo(pipe)
    source = sessions(projects)
    assert "pipe.jsonl" not in names(source) + names(source, pipe)
    entry = source.scan(str(projects / "-v/B.jsonl")).entries[0]
    os.replace(pipe, projects / "-v/B.jsonl")
    with pytest.raises(SourceError, match="not a regular file"):
        source.read(entry)


def test_reading_a_vanished_session_says_it_is_gone(projects: Path) -> None:
    source = sessions(projects)
    entry = source.scan().entries[0]
    Path(entry.path).unlink()
    with pytest.raises(FileNotFoundError):
        source.read(entry)


def test_a_file_no_agent_wrote_is_counted(projects: Path) -> None:
    other = projects / "-v/B.jsonl"
    other.write_text('{"some": "log"}\n')
    source = sessions(projects)
    reading = source.read(source.scan(str(other)).entries[0])
    assert (reading.artifacts, reading.skipped) == ((), {"unrecognised": 1})


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(QueryError, match="subagent"):
        Sessions((), {"subagent": True})


def test_known_roots_are_the_existing_ones(tmp_path: Path) -> None:
    for name in (".claude/projects", ".codex/archived_sessions", "elsewhere/sessions"):
        (tmp_path / name).mkdir(parents=True)
    home = str(tmp_path)
    assert [root.path for root in keep_existing(list_known_places(home, {}))] == [
        f"{home}/.claude/projects",
        f"{home}/.codex/archived_sessions",
    ]
    moved = keep_existing(
        list_known_places(home, {"CODEX_HOME": f"{home}/elsewhere", "CLAUDE_CONFIG_DIR": "/absent"})
    )
    assert [root.path for root in moved] == [f"{home}/elsewhere/sessions"]
