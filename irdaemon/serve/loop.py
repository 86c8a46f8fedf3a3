"""The request loop: take requests from the endpoints, and answer them or hand them to workers.

The loop answers quick requests itself, worker threads the others, a fixed number for each cost
class, so that a slow disk delays no discover. Everything here belongs to one thread, except for the
results that `publish` and the workers hand over.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import socket as unix
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import zmq

from irclient import wire
from irclient.errors import IRError, Unavailable
from irclient.wire import Request
from irdaemon.config.addons import load_addons, load_part
from irdaemon.engine.reader import QueryEngine
from irdaemon.runtime.deadline import make_too_late, set_deadline
from irdaemon.serve.access import Scope
from irdaemon.serve.endpoints import (
    Caller,
    ConnectionStore,
    Context,
    Endpoint,
    Sender,
    Socket,
)
from irdaemon.serve.operations import Cost
from irdaemon.serve.ops import (
    WITH_DOCUMENTS,
    Rates,
    ServeRules,
    choose_cost,
    choose_front_cost,
    handle,
    read_request,
)

# Worker pools run slow requests, a bounded number of each cost class at once.
#
# A thread cannot be stopped from outside. So a thread past its deadline is abandoned: its client
# gets an error, its slot goes to the next request, and its late result is dropped. The number of
# abandoned threads is bounded; at the bound a pool waits for one to end. No state is shared here.

_MOST_ABANDONED = 16


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A pending request: `run` answers it, `reply` sends bytes to its client.

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
    """Run tasks on threads by `start`, which returns at once."""

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
        """Record that a thread has finished a task; return whether its client still waits."""
        for pool in self._pools.values():
            pool.abandoned.discard(task)
            if task in pool.running:
                pool.running.discard(task)
                self._fill(pool)
                return True
        return False

    def expire(self, now: float) -> list[Task]:
        """Drop and return the tasks that are past their deadline."""
        busy = (pool for pool in self._pools.values() if pool.running or pool.waiting)
        return [task for pool in busy for task in self._expire(pool, now)]

    def clear(self) -> list[Task]:
        """Drop and return the tasks that have not started."""
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


log = logging.getLogger(__name__)

_WORKERS: Mapping[Cost, int] = {
    "slow": 2,
    # Filtered queries: separate from slow ones, so that a long evaluation does not delay them.
    "heavy": 2,
    # One walk at a time: it takes minutes and is rare.
    "walking": 1,
    # These only wait, for the writer or for a model.
    "waiting": 16,
    "model": 8,
    # These only wait for a backend.
    "remote": 16,
}
_HANDLED_AT_ONCE = 64
# Replies queued for a client that does not read them; later ones are dropped. libzmq learns of
# reads only after half as many, so only half of them are certain to be queued.
_REPLIES_KEPT = 512
_FINISHED_WITHIN_S = 1.5
_BUSY = Unavailable("the daemon is busy", "try again in a moment")
_STOPPING = Unavailable("the daemon is stopping", "try again when it has started")


class RequestLoop:
    """Answer requests until closed, by rules that may be replaced at any time.

    `requested_at` is when, on the monotonic clock, the last request came.
    """

    def __init__(self, engine: QueryEngine, rules: ServeRules, max_message_bytes: int):
        self.rules = rules
        self.requested_at = time.monotonic()
        self.context: Context = zmq.Context()
        self._engine = engine
        self._longest_frame = 2 * max_message_bytes or -1
        self._endpoints: list[Endpoint] = []
        self._events: Endpoint | None = None
        self._all_endpoints: list[Endpoint] = []
        self._rates = Rates()
        made = (load_part(a.connections)() for a in load_addons().values() if a.connections)
        self._documents: ConnectionStore = next(made, ConnectionStore())
        self._done: queue.SimpleQueue[tuple[Task, bytes]] = queue.SimpleQueue()
        self._workers = Workers(self._hand_back)
        self._pools = WorkerPools(_WORKERS, self._workers.start)
        self._unsent: queue.SimpleQueue[list[bytes]] = queue.SimpleQueue()
        self._woken, self._waker = unix.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._poller = zmq.Poller()
        self._poller.register(self._woken, zmq.POLLIN)

    # -- endpoints -------------------------------------------------------------------------------

    def make_router(self) -> Socket:
        """Return a new socket for an endpoint of requests."""
        socket = self.context.socket(zmq.ROUTER)
        # A reply to a disconnected client is dropped and counted.
        socket.router_mandatory = True
        socket.sndhwm = _REPLIES_KEPT
        # libzmq cuts the connection of a peer that sends a larger frame.
        socket.maxmsgsize = self._longest_frame
        return socket

    def add(self, endpoint: Endpoint) -> None:
        """Answer the requests that come to an endpoint."""
        self._endpoints.append(endpoint)
        self._all_endpoints.append(endpoint)
        self._poller.register(endpoint.socket, zmq.POLLIN)
        self._poller.register(endpoint.monitor, zmq.POLLIN)

    def publish_at(self, endpoint: Endpoint) -> None:
        """Send events to the subscribers of an endpoint."""
        self._events = endpoint
        self._all_endpoints.append(endpoint)
        self._poller.register(endpoint.monitor, zmq.POLLIN)

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Queue an event to be sent; any thread may."""
        self._unsent.put([topic.encode(), wire.pack_event(data)])
        self._wake()

    # -- the loop --------------------------------------------------------------------------------

    @property
    def wakeup_fd(self) -> int:
        """Return a descriptor; a byte written to it ends a waiting tick."""
        return self._waker.fileno()

    def tick(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` seconds for requests and answer those that came."""
        ready = dict(self._poller.poll(int(timeout_s * 1000)))
        if self._woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
        self._send_pending()
        for task in self._pools.expire(time.monotonic()):
            task.reply(wire.pack_error(task.request.id, make_too_late()))
        for endpoint in self._all_endpoints:
            if endpoint.monitor in ready:
                self._forget_documents(endpoint)
        if self._documents.clients:
            self._documents.expire(time.monotonic())
        for endpoint in self._endpoints:
            if endpoint.socket in ready:
                self._receive(endpoint)

    def close(self) -> None:
        """Finish the current answers within a short time, then close the sockets."""
        for task in self._pools.clear():
            task.reply(wire.pack_error(task.request.id, _STOPPING))
        deadline = time.monotonic() + _FINISHED_WITHIN_S
        while len(self._pools) and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                self._finish(*self._done.get(timeout=left))
        self._send_pending()
        for endpoint in self._all_endpoints:
            endpoint.close()
        self.context.destroy(linger=0)
        self._woken.close()
        self._waker.close()

    def _send_pending(self) -> None:
        """Send the replies of workers and the waiting events."""
        while not self._done.empty():
            self._finish(*self._done.get())
        while not self._unsent.empty():
            event = self._unsent.get()
            if self._events is not None:
                self._events.socket.send_multipart(event)

    def _receive(self, endpoint: Endpoint) -> None:
        # Bounded, so that a flood cannot keep the loop from its other work.
        for _ in range(_HANDLED_AT_ONCE):
            try:
                received = endpoint.receive()
            except zmq.Again:
                return
            if received is not None:
                self._answer(*received)

    # -- one request -----------------------------------------------------------------------------

    def _answer(self, caller: Caller, data: bytes) -> None:
        rules, now = self.rules, time.monotonic()
        self.requested_at = now
        try:
            connection = (caller.endpoint.address, caller.route[0])
            self._rates.check(connection, rules.serve.requests_per_second, now)
            request, scope = read_request(data, rules, caller.peer)
        except IRError as error:
            return _send_reply(caller, wire.pack_error(0, error))
        engine = self._engine
        if engine.remote:
            pool = choose_front_cost(request)
        else:
            waits = (may_wait(request.args) for may_wait in engine.hooks.may_wait)
            by_model = request.op == "discover" and any(waits)
            pool = choose_cost(request, by_model, engine.state.projects.is_known)
        documents = None
        if self._documents.clients or request.op in WITH_DOCUMENTS:
            documents = self._find_documents(caller, request, scope)
        if pool == "quick":
            return _send_reply(caller, handle(engine, request, scope, rules.serve, documents))
        if 0 < rules.serve.max_waiting <= len(self._pools):
            return _send_reply(caller, wire.pack_error(request.id, _BUSY))
        # As long as its client waits, and the configuration allows.
        longest_s = rules.serve.max_request_s or float("inf")
        patience_s = request.timeout_ms / 1e3 if request.timeout_ms > 0 else longest_s
        deadline = now + min(patience_s, longest_s)

        def run() -> bytes:
            with set_deadline(deadline):
                return handle(engine, request, scope, rules.serve, documents)

        task = Task(request, run, lambda reply: _send_reply(caller, reply), deadline)
        self._pools.add(pool, task)

    def _find_documents(self, caller: Caller, request: wire.Request, scope: Scope) -> Any:
        """Return the documents registered by the caller; None if the request needs none."""
        endpoint, now = caller.endpoint, self.requested_at
        sender = Sender(endpoint.address, caller.route[0], caller.descriptor, scope.client)
        if request.op not in WITH_DOCUMENTS:
            self._documents.note_request(sender, now)
            return None
        # Descriptors are reused: first forget connections that ended before this request.
        self._forget_documents(endpoint)
        return self._documents.find(sender, now) if endpoint.is_connected(caller) else None

    def _forget_documents(self, endpoint: Endpoint) -> None:
        """Forget the documents registered on connections that have ended."""
        for descriptor in endpoint.count_connections():
            self._documents.end_connection(endpoint.address, descriptor)

    def _hand_back(self, task: Task, reply: bytes) -> None:
        self._done.put((task, reply))
        self._wake()

    def _finish(self, task: Task, reply: bytes) -> None:
        self._workers.note_idle()
        if self._pools.end(task):
            task.reply(reply)

    # -- waking ----------------------------------------------------------------------------------

    def _wake(self) -> None:
        # A wake-up may be pending already, or the loop may be closed.
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")


class Workers:
    """A pool of as many threads as were ever busy at once; none keeps the process alive."""

    def __init__(self, done: Callable[[Task, bytes], None]):
        self._done = done
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._idle = 0

    def start(self, task: Task) -> None:
        """Hand a task to an idle thread, or to a new one."""
        if self._idle:
            self._idle -= 1
        else:
            threading.Thread(target=self._run_requests, name="worker", daemon=True).start()
        self._tasks.put(task)

    def note_idle(self) -> None:
        """Record that one thread has become idle."""
        self._idle += 1

    def _run_requests(self) -> None:
        while True:
            task = self._tasks.get()
            self._done(task, task.run())


def _send_reply(caller: Caller, data: bytes) -> None:
    try:
        caller.endpoint.socket.send_multipart([*caller.route, data])
    except zmq.ZMQError as error:
        log.debug("a client left before its reply, or does not read: %s", error)
