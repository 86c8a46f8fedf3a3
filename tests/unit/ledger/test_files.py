"""Private databases of add-ons appear whole or not at all."""

import os
import sqlite3
from contextlib import closing

import pytest

from irdaemon.ledger.files import open_private

TABLES = "BEGIN; CREATE TABLE notes (text TEXT); COMMIT;"


def test_a_database_whose_tables_cannot_be_made_is_not_there(tmp_path):
    path = str(tmp_path / "notes.sqlite")
    with pytest.raises(sqlite3.Error):
        open_private(path, "CREATE TABLE notes (text TEXT); nonsense;")
    assert not os.path.exists(path)


def test_a_database_that_a_kill_left_unfinished_is_made_again(tmp_path):
    path = str(tmp_path / "notes.sqlite")
    with closing(sqlite3.connect(f"{path}.new")) as db:
        db.execute("CREATE TABLE notes (half TEXT)")
    with closing(open_private(path, TABLES)) as db:
        db.execute("INSERT INTO notes (text) VALUES ('whole')")
    with closing(open_private(path, TABLES)) as db:
        assert db.execute("SELECT text FROM notes").fetchall() == [("whole",)]
    assert sorted(os.listdir(tmp_path)) == ["notes.sqlite"]
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_missing_database_is_created_by_its_creator_alone(tmp_path):
    path = str(tmp_path / "notes.sqlite")
    with pytest.raises(FileNotFoundError):
        open_private(path, TABLES, create=False)
    assert os.listdir(tmp_path) == []
