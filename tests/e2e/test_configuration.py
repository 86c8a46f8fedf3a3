"""The configuration file under many hands, and with what no path may hold."""

import os
import signal
import subprocess
import sys
import threading
import time
import tomllib

import pytest

from irclient.errors import IRError, NotFound
from tests.support.running import Running, until

# How long edits race at least, and in how many rounds.
_RACE_S = 3.0
_ROUNDS = 5


def written(home):
    """Return the names of the corpora in the configuration file."""
    return set(tomllib.loads(home.config.read_text()).get("corpora", {}))


def at_once(*tasks):
    """Run tasks in threads that begin together; return what each raised or None."""
    ready, raised = threading.Barrier(len(tasks)), dict.fromkeys(range(len(tasks)))

    def run(number, task):
        ready.wait()
        try:
            task()
        except Exception as error:
            raised[number] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return list(raised.values())


def followed(client, jobs):
    """Wait until jobs have been done."""
    until(lambda: all(client.progress(job).state == "done" for job in jobs))


def added(home, name):
    """Return a task that adds a corpus and has it looked at, as `irc add` does."""

    def run():
        root = home.path / "roots" / name
        root.mkdir(parents=True, exist_ok=True)
        with home.client() as client:
            followed(client, client.add(name, "files", [str(root)]))
            followed(client, client.build(name))

    return run


def removed(home, name):
    def run():
        with home.client() as client:
            followed(client, client.rm(name))

    return run


def test_a_dry_run_of_adding_says_what_would_be_indexed_and_changes_nothing(home, daemon):
    directory = home.path / "drafts"
    directory.mkdir()
    (directory / "one.md").write_text("# One")
    (directory / "two.bin").write_bytes(bytes(9))
    before = home.config.read_bytes()
    done = home.irc("add", "drafts", "files", str(directory), "--dry-run")
    assert (done.returncode, done.stdout.splitlines()[:2]) == (
        0,
        ["drafts would hold 1 item", "  one.md"],
    )
    assert "left out: 1 " in done.stdout
    assert home.config.read_bytes() == before
    assert home.irc("info", "drafts").returncode == 4
    assert home.irc("add", "drafts", "flies", str(directory), "--dry-run").returncode == 2
    assert home.irc("add", "drafts", "files", str(directory)).returncode == 0
    assert home.irc("info", "drafts", "--json").returncode == 0


# What each command that writes is asked for, and refuses.
_REFUSED = [
    ("irc", "add", "k", "records", "{root}"),
    ("irc", "add", "k", "flies", "{root}"),
    ("irc", "add", "a/b", "files", "{root}"),
    ("irc", "add", "k", "os:system", "{root}"),
    ("irc", "add", "notes", "files", "{root}"),
    ("irc", "rm", "nothing"),
    ("irdaemon", "config", "set", "corpora.notes.bogus", "3"),
    ("irdaemon", "config", "set", "corpora.notes.kind", "records"),
    ("irdaemon", "config", "set", "serve.tcp", "127.0.0.1:7411"),
    ("irdaemon", "config", "set", "schedule.reconcile_minutes", "1e12"),
    ("irdaemon", "config", "unset", "corpora.notes.kind"),
    ("irdaemon", "config", "edit"),
    ("irdaemon", "keys", "add", "agent", "--key", "short"),
    ("irdaemon", "keys", "rm", "nobody"),
    ("irdaemon", "init"),
]


def test_no_command_writes_a_configuration_that_the_daemon_would_not_start_with(home, irdaemon):
    root = home.path / "notes"
    root.mkdir()
    editor = home.path / "editor"
    editor.write_text('#!/bin/sh\nprintf "[corpora.k]\\nkind = \'records\'\\n" > "$1"\n')
    editor.chmod(0o755)
    home.env["EDITOR"] = str(editor)
    with Running(home) as running:
        running.wait_idle()
        assert home.irc("add", "notes", "files", str(root)).returncode == 0
        before = home.config.read_bytes()
        for program, *words in _REFUSED:
            words = [word.format(root=root) for word in words]
            code = home.irc(*words).returncode if program == "irc" else irdaemon(*words)[0]
            assert code in (2, 4), words
            assert home.config.read_bytes() == before, words
        assert home.irc("add", "more", "files", str(root)).returncode == 0
    with Running(home) as running:
        assert {"notes", "more"} <= {each["name"] for each in running.wait_idle()["corpora"]}


