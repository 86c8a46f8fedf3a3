"""Commands that act while their output is closed: each does all that it was asked to."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.running import Running

ON = 'embedder = "hashing"\n[documents]\nwrite = true\n'


def unread(home, module, *words):
    """Run a program whose stdout and stderr have no reader; return its exit code."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", module, *words]
    try:
        done = subprocess.run(
            command,
            env=home.env,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            timeout=120,
        )
    finally:
        os.close(writing)
    return done.returncode


def irc(home, *words):
    return unread(home, "irclient.quick", *words)


def irdaemon(home, *words):
    return unread(home, "irdaemon", *words)


@pytest.fixture(scope="module")
def served(module_home):
    home = module_home
    home.config.write_text(ON)
    home.skill("pdf", "Fill in the fields of a PDF form")
    with Running(home) as running:
        running.wait_idle()
        yield home


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_install_writes_the_settings_and_uninstall_takes_them_back(home, agent):
    settings = home.path / {"claude": ".claude.json", "codex": ".codex/config.toml"}[agent]
    assert irc(home, "install", agent) == 0
    assert "irdaemon" in settings.read_text()
    assert irc(home, "uninstall", agent) == 0
    assert not settings.exists()


@pytest.mark.parametrize("output", [">&-", "> /dev/full"])
def test_output_that_is_refused_undoes_nothing_and_is_told_by_the_exit_code(home, output):
    words = f'exec "{sys.executable}" -m irclient.quick install claude {output}'
    done = subprocess.run(["sh", "-c", words], env=home.env, capture_output=True, text=True)
    assert (done.returncode, "cannot be written" in done.stderr) == (74, True)
    assert (home.path / ".claude.json").exists()


def test_a_change_of_what_is_indexed_is_made_and_followed_to_its_end(served):
    notes = served.path / "notes"
    notes.mkdir()
    (notes / "okapi.md").write_text("# Okapi\n\nThe okapi sleeps.")
    assert irc(served, "add", "notes", "files", str(notes)) == 0
    assert "[corpora.notes]" in served.config.read_text()
    assert served.answer("info", "notes")["artifacts"] == 1
    (notes / "quagga.md").write_text("# Quagga\n\nThe quagga feeds.")
    for words in (["build", "--full", "notes"], ["hint", str(notes / "quagga.md")], ["maintain"]):
        assert irc(served, *words) == 0, words
    assert served.answer("info", "notes")["artifacts"] == 2
    assert irc(served, "impressions", "claude:S", "skills/~/.claude/skills/pdf") == 0
    assert len(served.answer("impressions", "claude:S")) == 1
    cases = served.path / "cases.jsonl"
    cases.write_text(json.dumps({"query": "okapi", "gold": ["Okapi"]}) + "\n")
    runs = served.path / "run.trec"
    assert irc(served, "eval", "run", str(cases), "--save-run", str(runs)) == 0
    assert runs.exists()
    assert irc(served, "usage", "forget", "--all") == 0
    assert irc(served, "rm", "notes") == 0
    assert "notes" not in [each["name"] for each in served.answer("ls")]


def test_a_managed_document_is_added_written_anew_and_taken_out(served):
    text = served.path / "text.md"
    text.write_text("first")
    assert irc(served, "docs", "add", "Night shift", str(text)) == 0
    kept = served.path / ".local/share/irdaemon/documents/night-shift.md"
    text.write_text("second")
    assert irc(served, "docs", "update", "night-shift.md", str(text)) == 0
    assert "second" in kept.read_text()
    assert irc(served, "docs", "rm", "night-shift.md", "--delete-file") == 0
    assert not kept.exists()


def test_what_has_no_failure_to_tell_is_told_by_no_exit_code_and_a_failure_still_is(served):
    assert irc(served, "status") == 0
    assert irc(served, "build", "no-such-corpus") == 4


def test_a_stream_ends_when_nobody_reads_it(served):
    assert irc(served, "top", "--every", "0.1") == 0
    assert irdaemon(served, "logs", "--log", str(served.config)) == 0


def test_configuration_and_keys_are_written(home):
    home.config.unlink()
    assert irdaemon(home, "init") == 0
    assert irdaemon(home, "config", "set", "watch.settle_ms", "50") == 0
    assert "settle_ms = 50" in home.config.read_text()
    assert irdaemon(home, "keys", "make") == 0
    assert home.config.with_name("server.key").exists()
    for words in (["add", "laptop"], ["add", "agent", "--token"]):
        assert irdaemon(home, "keys", *words) == 0
    for name in ("laptop.client", "agent.token"):
        assert home.config.with_name(name).exists()
    assert irdaemon(home, "keys", "rm", "laptop") == 0
    assert not home.config.with_name("laptop.client").exists()
    assert "laptop" not in home.config.read_text()


def test_the_daemon_is_started_and_stopped_and_its_ledger_kept_shrunk_and_forgotten(home):
    home.skill("pdf", "Fill in the fields of a PDF form")
    state, backup = home.path / ".local/state/irdaemon", home.path / "kept.db"
    assert irdaemon(home, "start", "--detach", "--wait") == 0
    assert irdaemon(home, "backup", str(backup)) == 0
    assert irdaemon(home, "restart") == 0
    assert home.irc("ping").returncode == 0
    assert irdaemon(home, "stop") == 0
    assert backup.exists()
    assert irdaemon(home, "compact") == 0
    assert irdaemon(home, "check", "--repair") == 0
    (state / "ledger.sqlite").unlink()
    assert irdaemon(home, "restore", str(backup)) == 0
    assert (state / "ledger.sqlite").exists()
    assert irdaemon(home, "stop", "--forget") == 3
    assert not state.exists()


def test_the_service_is_installed_and_taken_out(home):
    systemctl = home.path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text("#!/bin/sh\n")
    systemctl.chmod(0o755)
    home.env["PATH"] = f"{systemctl.parent}{os.pathsep}{home.env['PATH']}"
    unit = home.path / ".config/systemd/user/irdaemon.service"
    assert irdaemon(home, "service", "install") == 0
    assert unit.exists()
    assert irdaemon(home, "service", "uninstall") == 0
    assert not unit.exists()


def test_uninstall_takes_everything_out_where_it_need_not_ask_and_nothing_where_it_must(home):
    assert home.irc("install", "claude", "--prompts-command").returncode == 0
    assert home.irc("install", "claude").returncode == 0
    settings = home.path / ".claude.json"
    assert irdaemon(home, "uninstall") == 2
    assert settings.exists()
    assert irdaemon(home, "uninstall", "--yes") == 0
    assert not settings.exists()
    assert not list(home.path.rglob("irdaemon-prompts.md"))
    assert not home.config.exists()
