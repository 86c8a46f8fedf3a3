"""How long whole commands of `irc` take, beside a bare interpreter, in the same run.

    python bench/client.py [--rounds N] [--python PYTHON]

Every command that asks the daemon one thing, as a shell starts it. Processes are started in turns,
so that the load of the moment hits all alike. `--python` is the interpreter of an environment that
has both packages; without it one is made, with both installed as wheels: an editable install
looks for modules at every start, which no user's does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import ROOT, Daemon, daemon, figures, keep, timed, write_skills

ROUNDS = 40
BARE = "python -c pass"
WANTED = 2.5
# What a scan that the turn before requested takes.
_QUIET_S = 0.3
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
ASKED = "fill a pdf form"


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--python", default="", help="of an environment with both packages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="irb") as made, daemon() as running:
        python = options.python or _environment(Path(made))
        skills = running.home / ".claude" / "skills"
        write_skills(skills, 1_000)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1_000)
        rows = measured(_commands(python, skills), running, options.rounds)
    keep("client", rows)


def _environment(directory: Path) -> str:
    """Return the interpreter of a new environment with both packages as wheels."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    python = str(directory / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, ROOT / "client", ROOT], check=True, stderr=subprocess.DEVNULL)
    return python


def _commands(python: str, skills: Path) -> dict[str, list[str]]:
    """Return what is measured: a name, and the words that start it."""
    irc = str(Path(python).with_name("irc"))
    one, changed = "skills/skill-1", str(skills / "group-1" / "skill-1" / "SKILL.md")
    asked: Sequence[Sequence[str]] = (
        *(("discover", ASKED), ("discover", "--json", ASKED), ("discover", "-k", "5", ASKED)),
        *(("search", ASKED), ("search", "--json", ASKED), ("explain", ASKED)),
        *(("disclose", one), ("ls",), ("info", "skills"), ("records", one), ("artifacts",)),
        *(("status",), ("status", "--json"), ("status", "--failures"), ("audit",), ("coverage",)),
        *(("usage",), ("gaps",), ("listing",), ("maintain", "--dry-run"), ("wait", "1"), ("ping",)),
        *(("impressions", "claude:x"), ("docs", "ls"), ("completion", "corpora")),
        # These give the daemon work, which what comes next would wait for.
        *(("hint", "--no-wait", changed), ("build", "--no-wait")),
    )
    started = {BARE: [python, "-c", "pass"], "python -I -S -c pass": [python, "-ISc", "pass"]}
    return started | {_shown(words): [irc, *words] for words in asked}


def _shown(words: Sequence[str]) -> str:
    return " ".join(["irc", *("QUERY" if word == ASKED else Path(word).name for word in words)])


def measured(
    commands: dict[str, list[str]], running: Daemon, rounds: int
) -> list[dict[str, object]]:
    """Return a row for each command: its milliseconds, and how many times a bare interpreter's."""
    env = {k: v for k, v in running.env.items() if k != "PYTHONDONTWRITEBYTECODE"}
    took: dict[str, list[float]] = {name: [] for name in commands}
    ended: dict[str, int] = {}
    for turn in range(rounds + 1):
        time.sleep(_QUIET_S)
        for name, command in commands.items():
            ms = timed(lambda c=command, n=name: ended.update({n: _run(c, env)}))
            if turn:  # the first writes bytecode
                took[name].append(ms)
    bare = figures(took[BARE])["p50"]
    return [
        {
            "command": name,
            "ms": (of := figures(samples)),
            "ratio_to_bare": round(of["p50"] / bare, 2),
            "within": of["p50"] < WANTED * bare,
            "exit_code": ended[name],
        }
        for name, samples in took.items()
    ]


def _run(command: list[str], env: dict[str, str]) -> int:
    return subprocess.run(command, env=env, **QUIET).returncode


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
