"""The prompt hook and a real daemon: up, restarted, down, stopped."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.support.prompt_hook import START, asks, hook
from tests.support.running import Running, knows, until


def test_a_prompt_is_answered_once_in_each_session(home, daemon):
    first = asks(home, "fill a pdf form")
    assert '"pdf-forms", "Fill and flatten PDF forms", from "~/.claude/skills/pdf-forms' in first
    assert asks(home, "fill another pdf form") == ""
    assert asks(home, "fill a pdf form", session="T") == first
    assert '"changelog"' in asks(home, "write a changelog from commits")
    shown = home.answer("impressions", "claude:S")
    assert [each["reference"].rsplit("/", 1)[-1] for each in shown] == ["pdf-forms", "changelog"]


@pytest.mark.shared_daemon
def test_of_a_long_prompt_it_is_told_how_much_was_searched_for(home, daemon):
    told = asks(home, "fill a pdf form " + "x" * 9_000)
    assert " Only the first 8,000 of the prompt's 9,016 characters were searched.\n" in told


def test_what_was_shown_is_remembered_across_a_restart(home, daemon):
    assert asks(home, "fill a pdf form")
    # The hook reports what it showed, and waits for no reply.
    until(lambda: home.answer("impressions", "claude:S"))
    daemon.__exit__()
    with Running(home) as again:
        again.wait_idle()
        assert asks(home, "fill a pdf form") == ""
        answer = home.answer("discover", "fill a pdf form", "--session", "claude:S")
        assert answer["reason"] == "offered_before"


@pytest.mark.shared_daemon
def test_a_session_starts_with_one_line_on_what_there_is(home, daemon):
    told = hook(home, "gemini", hook_event_name="SessionStart", source="startup")
    assert "Indexed on this machine: skills (2)." in told


def test_without_a_daemon_or_with_one_that_hangs_there_is_silence(home, daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    assert asks(home, "fill a pdf form", budget_ms=60) == ""
    assert hook(home, hook_event_name="SessionStart", budget_ms=60) == ""
    daemon.process.send_signal(signal.SIGCONT)
    until(lambda: home.answer("ping"))
    # What was asked for in vain was never shown, so it still can be.
    assert '"pdf-forms"' in asks(home, "fill a pdf form")
    daemon.kill()
    assert asks(home, "write a changelog") == ""
    os.unlink(home.socket)
    assert asks(home, "write a changelog") == ""


def test_the_end_of_a_turn_has_the_transcript_looked_at_where_it_is_not_watched(home):
    notes = home.path / "notes"
    notes.mkdir()
    home.config.write_text(
        'embedder = "hashing"\n[watch]\npolling = true\npoll_s = 3600\n'
        f'[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n'
    )
    with Running(home) as running:
        running.wait_idle()
        (notes / "turn.md").write_text("Quolls and bandicoots")
        (home.path / "secret.md").write_text("Wombats")
        hook(home, hook_event_name="Stop", transcript_path=str(home.path / "secret.md"))
        hook(home, hook_event_name="Stop", transcript_path=str(notes / ".." / "secret.md"))
        hook(home, hook_event_name="Stop", transcript_path=str(notes / "turn.md"))
        until(lambda: knows(home, "notes/turn.md"))
        assert home.answer("ls")[0]["artifacts"] == 1


def test_a_file_can_be_pointed_out_by_hand(home, daemon):
    path = home.skill("late", "Quolls and bandicoots")
    done = home.irc("hint", str(path))
    assert done.returncode == 0, done.stderr
    assert knows(home, "skills/late")
    refused = home.irc("hint", str(home.path / "elsewhere"))
    assert refused.returncode == 4
    assert "nor below one" in refused.stderr


def test_the_command_that_install_writes_answers_from_anywhere_and_fails_nowhere(home, daemon):
    (home.path / "bin").mkdir()
    (home.path / "bin" / "irc").touch(mode=0o755)
    home.env["PATH"] = f"{home.path}/bin:{home.env['PATH']}"
    done = home.irc("install", "claude", "--hooks")
    assert done.returncode == 0, done.stderr
    settings = json.loads((home.path / ".claude" / "settings.json").read_text())
    (handler,) = settings["hooks"]["UserPromptSubmit"][0]["hooks"]

    def run(command):
        event = {"hook_event_name": "UserPromptSubmit", "prompt": "fill a pdf form"}
        env = {"HOME": str(home.path), "XDG_RUNTIME_DIR": str(home.runtime), "PATH": ""}
        env["IRDAEMON_HOOK_BUDGET_MS"] = "5000"
        told = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(event).encode(), capture_output=True,
            env=env, cwd="/",
        )  # fmt: skip
        assert (told.returncode, told.stderr) == (0, b"")
        return told.stdout.decode()

    assert '\\"pdf-forms\\"' in run(handler["command"])
    # Where the package or its interpreter has gone, a prompt must not be refused for it.
    assert run(handler["command"].replace("start.py", "gone.py")) == ""
    assert run(handler["command"].replace(sys.executable, "/gone/python")) == ""
    assert home.irc("uninstall", "claude").returncode == 0
    assert not (home.path / ".claude" / "settings.json").exists()


def test_a_hook_that_cannot_start_is_named_by_status_and_doctor(home, daemon):
    (home.path / "bin").mkdir()
    (home.path / "bin" / "irc").touch(mode=0o755)
    home.env["PATH"] = f"{home.path}/bin:{home.env['PATH']}"
    home.irc("install", "claude", "--hooks")
    assert "hook" not in home.irc("status").stderr
    settings = home.path / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace(START, "/gone/irclient/hook/start.py"))
    status = home.irc("status")
    said = "the hook of claude cannot start: /gone/irclient/hook/start.py is gone"
    assert f"irc: {said}; irc install claude --hooks repairs it" in status.stderr
    doctor = home.run("irdaemon", "doctor").stdout
    assert f"hooks: {settings}: {said}\n         -> irc install claude --hooks" in doctor
    home.irc("install", "claude", "--hooks")
    assert "hook" not in home.irc("status").stderr
