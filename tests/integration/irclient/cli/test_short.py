"""Commands without argparse and pyzmq: what they print, load, and leave to others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import irclient
from irclient import results, types
from irclient.cli import main as cli
from irclient.cli import short
from irclient.errors import NotFound
from irclient.ops import OPS
from irclient.testing import SILENT, FakeDaemon, hit, selection

INFO = {"name": "skills", "kind": "skills", "roots": ["/skills"], "fields": ["name"]}
CORPUS = {"name": "skills", "kind": "skills", "artifacts": 1, "records": 2, "vectors": 2}
CORPUS |= {"failures": 0, "pending": 0, "state": "ok", "roots": ["/skills"], "problems": []}
WELL = {"name": "skills", "level": "ok", "offline": [], "polled": [], "stale": []}
STATUS = {"version": "0.1.0", "pid": 7, "uptime_s": 1.0, "generation": 3, "queue": 0, "jobs": []}
STATUS |= {"corpora": [CORPUS], "rss_bytes": 1_000_000, "socket": "/s", "config": "/c"}
STATUS |= {"health": {"level": "ok", "stuck": [], "limits": [], "corpora": [WELL]}}
RECORD = {"record_id": "1", "kind": "body", "granularity": "whole", "surface_index": 0}
RECORD |= {"text": "fill", "metadata": {}}
HELD = {"corpus": "skills", "artifact_id": "pdf", "name": "pdf", "pointer": "/p"}
BODY = {**HELD, "level": "body", "body": "fill\nit", "files": []}
DONE = {"number": 1, "kind": "reconcile", "corpus": "skills", "state": "done", "done": 1}
DONE |= {"todo": 1, "report": "1 changed", "since": 0.0}
TASK = {"corpus": "skills", "work": "scan", "due": False, "reason": "it was scanned", "job": 0}
WRITTEN = {"status": "created", "path": "/d/x.md", "digest": "abc", "trash": ""}
ANSWERS = {
    "discover": selection(hit("pdf")),
    "search": selection(hit("pdf"), hit("docx")),
    "status": STATUS,
    "failures": [],
    "records": [RECORD],
    "artifacts": [{**HELD, "indexed_at": 1.0, "asset_type": "text"}],
    "disclose": [BODY],
    "audit": [],
    "build": [1],
    "hint": [1],
    "rm": [1],
    "progress": DONE,
    "maintain": [TASK],
    "impressions": [{"reference": "skills/pdf", "at": 0.0}],
    "wait": {"generation": 3, "reached": False},
    "usage_forget": 3,
    "doc_remove": WRITTEN,
}
for op, answer in ANSWERS.items():
    # As a daemon of this version sends them: whole.
    name = OPS[op].result_type.removeprefix("list[").removesuffix("]")
    kind = getattr(results, name, None) or getattr(types, name, None)
    if kind is not None and not hasattr(answer, "to_dict"):
        every = answer if isinstance(answer, list) else [answer]
        whole = [kind.from_dict(each).to_dict() for each in every]
        ANSWERS[op] = whole if isinstance(answer, list) else whole[0]
LINES = (
    *("discover -k 3 fill a form", "discover --paths fill", "search fill", "search --json fill"),
    *("ls", "ls --json", "status", "status --json", "status --failures", "records skills/pdf"),
    *(
        "artifacts",
        "artifacts -k 1 --json",
        "disclose skills/pdf",
        "audit",
        "build",
        "build --json",
    ),
    *("build --no-wait", "hint /x", "rm skills", "maintain", "maintain --dry-run --json"),
    *("impressions claude:x", "impressions claude:x skills/pdf", "wait 9", "ping --json"),
    *("usage forget --all", "docs rm x.md", "docs ls", "info skills", "search", "ls --unknown"),
)
HEAVY = ("zmq", "msgpack", "argparse", "typing", "dataclasses", "re", "json", "contextlib")
HEAVY += ("collections", "importlib", "irclient.types", "irclient.results", "irclient.client")


@pytest.fixture
def daemon(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with FakeDaemon(ANSWERS) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        yield daemon


def ended(way, words, capsys):
    """Return the exit code of a command, and what it printed."""
    try:
        code = way(words)
    except SystemExit as end:
        code = end.code
    return code, *capsys.readouterr()


def asked(daemon):
    """Return what a daemon was asked since the last time."""
    found = [(each.op, dict(each.args)) for each in daemon.requests]
    daemon.requests.clear()
    return found


@pytest.mark.parametrize("line", LINES)
def test_a_command_prints_and_asks_the_same_in_either_way(line, daemon, capsys):
    words = line.split()
    found = ended(short.run, words, capsys), asked(daemon)
    if found[0] != (None, "", ""):
        assert found == (ended(cli.main, words, capsys), asked(daemon))


def test_what_is_no_well_formed_command_for_a_daemon_of_this_machine_is_left(
    daemon, capsys, monkeypatch
):
    for words in ([], ["top"], ["ls", "--help"], ["search"], ["search", "caf\udce9"]):
        assert short.run(words) is None
    monkeypatch.setenv("IRDAEMON_SOCKET", "tcp://host:1")
    assert short.run(["ls"]) is None
    monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
    monkeypatch.setenv("IRDAEMON_TOKEN", "/token")
    assert short.run(["ls"]) is None
    assert (asked(daemon), capsys.readouterr()) == ([], ("", ""))


@pytest.mark.parametrize("line", ["info skills", "info skills --json"])
def test_an_error_of_the_daemon_is_said_with_its_exit_code(line, daemon, capsys):
    daemon.answers["info"] = NotFound("no corpus skills", "irc ls")
    found = ended(short.run, line.split(), capsys)
    assert found == ended(cli.main, line.split(), capsys)
    assert found[0] == 4


def test_a_reply_that_lacks_what_is_shown_is_read_with_the_types_of_results(daemon, capsys):
    daemon.answers["artifacts"] = [{"corpus": "skills", "artifact_id": "pdf"}]
    assert ended(short.run, ["artifacts"], capsys) == (None, "", "")
    code, out, _ = ended(cli.main, ["artifacts"], capsys)
    assert (code, out) == (0, "skills/pdf  \n")


def test_what_must_not_be_asked_twice_is_not_asked_again_for_a_reply_that_lacks_something(
    daemon, capsys
):
    daemon.answers["progress"] = {"number": 1}
    assert ended(short.run, ["build"], capsys)[0] == 70
    assert [op for op, _ in asked(daemon)].count("build") == 1


def test_a_daemon_that_does_not_answer_in_time_is_exit_code_3(daemon, capsys):
    daemon.answers["status"] = SILENT
    code, _, err = ended(short.run, ["ls", "--timeout", "0.05"], capsys)
    assert (code, "did not answer within 0.05 s" in err) == (3, True)


@pytest.mark.parametrize("command", sorted(short.COMMANDS))
def test_a_command_loads_nothing_heavy_before_it_asks(command):
    code = f"import sys, irclient.quick, irclient.cli.short, irclient.cli.commands.{command}"
    code += f"; print([m for m in {HEAVY!r} if m in sys.modules])"
    env = {**os.environ, "PYTHONPATH": str(Path(irclient.__file__).parents[1])}
    # Not the site's own imports: an editable install loads half the library at start.
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, env=env)
    assert (done.stdout or done.stderr).decode().strip() == "[]"


@pytest.mark.parametrize("line", [each for each in LINES if each != "search"][:-2])
def test_a_whole_command_loads_nothing_heavy(line, daemon):
    code = "import os, sys; sys.argv[0] = 'irc'; from irclient import quick\n"
    code += f"loaded = lambda: [m for m in {HEAVY!r} if m in sys.modules]\n"
    code += "os._exit = lambda code: (print(loaded(), file=sys.stderr), sys.exit(0))\nquick.main()"
    env = {**os.environ, "PYTHONPATH": str(Path(irclient.__file__).parents[1])}
    command = [sys.executable, "-S", "-c", code, *line.split()]
    done = subprocess.run(command, capture_output=True, env=env)
    assert done.stderr.decode().splitlines()[-1] == "[]"
