"""Serve: operations over a ROUTER socket.

`OPS` is the whole protocol on one table; `handle` turns request bytes into reply bytes and knows no
socket. The Server owns the socket on one thread: quick operations are answered there, those that
read files or the ledger by a small pool, so that a slow disk holds up nobody's discover.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import secrets
import socket as unix
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import zmq

from irclient import wire
from irclient.errors import InternalError, IRError, QueryError, Unavailable
from irdaemon import __version__
from irdaemon.asking import check_wait
from irdaemon.engine import Engine
from irdaemon.evaluate import Case
from irdaemon.ingest import Look
from irdaemon.jobs import Job
from irdaemon.load import did_you_mean
from irdaemon.profile import lapped
from irdaemon.types import Query, Selection

log = logging.getLogger(__name__)

_SLOW_WORKERS = 2
# Filtered queries: apart from the slow ones, so that an evaluation of minutes holds up none.
_HEAVY_WORKERS = 2
# These do nothing but wait for the writer.
_WAITING_WORKERS = 16
# Requests that may wait for the pool before others are told to come back.
_SLOW_WAITING = 64
_HANDLED_AT_ONCE = 64
# A query that takes this long is worth a line in the log.
_SLOW_MS = 200.0


Pace = Literal["quick", "heavy", "slow", "waiting"]


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. `args` names its arguments.

    A `slow` one may read files or the ledger; one that `waits` mostly waits for the writer.
    """

    run: Callable[[Engine, Mapping[str, Any]], Any]
    args: Mapping[str, type | tuple[type, ...]]
    slow: bool = False
    waits: bool = False


def _ping(engine: Engine, args: Mapping[str, Any]) -> Any:
    return {"version": __version__, "protocol": wire.PROTOCOL, "pid": os.getpid()}


def _query(args: Mapping[str, Any]) -> Query:
    try:
        return Query.from_dict({"text": "", **args})
    except TypeError as error:
        raise QueryError(f"not a query: {error}", "see docs/protocol.md") from error


def _discover(engine: Engine, args: Mapping[str, Any]) -> Any:
    query = _query(args)
    with lapped() as laps:
        return _watched(engine.discover(query), query, laps).to_dict()


def _search(engine: Engine, args: Mapping[str, Any]) -> Any:
    query = _query(args)
    with lapped() as laps:
        return _watched(engine.search(query), query, laps).to_dict()


def _watched(answer: Selection, query: Query, laps: Mapping[str, float]) -> Selection:
    """Log a slow query by its stages, not by its words: logs hold nobody's text."""
    if answer.took_ms >= _SLOW_MS:
        stages = ", ".join(f"{name} {ms:.1f}" for name, ms in laps.items())
        said = f"{len(query.text)} characters, {query.mode}"
        log.warning("slow query: %.1f ms for %s: %s", answer.took_ms, said, stages)
    return answer


