"""Starting, stopping, crashing, and staying the only one."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from irclient import Query
from irdaemon.cli import running
from tests.support.running import Running, until


def test_of_two_starts_at_once_exactly_one_serves(home):
    home.skill("a", "Anything")
    first, second = Running(home), Running(home)
    until(lambda: first.process.poll() is not None or second.process.poll() is not None)
    lost, won = (first, second) if first.process.poll() is not None else (second, first)
    with won:
        assert "already running" in lost.process.communicate()[1]
        assert lost.process.returncode == 2


def test_sigterm_leaves_no_process_and_no_socket(home, daemon):
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(timeout=60) == 0
    assert not home.socket.exists()


def test_a_stop_in_the_middle_of_a_build_is_clean_and_the_next_start_finishes_it(home):
    for number in range(600):
        home.skill(f"skill-{number}", f"Task number {number} about topic {number % 17}", "x " * 500)
    with Running(home) as running:
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=60) == 0
    with Running(home) as running:
        (skills,) = running.wait_idle()["corpora"]
    assert (skills["artifacts"], skills["records"], skills["vectors"]) == (600, 600, 600)


def test_kill_9_during_the_first_build_leaves_no_half_corpus_served_as_whole(home):
    for number in range(1500):
        home.skill(f"skill-{number}", f"Task number {number} about topic {number % 17}", "x " * 500)
    with Running(home) as running:

        def some_are_there():
            with home.client() as client:
                answer = client.search(Query("topic"))
            if answer.freshness["building"] != ["skills"]:
                raise AssertionError("the build ended before it could be interrupted")
            return answer.n_retrieved > 0

        until(some_are_there)
        running.kill()
    with Running(home) as running:
        (skills,) = running.wait_idle()["corpora"]
        with home.client() as client:
            assert client.discover(Query("topic")).freshness["building"] == []
    assert (skills["artifacts"], skills["records"], skills["vectors"]) == (1500, 1500, 1500)


def test_a_socket_left_behind_is_replaced_and_one_that_is_answered_is_not(home):
    home.skill("a", "Anything")
    with Running(home) as running:
        running.kill()
    assert home.socket.exists()
    with Running(home):
        pass
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(home.socket))
        other.listen()
        refused = home.run("irdaemon", "start")
    assert refused.returncode == 2
    assert "something else answers" in refused.stderr


def test_sighup_reads_the_configuration_again_and_a_broken_one_changes_nothing(home, daemon):
    notes = home.path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nAnteaters.\n")
    home.config.write_text(
        f'embedder = "hashing"\n[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n'
    )
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: home.irc("discover", "anteaters", "-c", "notes").returncode == 0)
    home.config.write_text("[corpora.notes\n")
    daemon.process.send_signal(signal.SIGHUP)
    assert home.irc("discover", "anteaters", "-c", "notes").returncode == 0


def test_a_wrong_key_keeps_the_daemon_from_starting_and_says_where(home):
    home.config.write_text('embedder = "hashing"\n\n[watch]\nsetle_ms = 5\n')
    refused = home.run("irdaemon", "start")
    assert refused.returncode == 2
    assert "irdaemon.toml:4: unknown key 'setle_ms' in [watch]; did you mean" in refused.stderr


def hide_module(home, module):
    """Have no program of a home find a module."""
    (home.path / "site").mkdir()
    without = f"import sys\nsys.modules[{module!r}] = None\n"
    (home.path / "site" / "sitecustomize.py").write_text(without)
    home.env["PYTHONPATH"] = f"{home.path / 'site'}{os.pathsep}{home.env['PYTHONPATH']}"


def test_without_the_library_of_graphs_all_is_served_and_status_and_doctor_say_what_would_help(
    home,
):
    hide_module(home, "hnswlib")
    home.skill("anteaters", "Feed the anteaters")
    home.skill("roses", "Prune the roses")
    home.config.write_text('embedder = "hashing"\n[index]\nhnsw_above = 2\n')
    with Running(home):
        until(lambda: home.answer("status").get("advice"))
        assert home.irc("discover", "feed the anteaters").returncode == 0
        said = " ".join(home.irc("status").stdout.split())
        assert "advice: a graph would answer faster in skills (2 vectors)" in said
        assert "hnswlib" in said
        found = json.loads(home.run("irdaemon", "doctor", "--json").stdout)
    notes = [each for each in found if each["level"] == "note" and "hnswlib" in each["what"]]
    assert {each["check"] for each in notes} == {"versions", "daemon"}


@pytest.mark.parametrize(
    ("module", "package"),
    [("apscheduler", "apscheduler"), ("yaml", "PyYAML")],
)
@pytest.mark.parametrize("options", [(), ("--detach",)])
def test_a_needed_package_that_is_missing_is_named_with_the_command_that_installs_it(
    home, module, package, options
):
    hide_module(home, module)
    failed = home.run("irdaemon", "start", *options)
    assert failed.returncode == 3
    assert f"the package {package} is needed" in failed.stderr
    assert failed.stderr.rstrip().endswith(f"install {package}")
    assert "a bug in irdaemon" not in failed.stderr


def test_the_service_manager_hears_of_readiness_watchdog_and_stopping(home):
    home.skill("a", "Anything")
    address = str(home.path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(20)
        with Running(home, NOTIFY_SOCKET=address, WATCHDOG_USEC="400000"):
            heard = [manager.recv(4096).decode() for _ in range(3)]
        while "STOPPING=1" not in heard[-1]:
            heard.append(manager.recv(4096).decode())
    assert heard[0].startswith("READY=1\nSTATUS=")
    assert any("WATCHDOG=1" in said for said in heard)


def test_detached_start_stop_and_restart_work_by_command(home):
    home.skill("a", "Anything")
    started = home.run("irdaemon", "start", "--detach", "--wait")
    assert started.returncode == 0, started.stderr
    again = home.run("irdaemon", "start", "--detach")
    assert "already running" in again.stderr
    assert again.returncode == 0
    before = home.answer("ping")["pid"]
    assert home.run("irdaemon", "restart").returncode == 0
    assert home.answer("ping")["pid"] != before
    assert home.run("irdaemon", "stop").returncode == 0
    assert home.run("irdaemon", "stop").returncode == 3
    assert home.run("irdaemon", "status").returncode == 3


def test_private_files_are_private(home, daemon):
    state = home.path / ".local" / "state" / "irdaemon"
    assert os.stat(state).st_mode & 0o777 == 0o700
    assert os.stat(home.socket.parent).st_mode & 0o777 == 0o700
    for file in state.iterdir():
        assert os.stat(file).st_mode & 0o077 == 0, file


def test_events_tell_of_generations(home, daemon):
    command = [sys.executable, "-u", "-m", "irclient.cli.main", "events", "generation"]
    with subprocess.Popen(command, env=home.env, stdout=subprocess.PIPE, text=True) as following:
        heard = []

        def something_is_heard():
            home.skill("a", f"Anything {len(heard)} {os.urandom(4).hex()}")
            os.set_blocking(following.stdout.fileno(), False)
            heard.append(following.stdout.readline())
            return bool(heard[-1])

        until(something_is_heard)
        following.terminate()
    assert '"event": "generation"' in heard[-1]


def test_known_places_that_are_unmounted_at_a_start_lose_nothing(home):
    home.skill("kept", "Kookaburras")
    with Running(home) as running:
        running.wait_idle()
    away = home.path / "away"
    home.skills.rename(away)
    with Running(home) as running:
        (skills,) = running.wait_idle()["corpora"]
        assert (skills["artifacts"], skills["state"]) == (1, "degraded")
        assert "gone" in skills["problems"][0]["reason"]
        home.irc("build", "skills", "--prune")
        assert home.answer("ls")[0]["artifacts"] == 0


def test_a_root_that_is_a_link_loses_nothing_with_the_link(home):
    home.skill("kept", "Kookaburras")
    real = home.path / "real"
    home.skills.rename(real)
    home.skills.symlink_to(real)
    with Running(home) as running:
        running.wait_idle()
        home.skills.unlink()
        home.irc("build", "skills")
        (skills,) = home.answer("ls")
        assert (skills["artifacts"], skills["state"]) == (1, "degraded")


def heard_by_the_manager(home, times, **environment):
    """Run a daemon under a service manager and return what it says so many times."""
    address = str(home.path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(20)
        with Running(home, NOTIFY_SOCKET=address, WATCHDOG_USEC="200000", **environment):
            return [manager.recv(4096).decode() for _ in range(times)]


def test_the_watchdog_is_answered_only_while_the_writer_gets_on(home):
    home.skill("a", "Anything")
    home.config.write_text('embedder = "hashing"\n[health]\nstuck_minutes = 0.000001\n')
    told = heard_by_the_manager(home, 4)[1:]
    assert all("has made no progress for" in said for said in told)
    assert not any("WATCHDOG=1" in said for said in told)


def test_a_daemon_that_no_client_asks_stops_when_that_is_wanted(home):
    home.skill("a", "Anything")
    home.config.write_text('embedder = "hashing"\n[limits]\nidle_exit_minutes = 0.02\n')
    with Running(home) as running:
        assert running.process.wait(timeout=60) == 0
    assert not home.socket.exists()


def test_a_socket_that_cannot_be_made_is_said_and_ends_the_start(home):
    home.skill("a", "Anything")
    taken = home.socket.parent / "irevents.sock"
    taken.mkdir(parents=True)
    home.socket.parent.chmod(0o700)
    running = Running(home)
    _, said = running.process.communicate(timeout=60)
    assert running.process.returncode == 2
    assert f"{taken} is a directory" in said
    assert "Traceback" not in said


def test_a_running_daemon_of_another_version_is_replaced_by_a_detached_start(home):
    home.skill("a", "Anything")
    code = "import sys, irdaemon; irdaemon.__version__ = '0.0.9'; sys.argv = ['irdaemon', 'start'];"
    code += " from irdaemon.cli.main import main; sys.exit(main())"
    older = subprocess.Popen([sys.executable, "-c", code], env=home.env, stderr=subprocess.DEVNULL)
    try:
        until(lambda: home.answer("ping").get("version") == "0.0.9")
        started = home.run("irdaemon", "start", "--detach", "--wait")
        assert started.returncode == 0, started.stderr
        assert "irdaemon 0.0.9 runs" in started.stderr
        assert older.wait(10) == 0
        assert home.answer("ping")["pid"] != older.pid
    finally:
        older.kill()
        home.run("irdaemon", "stop")


def test_while_a_corpus_is_building_junk_is_not_committed_and_every_answer_says_so(home):
    for number in range(1500):
        home.skill(f"skill-{number}", f"Task number {number} about topic {number % 17}", "x " * 500)
    junk, during = "design a microservice about time", 0
    with Running(home) as running:
        while True:
            said, hooked = home.irc("discover", junk), hook(home, junk)
            with home.client() as client:
                answer = client.discover(Query(junk))
            if not answer.freshness["building"]:
                break
            during += 1
            assert (answer.reason, answer.results) == ("building", ())
            assert "still building skills" in " ".join(said.stdout.split())
            assert (said.returncode, hooked) == (1, "")
            named = hook(home, "use the skill `skill-0`")
            with home.client() as client:
                still = client.status().corpora[0].state == "building"
            assert not named or not still or "Still being indexed" in named
            if during == 3:
                break
        assert during > 0
        running.wait_idle()
    with Running(home):
        assert "skill-77" in hook(home, "use the skill `skill-77`")


def hook(home, prompt):
    """Return what the prompt hook of Claude Code writes for a prompt."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt}
    words = ("hook", "--agent", "claude", "--budget-ms", "5000")
    return home.run("irclient.quick", *words, given=json.dumps(event)).stdout


