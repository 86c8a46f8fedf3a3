import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from irdaemon.cli.main import main
from tests.support.running import Home, Running


@contextmanager
def temporary_home():
    """Make a home. Not tmp_path: a socket's address holds 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        yield Home(Path(directory))


@contextmanager
def serve_two_skills(home):
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    home.skill("changelog", "Write a changelog from commits")
    with Running(home) as running:
        running.wait_idle()
        yield running


@pytest.fixture(scope="session")
def shared_daemon():
    """Run one daemon for all tests with the mark `shared_daemon`."""
    with temporary_home() as home, serve_two_skills(home) as running:
        yield running


def list_files(home):
    """Return what a test with that mark must leave as it is."""
    top = [home.path / ".config", home.path / ".claude"]
    paths = sorted(path for each in top for path in each.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in paths if path.suffix != ".lock"}


@pytest.fixture
def home(request):
    if not request.node.get_closest_marker("shared_daemon"):
        with temporary_home() as home:
            yield home
        return
    running = request.getfixturevalue("shared_daemon")
    home, before, env = running.home, list_files(running.home), dict(running.home.env)
    yield home
    home.env = env
    assert running.process.poll() is None, "the test ended the daemon that it shares"
    assert list_files(home) == before, "the test changed the home that it shares"


@pytest.fixture(scope="module")
def module_home():
    """Give a home for a daemon that all tests of a file ask."""
    with temporary_home() as home:
        yield home


@pytest.fixture
def daemon(request, home):
    if request.node.get_closest_marker("shared_daemon"):
        yield request.getfixturevalue("shared_daemon")
        return
    with serve_two_skills(home) as running:
        yield running


@pytest.fixture
def irdaemon(home, monkeypatch, capsys):
    """Give the command, run in this process: it returns its code and all it said.

    Importing what it needs takes longer than most tests.
    """
    for name in os.environ:
        if name.startswith(("XDG_", "IRDAEMON_")):
            monkeypatch.delenv(name)

    def run(*words):
        for name in ("HOME", "XDG_RUNTIME_DIR", "EDITOR"):
            if name in home.env:
                monkeypatch.setenv(name, home.env[name])
        code = main(words)
        return code, "".join(capsys.readouterr())

    return run
