"""Freshness one can prove: wait until the snapshot includes every change made up to now.

A root is proved by its events, where the kernel's order shows that all of them were read, and
otherwise by a whole scan of its corpus, at an interval or not. One that is indexed by hand only is
not scanned, and nothing is shown of it. Either way the scans that are requested must have ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable

from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
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
    corpora = tuple(corpora)
    roots = {corpus.name: set(corpus.real_roots().values()) for corpus in corpora}
    by_hand = {corpus.name for corpus in corpora if corpus.reindex.on == MANUAL}
    followed = {corpus.name for corpus in corpora if corpus.reindex.follows_changes}
    for name, paths in roots.items():
        proved = name in followed and paths and paths <= reported
        if not proved and name not in by_hand:
            work.add(Job("reconcile", name))
    scans = {name: work.scans(name) for name in roots}
    wait(lambda: all(scan.ended for of in scans.values() for scan in of), until - time.monotonic())
    done = {name for name, of in scans.items() if all(scan.state == "done" for scan in of)}
    unproved = {
        path
        for name, paths in roots.items()
        for path in paths
        if name not in done - by_hand or not os.path.exists(path)
    }
    return tuple(sorted(unproved))
