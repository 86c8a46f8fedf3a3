"""The ledger gives back the room of what was removed."""

import os

import pytest

from irdaemon.cli.main import main
from irdaemon.config.config import load_config
from irdaemon.ledger import Ledger
from tests.support.corpora import upsert


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    for name in ("CONFIG", "STATE", "RUNTIME"):
        directory = tmp_path / name
        directory.mkdir(mode=0o700)
        variable = "XDG_RUNTIME_DIR" if name == "RUNTIME" else f"XDG_{name}_HOME"
        monkeypatch.setenv(variable, str(directory))
    monkeypatch.delenv("IRDAEMON_CONFIG", raising=False)
    monkeypatch.delenv("IRDAEMON_SOCKET", raising=False)
    path = load_config().ledger_path
    os.makedirs(os.path.dirname(path), mode=0o700)
    return path


def test_the_file_is_as_small_as_what_is_in_it(ledger, capsys):
    held = Ledger(ledger)
    held.corpora.declare("big", "files", "r", "e")
    texts = {f"a{n}": f"word{n} " * 500 for n in range(200)}
    held.entries.put("big", upsert("e", texts), 1.0)
    held.corpora.forget("big")
    held.fold_log()
    held.close()
    before = os.path.getsize(ledger)
    assert main(["compact"]) == 0
    assert os.path.getsize(ledger) < before / 2
    assert f"{ledger}: {before:,} bytes, now" in capsys.readouterr().out


def test_without_a_ledger_there_is_nothing_to_compact(ledger, capsys):
    assert main(["compact"]) == 4
    assert "there is no ledger" in capsys.readouterr().err


def test_a_link_to_no_ledger_is_not_compacted(ledger, tmp_path, capsys):
    os.symlink(tmp_path / "gone.sqlite", ledger)
    assert main(["compact"]) != 0
    assert "there is no ledger at" in capsys.readouterr().err
    assert not (tmp_path / "gone.sqlite").exists()
