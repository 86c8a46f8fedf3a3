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
COMP_LINE="{line} {typed}"; COMP_POINT=${{#COMP_LINE}}
_shtab_irc; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# zsh completes in its line editor alone: the words are typed on a terminal of its own.
_IN_ZSH = """
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; setopt no_beep; autoload -Uz compinit; compinit -u -d {script}.dump'
zpty -w z 'source {script}; compdef _shtab_irc irc; zstyle ":completion:*" list-grouped no'
zpty -w z 'bindkey "^I" complete-word; echo rea""dy'
zpty -r z said '*ready*'
zpty -w -n z $'{line} {word}\\t'
repeat 60; do
  sleep 0.1
  zpty -r -t z more && said+=$more
  [[ $more == *'/'* ]] && break
done
sleep 0.3; zpty -r -t z more && said+=$more
print -r -- $said; zpty -d z
"""
_IN_FISH = "source {script}; complete -C '{line} {word}' | string split -f 1 \\t"


def installed(shell):
    return pytest.param(
        shell,
        marks=pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed"),
    )


DRIVEN = [installed("bash"), installed("fish")]
NOTES = ["backups.md", "b:odd.md", "with space.md", "year/2026.md"]


@pytest.fixture
def daemon():
    corpora = [{"name": "skills"}, {"name": "sessions"}, {"name": "notes"}]
    notes = [{"corpus": "notes", "artifact_id": each, "name": f"Name-{each}"} for each in NOTES]
    with FakeDaemon({"status": {"corpora": corpora}, "artifacts": notes}) as running:
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

    def complete(shell, line, word="", typed=None):
        where = tmp_path / f"completion.{shell}"
        where.write_text(make_script(irclient.cli.main.make_program(), shell))
        said = {"bash": _IN_BASH, "fish": _IN_FISH, "zsh": _IN_ZSH}[shell]
        typed = word if typed is None else typed
        asked = [shell, "-c", said.format(script=where, line=line, word=word, typed=typed)]
        done = subprocess.run(
            asked, env=env, capture_output=True, text=True, timeout=30, cwd=tmp_path
        )
        assert shell == "zsh" or not done.stderr, done.stderr
        return sorted(filter(None, done.stdout.splitlines()))

    return complete


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", [installed(shell) for shell in SHELLS])
def test_every_shell_accepts_its_script(program, shell, tmp_path):
    where = tmp_path / "script"
    where.write_text(make_script(PROGRAMS[program].make_program(), shell))
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


@pytest.mark.parametrize("shell", DRIVEN)
def test_references_are_offered_by_corpus_then_by_id_then_by_name(shell, completed):
    assert completed(shell, "irc disclose", "s") == ["sessions/", "skills/"]
    assert completed(shell, "irc open", "notes/ba") == ["notes/backups.md"]
    assert completed(shell, "irc open", "no") == sorted(f"notes/{each}" for each in NOTES)
    assert completed(shell, "irc records", "notes/w") == ["notes/with space.md"]
    assert completed(shell, "irc open", "notes/Name-y") == ["notes/Name-year/2026.md"]
    assert completed(shell, "irc open", "notes/nothing") == []


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_is_given_what_follows_a_colon_and_knows_words_with_backslashes(completed):
    assert completed("bash", "irc open", "", "notes/b:") == ["odd.md"]
    assert completed("bash", "irc open", "notes/with\\\\ s", "s") == ["notes/with space.md"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_a_reference_as_it_is_typed(completed):
    said = "\n".join(completed("zsh", "irc open", "notes/ba"))
    assert "notes/backups.md" in said
    assert "notes/with\\ space.md" in "\n".join(completed("zsh", "irc open", "notes/w"))


@pytest.mark.parametrize("shell", DRIVEN)
def test_without_a_daemon_no_reference_is_offered_and_nothing_is_said(shell, completed, daemon):
    daemon.stop()
    assert completed(shell, "irc open", "no") == []
    assert completed(shell, "irc open", "notes/b") == []


def test_without_shtab_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(Unavailable) as caught:
        make_script(irclient.cli.main.make_program(), "bash")
    assert "'shtab>=" in caught.value.hint
