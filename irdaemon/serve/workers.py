"""Lanes: requests that take a while, a bounded number of each kind at once, each with a deadline.

A thread cannot be stopped from outside. So one that is past its deadline is written off: its client
is told, its place goes to the next, and what it brings later is dropped. Only so many threads may
be written off; after that a lane waits for its own. Nothing here is shared between threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from irclient.wire import Request
from irdaemon.serve.ops import Pace

_MOST_WRITTEN_OFF = 16


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A request on its way: `run` answers it, `reply` sends bytes to whoever asked.

    `deadline` is in seconds of time.monotonic.
    """

    request: Request
    run: Callable[[], bytes]
    reply: Callable[[bytes], None]
    deadline: float


@dataclass(slots=True)
class _Lane:
    at_once: int
    waiting: deque[Task] = field(default_factory=deque)
    running: set[Task] = field(default_factory=set)
    written_off: set[Task] = field(default_factory=set)


class Lanes:
    """Run tasks by `start`, which hands one to a thread and returns at once."""

    def __init__(self, at_once: Mapping[Pace, int], start: Callable[[Task], None]):
        self._lanes = {name: _Lane(number) for name, number in at_once.items()}
        self._start = start

    def __len__(self) -> int:
        return sum(len(lane.waiting) + len(lane.running) for lane in self._lanes.values())

    def add(self, name: Pace, task: Task) -> None:
        """Run a task as soon as its lane has room."""
        lane = self._lanes[name]
        lane.waiting.append(task)
        self._fill(lane)

    def end(self, task: Task) -> bool:
        """Note that a thread is done with a task; say whether its client still waits."""
        for lane in self._lanes.values():
            lane.written_off.discard(task)
            if task in lane.running:
                lane.running.discard(task)
                self._fill(lane)
                return True
        return False

    def expire(self, now: float) -> list[Task]:
        """Give up what is past its deadline, and return it."""
        return [task for lane in self._lanes.values() for task in self._expire(lane, now)]

    def clear(self) -> list[Task]:
        """Give up what has not begun, and return it."""
        dropped = [task for lane in self._lanes.values() for task in lane.waiting]
        for lane in self._lanes.values():
            lane.waiting.clear()
        return dropped

    def _expire(self, lane: _Lane, now: float) -> list[Task]:
        stuck = [task for task in lane.running if task.deadline < now]
        room = _MOST_WRITTEN_OFF - sum(len(each.written_off) for each in self._lanes.values())
        stuck = stuck[: max(0, room)]
        lane.running.difference_update(stuck)
        lane.written_off.update(stuck)
        late = [task for task in lane.waiting if task.deadline < now]
        if late:
            lane.waiting = deque(task for task in lane.waiting if task not in late)
        self._fill(lane)
        return stuck + late

    def _fill(self, lane: _Lane) -> None:
        while lane.waiting and len(lane.running) < lane.at_once:
            task = lane.waiting.popleft()
            lane.running.add(task)
            self._start(task)
