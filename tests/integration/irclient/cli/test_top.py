"""`irc top`: rates between two samples, what is drawn of them, and the terminal put back."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import irclient
from irclient.cli import main as cli
from irclient.cli import top
from irclient.cli.rates import format_sample, take_sample
from irclient.testing import FakeDaemon

CORPUS = {"name": "skills", "state": "ready", "artifacts": 12_345, "pending": 2}
CORPUS |= {"records": 3, "vectors": 3, "failures": 0}


def status(answers=0, jobs=0, pid=1):
    """Return a status after so many answers and jobs."""
    figures = {"n": 1, "p50": 1.25, "p95": 3.5, "max": 9.0}
    profile = {
        "lexical": {"total": 7, **figures},
        "tier hybrid": {"total": answers, **figures},
        "tier lexical": {"total": 1, **figures},
        "job reconcile": {"total": jobs, **figures},
    }
    return {
        **{"version": "1", "pid": pid, "uptime_s": 61.0, "generation": 5, "queue": 1},
        "jobs": [{"number": 1, "kind": "reconcile", "corpus": "skills", "done": 5, "todo": 12}],
        "rss_bytes": 187_000_000,
        "corpora": [CORPUS],
        "profile": profile,
    }


def test_rates_are_what_was_counted_between_two_samples():
    sample = take_sample(status(30, 4), take_sample(status(10, 3), None, 0), 2.0)
    assert sample.compute_rate("answer") == 10.0
    assert sample.compute_rate("job") == 0.5
    assert sample.find_busiest("answer").name == "hybrid"
    assert {rate.name for rate in sample.rates} == {"hybrid", "lexical", "reconcile"}


def test_the_first_sample_and_one_after_a_restart_have_no_rates():
    first = take_sample(status(10), None, 0)
    again = take_sample(status(3, pid=2), first, 1.0)
    for sample in (first, again):
        assert sample.compute_rate("answer") == 0
        assert sample.find_busiest("answer") is None


def test_a_sample_is_a_line_off_the_screen():
    said = format_sample(take_sample(status(30), take_sample(status(10), None, 0), 2.0))
    for part in ("generation 5", "10.0 answers/s (hybrid: p50 1.2 ms, p95 3.5 ms)", "187 MB"):
        assert part in said


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_sample_fits_its_screen(width):
    console = pytest.importorskip("rich.console")
    from irclient.cli.screen import draw_sample

    page = io.StringIO()
    console.Console(file=page, width=width).print(
        draw_sample(take_sample(status(), None, 0), width, "gone")
    )
    lines = page.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for part in ("skills", "ready", "12,345", "reconcile skills 5 of 12", "gone"):
        assert part in page.getvalue()


def test_off_a_terminal_there_are_lines_or_data_and_no_escapes(monkeypatch, capsys):
    with FakeDaemon({"status": status(10)}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert cli.main(["top", "--every", "0.01", "--count", "2"]) == 0
        assert cli.main(["top", "--every", "0.01", "--count", "2", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "\x1b" not in "".join(lines)
    assert [json.loads(each)["generation"] for each in lines[2:]] == [5, 5]


def test_without_rich_there_are_lines_on_a_terminal_too(monkeypatch, capsys):
    monkeypatch.setattr(top, "_is_screen", lambda: True)
    monkeypatch.setitem(sys.modules, "irclient.cli.screen", None)
    with FakeDaemon({"status": status()}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        assert cli.main(["top", "--count", "1"]) == 0
    said = capsys.readouterr()
    assert "generation 5" in said.out
    assert "'rich>=" in said.err


@pytest.fixture
def on_a_screen():
    """Start `irc top` on a terminal; give the process, the terminal, and how it was before."""
    pytest.importorskip("rich")
    home = str(Path(irclient.__file__).parents[1])
    with FakeDaemon({"status": status(10)}) as daemon:
        ours, theirs = pty.openpty()
        before = termios.tcgetattr(theirs)
        env = {**os.environ, **daemon.environment, "PYTHONPATH": home, "TERM": "xterm"}
        command = [sys.executable, "-m", "irclient.quick", "top", "--every", "0.05"]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        yield daemon, process, ours, lambda: termios.tcgetattr(theirs) == before
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def until_seen(terminal, wanted):
    """Read from a terminal until something is there; return all that was read."""
    seen = b""
    while wanted not in seen:
        seen += os.read(terminal, 65536)
    return seen


@pytest.mark.parametrize("end", [b"q", signal.SIGINT, signal.SIGTERM])
def test_a_key_or_a_signal_ends_it_and_the_terminal_is_as_before(on_a_screen, end):
    if end == signal.SIGINT and signal.getsignal(end) == signal.SIG_IGN:
        pytest.skip("interrupts are ignored here, as in what a shell starts in the background")
    _, process, terminal, is_as_before = on_a_screen
    until_seen(terminal, b"12,345")
    assert not is_as_before()
    if isinstance(end, bytes):
        os.write(terminal, end)
    else:
        process.send_signal(end)
    rest = until_seen(terminal, b"\x1b[?1049l")
    assert process.wait(10) == 0
    assert is_as_before()
    assert rest.rfind(b"\x1b[?25h") > rest.rfind(b"\x1b[?25l")


def test_it_says_that_the_daemon_is_gone_and_goes_on_when_it_is_back(on_a_screen):
    daemon, process, terminal, _ = on_a_screen
    until_seen(terminal, b"12,345")
    daemon.stop()
    until_seen(terminal, b"no daemon at")
    daemon.answers["status"] = {**status(), "generation": 77}
    daemon.start()
    until_seen(terminal, b"generation 77")
    assert process.poll() is None
