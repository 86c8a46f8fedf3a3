"""Sessions in databases: found one by one, read without a trace, and never in anybody's way."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from irdaemon.source.sessions import Sessions
from irdaemon.types import Root, SourceError

SHAPES = Path(__file__).parents[3] / "transcripts"


def make(directory: Path, shape: str = "opencode-1.sql", name: str = "opencode.db") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SHAPES / shape).read_text())
    return path


def in_wal_mode(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    return connection


def ask(connection: sqlite3.Connection, id: str = "msg_x") -> None:
    connection.execute(
        "INSERT INTO message VALUES (?, 'ses_1', 1788256900000, 1788256900000, '{}')", (id,)
    )
    connection.commit()


def source(path: Path, **options: object) -> Sessions:
    return Sessions((Root(str(path)),), options)


def stamps(found: Sessions, under: Path | None = None) -> dict[str, str]:
    list_sessions = found.scan(str(under) if under else None).entries
    return {entry.key.rpartition("#")[2]: entry.stamp for entry in list_sessions}


def test_every_session_is_an_entry_and_only_a_changed_one_has_a_new_stamp(tmp_path):
    path = make(tmp_path)
    before = stamps(source(path))
    with closing(sqlite3.connect(path)) as connection:
        ask(connection)
    after = stamps(source(path))
    assert set(before) == set(after) == {"ses_1", "ses_2"}
    assert {id for id in before if before[id] != after[id]} == {"ses_1"}


def test_a_database_at_rest_is_read_without_a_trace(tmp_path):
    path = make(tmp_path)
    in_wal_mode(path).close()
    before, there = path.read_bytes(), os.listdir(tmp_path)
    found = source(path)
    for entry in found.scan().entries:
        found.read(entry)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, there)


def test_what_its_owner_has_only_logged_so_far_is_read(tmp_path):
    path = make(tmp_path)
    with closing(in_wal_mode(path)) as owner:
        before = stamps(source(path))
        ask(owner)
        assert stamps(source(path))["ses_1"] != before["ses_1"]
        assert (tmp_path / "opencode.db-wal").stat().st_size > 0


def test_a_log_that_was_left_alone_is_left_alone(tmp_path):
    path = make(tmp_path / "live")
    with closing(in_wal_mode(path)) as owner:
        ask(owner)
        (tmp_path / "copy").mkdir()
        for name in ("opencode.db", "opencode.db-wal"):
            shutil.copy(path.with_name(name), tmp_path / "copy" / name)
    copy = tmp_path / "copy/opencode.db"
    assert set(stamps(source(copy))) == {"ses_1", "ses_2"}
    assert sorted(os.listdir(copy.parent)) == ["opencode.db", "opencode.db-wal"]


def test_a_write_to_the_log_asks_for_a_look_at_the_database_and_reading_it_does_not(tmp_path):
    path = make(tmp_path)
    found = source(tmp_path)
    for name, asks in (
        ("opencode.db-wal", True),
        ("opencode.db", True),
        ("opencode.db-shm", False),
    ):
        scan = found.scan(str(tmp_path / name))
        assert bool(scan.entries) == asks, name
        assert scan.covered == ((str(path),) if asks else ())


def test_the_editors_database_waits_for_a_whole_look(tmp_path):
    path = make(tmp_path, "cursor.sql", "state.vscdb")
    assert set(stamps(source(path))) == {"K1", "K3"}
    assert source(path).scan(str(path)).covered == ()
    path.unlink()
    assert source(path.parent).scan(str(path)).covered == (str(path),)


def test_a_database_of_no_known_agent_is_a_problem_that_names_its_tables(tmp_path):
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE spells (x)")
    scan = source(tmp_path).scan()
    assert scan.entries == ()
    assert [problem.path for problem in scan.problems] == [str(path)]
    assert "spells" in scan.problems[0].reason


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_file_that_is_no_database_is_a_problem(tmp_path, content):
    path = tmp_path / "opencode.db"
    path.write_bytes(content)
    (problem,) = source(tmp_path).scan().problems
    assert problem.path == str(path)


def test_a_locked_database_is_a_problem_until_it_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr("irdaemon.source.sessions.stores._PATIENCE_S", 0.0)
    path = make(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN EXCLUSIVE")
        (problem,) = source(path).scan().problems
        assert "locked" in problem.reason
    assert set(stamps(source(path))) == {"ses_1", "ses_2"}


def test_a_session_that_is_gone_by_the_time_it_is_read_is_gone(tmp_path):
    path = make(tmp_path)
    found = source(path)
    entry = next(e for e in found.scan().entries if e.key.endswith("ses_1"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM session WHERE id = 'ses_1'")
        connection.commit()
    with pytest.raises(FileNotFoundError):
        found.read(entry)
    path.write_bytes(b"x")
    with pytest.raises(SourceError):
        found.read(entry)


def test_sessions_older_than_the_window_are_left_out(tmp_path):
    path = make(tmp_path, "cursor.sql", "state.vscdb")
    days = 365 * 1  # K3 is of 2023, K1 of 2026
    assert "K3" not in stamps(source(path, since_days=days))
