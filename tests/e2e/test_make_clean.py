"""`make clean`: what it says that it removes is gone, and what it says that it leaves is there."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.running import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not here")


def checkout(home):
    """Make a directory with the Makefile, and commands where it looks for them; return it."""
    place = home.path / "checkout"
    for name in (".venv/bin", "irdaemon", "client", "tests", "bench"):
        (place / name).mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", place)
    for name, module in (("irdaemon", "irdaemon"), ("irc", "irclient.quick")):
        command = place / ".venv" / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        command.chmod(0o755)
    return place


def test_it_takes_out_what_was_set_up_and_leaves_configuration_and_keys(home):
    place, settings = checkout(home), home.path / ".claude" / "settings.json"
    home.skill("pdf", "Fill PDF forms")
    settings.write_text("{}\n")
    assert home.irc("install", "claude", "--hooks").returncode == 0
    assert home.run("irdaemon", "keys", "make").returncode == 0
    assert home.run("irdaemon", "start", "--detach", "--wait").returncode == 0
    note = home.path / ".local" / "share" / "irdaemon" / "documents" / "note.md"
    note.parent.mkdir(parents=True)
    note.write_text("mine")
    state = home.path / ".local" / "state" / "irdaemon"
    assert (state / "ledger.sqlite").exists()
    done = subprocess.run(
        ["make", "--no-print-directory", "clean"],
        cwd=place,
        env=home.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert settings.read_text() == "{}\n"
    assert not state.exists()
    assert note.read_text() == "mine"
    assert not (place / ".venv").exists()
    assert home.irc("ping").returncode == 3
    assert home.config.exists()
    assert home.config.with_name("server.key").exists()
    removed, left, how, built = done.stdout.splitlines()[-4:]
    assert removed.startswith("removed: agents' entries, the service, the daemon")
    assert left.startswith(f"left: configuration and keys ({home.config}, ")
    assert "make run" not in how
    assert "irdaemon uninstall" in how
    assert built == "removed: .venv and what was built here"


def test_without_an_installation_it_removes_what_was_built(home):
    place = checkout(home)
    shutil.rmtree(place / ".venv")
    os.makedirs(place / "irdaemon" / "__pycache__")
    done = subprocess.run(
        ["make", "--no-print-directory", "clean"],
        cwd=place,
        env=home.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "removed: .venv and what was built here\n", done.stderr
    assert not (place / "irdaemon" / "__pycache__").exists()
