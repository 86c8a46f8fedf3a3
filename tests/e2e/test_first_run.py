"""The first command on a terminal asks at most three questions, and says how to undo each."""

import json
import os
import re
import shutil
import stat
import sys

import pytest

from irclient.terminal.output import PROGRAMS
from tests.support.running import Running, until
from tests.support.typing_person import END, INTERRUPT, type_answers

ENTER = ""
IRC = [sys.executable, "-m", "irclient.quick"]
INIT = [sys.executable, "-m", "irdaemon", "init"]
SETTINGS = '{\n  "theme": "dark"\n}\n'
TURN = {"type": "user", "sessionId": "s1", "uuid": "u1", "timestamp": "2026-09-01T10:00:00Z"}


@pytest.fixture
def new_home(home):
    """Give a home that irdaemon was never in: a skill, a session and Claude Code's settings."""
    home.config.unlink()
    home.skill("pdf-forms", "Fill and flatten PDF forms")
    (home.path / ".claude" / "settings.json").write_text(SETTINGS)
    session = home.path / ".claude" / "projects" / "shop" / "s1.jsonl"
    session.parent.mkdir(parents=True)
    said = {**TURN, "message": {"role": "user", "content": "how do I rotate the logs?"}}
    session.write_text(json.dumps(said) + "\n")
    # Agents' commands of this machine are not this home's.
    home.env |= {"TERM": "xterm", "PATH": "/usr/bin:/bin"}
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", *PROGRAMS):
        home.env.pop(name, None)
    yield home
    home.run("irdaemon", "stop")


def has_sessions(home):
    names = {corpus["name"] for corpus in home.answer("ls")}
    assert "skills" in names
    return "sessions" in names


def add_command(home, name):
    """Put a command into a directory where installers of agents put them."""
    path = home.path / ".local" / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_first_command_is_answered_after_the_questions(new_home):
    asked = [*IRC, "discover", "fill in a PDF form"]
    code, screen = type_answers(asked, new_home.env, [ENTER, ENTER])
    assert code == 0, screen
    assert "skills        ~/.claude/skills" in screen
    assert "Connect coding agents?" in screen
    assert "Index past sessions?" in screen
    assert "Let a model write" not in screen  # no agent that could is on this machine
    assert "pdf-forms" in screen[screen.index("Index past sessions?") :]
    assert "rm sessions" in screen[screen.index("undo:") :]
    assert has_sessions(new_home)
    assert (new_home.path / ".claude" / "settings.json").read_text() == SETTINGS
    assert new_home.config.exists()


def test_what_was_answered_is_done_and_undone_by_the_commands_that_it_names(new_home):
    code, screen = type_answers(INIT, new_home.env, ["cluade", "claude", "n"])
    assert code == 0, screen
    assert "did you mean 'claude'?" in screen
    settings = new_home.path / ".claude" / "settings.json"
    assert "UserPromptSubmit" in settings.read_text()
    assert not has_sessions(new_home)
    undo = screen[screen.index("undo:") : screen.index("next:")]
    assert "uninstall claude" in undo
    assert "add sessions" in undo
    assert new_home.irc("uninstall", "claude").returncode == 0
    assert settings.read_text() == SETTINGS
    assert new_home.irc("add", "sessions").returncode == 0
    until(lambda: has_sessions(new_home))


def test_the_third_question_is_asked_where_an_agent_could_write_prompts(new_home):
    add_command(new_home, "claude")
    code, screen = type_answers(INIT, new_home.env, [ENTER, ENTER, "gpt", "claude"])
    assert code == 0, screen
    assert "'gpt' is not here" in screen
    assert "config unset prompts.write" in screen
    assert 'write = "claude"' in new_home.config.read_text()
    assert new_home.run("irdaemon", "config", "unset", "prompts.write").returncode == 0


@pytest.mark.parametrize("answers", [[INTERRUPT], [ENTER, INTERRUPT], [ENTER, END]])
def test_ending_it_before_the_last_answer_changes_nothing(new_home, answers):
    before = sorted(new_home.path.rglob("*"))
    code, screen = type_answers([*IRC, "ls"], new_home.env, answers)
    assert code == 130
    assert "nothing was set up" in screen
    assert sorted(new_home.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["ls"], {"CI": "true"}),
        (["ls"], {"CLAUDECODE": "1"}),
        (["ls", "--json"], {}),
        (["ping"], {}),
        (["ls"], {"IRDAEMON_SOCKET": "/tmp/no-daemon-is-here.sock"}),
    ],
)
def test_nothing_is_asked_where_nobody_is_to_answer(new_home, words, env):
    code, screen = type_answers([*IRC, *words], {**new_home.env, **env})
    assert code == 3
    assert "irdaemon start --detach" in screen
    assert "?" not in screen
    assert not new_home.config.exists()


def test_nothing_is_asked_where_stdout_is_no_terminal(new_home):
    code, screen = type_answers(["/bin/sh", "-c", f"{' '.join(IRC)} ls | cat"], new_home.env)
    assert (code, "no daemon at" in screen) == (0, True)
    assert not new_home.config.exists()
    piped = new_home.irc("ls")
    assert (piped.returncode, piped.stdout) == (3, "")


