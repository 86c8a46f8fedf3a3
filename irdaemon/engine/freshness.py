"""Freshness one can prove: wait until the snapshot includes every change made up to now.

A root is proved by its events, where the kernel's order shows that all of them were read, and
otherwise by a whole look at its corpus. Either way the looks that are asked for must have ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable

from irdaemon.config.corpus import Corpus
from irdaemon.engine.queue import Job, Work
from irdaemon.source.opening import resolved

Wait = Callable[[Callable[[], bool], float], object]


def catch_up(
    corpora: Iterable[Corpus],
    work: Work,
    caught_up: Callable[[float], Collection[str]],
    wait: Wait,
    timeout: float,
) -> tuple[str, ...]:
    """Wait until every change so far is in the snapshot; return the roots not shown to be.

    `caught_up` gives the roots of which all events so far are asked for, `wait` waits for jobs to
    be done; both get what is left of `timeout` seconds.
    """
    until = time.monotonic() + timeout
    asked_for = frozenset(caught_up(timeout))
    roots = {corpus.name: _roots(corpus) for corpus in corpora}
    for name, paths in roots.items():
        if not paths or not paths <= asked_for:
            work.add(Job("reconcile", name))
    looks = {name: work.looks(name) for name in roots}
    wait(lambda: all(look.ended for of in looks.values() for look in of), until - time.monotonic())
    done = {name for name, of in looks.items() if all(look.state == "done" for look in of)}
    unproved = {
        path
        for name, paths in roots.items()
        for path in paths
        if name not in done or not os.path.exists(path)
    }
    return tuple(sorted(unproved))


def _roots(corpus: Corpus) -> set[str]:
    return {resolved(root.path) for root in corpus.source.roots()}
