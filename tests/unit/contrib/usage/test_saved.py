"""Backups of the log of use."""

import os
import stat

import pytest

from irdaemon.contrib.usage.store import (
    UsageStore,
    find_saved,
    read_usage,
    restore_usage,
    save_usage,
)
from irdaemon.ledger.backups import BackupError
from tests.support.usage import offer


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "state.sqlite")
    store = UsageStore(path)
    store.put_offers([offer(b"d")])
    store.close()
    return path


def test_the_log_lies_private_beside_the_backup_and_comes_back(tmp_path, path):
    file = str(tmp_path / "kept.db")
    assert save_usage(path, file) == os.path.getsize(find_saved(file))
    assert stat.S_IMODE(os.stat(find_saved(file)).st_mode) == 0o600
    os.unlink(path)
    assert restore_usage(file, path) is None
    with read_usage(path) as store:
        assert [each.digest for each in store.offers()] == [b"d"]
    assert os.path.exists(restore_usage(file, path))


def test_a_backup_without_one_changes_nothing(tmp_path, path):
    assert save_usage(str(tmp_path / "none"), str(tmp_path / "kept.db")) == 0
    assert restore_usage(str(tmp_path / "kept.db"), path) is None
    with read_usage(path) as store:
        assert store.count("offers") == 1


def test_nothing_is_overwritten_and_nothing_else_restored(tmp_path, path):
    file = str(tmp_path / "kept.db")
    save_usage(path, file)
    with pytest.raises(BackupError, match="exists"):
        save_usage(path, file)
    assert save_usage(path, file, replace=True)
    with open(find_saved(file), "wb") as damaged:
        damaged.write(b"no database")
    with pytest.raises(BackupError, match="not a usage log"):
        restore_usage(file, path)