def _explain(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.explain(_query(args), args.get("item", ""))


def _eval(engine: Engine, args: Mapping[str, Any]) -> Any:
    given = args.get("cases", ())
    cases = [Case.from_dict(each, f"case {at}") for at, each in enumerate(given, start=1)]
    return engine.evaluate(cases, _query(args), args.get("baseline", False))


def _disclose(engine: Engine, args: Mapping[str, Any]) -> Any:
    references = [str(each) for each in args.get("references", ())]
    level, expand = args.get("level", "body"), args.get("expand", "none")
    return [each.to_dict() for each in engine.disclose(references, level, expand)]


def _records(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.records(args.get("reference", ""))


def _status(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.status(args.get("profile", False))


def _failures(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.failures(args.get("corpus"))


def _info(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.info(args.get("corpus", ""))


def _build(engine: Engine, args: Mapping[str, Any]) -> Any:
    look = Look(full=args.get("full", False), prune=args.get("prune", False))
    names = [args["corpus"]] if args.get("corpus") else list(engine.corpora)
    return [engine.request(Job("reconcile", name, look)) for name in names]


def _progress(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.progress(args.get("job", 0)).to_dict()


def _add(engine: Engine, args: Mapping[str, Any]) -> Any:
    roots = [str(root) for root in args.get("roots", ())]
    return engine.reconfigure(engine.host.add(args.get("name", ""), args.get("kind", ""), roots))


def _rm(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.reconfigure(engine.host.remove(args.get("name", "")))


def _reload(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.reconfigure(engine.host.reload())


def _wait(engine: Engine, args: Mapping[str, Any]) -> Any:
    wait_ms = args.get("wait_ms", 1000.0)
    check_wait(wait_ms)
    wanted = args.get("generation", 0)
    generation = engine.wait(wanted, wait_ms / 1e3)
    return {"generation": generation, "reached": generation >= wanted}


_OPTIONAL_TEXT = (str, type(None))
_NUMBER = (int, float)
_QUERY_ARGS: Mapping[str, type | tuple[type, ...]] = {
    "text": str,
    "corpora": list,
    "k": int,
    "mode": str,
    "where": dict,
    "surfaces": list,
    "select": dict,
    "level": str,
    "fusion": str,
    "weights": dict,
    "expand": str,
    "rerank": bool,
    "fresh": bool,
    "wait_ms": _NUMBER,
    "budget_ms": _NUMBER,
}

OPS: Mapping[str, Op] = {
    "ping": Op(_ping, {}),
    "discover": Op(_discover, _QUERY_ARGS),
    "search": Op(_search, _QUERY_ARGS),
    "explain": Op(_explain, {**_QUERY_ARGS, "item": str}, slow=True),
    "eval": Op(_eval, {**_QUERY_ARGS, "cases": list, "baseline": bool}, slow=True),
    "disclose": Op(_disclose, {"references": list, "level": str, "expand": str}, slow=True),
    "records": Op(_records, {"reference": str}, slow=True),
    "status": Op(_status, {"profile": bool}, slow=True),
    "failures": Op(_failures, {"corpus": _OPTIONAL_TEXT}, slow=True),
    "info": Op(_info, {"corpus": str}, slow=True),
    "build": Op(_build, {"corpus": _OPTIONAL_TEXT, "full": bool, "prune": bool}),
    "progress": Op(_progress, {"job": int}),
    "add": Op(_add, {"name": str, "kind": str, "roots": list}, slow=True),
    "rm": Op(_rm, {"name": str}, slow=True),
    "reload": Op(_reload, {}, slow=True),
    "wait": Op(_wait, {"generation": int, "wait_ms": _NUMBER}, waits=True),
}


def handle(engine: Engine, data: bytes, limit: int = wire.MAX_MESSAGE_BYTES) -> bytes:
    """Answer one request. Whatever the bytes are, the result is a reply."""
    number = 0
    try:
        request = wire.unpack_request(data, limit)
        number = request.id
        op = _op(request.op)
        _check_args(request, op)
        return wire.pack_result(number, op.run(engine, request.args))
    except IRError as error:
        return wire.pack_error(number, error)
    except Exception:
        fault = secrets.token_hex(4)
        log.exception("fault %s", fault)
        said = InternalError(f"the daemon failed (fault {fault})", "its log has the details")
        return wire.pack_error(number, said)


def _op(name: str) -> Op:
    if name not in OPS:
        raise QueryError(
            f"unknown operation {name!r}{did_you_mean(name, OPS)}", f"operations: {', '.join(OPS)}"
        )
    return OPS[name]


def _check_args(request: wire.Request, op: Op) -> None:
    for name, value in request.args.items():
        kind = op.args.get(name)
        if kind is None:
            continue  # from a newer client
        wrong_bool = isinstance(value, bool) and kind is not bool
        if wrong_bool or not isinstance(value, kind):
            raise QueryError(f"{request.op}: {name} is of the wrong type ({value!r:.60})")


def pace(data: bytes) -> Pace:
    """Say how long a request may take; a broken one is answered quickly."""
    try:
        request = wire.unpack_request(data)
    except IRError:
        return "quick"
    op = OPS.get(request.op)
    args = request.args
    if op is None:
        return "quick"
    if op.waits or args.get("fresh"):
        return "waiting"
    plain = (args.get("level", "metadata"), args.get("expand", "none")) == ("metadata", "none")
    if op.slow or not plain or args.get("rerank"):
        return "slow"
    # A filter may have to look at every record there is, and the first one at every field.
    return "heavy" if args.get("where") else "quick"


class Server:
    """Answer requests at a socket path until closed. Everything here belongs to one thread.

    `asked_at` is when, on the monotonic clock, somebody last asked for something.
    """

    def __init__(self, engine: Engine, path: str, max_message_bytes: int):
        self._engine = engine
        self._limit = max_message_bytes
        self._pools: Mapping[Pace, ThreadPoolExecutor] = {
            "heavy": ThreadPoolExecutor(_HEAVY_WORKERS, thread_name_prefix="heavy-op"),
            "slow": ThreadPoolExecutor(_SLOW_WORKERS, thread_name_prefix="slow-op"),
            "waiting": ThreadPoolExecutor(_WAITING_WORKERS, thread_name_prefix="waiting-op"),
        }
        self._done: queue.SimpleQueue[list[bytes]] = queue.SimpleQueue()
        self._waiting = 0
        self.asked_at = time.monotonic()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._router.linger = 200
        # A reply to a client that has gone is dropped, noticed, and no reason to stop.
        self._router.router_mandatory = True
        self._router.sndtimeo = 0
        # libzmq cuts the connection of a peer that sends a frame beyond this.
        self._router.maxmsgsize = 2 * max_message_bytes
        self._router.bind(f"ipc://{path}")
        self._woken, self._waker = unix.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._poller = zmq.Poller()
        self._poller.register(self._router, zmq.POLLIN)
        self._poller.register(self._woken, zmq.POLLIN)

    @property
    def wakeup_fd(self) -> int:
        """Return a descriptor: a byte written to it ends a waiting tick."""
        return self._waker.fileno()

    def tick(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` seconds for requests and answer those there are."""
        ready = dict(self._poller.poll(int(timeout_s * 1000)))
        if self._woken.fileno() in ready:
            self._drain_wakeups()
        while not self._done.empty():
            self._waiting -= 1
            self._reply(self._done.get())
        if self._router in ready:
            self._take_in()

    def close(self) -> None:
        """Finish what is being answered, then let go of the socket."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)
        while not self._done.empty():
            self._reply(self._done.get())
        self._router.close()
        self._context.term()
        self._woken.close()
        self._waker.close()

    def _drain_wakeups(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass

    def _take_in(self) -> None:
        # Bounded, so that a flood cannot keep the loop from its other duties.
        for _ in range(_HANDLED_AT_ONCE):
            try:
                frames = self._router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            # A REQ socket puts an empty frame before its message; a DEALER does not.
            if len(frames) in (2, 3) and (len(frames) == 2 or not frames[1]):
                self._answer(frames[:-1], frames[-1])

    def _answer(self, route: list[bytes], data: bytes) -> None:
        self.asked_at = time.monotonic()
        lane = pace(data)
        if lane == "quick":
            self._reply([*route, handle(self._engine, data, self._limit)])
        elif self._waiting >= _SLOW_WAITING:
            self._reply([*route, wire.pack_error(_number(data), _BUSY)])
        else:
            self._waiting += 1
            self._pools[lane].submit(self._answer_slowly, route, data)

    def _answer_slowly(self, route: list[bytes], data: bytes) -> None:
        self._done.put([*route, handle(self._engine, data, self._limit)])
        with contextlib.suppress(BlockingIOError):  # a wake-up is waiting already
            self._waker.send(b"\0")

    def _reply(self, frames: list[bytes]) -> None:
        try:
            self._router.send_multipart(frames)
        except zmq.ZMQError as error:
            log.debug("a client left before its reply: %s", error)


_BUSY = Unavailable("the daemon is busy", "try again in a moment")


def _number(data: bytes) -> int:
    return wire.unpack_request(data).id