def test_the_hook_asks_nothing_on_a_terminal_either(new_home):
    code, screen = type_answers([*IRC, "hook", "--agent", "claude"], new_home.env)
    assert code == 0
    assert "found on this machine" not in screen
    assert not new_home.config.exists()


def test_it_asks_no_second_time(new_home):
    assert type_answers([*IRC, "ls"], new_home.env, [ENTER, ENTER])[0] == 0
    assert new_home.run("irdaemon", "stop").returncode == 0
    code, screen = type_answers([*IRC, "ls"], new_home.env)
    assert code == 3
    assert "no daemon at" in screen
    assert "?" not in screen


def test_a_script_sets_up_with_yes_and_what_it_leaves_open_is_as_without_an_answer(new_home):
    add_command(new_home, "claude")
    done = new_home.run("irdaemon", "init", "--yes")
    assert done.returncode == 0, done.stderr
    assert has_sessions(new_home)
    assert (new_home.path / ".claude" / "settings.json").read_text() == SETTINGS
    assert "\nwrite = " not in new_home.config.read_text()
    question = re.search(r'\$ irc discover "(.+)"\n.* \1 ', done.stdout)
    assert question, done.stdout  # the name of a skill that is here, and its answer


def test_the_options_answer_for_a_script(new_home):
    words = ("--yes", "--agents", "claude", "--sessions", "no", "--", "discover", "knit a sock")
    done = new_home.run("irdaemon", "init", *words)
    assert done.returncode == 1, done.stderr  # as `irc discover`: nothing applies
    assert not has_sessions(new_home)
    assert "UserPromptSubmit" in (new_home.path / ".claude" / "settings.json").read_text()


def test_without_a_terminal_and_yes_it_says_what_is_missing(new_home):
    done = new_home.run("irdaemon", "init", "--agents", "claude")
    assert (done.returncode, "--yes" in done.stderr) == (2, True)
    assert new_home.run("irdaemon", "init", "--yes", "--agents", "cluade").returncode == 2
    assert not new_home.config.exists()


def test_settings_that_cannot_be_edited_do_not_keep_the_rest_from_being_done(new_home):
    broken = new_home.path / ".claude" / "settings.json"
    broken.write_text("{ not JSON")
    done = new_home.run("irdaemon", "init", "--yes", "--agents", "claude,codex")
    assert done.returncode == 5
    assert "claude is not connected" in done.stderr
    assert broken.read_text() == "{ not JSON"
    assert (new_home.path / ".codex" / "hooks.json").exists()
    assert has_sessions(new_home)


def test_a_daemon_that_runs_is_started_again_with_the_answers_and_a_file_is_kept(new_home):
    new_home.config.write_text('# mine\nembedder = "hashing"\n')
    with Running(new_home) as running:
        running.wait_idle()
        assert has_sessions(new_home)
        code, screen = type_answers(INIT, new_home.env, [ENTER, "n"])
        assert code == 0, screen
    assert not has_sessions(new_home)
    assert new_home.config.read_text().startswith('# mine\nembedder = "hashing"\n')
    code, screen = type_answers(INIT, new_home.env, [ENTER, ENTER])
    assert "[y/N]" in screen  # what was answered last
    assert not has_sessions(new_home)


@pytest.mark.parametrize("words", [["--yes"], []])
def test_a_daemon_that_runs_takes_the_file_that_replaces_its_own(new_home, words):
    new_home.config.write_text("[corpora.sessions]\nenabled = false\n")
    with Running(new_home) as running:
        running.wait_idle()
        assert not has_sessions(new_home)
        done = new_home.run("irdaemon", "init", "--force", *words)
        assert done.returncode == 0, done.stderr
        assert has_sessions(new_home)


@pytest.mark.skipif(not shutil.which("make"), reason="make is not here")
def test_make_run_asks_nothing_off_a_terminal(new_home):
    place = new_home.path / "checkout"
    (place / ".venv" / "bin").mkdir(parents=True)
    shutil.copy("Makefile", place)
    for name, words in (("irdaemon", "-m irdaemon"), ("irc", "-m irclient.quick"), ("python", "")):
        command = place / ".venv" / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        command.chmod(0o755)
    for done in (".installed", ".graph"):
        (place / ".venv" / done).touch()
    (place / "examples").mkdir()
    (place / "examples" / "irdaemon.toml").write_text("")
    for name in ("setup.py", "pyproject.toml", "client/pyproject.toml"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).touch()
        os.utime(place / name, (0, 0))
    made = ["make", "-C", str(place), "run"]
    code, screen = type_answers(["/bin/sh", "-c", f"{' '.join(made)} </dev/null"], new_home.env)
    assert code == 0, screen
    assert "?" not in screen
    assert not new_home.config.exists()
    rows = screen[screen.index("Next:") :].splitlines()[1:7]
    assert len({len(row) - len(re.split(r"  +", row.strip())[-1]) for row in rows}) == 1, rows
    assert new_home.run("irdaemon", "stop").returncode == 0
    code, screen = type_answers(made, new_home.env, [ENTER, ENTER])
    assert code == 0, screen
    assert "Index past sessions?" in screen
    assert new_home.config.exists()
