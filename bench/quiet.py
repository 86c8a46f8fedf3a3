"""What a daemon does while nothing happens: its processor time, wake-ups and disk writes.

    python bench/quiet.py [--skills N] [--minutes M]

A daemon watches N skills and is left alone for M minutes, after the minute that it takes to notice
that nothing happens. Each thread's wake-ups are its voluntary context switches. What is written is
what the kernel counts for the process, and the files of its own that changed; the directory of its
sockets lies in memory, as on any machine with a session manager. Child processes, such
as the page's, count with it. Beside it, a Python
process that waits on a socket for the same time. A whole scan, which an idle hour has two of, is
measured by itself, and `hour` has both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import Daemon, configure, daemon, keep, timed, write_skills

from irclient import Client, Query

# As in `irdaemon.daemon.threads`, and a little more.
_NOTICED_S = 70.0
_SCANS_AN_HOUR = 2
# What an answer has noted of use is written in a moment, and is not the scan's.
_NOTED_AFTER_S = 10.0
_BARE = "import socket; one, other = socket.socketpair(); one.recv(1)"


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--skills", type=int, default=25_000)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--page", type=int, default=0, metavar="PORT", help="with the page, there")
    options = parser.parse_args()
    found = measured(options.skills, options.minutes, options.page)
    keep("quiet_page" if options.page else "quiet", found)


def measured(skills: int, minutes: float, page: int = 0) -> dict[str, Any]:
    """Leave a daemon alone; return what it did."""
    with daemon() as running, _in_memory(running):
        queries = write_skills(running.home / ".claude" / "skills", skills)
        # So that the model is released within the time, as it is within an hour.
        web = f"[web]\nenabled = true\nport = {page}\n" if page else ""
        configure(running.home, f"[index]\nidle_minutes = 0.5\n{web}")
        running.start()
        with running.client() as client:
            running.wait_indexed(client, skills)
        time.sleep(5)
        running.stop()
        running.start()  # what the first build goes on to do is over
        with running.client() as client:
            running.wait_indexed(client, skills)
            client.discover(Query(queries[0]))
        time.sleep(_NOTICED_S)
        assert running.process is not None
        alone = _left_alone(running.process.pid, running.home, 60 * minutes)
        with running.client() as client:
            first_ms = timed(lambda: client.discover(Query(queries[1])))
            time.sleep(_NOTED_AFTER_S)
            scan = _scan(running, client)
    share = _SCANS_AN_HOUR / 3600
    return {
        "skills": skills,
        "minutes": minutes,
        **alone,
        "first_answer_after_ms": round(first_ms, 1),
        "scan": scan,
        "hour": {
            "cpu_percent": round(alone["cpu_percent"] + 100 * share * scan["cpu_s"], 4),
            "written_bytes": round(
                alone["written_bytes"] * 60 / minutes + _SCANS_AN_HOUR * scan["written_bytes"]
            ),
        },
    }


@contextmanager
def _in_memory(running: Daemon) -> Iterator[None]:
    """Have a daemon's sockets lie in a directory in memory."""
    with tempfile.TemporaryDirectory(prefix="irb", dir="/dev/shm") as directory:
        running.socket = str(Path(directory) / "irdaemon" / "irdaemon.sock")
        running.env["XDG_RUNTIME_DIR"] = directory
        yield
        running.stop()


def _left_alone(pid: int, home: Path, seconds: float) -> dict[str, Any]:
    bare = subprocess.Popen([sys.executable, "-c", _BARE])
    time.sleep(1)  # until it waits
    before, bare_before, files = _seen(pid), _seen(bare.pid), _files(home)
    time.sleep(seconds)
    after, bare_after, files_after = _seen(pid), _seen(bare.pid), _files(home)
    bare.kill()
    bare.wait()
    changed = sorted(name for name, at in files_after.items() if files.get(name) != at)
    return {
        **_told(before, after, seconds),
        "files_changed": changed,
        "bare": _told(bare_before, bare_after, seconds),
    }


def _scan(running: Daemon, client: Client) -> dict[str, Any]:
    """Return what a whole scan takes that finds nothing."""
    assert running.process is not None
    before = _seen(running.process.pid)
    for job in client.build():
        while client.progress(job).state in ("queued", "running"):
            time.sleep(0.05)
    after = _seen(running.process.pid)
    told = {name: round(after[name] - before[name], 3) for name in ("cpu_s", "written")}
    return {"cpu_s": told["cpu_s"], "written_bytes": told["written"]}


def _seen(pid: int) -> dict[str, Any]:
    """Return what the kernel has counted for a process and its children so far."""
    every = [_counted(each) for each in (pid, *_children(pid))]
    return {
        "cpu_s": sum(each["cpu_s"] for each in every),
        "written": sum(each["written"] for each in every),
        "wakeups": {task: found for each in every for task, found in each["wakeups"].items()},
    }


def _children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in lists for child in each.read_text().split()]


def _counted(pid: int) -> dict[str, Any]:
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
    own = [home / ".local", home / ".config", home / ".cache"]
    paths = [path for top in own if top.exists() for path in top.rglob("*")]
    return {str(path.relative_to(home)): path.lstat().st_mtime_ns for path in paths}


if __name__ == "__main__":
    main()
