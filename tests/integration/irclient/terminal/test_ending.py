"""How both programs end when what they print cannot be written, as processes."""

import os
import subprocess
import sys

import pytest

from irclient.terminal.ending import run_program
from irclient.testing import FakeDaemon, hit, selection

PROGRAMS = ("irclient.quick", "irdaemon")
FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


def ended(redirection, module, *words, **environment):
    """Run a program through a shell that redirects its streams."""
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )


@pytest.fixture
def asked(monkeypatch):
    """Serve, for requests by the short way and by the whole command line."""
    answers = {"discover": selection(hit("pdf"))}
    with FakeDaemon(answers) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        yield (["discover", "x"], ["discover", "x", "-k", "3"], ["ping"], ["ping", "--json"])


@FULL
def test_a_full_disk_is_exit_code_74_and_a_line_without_a_traceback(asked):
    for words in asked:
        done = ended(">/dev/full", "irclient.quick", *words)
        assert (done.returncode, done.stderr.count("\n")) == (74, 1), words
        assert "the output cannot be written: No space left on device" in done.stderr


def test_a_closed_stdout_is_exit_code_74_and_a_line_without_a_traceback(asked):
    for words in asked:
        done = ended(">&-", "irclient.quick", *words)
        assert (done.returncode, done.stderr.count("\n")) == (74, 1), words
        assert "the output cannot be written" in done.stderr


@FULL
@pytest.mark.parametrize("module", PROGRAMS)
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_a_page_that_cannot_be_written_is_exit_code_74(module, redirection):
    done = ended(redirection, module, "completion", "bash")
    assert done.returncode == 74
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_failure():
    done = ended("| true; exit 0", "irdaemon", "completion", "bash")
    assert done.stderr == ""


def test_closed_error_output_does_not_end_up_among_the_data(asked, tmp_path):
    out = tmp_path / "out"
    done = ended(f">{out} 2>&-", "irclient.quick", "disclose", "no/such")
    assert done.returncode == 2
    assert out.read_text() == ""


def test_a_fault_of_the_program_is_exit_code_70_with_what_a_report_needs(capsys):
    def broken() -> int:
        raise ZeroDivisionError("planted")

    assert run_program("irc", broken) == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError: planted" in said
    assert "a bug in irc" in said


def test_an_interrupt_is_exit_code_130():
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert run_program("irc", interrupted) == 130