def test_a_configuration_that_was_refused_is_shown_until_it_is_right_again(home, daemon):
    right = home.config.read_text()
    home.config.write_text(f"{right}[corpora.notes\n")
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "health: stale\nconfiguration: refused" in home.irc("status").stdout)
    assert home.irc("status").returncode == 5
    assert str(home.config) in home.irc("status").stdout
    assert home.answer("status")["refused"]["message"].startswith(str(home.config))
    home.config.write_text(f"{right}[corpora.notes]\nkind = 'files'\nbogus = 3\n")
    line = home.config.read_text().count("\n")
    refused = home.run("irdaemon", "reload")
    assert refused.returncode == 2
    assert f"{home.config}:{line}: [corpora.notes]: " in refused.stderr
    doctor = home.run("irdaemon", "doctor")
    assert doctor.stdout.count("'bogus'") == 1
    assert "no configuration file" not in doctor.stdout
    home.config.write_text(f"{right}[corpora.notes]\nkind = 'files'\nroots = []\n")
    assert "keeps its previous configuration" in home.run("irdaemon", "doctor").stdout
    taken = home.run("irdaemon", "reload")
    assert taken.returncode == 0
    assert "notes is new" in taken.stdout
    assert "refused" not in home.answer("status")
    assert home.run("irdaemon", "config", "set", "watch.settle_ms", "50").returncode == 0
    assert "from the next start: watch.settle_ms" in home.run("irdaemon", "reload").stderr


def test_a_corpus_added_without_waiting_is_added_and_indexed_all_the_same(home, daemon):
    (home.path / "n2").mkdir()
    (home.path / "n2" / "a.md").write_text("about anteaters")
    for number in range(5):
        name = f"n{number}"
        done = home.irc("add", name, "files", str(home.path / "n2"), "--no-wait")
        assert (done.returncode, done.stderr) == (0, "")
    until(lambda: home.irc("search", "anteaters", "-c", "n4").returncode == 0)


def test_of_twenty_corpora_added_at_once_all_are_kept_and_each_is_answered_for(home, daemon):
    names = {f"c{number}" for number in range(20)}
    raised = at_once(*(added(home, name) for name in names))
    assert [error for error in raised if error] == []
    assert written(home) >= names


