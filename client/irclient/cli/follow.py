"""Wait for jobs, drawing their progress."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from irclient.client import Client
from irclient.results import JobProgress
from irclient.terminal.exits import COMMITTED, UNHEALTHY
from irclient.terminal.help import flag
from irclient.terminal.output import ProgressLine, print_data

_POLL_S = 0.1
_GOING_ON = ("queued", "running")


NO_WAIT = flag("--no-wait", "return at once")


def follow(client: Client, jobs: Sequence[int], options: argparse.Namespace) -> int:
    """Wait until jobs end and print what each did; return the exit code."""
    if options.no_wait:
        print_data(options, jobs, lambda jobs: "")
        return COMMITTED
    ended = await_jobs(client, jobs)
    print_data(
        options,
        ended,
        lambda ended: [f"{s['corpus'] or s['kind']}: {s['report']}" for s in ended],
    )
    return choose_jobs_exit(ended)


def await_jobs(client: Client, jobs: Sequence[int]) -> list[JobProgress]:
    """Wait until jobs end, drawing their progress on a terminal; return their final states."""
    line, ended = ProgressLine(), []
    for job in jobs:
        while (state := client.progress(job)).state in _GOING_ON:
            drawn = state if state.state == "running" else _find_running(client, state)
            line.draw(f"{drawn.kind} {drawn.corpus}", drawn.done, drawn.todo)
            time.sleep(_POLL_S)
        line.clear()
        ended.append(state)
    return ended


def choose_jobs_exit(ended: Sequence[JobProgress]) -> int:
    """Return UNHEALTHY if a job failed, else COMMITTED."""
    return UNHEALTHY if any(state.state == "failed" for state in ended) else COMMITTED


def _find_running(client: Client, waiting: JobProgress) -> JobProgress:
    """Return the running job that another waits for, preferably one of the same corpus."""
    running = client.status().jobs
    same = [job for job in running if job.corpus == waiting.corpus]
    return next(iter([*same, *running]), waiting)
