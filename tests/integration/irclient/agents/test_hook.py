"""The hook as a process: whatever comes in, exit code 0 and one JSON object or nothing, in time."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgpack
import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

import irclient
from irclient.fast.packing import PROTOCOL

START = str(Path(irclient.__file__).parent / "agents" / "hook" / "start.py")
PROMPT = {"session_id": "S", "hook_event_name": "UserPromptSubmit", "prompt": "fill a pdf form"}
HIT = {
    "corpus": "skills",
    "artifact_id": "a",
    "name": "pdf-forms",
    "summary": "Fill PDF forms",
    "pointer": "/w/SKILL.md",
}
RESULTS = {
    "discover": {"results": [HIT]},
    "status": {"corpora": [{"name": "skills", "artifacts": 2}]},
    "impressions": [],
    "hint": [1],
    "note_moment": True,
}


class Peer:
    """A ROUTER that answers every operation, and remembers what it was asked.

    Bad events are counted apart: their number may come after the hook that sent it has ended.
    """

    def __init__(self):
        self.path = os.path.join(tempfile.mkdtemp(), "s")
        self.asked, self.counted = [], []
        self.version = PROTOCOL
        self._context = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._router.bind(f"ipc://{self.path}")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(zmq.ContextTerminated):
            while True:
                route, data = self._router.recv_multipart()
                request = msgpack.unpackb(data)
                to = self.counted if request["op"] == "note_moment" else self.asked
                to.append((request["op"], request["args"]))
                result = RESULTS[request["op"]]
                reply = {"v": self.version, "id": 1, "ok": True, "result": result}
                self._router.send_multipart([route, msgpack.packb(reply)])
        self._router.close(linger=0)

    def told(self, count):
        """Return what it was asked, once it is so much."""
        deadline = time.monotonic() + 10
        while len(self.asked) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.asked

    def close(self):
        self._context.term()
        self._thread.join(5)


@pytest.fixture(scope="module")
def serving():
    made = Peer()
    yield made
    made.close()


@pytest.fixture
def peer(serving):
    serving.asked.clear()
    serving.version = PROTOCOL
    return serving


def hook(data, path, *words, start=START, **environment):
    """Run the hook with these bytes on stdin."""
    command = [sys.executable, "-I", "-S", start, "--budget-ms", "5000", *words]
    env = {"IRDAEMON_SOCKET": str(path), **environment}
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return subprocess.run(command, input=data, capture_output=True, env=env, timeout=30)


def context(done):
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def silent(done):
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_is_offered_is_reported_once_it_is_written(peer):
    done = hook(PROMPT, peer.path, "--agent", "claude", "-c", "skills")
    assert (done.returncode, done.stderr) == (0, b"")
    assert '"pdf-forms"' in context(done)
    (discover, args), reported = peer.told(2)
    assert (discover, args["text"], args["corpora"]) == ("discover", "fill a pdf form", ["skills"])
    assert (args["session"], args["select"]) == ("claude:S", {"max_k": 3})
    assert 0 < args["budget_ms"] < 5_000
    assert reported == ("impressions", {"session": "claude:S", "references": ["skills/a"]})


@pytest.mark.parametrize(
    ("event", "place"),
    [
        ({"cwd": "/w/shop"}, "/w/shop"),
        ({"cwd": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"workspace_roots": ["/w/shop"]}, "/w/shop"),
        ({"cwd": "w/shop"}, ""),
        ({"cwd": ["/w"]}, ""),
        ({"cwd": "/" + "x" * 5_000}, ""),
        ({"cwd": "/w\0"}, ""),
        ({}, ""),
    ],
)
def test_the_place_of_a_prompt_is_the_events_own_as_it_stands(event, place, peer):
    done = hook({**PROMPT, **event}, peer.path, "--agent", "claude")
    assert '"pdf-forms"' in context(done)
    (args,) = (args for op, args in peer.asked if op == "discover")
    assert args["place"] == place


def test_the_former_path_of_the_hook_gives_the_same_answers(peer):
    former = str(Path(irclient.__file__).parent / "hook" / "start.py")
    for event in ({**PROMPT, "session_id": None}, {"hook_event_name": "SessionStart"}):
        now, then = (hook(event, peer.path, "--agent", "claude", start=s) for s in (START, former))
        assert (then.returncode, then.stderr) == (0, b"")
        assert then.stdout == now.stdout != b""
    assert silent(hook(PROMPT, "/nowhere", "--agent", "claude", start=former))


def test_a_session_without_an_id_is_answered_and_nothing_is_remembered(peer):
    done = hook({**PROMPT, "session_id": None}, peer.path, "--agent", "claude")
    assert '"pdf-forms"' in context(done)
    assert [op for op, _ in peer.asked] == ["discover"]


def test_a_session_starts_with_what_there_is_and_a_turn_ends_with_a_hint(peer):
    started = hook({"hook_event_name": "SessionStart"}, peer.path, "--agent", "codex")
    assert "skills (2)" in context(started)
    stop = {"hook_event_name": "Stop", "transcript_path": "/h/S.jsonl"}
    assert silent(hook(stop, peer.path, "--agent", "codex"))
    assert peer.told(2)[-1] == ("hint", {"path": "/h/S.jsonl"})


@pytest.mark.parametrize("path", ["S.jsonl", "", None, 3, "/" + "x" * 5_000])
def test_a_transcript_that_is_no_path_is_not_passed_on(peer, path):
    stop = {"hook_event_name": "Stop", "transcript_path": path}
    assert silent(hook(stop, peer.path, "--agent", "claude"))
    assert peer.asked == []


@pytest.mark.parametrize("prompt", ["", "  \n", "/clear", "<irdaemon>x</irdaemon>", None, ["x"]])
def test_a_prompt_that_needs_nothing_is_not_asked_for(peer, prompt):
    assert silent(hook({**PROMPT, "prompt": prompt}, peer.path, "--agent", "claude"))
    assert peer.asked == []


def test_it_can_be_silenced_where_agents_are_started_by_programs(peer):
    assert silent(hook(PROMPT, peer.path, "--agent", "claude", IRDAEMON_NO_HOOK="1"))
    assert peer.asked == []


def test_the_event_may_be_named_on_the_command_line_where_it_does_not_say(peer):
    words = ("--agent", "copilot", "--event", "sessionStart")
    done = hook({"sessionId": "S", "source": "new"}, peer.path, *words)
    assert "skills (2)" in json.loads(done.stdout)["additionalContext"]


def test_an_event_that_names_itself_is_believed_before_the_command_line(peer):
    words = ("--agent", "claude", "--event", "UserPromptSubmit")
    assert silent(hook({**PROMPT, "hook_event_name": "SubagentStop"}, peer.path, *words))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b"[" * 500_000,
        b'{"hook_event_name": 7}',
        json.dumps({**PROMPT, "prompt": "x" * 5_000_000}).encode(),
        b"\0" * 6_000_000,
    ],
)
def test_broken_or_huge_input_is_met_with_silence(peer, data):
    assert silent(hook(data, peer.path, "--agent", "claude"))
    assert peer.asked == []


@given(
    st.binary(max_size=400)
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.dictionaries(
            st.sampled_from([*PROMPT, "agent_id", "transcript_path", "source"]) | st.text(), inner
        ),
    ).map(lambda value: json.dumps(value).encode())
    | st.text().map(lambda prompt: json.dumps({**PROMPT, "prompt": prompt}).encode()),
    st.sampled_from(["claude", "codex", "gemini", "cursor", "copilot"]),
    st.sampled_from(["UserPromptSubmit", "SessionStart", "Stop", "beforeSubmitPrompt", ""]),
)
def test_any_input_ends_with_0_and_one_json_object_or_nothing(serving, data, agent, event):
    done = hook(data, serving.path, "--agent", agent, "--event", event)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not done.stdout or isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize("version", [1, 3, True, "2", None])
def test_a_daemon_of_another_protocol_is_met_with_silence(peer, version):
    peer.version = version
    assert silent(hook(PROMPT, peer.path, "--agent", "claude"))


def test_no_daemon_is_met_with_silence(tmp_path):
    assert silent(hook(PROMPT, tmp_path / "none", "--agent", "claude"))
    (tmp_path / "file").write_text("no socket")
    assert silent(hook(PROMPT, tmp_path / "file", "--agent", "claude"))


def say_and_wait(listener, says, over):
    """Say this to the first who connects, and keep the connection open until it is over."""
    with listener.accept()[0] as connection:
        connection.sendall(says)
        over.wait(20)


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 500])
def test_a_peer_that_speaks_something_else_or_never_ends_the_wait_at_the_deadline(says):
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{short}/s")
        listener.listen()
        over = threading.Event()
        peer = threading.Thread(target=say_and_wait, args=(listener, says, over), daemon=True)
        peer.start()
        assert silent(hook(PROMPT, f"{short}/s", "--agent", "claude", "--budget-ms", "80"))
        over.set()
        peer.join(5)


def test_an_input_that_never_ends_is_not_waited_for(peer):
    command = [sys.executable, "-I", "-S", START, "--agent", "claude", "--budget-ms", "60"]
    env = {"IRDAEMON_SOCKET": peer.path}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, **pipes) as process:
        process.stdin.write(b'{"hook_event_name": ')
        process.stdin.flush()
        assert process.wait(20) == 0
        assert process.stdout.read() == process.stderr.read() == b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_closed_ends_are_neither_written_to_nor_mistaken_for_the_socket(peer, closed):
    shut = " ".join(f"{each}{'<' if each == 0 else '>'}&-" for each in closed)
    command = f"'{sys.executable}' -I -S '{START}' --agent claude --budget-ms 5000 {shut}"
    done = subprocess.run(
        ["sh", "-c", command],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env={"IRDAEMON_SOCKET": peer.path},
    )
    assert done.returncode == 0
    assert done.stderr == b""
    assert bool(done.stdout) == (closed == (2,))


def test_a_reader_that_has_gone_is_not_told_and_nothing_counts_as_offered(peer):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-I", "-S", START, "--agent", "claude", "--budget-ms", "5000"]
    done = subprocess.run(
        command,
        input=json.dumps(PROMPT).encode(),
        stdout=writing,
        stderr=subprocess.PIPE,
        env={"IRDAEMON_SOCKET": peer.path},
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [op for op, _ in peer.asked] == ["discover"]


def test_wrong_words_are_explained_on_stderr_and_still_end_with_0(peer):
    done = hook(PROMPT, peer.path, "--agent", "emacs")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"unknown agent 'emacs'; one of: claude" in done.stderr


def test_the_command_line_gives_the_same_answer(peer):
    home = str(Path(irclient.__file__).parents[1])
    command = [sys.executable, "-m", "irclient.quick", "hook", "--agent", "claude"]
    command += ["--budget-ms", "5000"]
    env = {**os.environ, "IRDAEMON_SOCKET": peer.path}
    env["PYTHONPATH"] = os.pathsep.join([home, *filter(None, sys.path)])
    done = subprocess.run(command, input=json.dumps(PROMPT).encode(), capture_output=True, env=env)
    assert done.stdout == hook(PROMPT, peer.path, "--agent", "claude").stdout != b""


def test_it_starts_no_other_process(peer, tmp_path):
    trace = tmp_path / "trace.py"
    trace.write_text(
        "import sys, os\n"
        "def audit(name, args):\n"
        "    if name.split('.')[0] in ('subprocess', 'pty') or name in (\n"
        "        'os.fork', 'os.forkpty', 'os.exec', 'os.posix_spawn', 'os.system'\n"
        "    ):\n"
        "        os.write(2, name.encode())\n"
        "    if name == 'open' and args[1] and set(args[1]) & set('wax+'):\n"
        "        os.write(2, b'write')\n"
        "sys.addaudithook(audit)\n"
        f"sys.argv = [{START!r}, '--agent', 'claude', '--budget-ms', '5000']\n"
        f"exec(compile(open({START!r}).read(), {START!r}, 'exec'), {{'__file__': {START!r}}})\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(trace)],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env={"IRDAEMON_SOCKET": peer.path},
    )
    assert done.stderr == b""
    assert '"pdf-forms"' in context(done)


def test_the_way_of_a_hook_loads_nothing_heavy():
    heavy = "zmq msgpack argparse typing dataclasses json re enum socket struct importlib inspect"
    home = str(Path(irclient.__file__).parents[1])
    code = (
        f"import sys; sys.path.append({home!r}); import irclient.agents.hook.run as r\n"
        "import irclient.agents.hook.context, irclient.fast.light_json\n"
        "import irclient.fast.zmtp, irclient.fast.packing\n"
        "import irclient.places\n"
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
