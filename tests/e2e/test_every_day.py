"""What people meet in a day: commands as they are typed, beside a real daemon."""

import json
import os
import subprocess
import sys

import pytest

from irclient import Client, Query
from tests.support.running import Running, finds, knows, until


def irc_into(home, stdout, *words):
    """Run `irc` with a stdout of its own; return its exit code and what it said on stderr."""
    command = [sys.executable, "-m", "irclient.quick", *words]
    done = subprocess.run(command, env=home.env, stdout=stdout, stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stderr.decode()


@pytest.mark.shared_daemon
def test_an_answer_that_cannot_be_written_is_exit_code_74_and_no_traceback(daemon, home):
    with open("/dev/full", "w") as full:
        for words in (["discover", "fill in a pdf form"], ["status"], ["search", "x", "--json"]):
            code, said = irc_into(home, full, *words)
            assert (code, "Traceback" in said) == (74, False), said
    closed = f'exec "{sys.executable}" -m irclient.quick discover "fill in a pdf form" >&-'
    done = subprocess.run(["sh", "-c", closed], env=home.env, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (74, False)


@pytest.mark.shared_daemon
def test_a_text_is_a_query_for_the_client(daemon, home):
    with Client(str(home.socket)) as client:
        named = client.discover("fill in a pdf form").results
        assert [hit.name for hit in named] == ["pdf-forms"]
        asked = client.search(Query("fill in a pdf form")).results
        assert [hit.name for hit in client.search("fill in a pdf form").results] == [
            hit.name for hit in asked
        ]


@pytest.mark.parametrize(
    "words",
    [
        ["ping", "--timeout", "-1"],
        ["discover", "x", "--min-score", "7"],
        ["discover", "x", "--weight", "nosuch=2"],
        ["discover", "x", "--surface", "nosuch"],
        ["discover", "x", "--where", "timestamp>=yesterday"],
        ["artifacts", "--after", "garbage"],
        ["discover", "x", "--since", "yesterday"],
    ],
)
@pytest.mark.shared_daemon
def test_what_cannot_be_meant_is_wrong_usage_with_a_hint(daemon, home, words):
    done = home.irc(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2


def test_a_program_alone_shows_its_commands_in_groups(home):
    for module in ("irclient.quick", "irdaemon"):
        done = home.run(module)
        assert (done.returncode, done.stderr) == (0, "")
        assert "\n  set " in done.stdout


def test_small_corpora_are_ready_while_a_large_one_is_built(home):
    for number in range(3000):
        home.skill(f"skill-{number}", f"Task number {number}", "word " * 200)
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("The quillstone is blue.\n")
    home.config.write_text(
        'embedder = "hashing"\nknown = false\n[corpora.a-large-one]\nkind = "skills"\n'
        f'roots = ["{home.skills}"]\n[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n'
    )
    with Running(home):
        until(lambda: finds(home, "quillstone", "a.md"))
        assert states_of(home) == {"a-large-one": "building", "notes": "ready"}
        said = home.irc("status").stdout
        assert "reconcile a-large-one: " in said
        assert len(said.splitlines()) < 24


def states_of(home):
    return {corpus["name"]: corpus["state"] for corpus in home.answer("status")["corpora"]}


def test_what_a_removed_corpus_took_comes_back_by_compact(daemon, home):
    notes = home.path / "notes"
    notes.mkdir()
    for number in range(300):
        (notes / f"{number}.md").write_text(f"# Note {number}\n" + f"text {number} " * 800)
    assert home.irc("add", "notes", "files", str(notes)).returncode == 0
    assert home.irc("rm", "notes").returncode == 0
    assert home.run("irdaemon", "compact").returncode == 2  # the daemon runs
    assert home.run("irdaemon", "stop").returncode == 0
    ledger = home.path / ".local" / "state" / "irdaemon" / "ledger.sqlite"
    before = ledger.stat().st_size
    done = home.run("irdaemon", "compact")
    assert (done.returncode, ledger.stat().st_size < before / 2) == (0, True), done.stdout
    with Running(home):
        assert knows(home, "skills/pdf-forms")


def test_the_last_client_can_be_taken_out_with_its_file_and_another_added(home, irdaemon):
    keys = home.config.parent
    for _ in range(2):
        assert irdaemon("keys", "add", "agent", "--token")[0] == 0
        assert (keys / "agent.token").exists()
        assert irdaemon("keys", "rm", "agent")[0] == 0
        assert not (keys / "agent.token").exists()
    code, said = irdaemon("keys", "add", "agent", "--token", "--corpus", "nosuch")
    assert code == 4, said


def test_the_configuration_is_shown_and_changed_by_command(home, irdaemon):
    assert irdaemon("config", "path") == (0, f"{home.config}\n")
    assert irdaemon("config", "set", "watch.settle_ms", "30")[0] == 0
    assert irdaemon("config", "get", "watch.settle_ms") == (0, "30\n")
    assert "watch.settle_ms" in irdaemon("config", "list")[1]


def test_the_log_is_shown_by_command(home):
    assert home.run("irdaemon", "start", "--detach").returncode == 0
    try:
        done = home.run("irdaemon", "logs", "-n", "5")
        assert done.returncode == 0
        assert 0 < len(done.stdout.splitlines()) <= 5
    finally:
        home.run("irdaemon", "stop")


def test_all_that_was_set_up_is_listed_and_taken_out(home):
    home.skill("pdf-forms", "Fill and flatten PDF forms")
    before = {path for path in home.path.rglob("*") if path.is_file() and path != home.config}
    assert home.irc("install", "claude").returncode == 0
    assert home.run("irdaemon", "start", "--detach", "--wait").returncode == 0
    listed = home.run("irdaemon", "uninstall")
    assert listed.returncode == 2
    assert "daemon: it is running; it will be stopped" in listed.stdout
    assert home.irc("ping").returncode == 0
    assert home.run("irdaemon", "uninstall", "--yes").returncode == 0
    assert home.irc("ping").returncode == 3
    left = {path for path in home.path.rglob("*") if path.is_file()} - before
    kept = [path for path in left if home.runtime not in path.parents]  # that ends with the login
    assert [path for path in kept if "irdaemon" in str(path.parent)] == []
    assert not home.config.parent.exists()


def test_installing_a_server_that_cannot_start_says_so_with_the_command_that_helps(home):
    hooks = home.path / "site"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text('import sys\nsys.modules["mcp"] = None\n')
    home.env["PYTHONPATH"] = f"{hooks}{os.pathsep}{home.env['PYTHONPATH']}"
    done = home.irc("install", "claude")
    assert done.returncode == 0
    assert "the MCP server cannot start: the MCP SDK is not installed" in done.stderr
    assert "-m pip install" in done.stderr
    assert "cannot start" not in home.irc("install", "codex", "--hooks").stderr


@pytest.mark.shared_daemon
def test_a_corpus_says_when_it_was_looked_at_in_words(daemon, home):
    said = home.irc("info", "skills").stdout
    (line,) = [line for line in said.splitlines() if line.startswith("last_reconcile: ")]
    assert line[len("last_reconcile: ") :][:2] == "20"
    assert os.path.basename(str(home.skills)) in said
    assert json.loads(home.irc("info", "skills", "--json").stdout)["last_reconcile"] > 1e9
