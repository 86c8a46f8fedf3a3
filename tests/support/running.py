"""A real daemon in a home of its own, driven by the real client and the real commands."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from irclient import Client
from irclient.errors import IRError, Unreachable
from tests.support.forking import ROOT, make_environment, start_module

__all__ = ["ROOT"]


class Home:
    """A home directory with a runtime directory, skills, and the environment to run in it.

    What runs in it is forked with the product imported, unless a test says that this matters.
    """

    forks = True

    def __init__(self, path: Path):
        self.path = path
        self.skills = path / ".claude" / "skills"
        self.runtime = path / "run"
        self.runtime.mkdir(mode=0o700, parents=True)
        self.config = path / ".config" / "irdaemon" / "irdaemon.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text('embedder = "hashing"\n')
        self.socket = self.runtime / "irdaemon" / "irdaemon.sock"
        own = {"HOME": str(path), "XDG_RUNTIME_DIR": str(self.runtime)}
        self.env = {**make_environment(), **own}

    def skill(self, name: str, description: str, body: str = "") -> Path:
        """Write a skill and return its SKILL.md."""
        path = self.skills / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
        return path

    def run(
        self, module: str, *words: str, cwd: Path | None = None, given: str | None = None
    ) -> subprocess.CompletedProcess:
        """Run `irc` (irclient.quick) or `irdaemon`, given a text on stdin; return what it did."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        pipes |= {} if given is None else {"stdin": subprocess.PIPE}
        with self.start(module, words, self.env, cwd=cwd, text=True, **pipes) as process:
            try:
                output, errors = process.communicate(given, timeout=120)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def start(self, module, words, env, **how) -> subprocess.Popen:
        if self.forks:
            return start_module(module, words, env, **how)
        return subprocess.Popen([sys.executable, "-m", module, *words], env=env, **how)

    def irc(self, *words: str) -> subprocess.CompletedProcess:
        return self.run("irclient.quick", *words)

    def answer(self, *words: str) -> dict:
        """Run `irc ... --json` and return what it printed."""
        return json.loads(self.irc(*words, "--json").stdout)

    def client(self, timeout: float = 30.0) -> Client:
        return Client(str(self.socket), timeout)


class Running:
    """A daemon in the foreground of a process of its own."""

    def __init__(self, home: Home, *options: str, **environment: str):
        self.home = home
        env = {**home.env, **environment}
        words = ["start", *options]
        self.process = home.start("irdaemon", words, env, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> "Running":
        self.wait_serving()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def wait_serving(self) -> None:
        def serves() -> bool:
            assert self.process.poll() is None, self.process.stderr.read()
            with self.home.client(timeout=1) as client:
                return client.ping().pid == self.process.pid

        until(serves)

    def wait_idle(self) -> dict:
        """Wait until nothing is queued and every corpus was looked at; return the status."""
        state = {}

        def idle() -> bool:
            with self.home.client() as client:
                state.update(client.status().to_dict())
            looked = all(corpus["last_reconcile"] for corpus in state["corpora"])
            return looked and not state["queue"]

        until(idle)
        return state

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def until(true, seconds: float = 90.0) -> None:
    """Wait until `true()` holds; what is not there yet counts as false."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if true():
                return
        except (Unreachable, FileNotFoundError):
            pass
        assert time.monotonic() < deadline, f"{true.__name__} did not come true"
        time.sleep(0.02)


def finds(home: Home, word: str, name: str) -> bool:
    """Say whether the exact word leads to the artifact called `name`."""
    from irclient import Query

    with home.client() as client:
        hits = client.search(Query(word, mode="lexical")).results
    return any(hit.name == name for hit in hits)


def knows(home: Home, reference: str) -> bool:
    """Say whether the daemon has an artifact."""
    with home.client() as client:
        try:
            return bool(client.records(reference))
        except IRError:
            return False


def free_port() -> int:
    """Return a TCP port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
