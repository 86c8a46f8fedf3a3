"""Backup and restore: a whole ledger in one private file, and back, in one step."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from irdaemon.engine.queue import Job
from irdaemon.ledger import Ledger
from irdaemon.ledger.backups import BackupError, back_up, restore
from irdaemon.ledger.files import copy_database, list_set_aside
from tests.support.corpora import contents, engine, mapped
from tests.support.damage import ITEMS, change
from tests.support.ledgers import FORMATS, unpacked


@pytest.fixture
def made(tmp_path):
    made = engine(mapped(dict(ITEMS)), path=str(tmp_path / "state" / "ledger.sqlite"))
    made.request(Job("reconcile", "m"))
    made.drain()
    yield made
    made.ledger.close()


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "kept.db")


def held(path):
    with closing(Ledger(path, read_only=True)) as view:
        return contents(view, "m")


def names(path):
    return sorted(each.name for each in Path(path).parent.iterdir())


def test_a_backup_holds_all_there_is_while_the_ledger_is_open_and_is_private(made, file):
    assert back_up(made.ledger.path, file) == os.path.getsize(file)
    assert held(file) == contents(made.ledger, "m")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert names(file) == ["kept.db", "state"]  # no log beside it, nothing half-written


def test_a_backup_replaces_no_file_unless_told_to(made, file):
    Path(file).write_text("precious")
    with pytest.raises(BackupError, match="exists already"):
        back_up(made.ledger.path, file)
    assert Path(file).read_text() == "precious"
    back_up(made.ledger.path, file, replace=True)
    assert len(held(file)) == len(ITEMS)


def test_a_backup_that_cannot_be_written_leaves_nothing(made, tmp_path):
    with pytest.raises(BackupError, match="not a directory"):
        back_up(made.ledger.path, str(tmp_path / "missing" / "kept.db"))
    with pytest.raises(BackupError, match="exists already"):
        back_up(made.ledger.path, str(tmp_path), replace=True)
    assert names(tmp_path / "x") == ["state"]


def test_a_restored_ledger_is_the_one_of_the_backup_and_the_old_one_is_kept(made, file):
    back_up(made.ledger.path, file)
    before = contents(made.ledger, "m")
    made.ledger.entries.forget("m", ["t1", "t2"])
    now = contents(made.ledger, "m")
    made.ledger.close()
    old = restore(file, made.ledger.path)
    assert held(made.ledger.path) == before
    assert held(old) == now
    assert list_set_aside(made.ledger.path) == [old]
    assert stat.S_IMODE(os.stat(made.ledger.path).st_mode) == 0o600


def test_a_restored_ledger_is_not_mixed_with_the_log_of_the_one_before(made, file, tmp_path):
    back_up(made.ledger.path, file)
    made.ledger.entries.forget("m", ["t1", "t2"])
    state = Path(made.ledger.path).parent
    killed = tmp_path / "killed"
    killed.mkdir()
    for each in state.iterdir():  # as after a kill: the log holds what the file does not
        (killed / each.name).write_bytes(each.read_bytes())
    path = str(killed / "ledger.sqlite")
    assert os.path.getsize(f"{path}-wal")
    old = restore(file, path)
    assert len(held(path)) == len(ITEMS)
    assert len(held(old)) == len(ITEMS) - 2


def test_a_backup_is_restored_where_there_is_no_ledger_or_a_damaged_one(made, file, tmp_path):
    back_up(made.ledger.path, file)
    path = str(tmp_path / "new" / "ledger.sqlite")
    assert restore(file, path) is None
    assert len(held(path)) == len(ITEMS)
    Path(path).write_text("garbage" * 1000)
    Path(f"{path}-wal").write_text("garbage")
    assert Path(restore(file, path)).read_text().startswith("garbage")
    assert len(held(path)) == len(ITEMS)


def truncated(file):
    os.truncate(file, os.path.getsize(file) // 2)


WRONG = {
    "no such file": os.unlink,
    "not a database": lambda file: Path(file).write_text("a letter\n" * 1000),
    "format 99": lambda file: change(file, "PRAGMA user_version = 99"),
    "malformed|missing": truncated,
    "the trigger t is not irdaemon's": lambda file: change(
        file, "CREATE TRIGGER t BEFORE INSERT ON artifacts BEGIN SELECT raise(ABORT, 'no'); END"
    ),
    "the view v is not irdaemon's": lambda file: change(file, "CREATE VIEW v AS SELECT 1"),
    "the table t is not irdaemon's": lambda file: change(file, "CREATE TABLE t (a)"),
    "the index t is not irdaemon's": lambda file: change(file, "CREATE INDEX t ON jobs(kind)"),
    "table jobs is missing, or has another layout": lambda file: change(
        file,
        "ALTER TABLE jobs RENAME TO old",
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,"
        " corpus TEXT NOT NULL, report TEXT NOT NULL, started REAL NOT NULL,"
        " took_ms REAL NOT NULL CHECK (took_ms < 0))",
        "DROP TABLE old",
    ),
    "pointer does not lead to the entry": lambda file: change(
        file, "UPDATE artifacts SET pointer = '/etc/passwd' WHERE id = 3"
    ),
    "digest": lambda file: change(file, "UPDATE records SET text = 'x' WHERE id = 3"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_sound_ledger_of_a_known_format_is_not_restored(made, file, said):
    back_up(made.ledger.path, file)
    WRONG[said](file)
    with pytest.raises(BackupError, match=said):
        restore(file, made.ledger.path)
    assert list_set_aside(made.ledger.path) == []
    assert len(contents(made.ledger, "m")) == len(ITEMS)


def test_an_older_ledger_with_a_foreign_trigger_is_not_restored(made, tmp_path):
    file = unpacked(FORMATS[0], tmp_path)
    change(file, "CREATE TRIGGER t BEFORE DELETE ON artifacts BEGIN SELECT raise(ABORT, 'no'); END")
    with pytest.raises(BackupError, match="the trigger t is not irdaemon's"):
        restore(file, made.ledger.path)


def test_another_programs_database_is_not_restored(made, tmp_path):
    other = str(tmp_path / "other.db")
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE bookmarks(url)")
    with pytest.raises(BackupError, match="no ledger"):
        restore(other, made.ledger.path)


def test_a_ledger_that_was_restored_has_an_identity_of_its_own(made, file):
    before = made.ledger.read_identity()
    back_up(made.ledger.path, file)
    made.ledger.close()
    restore(file, made.ledger.path)
    with closing(Ledger(made.ledger.path)) as restored:
        assert restored.read_identity() != before


KILLED = """
import os, sqlite3, sys
from irdaemon.ledger.files import copy_database
with copy_database(sqlite3.connect(sys.argv[1]), os.path.dirname(sys.argv[1])) as copy:
    open(copy + "-journal", "w").close()
    os._exit(0)
