"""Faults of the ledger's file, as a person meets them: what the commands say, and what heals."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from irclient import Query
from irclient.errors import Unavailable
from tests.support.damage import change
from tests.support.running import Running, finds, knows, until


@pytest.fixture
def ledger(home):
    return home.path / ".local" / "state" / "irdaemon" / "ledger.sqlite"


@pytest.fixture
def stopped(home, ledger):
    """Give a ledger of two skills, without a daemon."""
    home.skill("pdf-forms", "Fill and flatten PDF forms")
    home.skill("changelog", "Write a changelog from commits")
    with Running(home) as running:
        running.wait_idle()
    return ledger


def overwrite(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(os.urandom(path.stat().st_size))


def test_check_says_what_is_wrong_and_with_which_command_it_ends(home, stopped, irdaemon):
    code, said = irdaemon("check")
    assert (code, said.split()[0]) == (0, "sound")
    home.skill("new", "Peel potatoes")
    (home.skills / "changelog" / "SKILL.md").unlink()
    code, said = irdaemon("check")
    assert code == 5
    assert "1 entry not indexed yet" in said
    assert "1 entry is gone" in said
    assert "irc build" in said
    stopped.unlink()
    assert irdaemon("check")[0] == 4


def test_repair_sets_a_damaged_file_aside_and_the_next_start_rebuilds_it(home, stopped, irdaemon):
    overwrite(stopped)
    code, said = irdaemon("check", "--json")
    assert (code, json.loads(said)["findings"][0]["part"]) == (5, "sqlite")
    assert irdaemon("check", "--repair")[0] == 0
    assert len(list(stopped.parent.glob("*.damaged-*"))) == 1
    with Running(home) as running:
        assert running.wait_idle()["corpora"][0]["artifacts"] == 2
        assert irdaemon("check")[0] == 0
        code, said = irdaemon("check", "--repair")
        assert (code, "irdaemon stop" in said) == (2, True)


def test_a_start_on_a_damaged_ledger_serves_and_says_so(home, stopped, irdaemon):
    overwrite(stopped)
    with Running(home) as running:
        running.wait_idle()
        assert "damaged" in irdaemon("status")[1]
        assert finds(home, "changelog", "changelog")


def test_a_ledger_that_is_deleted_or_overwritten_under_the_daemon_heals(
    home, ledger, daemon, irdaemon
):
    for end in ("", "-wal", "-shm"):
        Path(f"{ledger}{end}").unlink()
    until(ledger.exists)
    assert irdaemon("status")[0] == 0
    overwrite(ledger)

    def is_rebuilt():
        home.skill("new", f"Peel potatoes {os.urandom(4).hex()}")
        return "damaged" in irdaemon("status")[1] and finds(home, "potatoes", "new")

    until(is_rebuilt)
    daemon.wait_idle()
    assert knows(home, "skills/pdf-forms")
    until(lambda: irdaemon("check")[0] == 0)  # the last change of the skill may still be on its way


def test_rows_garbled_under_the_daemon_are_repaired_as_soon_as_anybody_asks_for_them(
    home, ledger, daemon, irdaemon
):
    garbled = "name = CAST(x'fffe41' AS TEXT), fields = x'05'"
    change(ledger, f"UPDATE artifacts SET {garbled} WHERE name = 'pdf-forms'")

    def is_listed():
        with home.client() as client, contextlib.suppress(Unavailable):
            return "pdf-forms" in [each.name for each in client.artifacts("skills")]
        return False

    until(is_listed)
    assert irdaemon("check")[0] == 0
    assert "damaged" in irdaemon("status")[1]


def test_a_ledger_of_a_later_version_is_refused_by_every_command_and_left_alone(
    home, stopped, irdaemon
):
    whole = bytearray(stopped.read_bytes())
    whole[60:64] = (99).to_bytes(4)  # where SQLite keeps user_version
    stopped.write_bytes(whole)
    for words in (["start"], ["check"], ["check", "--repair"]):
        refused = home.run("irdaemon", *words)
        assert refused.returncode == 5
        assert "format 99" in refused.stderr
        assert "newer irdaemon" in refused.stderr
    assert stopped.read_bytes() == whole


def test_a_backup_made_beside_the_daemon_brings_everything_back(
    home, ledger, daemon, irdaemon, tmp_path
):
    file = str(tmp_path / "kept.db")
    assert irdaemon("backup", file)[0] == 0
    assert irdaemon("backup", file)[0] == 2
    assert irdaemon("backup", file, "--force")[0] == 0
    code, said = irdaemon("restore", file)
    assert (code, "irdaemon stop" in said) == (2, True)
    irdaemon("stop")
    ledger.unlink()
    assert irdaemon("restore", file)[0] == 0
    with Running(home), home.client() as client:
        assert client.discover(Query("fill a PDF form")).results[0].name == "pdf-forms"
