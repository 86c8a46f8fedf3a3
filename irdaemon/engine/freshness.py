"""Freshness one can prove: wait until the snapshot includes every change made up to now.

A root is proved by its events, where the kernel's order shows that all of them were read, and
otherwise by a whole scan of its corpus. Either way the scans that are requested must have ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable

from irdaemon.config.corpus import Corpus
from irdaemon.engine.queue import Job, Work

Wait = Callable[[Callable[[], bool], float], object]


def catch_up(
    corpora: Iterable[Corpus],
    work: Work,
    caught_up: Callable[[float], Collection[str]],
    wait: Wait,
    timeout: float,
) -> tuple[str, ...]:
    """Wait until every change so far is in the snapshot; return the roots not shown to be.

    `caught_up` gives the roots of which all events so far were handed over, `wait` waits until jobs
    have ended; both get what is left of `timeout` seconds.
    """
    until = time.monotonic() + timeout
    reported = frozenset(caught_up(timeout))
    roots = {corpus.name: set(corpus.real_roots().values()) for corpus in corpora}
    for name, paths in roots.items():
        if not paths or not paths <= reported:
            work.add(Job("reconcile", name))
    scans = {name: work.scans(name) for name in roots}
    wait(lambda: all(scan.ended for of in scans.values() for scan in of), until - time.monotonic())
    done = {name for name, of in scans.items() if all(scan.state == "done" for scan in of)}
    unproved = {
        path
        for name, paths in roots.items()
        for path in paths
        if name not in done or not os.path.exists(path)
    }
    return tuple(sorted(unproved))