"""


def copies(path):
    return [name for name in names(path) if name.startswith(".ledger-")]


@pytest.mark.parametrize("way", ["opened", "compacted", "restored", "backed up"])
def test_what_a_killed_copy_left_is_gone_once_the_ledger_is_used_again(made, file, way):
    path = made.ledger.path
    back_up(path, file)
    subprocess.run([sys.executable, "-c", KILLED, path], check=True, timeout=60)
    assert len(copies(path)) == 2
    if way == "opened":
        Ledger(path).close()
    elif way == "compacted":
        made.ledger.vacuum()
    elif way == "restored":
        made.ledger.close()
        restore(file, path)
    else:
        back_up(path, str(Path(path).parent / "another.db"))
    assert copies(path) == []


def test_a_copy_that_is_being_made_stays_whoever_opens_the_ledger(made):
    path = made.ledger.path
    with closing(sqlite3.connect(path)) as db, copy_database(db, os.path.dirname(path)) as copy:
        Ledger(path).close()
        made.ledger.vacuum()
        assert copies(path) == [os.path.basename(copy)]
    assert copies(path) == []


def test_files_of_other_names_beside_a_ledger_are_left_alone(made):
    mine = [
        Path(made.ledger.path).parent / name for name in (".ledger-notes.md", ".ledger-UPPER123")
    ]
    for each in mine:
        each.write_text("mine")
    Ledger(made.ledger.path).close()
    assert all(each.exists() for each in mine)
