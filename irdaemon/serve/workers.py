"""Worker pools: run requests that take a while, a bounded number of each cost class at once.

A thread cannot be stopped from outside. So one that is past its deadline is abandoned: its client
gets an error, its place goes to the next request, and its late result is dropped. Only so many
threads may be abandoned; after that a pool waits for its own. No state here is shared by threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from irclient.wire import Request
from irdaemon.serve.ops import Cost

_MOST_ABANDONED = 16


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A request on its way: `run` answers it, `reply` sends bytes to its client.

    `deadline` is in seconds of time.monotonic.
    """

    request: Request
    run: Callable[[], bytes]
    reply: Callable[[bytes], None]
    deadline: float


@dataclass(slots=True)
class _Pool:
    at_once: int
    waiting: deque[Task] = field(default_factory=deque)
    running: set[Task] = field(default_factory=set)
    abandoned: set[Task] = field(default_factory=set)


class WorkerPools:
    """Run tasks by `start`, which hands one to a thread and returns at once."""

    def __init__(self, at_once: Mapping[Cost, int], start: Callable[[Task], None]):
        self._pools = {name: _Pool(number) for name, number in at_once.items()}
        self._start = start

    def __len__(self) -> int:
        return sum(len(pool.waiting) + len(pool.running) for pool in self._pools.values())

    def add(self, name: Cost, task: Task) -> None:
        """Run a task as soon as its pool has a free worker."""
        pool = self._pools[name]
        pool.waiting.append(task)
        self._fill(pool)

    def end(self, task: Task) -> bool:
        """Note that a thread is done with a task; return whether its client still waits."""
        for pool in self._pools.values():
            pool.abandoned.discard(task)
            if task in pool.running:
                pool.running.discard(task)
                self._fill(pool)
                return True
        return False

    def expire(self, now: float) -> list[Task]:
        """Give up the tasks that are past their deadline, and return them."""
        return [task for pool in self._pools.values() for task in self._expire(pool, now)]

    def clear(self) -> list[Task]:
        """Give up the tasks that have not begun, and return them."""
        dropped = [task for pool in self._pools.values() for task in pool.waiting]
        for pool in self._pools.values():
            pool.waiting.clear()
        return dropped

    def _expire(self, pool: _Pool, now: float) -> list[Task]:
        stuck = [task for task in pool.running if task.deadline < now]
        free = _MOST_ABANDONED - sum(len(each.abandoned) for each in self._pools.values())
        stuck = stuck[: max(0, free)]
        pool.running.difference_update(stuck)
        pool.abandoned.update(stuck)
        late = [task for task in pool.waiting if task.deadline < now]
        if late:
            pool.waiting = deque(task for task in pool.waiting if task not in late)
        self._fill(pool)
        return stuck + late

    def _fill(self, pool: _Pool) -> None:
        while pool.waiting and len(pool.running) < pool.at_once:
            task = pool.waiting.popleft()
            pool.running.add(task)
            self._start(task)
