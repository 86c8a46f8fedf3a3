"""How long a whole `irc discover` takes, beside a bare interpreter, in the same run.

    python bench/client.py

Processes are started in turns, so that the load of the moment hits all alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from common import daemon, figures, keep, timed, write_skills

ROUNDS = 60


def main() -> None:
    """Measure and keep the figures."""
    irc = Path(sys.executable).with_name("irc")
    way = "import sys; sys.argv = ['irc', 'discover', 'fill a pdf form']; "
    entry = [str(irc), "discover"] if irc.exists() else None
    with daemon() as running:
        write_skills(running.home / ".claude" / "skills", 1_000)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1_000)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -I -S -c pass": [sys.executable, "-I", "-S", "-c", "pass"],
            "irc discover": [*entry, "fill a pdf form"]
            if entry
            else [sys.executable, "-c", f"{way}from irclient.quick import main; main()"],
            "irc search": [sys.executable, "-m", "irclient.quick", "search", "fill a pdf form"],
        }
        env = {k: v for k, v in running.env.items() if k != "PYTHONDONTWRITEBYTECODE"}
        took: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                took[name].append(timed(lambda c=command: _run(c, env)))
    bare = figures(took["python -c pass"])["p50"]
    keep(
        "client",
        [
            {"command": name, "ms": of, "ratio_to_bare": round(of["p50"] / bare, 2)}
            for name, of in ((name, figures(samples)) for name, samples in took.items())
        ],
    )


def _run(command: list[str], env: dict[str, str]) -> None:
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
