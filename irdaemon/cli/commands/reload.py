"""`irdaemon reload`: have the daemon read its configuration again."""

from __future__ import annotations

import argparse
import time

from irclient.client import Client
from irclient.results import JobProgress
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.output import note, print_text

HELP = "have the daemon read its configuration again"
ABOUT = """
Have the daemon that runs read its configuration file again, as SIGHUP does, and
say what was taken. A file that it could not start with is refused: it goes on
with what it has, the mistake is said with its line, and the exit code is 2.
"""
EXAMPLES = """
# after a change by hand
irdaemon reload
"""

_POLL_S = 0.05


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the daemon knows its file."""


def run(options: argparse.Namespace) -> int:
    """Have the file read, and say what came of it."""
    with Client() as client:
        ended = [_wait_for_job(client, job) for job in client.reload()]
        state = client.status()
    print_text("\n".join([f"{state.config}: taken", *(each.report for each in ended)]))
    if state.next_start:
        note(f"from the next start: {', '.join(state.next_start)}; irdaemon restart")
    return UNHEALTHY if any(each.state == "failed" for each in ended) else DONE


def _wait_for_job(client: Client, job: int) -> JobProgress:
    while (progress := client.progress(job)).state in ("queued", "running"):
        time.sleep(_POLL_S)
    return progress
