"""Backups of the log of use and of what sessions did, beside that of the ledger."""

import os
import sqlite3
import stat
from contextlib import closing

import pytest

from irdaemon.config.sections import Config
from irdaemon.contrib.recall import commands as recall
from irdaemon.contrib.recall.store import RecallStore
from irdaemon.contrib.usage import commands as usage
from irdaemon.contrib.usage.store import UsageStore
from irdaemon.ledger.backups import BackupError
from tests.support.recall import done_turn
from tests.support.usage import offer


@pytest.fixture
def config(tmp_path):
    (tmp_path / "state").mkdir()
    return Config("irdaemon.toml", str(tmp_path / "state"))


def put_use(config):
    with closing(UsageStore(config.usage_path)) as store:
        store.put_offers([offer(b"d")])
    return config.usage_path


def put_sessions(config):
    with closing(RecallStore(config.recall_path)) as store:
        store.put_turns("sessions", "S.jsonl", [done_turn("a")], False)
    return config.recall_path


each_file = pytest.mark.parametrize(
    ("commands", "put", "table"),
    [(usage, put_use, "offers"), (recall, put_sessions, "turns")],
    ids=["usage", "recall"],
)


def count(path, table):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@each_file
def test_the_file_lies_private_beside_the_backup_and_comes_back(
    tmp_path, config, commands, put, table
):
    path, file = put(config), str(tmp_path / "kept.db")
    saved, size = commands.back_up(config, file)
    assert (saved, size) == (f"{file}.{commands.__name__.split('.')[2]}", os.path.getsize(saved))
    assert stat.S_IMODE(os.stat(saved).st_mode) == 0o600
    os.unlink(path)
    assert commands.restore(config, file) is None
    assert count(path, table) == 1
    assert os.path.exists(commands.restore(config, file))


@each_file
def test_a_backup_without_one_changes_nothing(tmp_path, config, commands, put, table):
    file = str(tmp_path / "kept.db")
    assert commands.back_up(config, file)[1] == 0
    path = put(config)
    assert commands.restore(config, file) is None
    assert count(path, table) == 1


@each_file
def test_a_newer_one_replaces_it_and_nothing_else_is_restored(
    tmp_path, config, commands, put, table
):
    path, file = put(config), str(tmp_path / "kept.db")
    commands.back_up(config, file)
    saved, size = commands.back_up(config, file)
    assert size
    with open(saved, "wb") as damaged:
        damaged.write(b"no database")
    with pytest.raises(BackupError, match="cannot be used"):
        commands.restore(config, file)
    assert count(path, table) == 1
    os.unlink(saved)
    os.mkdir(saved)
    with pytest.raises(BackupError, match="is a directory"):
        commands.back_up(config, file)