def test_a_frozen_daemon_is_named_with_what_ends_it_and_a_stop_wakes_it(home, daemon):
    daemon.process.send_signal(signal.SIGSTOP)
    said = home.irc("status")
    assert (said.returncode, f"pid {daemon.process.pid}" in said.stderr) == (3, True)
    assert "irdaemon stop --kill" in said.stderr
    started = home.run("irdaemon", "start", "--detach")
    assert (started.returncode, "does not answer" in started.stderr) == (5, True)
    assert "irdaemon stop --kill" in home.run("irdaemon", "doctor").stdout
    assert home.run("irdaemon", "stop").returncode == 0
    assert daemon.process.wait(timeout=60) == 0


STUBBORN = """
import signal, sys, time
from irdaemon.daemon.lock import Lock
signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = Lock.take(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


def test_what_does_not_stop_is_killed_only_when_that_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(running, "_STOPPED_WITHIN_S", 0.5)
    monkeypatch.setattr(running, "state_dir", lambda: str(tmp_path))
    holding = [sys.executable, "-c", STUBBORN, str(tmp_path / "lock")]
    with subprocess.Popen(holding, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        assert running.stop_running() == 5
        assert "irdaemon stop --kill" in capsys.readouterr().err
        assert process.poll() is None
        assert running.stop_running(kill=True) == 0
        assert process.wait(10) == -signal.SIGKILL
