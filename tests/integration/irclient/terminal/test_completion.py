"""The completion scripts in the shells that are installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import irclient
import irclient.cli.main
import irdaemon.cli.main
from irclient.errors import Unavailable
from irclient.terminal.completion import SHELLS, make_script
from irclient.testing import SILENT, FakeDaemon

pytest.importorskip("shtab")

PROGRAMS = {"irc": irclient.cli.main, "irdaemon": irdaemon.cli.main}
_IN_BASH = """
source {script}
COMP_WORDS=({line} "{word}"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_irc; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
_IN_FISH = "source {script}; complete -C '{line} {word}' | string split -f 1 \\t"


def installed(shell):
    return pytest.param(
        shell,
        marks=pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed"),
    )


DRIVEN = [installed("bash"), installed("fish")]


@pytest.fixture
def daemon():
    corpora = [{"name": "skills"}, {"name": "sessions"}, {"name": "notes"}]
    with FakeDaemon({"status": {"corpora": corpora}}) as running:
        yield running


@pytest.fixture
def completed(daemon, tmp_path):
    """Return what a shell offers for the last word of a line."""
    home = str(Path(irclient.__file__).parents[1])
    irc = tmp_path / "irc"
    irc.write_text(f'#!/bin/sh\nPYTHONPATH={home} exec {sys.executable} -m irclient.quick "$@"\n')
    irc.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    env = {**os.environ, **daemon.environment, "PATH": path, "HOME": str(tmp_path)}

    def complete(shell, line, word=""):
        where = tmp_path / f"completion.{shell}"
        where.write_text(make_script(irclient.cli.main.program(), shell))
        said = {"bash": _IN_BASH, "fish": _IN_FISH}[shell]
        asked = [shell, "-c", said.format(script=where, line=line, word=word)]
        done = subprocess.run(
            asked, env=env, capture_output=True, text=True, timeout=30, cwd=tmp_path
        )
        return done.stdout.split()

    return complete


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", [installed(shell) for shell in SHELLS])
def test_every_shell_accepts_its_script(program, shell, tmp_path):
    where = tmp_path / "script"
    where.write_text(make_script(PROGRAMS[program].program(), shell))
    done = subprocess.run([shell, "-n", str(where)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", DRIVEN)
def test_commands_options_choices_and_corpora_are_offered(shell, completed):
    assert {"status", "search"} <= set(completed(shell, "irc", "s"))
    assert "--mode" in completed(shell, "irc discover", "--mo")
    assert completed(shell, "irc discover --mode", "le") == ["lexical"]
    assert set(completed(shell, "irc discover -c", "s")) == {"skills", "sessions"}
    assert completed(shell, "irc rm", "n") == ["notes"]


@pytest.mark.parametrize("shell", DRIVEN)
def test_a_daemon_that_is_not_there_or_says_nothing_offers_no_corpora(shell, completed, daemon):
    daemon.answers["status"] = SILENT
    assert completed(shell, "irc rm", "n") == []
    daemon.stop()
    assert completed(shell, "irc rm", "n") == []


def test_without_shtab_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(Unavailable) as caught:
        make_script(irclient.cli.main.program(), "bash")
    assert "'shtab>=" in caught.value.hint