def test_commands_that_add_a_corpus_at_once_lose_none_and_each_says_what_became_of_its_own(
    home, daemon
):
    names = [f"c{number}" for number in range(6)]
    for name in names:
        (home.path / name).mkdir()
        (home.path / name / "a.md").write_text(f"about {name}")
    command = [sys.executable, "-m", "irclient.quick", "add"]
    at_once = [
        subprocess.Popen(
            [*command, name, "files", str(home.path / name)],
            env=home.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    said = {name: process.communicate()[0] for name, process in zip(names, at_once, strict=True)}
    assert [process.returncode for process in at_once] == [0] * len(names)
    assert written(home) == set(names)
    assert all(f"{name}: 1 artifact" in said[name] for name in names), said


def test_a_corpus_removed_beside_one_that_is_added_stays_removed(home, daemon):
    rounds, until_s = 0, time.monotonic() + _RACE_S
    while time.monotonic() < until_s or rounds < _ROUNDS:
        added(home, "private")()
        assert at_once(removed(home, "private"), added(home, f"n{rounds}")) == [None, None]
        assert "private" not in written(home), f"it was back in round {rounds}"
        assert f"n{rounds}" in written(home)
        removed(home, f"n{rounds}")()
        rounds += 1


# Edit the file from a process of its own until a file appears, as `irdaemon keys` does.
_KEYS = """
import os, sys
from irdaemon.cli.main import main
rounds = 0
sys.stdout = open(os.devnull, "w")
sys.stderr = open(os.devnull, "w")
while rounds < int(sys.argv[2]) or not os.path.exists(sys.argv[1]):
    if main(["keys", "add", f"k{rounds}", "--token"]) or main(["keys", "rm", f"k{rounds}"]):
        os._exit(9)
    rounds += 1
os._exit(0)
"""


def test_edits_of_the_daemon_and_of_a_command_do_not_undo_each_other(home, daemon):
    enough = home.path / "enough"
    command = [sys.executable, "-c", _KEYS, str(enough), str(_ROUNDS)]
    rounds, until_s = 0, time.monotonic() + _RACE_S
    with subprocess.Popen(command, env=home.env) as keys:
        try:
            while time.monotonic() < until_s or rounds < _ROUNDS:
                added(home, "mine")()
                assert "mine" in written(home), f"it was gone in round {rounds}"
                removed(home, "mine")()
                assert "mine" not in written(home), f"it was back in round {rounds}"
                rounds += 1
        finally:
            enough.touch()
    assert keys.returncode == 0
    assert "client" not in tomllib.loads(home.config.read_text())


@pytest.mark.parametrize(
    ("name", "root"), [("m", "/tmp/\0"), ("m", "/tmp/\x1b[1m"), ("m\n", "/tmp")]
)
@pytest.mark.shared_daemon
def test_a_control_character_in_what_is_added_is_refused_and_costs_nothing(
    home, daemon, name, root
):
    before = home.config.read_text()
    with home.client() as client, pytest.raises(IRError) as refused:
        client.add(name, "files", [root])
    assert refused.value.code == "config"
    assert str(home.config) in refused.value.message
    assert home.config.read_text() == before
    with home.client() as client:
        assert client.ping()


def test_a_root_with_a_nul_in_the_file_marks_its_corpus_and_the_others_are_served(home):
    home.skill("kayaks", "How to roll a kayak")
    home.config.write_text(
        'embedder = "hashing"\n[corpora.bad]\nkind = "files"\nroots = ["/tmp/\\u0000"]\n'
    )
    with Running(home) as running:
        running.wait_idle()
        assert home.irc("discover", "roll a kayak").returncode == 0
        status = home.answer("status")
        (bad,) = (each for each in status["health"]["corpora"] if each["name"] == "bad")
        assert bad["level"] == "offline"
        assert bad["offline"][0]["path"] == str(home.config)
        assert "line 4: roots holds the control character U+0000" in bad["offline"][0]["reason"]
        doctor = home.run("irdaemon", "doctor").stdout
        assert "bad cannot be used: line 4: roots holds" in doctor
        assert home.irc("rm", "bad").returncode == 0
        with home.client() as client, pytest.raises(NotFound):
            client.info("bad")
        assert "bad" not in written(home)
        assert running.process.poll() is None


def test_a_pipe_in_the_place_of_the_configuration_is_refused_at_once(home):
    home.config.unlink()
    os.mkfifo(home.config)
    refused = home.run("irdaemon", "start", "--config", str(home.config))
    assert refused.returncode == 2
    assert f"{home.config} is not a regular file" in refused.stderr


def test_a_configuration_that_cannot_be_written_is_a_typed_error_with_the_cure(home, daemon):
    lock = home.config.parent / f".{home.config.name}.lock"
    lock.mkdir()  # what no user, root included, can open for writing
    with home.client() as client, pytest.raises(IRError) as refused:
        client.add("c", "files", ["/tmp"])
    assert (refused.value.code, "cannot be written" in refused.value.message) == ("config", True)
    assert "IRDAEMON_CONFIG" in refused.value.hint
    lock.rmdir()
    until(lambda: client_adds(home))


def client_adds(home):
    with home.client() as client:
        return client.add("c", "files", [str(home.path)])


def test_a_found_corpus_is_replaced_and_removed_in_words_and_comes_back(home, daemon):
    held = [each["artifact_id"] for each in home.answer("artifacts", "skills")]
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "otters.md").write_text("# Otters\n\nCount them.\n")

    replaced = home.irc("add", "skills", "files", str(notes))
    assert replaced.returncode == 0, replaced.stderr
    assert f"skills, found in {home.skills}" in replaced.stdout
    assert "irc rm skills, then irc add skills brings it back" in replaced.stdout

    removed = home.irc("rm", "skills")
    assert "skills is switched off" in removed.stdout
    assert "irc add skills brings back" in removed.stdout
    assert home.answer("status")["corpora"] == []

    again = home.irc("add", "skills")
    assert again.returncode == 0, again.stderr
    assert [each["artifact_id"] for each in home.answer("artifacts", "skills")] == held


@pytest.mark.shared_daemon
def test_a_name_alone_that_stands_for_nothing_found_is_refused(home, daemon):
    done = home.irc("add", "notes")
    assert done.returncode == 2
    assert "the kind of 'notes' is missing" in done.stderr
