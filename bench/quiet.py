"""What a daemon does while nothing happens: its processor time, wake-ups and disk writes.

    python bench/quiet.py [--skills N] [--minutes M]

A daemon watches N skills and is left alone, with `idle_minutes` and the intervals of the schedule
shortened by as much as an hour is longer than M minutes: so what it does in an hour happens within
them. Each thread's wake-ups are its voluntary context switches. What is written is what the kernel
counts for the process, and the files of its directories that changed. Beside it, a Python process
that waits on a socket for the same time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import configure, daemon, keep, write_skills

from irclient import Query

HOUR_MIN = 60.0
# By default, in minutes; what is shortened with the hour.
_INTERVALS = {"reconcile_minutes": 15.0, "retry_minutes": 60.0, "learn_minutes": 60.0}
_BARE = "import socket; one, other = socket.socketpair(); one.recv(1)"


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--skills", type=int, default=25_000)
    parser.add_argument("--minutes", type=float, default=3.0, help="that stand for an hour")
    options = parser.parse_args()
    keep("quiet", measured(options.skills, options.minutes))


def measured(skills: int, minutes: float) -> dict[str, Any]:
    """Leave a daemon alone; return what it did."""
    share = minutes / HOUR_MIN
    schedule = "\n".join(f"{name} = {share * every:.4f}" for name, every in _INTERVALS.items())
    with daemon() as running:
        queries = write_skills(running.home / ".claude" / "skills", skills)
        configure(running.home, f"[index]\nidle_minutes = 0.1\n[schedule]\n{schedule}\n")
        running.start()
        with running.client() as client:
            running.wait_indexed(client, skills)
        running.stop()
        running.start()  # what the first build goes on to do is over
        with running.client() as client:
            running.wait_indexed(client, skills)
            client.discover(Query(queries[0]))
        assert running.process is not None
        time.sleep(60 * min(1.0, minutes))
        bare = subprocess.Popen([sys.executable, "-c", _BARE])
        before, others = _seen(running.process.pid), _seen(bare.pid)
        files = _files(running.home)
        began = time.monotonic()
        time.sleep(60 * minutes)
        seconds = time.monotonic() - began
        after, others_after = _seen(running.process.pid), _seen(bare.pid)
        changed = sorted(name for name, at in _files(running.home).items() if files.get(name) != at)
        bare.kill()
        bare.wait()
        with running.client() as client:
            started = time.perf_counter()
            client.discover(Query(queries[1]))
            first_ms = 1e3 * (time.perf_counter() - started)
    told = _told(before, after, seconds)
    return {
        "skills": skills,
        "minutes": minutes,
        **told,
        "files_changed": changed,
        "first_answer_after_ms": round(first_ms, 1),
        "bare": _told(others, others_after, seconds),
    }


def _seen(pid: int) -> dict[str, Any]:
    """Return what the kernel has counted for a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return {
        "cpu_s": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        "written": int(io["write_bytes"]) - int(io["cancelled_write_bytes"]),
        "wakeups": {
            task.name: (_name(task), _wakeups(task)) for task in Path(f"/proc/{pid}/task").iterdir()
        },
    }


def _name(task: Path) -> str:
    return (task / "comm").read_text().strip()


def _wakeups(task: Path) -> int:
    lines = (task / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


def _told(before: dict[str, Any], after: dict[str, Any], seconds: float) -> dict[str, Any]:
    threads = {
        f"{name} {task}": round((count - before["wakeups"].get(task, (name, 0))[1]) / seconds, 3)
        for task, (name, count) in after["wakeups"].items()
    }
    return {
        "cpu_percent": round(100 * (after["cpu_s"] - before["cpu_s"]) / seconds, 4),
        "wakeups_per_s": round(sum(threads.values()), 3),
        "by_thread": {name: rate for name, rate in threads.items() if rate},
        "written_bytes": after["written"] - before["written"],
    }


def _files(home: Path) -> dict[str, int]:
    """Return when each file and directory of the daemon's own was last changed."""
    own = [home / ".local", home / "run", home / ".config", home / ".cache"]
    paths = [path for top in own if top.exists() for path in top.rglob("*")]
    return {str(path.relative_to(home)): path.lstat().st_mtime_ns for path in paths}


if __name__ == "__main__":
    main()
