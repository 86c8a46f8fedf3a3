"""How long a whole prompt hook takes, beside a bare interpreter, whatever state the daemon is in.

    python bench/hook.py

In each state processes are started in turns, so that the load of the moment hits all alike. Every
hook must end with exit code 0, and print one JSON object or nothing; `answered` says how many did
print. Measured from outside: the start of the process and its end are part of it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common import Daemon, daemon, figures, keep, timed, write_skills

import irclient
from irclient import Query
from irclient.agents.hook.options import BUDGET_MS
from irclient.errors import IRError

ROUNDS = 100
START = str(Path(irclient.__file__).parent / "agents" / "hook" / "start.py")
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
HOOK = [sys.executable, "-I", "-S", START, "--agent", "claude"]
# As it stands in an agent's settings: through a shell, and never with an exit code of its own.
IN_SHELL = ["sh", "-c", f"{' '.join(HOOK)} 2>/dev/null || :"]
_FLOODING = 4


def main() -> None:
    """Measure and keep the figures."""
    with daemon() as running:
        queries = write_skills(running.home / ".claude" / "skills", 1_000)
        rows = measured("down", running, queries)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1_000)
        rows += measured("up", running, queries)
        with saturated(running, queries):
            rows += measured("saturated", running, queries)
        assert running.process is not None
        running.process.send_signal(signal.SIGSTOP)
        rows += measured("stopped", running, queries)
        running.process.send_signal(signal.SIGCONT)
    keep("hook", rows)


def measured(state: str, running: Daemon, queries: list[str]) -> list[dict[str, object]]:
    """Return a row for each command: its milliseconds, how many answered, how many were late."""
    env = {"HOME": str(running.home), "XDG_RUNTIME_DIR": str(running.home / "run")}
    took: dict[str, list[float]] = {"python -I -S -c pass": [], "hook": [], "sh -c hook": []}
    answered = dict.fromkeys(took, 0)
    for turn in range(ROUNDS):
        for name, command in zip(took, (BARE, HOOK, IN_SHELL), strict=True):
            event = _event(f"{state}-{name}-{turn}", queries[turn % len(queries)])
            took[name].append(timed(_run(command, event, env, answered, name)))
    bare = figures(took["python -I -S -c pass"])["p50"]
    return [
        {
            "daemon": state,
            "command": name,
            "ratio_to_bare": round(figures(samples)["p50"] / bare, 2),
            "ms": {**figures(samples), "max": round(max(samples), 3)},
            "answered": answered[name],
            "of": ROUNDS,
            "late": sum(ms > BUDGET_MS for ms in samples),
        }
        for name, samples in took.items()
    ]


def _event(session: str, prompt: str) -> bytes:
    event = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    return json.dumps(event).encode()


def _run(
    command: list[str], event: bytes, env: dict[str, str], answered: dict[str, int], name: str
) -> Callable[[], None]:
    def run() -> None:
        done = subprocess.run(command, input=event, capture_output=True, env=env)
        if done.returncode or done.stderr:
            raise SystemExit(f"{name}: exit code {done.returncode}, {done.stderr!r}")
        if done.stdout:
            assert isinstance(json.loads(done.stdout), dict)
            answered[name] += 1

    return run


@contextmanager
def saturated(running: Daemon, queries: list[str]) -> Iterator[None]:
    """Keep the daemon's serving thread busy with long queries from several clients at once."""
    ended = threading.Event()

    def flood(seed: int) -> None:
        with running.client() as client:
            while not ended.is_set():
                try:
                    client.discover(Query(" ".join(queries[seed : seed + 200]), k=1_000))
                except IRError:
                    ended.wait(0.01)

    threads = [threading.Thread(target=flood, args=(seed,)) for seed in range(_FLOODING)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
