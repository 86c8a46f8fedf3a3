"""The example in another language speaks the wire as the document has it."""

import shutil
import subprocess

import pytest

from tests.support.running import ROOT

EXAMPLE = ROOT / "examples" / "node"

pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"),
    pytest.mark.skipif(
        not (EXAMPLE / "node_modules").exists(), reason="run `npm ci` in examples/node first"
    ),
]


def discover(home, *words):
    command = ["node", str(EXAMPLE / "discover.mjs"), *words]
    return subprocess.run(command, env=home.env, capture_output=True, text=True, timeout=120)


@pytest.mark.shared_daemon
def test_node_gets_the_answer_that_python_gets(daemon, home):
    done = discover(home, "fill", "a", "pdf", "form")
    assert done.returncode == 0, done.stderr
    (hit,) = home.answer("discover", "fill a pdf form")["results"]
    assert done.stdout.split()[:3] == [f"{hit['score']:.2f}", hit["name"], hit["corpus"]]
    assert hit["pointer"] in done.stdout


@pytest.mark.shared_daemon
def test_node_is_told_what_is_wrong(daemon, home):
    done = discover(home, "")
    assert (done.returncode, done.stderr) == (3, "discover: the query is empty (query)\n")


def test_node_says_when_no_daemon_is_there(home):
    home.env["IRDAEMON_SOCKET"] = str(home.path / "none.sock")
    done = discover(home, "x")
    assert done.returncode == 3
    assert "no daemon at" in done.stderr
