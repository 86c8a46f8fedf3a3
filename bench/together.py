"""What sixteen clients get of one serving process, of its worker threads, and of two processes.

    python bench/together.py [--skills N] [--seconds S]

Two daemons each hold the same skills. Asked are: one of them; one with a filter, which its worker
threads answer; both, by half of the clients each. The last is what a second serving process could
give at the most, since two whole daemons share nothing. The clients, in processes beside them, take
their part of the same cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from common import Daemon, daemon, keep, write_skills

from irclient import Client, Query

CLIENTS = 16
_QUERIES = 300
_ALL = {"parent": {"$ne": "group-none"}}


def main() -> None:
    """Measure and keep the figures; as a child process, ask."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--skills", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(_answers(**json.loads(options.ask)))
        return
    with daemon() as one, daemon() as other:
        for each in (one, other):
            queries = write_skills(each.home / ".claude" / "skills", options.skills)[:_QUERIES]
            each.start()
            with each.client() as client:
                each.wait_indexed(client, options.skills)
        how = {"queries": queries, "seconds": options.seconds, "where": {}}
        asked = [
            ("one_process", [one], how),
            ("worker_threads", [one], {**how, "where": _ALL}),
            ("two_processes", [one, other], how),
        ]
        for _, daemons, each_how in asked:  # all that is mapped has been read once
            _per_s(daemons, each_how)
        found = {name: _per_s(daemons, each_how) for name, daemons, each_how in asked}
    ratio = round(found["two_processes"] / found["one_process"], 2)
    keep("together", {"skills": options.skills, **found, "ratio_of_two_processes": ratio})


def _per_s(daemons: Sequence[Daemon], how: dict[str, object]) -> float:
    """Return how many answers a second all clients get together."""
    clients = CLIENTS // len(daemons)
    asking = [
        subprocess.Popen(
            [sys.executable, __file__, "--ask", json.dumps({**how, "socket": each.socket,
                                                            "clients": clients})],
            stdout=subprocess.PIPE,
            text=True,
        )
        for each in daemons
    ]  # fmt: skip
    return round(sum(float(child.communicate()[0]) for child in asking), 1)


def _answers(
    socket: str, clients: int, queries: list[str], seconds: float, where: dict[str, object]
) -> float:
    counts = [0] * clients
    end = time.monotonic() + seconds

    def ask(number: int) -> None:
        with Client(socket, timeout=60) as client:
            while time.monotonic() < end:
                text = queries[(number * 7 + counts[number]) % len(queries)]
                client.discover(Query(text, where=where))
                counts[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


if __name__ == "__main__":
    main()
