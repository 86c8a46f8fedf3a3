"""What is gone, opted out or taken away is in no file of the daemon's any more, soon."""

import subprocess
import sys

import pytest

from tests.support.running import until

# A daemon in more of a hurry, so that no test has to wait for a minute.
HURRIED = """
import sys
from irdaemon.engine import upkeep
upkeep._FOLDED_WITHIN_S = (0.5, 1.0)
upkeep._FORGOTTEN_WITHIN_S = (1.0, 2.0)
from irdaemon.cli.main import main
sys.exit(main(["start"]))
"""
SAID = "seven purple walruses sang loudly"


def told(home, text):
    """Return the files of the state directory that hold a text."""
    state = home.path / ".local" / "state" / "irdaemon"
    files = [path for path in state.rglob("*") if path.is_file()]
    return {path.name for path in files if text.encode() in path.read_bytes()}


def delete(home):
    (home.path / "docs" / "sub" / "q.md").unlink()


def opt_out(home):
    (home.path / "docs" / "sub" / ".noirdaemon").touch()


def take_away(home):
    assert home.irc("rm", "docs").returncode == 0


@pytest.mark.parametrize("forget", [delete, opt_out, take_away])
def test_a_forgotten_text_that_was_disclosed_is_in_no_file(home, forget):
    docs = home.path / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "sub" / "q.md").write_text(f"# Q\n\n{SAID}\n")
    for number in range(30):
        (docs / f"{number}.md").write_text(f"# D\n\nwhat is kept, {number}\n")
    home.config.write_text(
        f'embedder = "hashing"\nknown = false\n[corpora.docs]\nkind = "files"\nroots = ["{docs}"]\n'
    )
    with subprocess.Popen([sys.executable, "-c", HURRIED], env=home.env) as daemon:
        until(lambda: home.irc("discover", SAID).returncode == 0)
        assert SAID in home.irc("disclose", "docs/sub/q.md").stdout
        assert told(home, SAID)
        forget(home)
        until(lambda: not told(home, SAID))
        until(lambda: not told(home, "walrus"))
        assert home.irc("discover", SAID).returncode != 0
        if forget is not take_away:
            assert home.irc("search", "what is kept").returncode == 0
        assert home.run("irdaemon", "check").returncode == 0
        daemon.terminate()
