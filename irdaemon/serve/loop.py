"""The server: the loop that takes requests from the doors and answers them.

Quick operations are answered on the spot, the others by threads in lanes of their own, so that a
slow disk holds up nobody's discover. Everything here belongs to one thread, but for what `publish`
and the workers hand over.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import socket as unix
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import zmq

from irclient import wire
from irclient.errors import IRError, Unavailable
from irdaemon.engine import Engine
from irdaemon.runtime.deadline import too_late, until
from irdaemon.serve.endpoints import Caller, Context, Door, Socket
from irdaemon.serve.limits import Rates
from irdaemon.serve.ops import Asked, Pace, Rules, answer, pace, read
from irdaemon.serve.workers import Lanes, Task

log = logging.getLogger(__name__)

_LANES: Mapping[Pace, int] = {
    "slow": 2,
    # Filtered queries: apart from the slow ones, so that an evaluation of minutes holds up none.
    "heavy": 2,
    # These do nothing but wait for the writer.
    "waiting": 16,
}
_HANDLED_AT_ONCE = 64
# Replies kept for a client that does not read them; what comes after is dropped. libzmq hears of
# what was read only after half as many, so half are sure to find room.
_REPLIES_KEPT = 512
_FINISHED_WITHIN_S = 1.5
_BUSY = Unavailable("the daemon is busy", "try again in a moment")
_STOPPING = Unavailable("the daemon is stopping", "try again when it has started")


class Server:
    """Answer requests until closed, by rules that may be replaced at any time.

    `asked_at` is when, on the monotonic clock, somebody last asked for something.
    """

    def __init__(self, engine: Engine, rules: Rules, max_message_bytes: int):
        self.rules = rules
        self.asked_at = time.monotonic()
        self.context: Context = zmq.Context()
        self._engine = engine
        self._longest_frame = 2 * max_message_bytes or -1
        self._doors: list[Door] = []
        self._events: Door | None = None
        self._all_doors: list[Door] = []
        self._rates = Rates()
        self._done: queue.SimpleQueue[tuple[Task, bytes]] = queue.SimpleQueue()
        self._workers = Workers(self._done_working)
        self._lanes = Lanes(_LANES, self._workers.start)
        self._told: queue.SimpleQueue[list[bytes]] = queue.SimpleQueue()
        self._woken, self._waker = unix.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._poller = zmq.Poller()
        self._poller.register(self._woken, zmq.POLLIN)

    # -- doors -----------------------------------------------------------------------------------

    def router(self) -> Socket:
        """Return a new socket for a door that requests come through."""
        socket = self.context.socket(zmq.ROUTER)
        # A reply to a client that has gone is dropped, noticed, and no reason to stop.
        socket.router_mandatory = True
        socket.sndhwm = _REPLIES_KEPT
        # libzmq cuts the connection of a peer that sends a frame beyond this.
        socket.maxmsgsize = self._longest_frame
        return socket

    def open(self, door: Door) -> None:
        """Answer whoever comes through a door."""
        self._doors.append(door)
        self._all_doors.append(door)
        self._poller.register(door.socket, zmq.POLLIN)
        self._poller.register(door.monitor, zmq.POLLIN)

    def tell_at(self, door: Door) -> None:
        """Send events to whoever listens at a door."""
        self._events = door
        self._all_doors.append(door)
        self._poller.register(door.monitor, zmq.POLLIN)

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Have an event sent; any thread may."""
        self._told.put([topic.encode(), wire.pack_event(data)])
        self._wake()

    # -- the loop --------------------------------------------------------------------------------

    @property
    def wakeup_fd(self) -> int:
        """Return a descriptor: a byte written to it ends a waiting tick."""
        return self._waker.fileno()

    def tick(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` seconds for requests and answer those there are."""
        ready = dict(self._poller.poll(int(timeout_s * 1000)))
        if self._woken.fileno() in ready:
            self._drain_wakeups()
        self._hand_out()
        if len(self._lanes):
            self._give_up_late()
        for door in self._all_doors:
            if door.monitor in ready:
                door.attend()
        for door in self._doors:
            if door.socket in ready:
                self._take_in(door)

    def close(self) -> None:
        """Finish what is being answered, within a moment, then let go of the sockets."""
        for task in self._lanes.clear():
            task.reply(wire.pack_error(task.request.id, _STOPPING))
        deadline = time.monotonic() + _FINISHED_WITHIN_S
        while len(self._lanes) and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                self._finish(*self._done.get(timeout=left))
        self._hand_out()
        for door in self._all_doors:
            door.close()
        self.context.destroy(linger=0)
        self._woken.close()
        self._waker.close()

    def _hand_out(self) -> None:
        """Send what others have left here to be sent."""
        while not self._done.empty():
            self._finish(*self._done.get())
        while not self._told.empty():
            event = self._told.get()
            if self._events is not None:
                self._events.socket.send_multipart(event)

    def _give_up_late(self) -> None:
        for task in self._lanes.expire(time.monotonic()):
            task.reply(wire.pack_error(task.request.id, too_late()))

    def _take_in(self, door: Door) -> None:
        # Bounded, so that a flood cannot keep the loop from its other duties.
        for _ in range(_HANDLED_AT_ONCE):
            try:
                received = door.receive()
            except zmq.Again:
                return
            if received is not None:
                self._answer(*received)

    # -- one request -----------------------------------------------------------------------------

    def _answer(self, caller: Caller, data: bytes) -> None:
        rules, now = self.rules, time.monotonic()
        self.asked_at = now
        try:
            who = (caller.door.endpoint, caller.route[0])
            self._rates.check(who, rules.serve.requests_per_second, now)
            asked = read(data, rules, caller.peer)
        except IRError as error:
            return _reply(caller, wire.pack_error(0, error))
        lane = pace(asked.request)
        if lane == "quick":
            return _reply(caller, answer(self._engine, asked, rules.serve))
        if 0 < rules.serve.max_waiting <= len(self._lanes):
            return _reply(caller, wire.pack_error(asked.request.id, _BUSY))
        self._lanes.add(lane, self._task(caller, asked, rules, now))

    def _task(self, caller: Caller, asked: Asked, rules: Rules, now: float) -> Task:
        deadline = now + _seconds(asked.request.timeout_ms, rules.serve.max_request_s)

        def run() -> bytes:
            with until(deadline):
                return answer(self._engine, asked, rules.serve)

        return Task(asked.request, run, lambda reply: _reply(caller, reply), deadline)

    def _done_working(self, task: Task, reply: bytes) -> None:
        self._done.put((task, reply))
        self._wake()

    def _finish(self, task: Task, reply: bytes) -> None:
        self._workers.rest()
        if self._lanes.end(task):
            task.reply(reply)

    # -- waking ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        # A wake-up may be waiting already, or nobody any more.
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")

    def _drain_wakeups(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass


class Workers:
    """As many threads as have ever been busy at once; none of them keeps the process alive."""

    def __init__(self, done: Callable[[Task, bytes], None]):
        self._done = done
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._idle = 0

    def start(self, task: Task) -> None:
        """Hand a task to a thread that rests, or to a new one."""
        if self._idle:
            self._idle -= 1
        else:
            threading.Thread(target=self._work, name="worker", daemon=True).start()
        self._tasks.put(task)

    def rest(self) -> None:
        """Note that one thread has become free."""
        self._idle += 1

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            self._done(task, task.run())


def _seconds(asked_ms: float, longest_s: float) -> float:
    """Return how long a request may take: as long as its client waits, and no longer than that."""
    longest = longest_s or float("inf")
    return min(asked_ms / 1e3, longest) if asked_ms > 0 else longest


def _reply(caller: Caller, data: bytes) -> None:
    try:
        caller.door.socket.send_multipart([*caller.route, data])
    except zmq.ZMQError as error:
        log.debug("a client left before its reply, or does not read: %s", error)
