"""The operations as the daemon serves them, and the path of a request: bytes, `handle`, bytes.

`irclient.ops` has their arguments and results; `OPS` adds the function of each, its cost class, and
its rule and filter for limited clients. The loop reads a request (`read_request`), and `handle`
makes the bytes of its reply, in the loop or on a worker. Neither uses a socket.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from irclient import ops, wire
from irclient.errors import (
    InternalError,
    IRError,
    LimitError,
    ProtocolError,
    QueryError,
    Unavailable,
)
from irclient.types import plain_data
from irdaemon import __version__
from irdaemon.config.addons import load_addons
from irdaemon.config.sections import ServeConfig
from irdaemon.discovery.times import may_narrow
from irdaemon.engine.reader import QueryEngine
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.runtime.tracebacks import describe_error
from irdaemon.serve import projects as projects
from irdaemon.serve.access import (
    CLIENT,
    DOCUMENTS,
    LIMITED,
    PASSING,
    VISIBLE,
    Args,
    Peer,
    Scope,
    Scopes,
    check_filter,
    list_visible,
    refuse_others,
)
from irdaemon.serve.operations import SERVED, Cost, ServedOp

# Limits: the size of a request and its reply, and requests a second, by the [serve] section.

# The share of a second's allowance that may come in one burst.
_BURST_S = 10.0
_BUCKETS_KEPT = 4_096


def check_request(request: wire.Request, serve: ServeConfig) -> None:
    """Raise LimitError, naming the limit, for a request that asks for too much at once."""
    for arg, what, key, limit in (
        ("text", "query has {:,} characters", "max_query_chars", serve.max_query_chars),
        ("query", "query has {:,} characters", "max_query_chars", serve.max_query_chars),
        ("references", "request has {:,} references", "max_references", serve.max_references),
        ("cases", "request has {:,} cases", "max_cases", serve.max_cases),
    ):
        value = request.args.get(arg)
        if isinstance(value, (str, list)) and 0 < limit < len(value):
            raise LimitError(
                f"the {what.format(len(value))}, the limit is {limit:,} ([serve] {key})",
                "send less at once",
            )


def check_reply(reply: bytes, serve: ServeConfig) -> None:
    """Raise LimitError, naming the limit, for a reply that is too large."""
    if 0 < serve.max_reply_bytes < len(reply):
        raise LimitError(
            f"the reply has {len(reply):,} bytes, the limit is {serve.max_reply_bytes:,}"
            " ([serve] max_reply_bytes)",
            "ask for less at once",
        )


class Rates:
    """A token bucket for every connection: each request takes a token, and time refills it."""

    def __init__(self) -> None:
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def check(self, connection: Hashable, per_second: float, now: float) -> None:
        """Count a request at `now` (seconds). Raises LimitError beyond `per_second`; 0: any."""
        if not per_second:
            return
        full = _BURST_S * per_second
        left, at = self._buckets.get(connection, (full, now))
        left = min(full, left + (now - at) * per_second)
        if left < 1:
            raise LimitError(
                f"more than {per_second:,g} requests a second on one connection"
                " ([serve] requests_per_second)",
                "wait a moment",
            )
        self._buckets[connection] = (left - 1, now)
        if len(self._buckets) > _BUCKETS_KEPT:
            self._forget_idle(now)

    def _forget_idle(self, now: float) -> None:
        """Drop full buckets; if all connections are busy, the older half."""
        busy = {who: held for who, held in self._buckets.items() if now - held[1] < _BURST_S}
        kept = list(busy.items())[-_BUCKETS_KEPT // 2 :]
        self._buckets = dict(kept)


log = logging.getLogger(__name__)

for addon in load_addons().values():
    for module in addon.operations:
        import_module(module)
# The served operations, in the order of irclient.ops.
OPS: Mapping[str, ServedOp] = {name: SERVED[name] for name in ops.OPS if name in SERVED}
# Operations on the documents that a client registered on its connection.
WITH_DOCUMENTS = frozenset(("discover_in", "register_docs", "drop_docs"))
# Arguments that name artifacts, and those that depend on the client's place.
_REFERENCES = frozenset(("references", "reference", "item"))
_PLACED = _REFERENCES | {"place"}


@dataclass(frozen=True, slots=True)
class ServeRules:
    """The limits of requests and the scopes of clients, as configured."""

    serve: ServeConfig = field(default_factory=ServeConfig)
    scopes: Scopes = field(default_factory=lambda: Scopes(os.getuid()))


def read_request(data: bytes, rules: ServeRules, peer: Peer) -> tuple[wire.Request, Scope]:
    """Return the request in these bytes, and the scope of its client.

    Raises LimitError, ProtocolError, Denied.
    """
    serve = rules.serve
    limits = wire.MessageLimits(serve.max_message_bytes, serve.max_depth, serve.max_items)
    request = wire.unpack_request(data, limits)
    return request, rules.scopes.find(peer, request.token)


def handle(
    engine: QueryEngine,
    request: wire.Request,
    scope: Scope,
    serve: ServeConfig,
    documents: Any = None,
) -> bytes:
    """Return the reply to a request, a result or an error; never raises.

    `documents` are those that the client registered, None if its connection has ended.
    """
    try:
        op = _find_op(engine, request)
        check_request(request, serve)
        with engine.open_scope(request.op, op.front, scope.corpora):
            args = fill_args(request.op, request.args, scope.client, documents)
            args[LIMITED] = not scope.has_projects
            if not _PLACED.isdisjoint(args):
                _resolve_place(engine, args)
            allowed: Args = args
            if args[LIMITED]:
                allowed = narrow_args(scope, op, args, engine.snapshot.corpora)
            check_clock()
            result = op.run(engine, allowed)
        reply = wire.pack_result(request.id, filter_result(scope, op, result))
        check_reply(reply, serve)
    except IRError as error:
        return wire.pack_error(request.id, error)
    except Exception as error:
        fault = secrets.token_hex(4)
        log.error("fault %s: %s", fault, describe_error(error))
        failed = InternalError(f"the daemon failed (fault {fault})", "its log has the details")
        return wire.pack_error(request.id, failed)
    return reply


def fill_args(name: str, args: Args, client: str = "", documents: Any = None) -> dict[str, Any]:
    """Return the arguments of a request with defaults, and with those that the daemon adds.

    The daemon's own arguments replace any of the same name in the request.
    """
    ours = {
        CLIENT: client,
        DOCUMENTS: documents,
        VISIBLE: None,
        PASSING: False,
        LIMITED: False,
    }
    return {**ops.OPS[name].fill(args), **ours}


def _resolve_place(engine: QueryEngine, args: dict[str, Any]) -> None:
    """Look at the place of a request if it is new.

    For a client that may not give a place it is dropped. See `choose_cost`. Raises QueryError.
    """
    if engine.remote or args[LIMITED]:
        # References to a project's artifacts are then not found.
        args["place"] = "" if _REFERENCES.isdisjoint(args) else None
    elif args.get("place"):
        engine.state.projects.locate(args["place"])


def narrow_args(scope: Scope, op: ServedOp, args: Args, corpora: Collection[str]) -> Args:
    """Return the arguments narrowed to what a client may request.

    Raises Denied for a forbidden operation, NotFound for an invisible corpus.
    """
    if not scope.has_projects:
        check_filter(scope, args)
    may = scope.has_projects if op.rule is refuse_others else scope.whole
    return args if may else op.rule(scope, args, list_visible(scope, corpora))


def filter_result(scope: Scope, op: ServedOp, result: Any) -> Any:
    """Return the part of a result that a client may see, as plain data. Raises NotFound."""
    plain = plain_data(result)
    return plain if scope.has_projects or op.filter is None else op.filter(scope, plain)


def _find_op(engine: QueryEngine, request: wire.Request) -> ServedOp:
    """Return the operation that a request names. Raises ProtocolError, QueryError, Unavailable.

    A request of another protocol, or with arguments of other types, is refused.
    """
    name = request.op
    if not wire.is_same_protocol(request.v):
        _refuse_protocol(engine, request)
    if name not in OPS and name in ops.OPS:
        addon = ops.OPS[name].addon
        raise Unavailable(
            f"{name} is of the add-on {addon!r}, which this daemon does not have",
            "use the release of irdaemon as it is published",
        )
    if name not in OPS:
        raise QueryError(
            f"unknown operation {name!r:.60}{did_you_mean(name, OPS)}",
            f"operations: {', '.join(OPS)}",
        )
    known = ops.OPS[name].args
    for each, value in request.args.items():
        kind = known.get(each)
        if kind is None or type(value) is kind:
            continue  # an argument of a newer client, or of the right type
        wrong_bool = isinstance(value, bool) and kind is not bool
        if wrong_bool or not isinstance(value, kind):
            raise QueryError(f"{name}: {each} is of the wrong type ({value!r:.60})")
    return OPS[name]


def _refuse_protocol(engine: QueryEngine, request: wire.Request) -> None:
    """Raise ProtocolError for a request of another protocol, which the status then reports.

    A hook shows no error: it would stay silent.
    """
    try:
        wire.check_request_protocol(request.v, f"irdaemon {__version__}")
    except ProtocolError as error:
        engine.state.mismatched.note(request.v, request.op, error.hint)
        raise


def choose_front_cost(request: wire.Request) -> Cost:
    """Return the cost class of a request to a front end: requests to a backend wait for it."""
    op, found = OPS.get(request.op), choose_cost(request)
    if op is None or not op.front:
        return "quick"
    asks = found in ("slow", "heavy") or request.op in ("discover", "search")
    return "remote" if asks and found != "waiting" and request.op not in WITH_DOCUMENTS else found


def choose_cost(
    request: wire.Request,
    may_ask_model: bool = False,
    knows: Callable[[str], bool] = lambda place: True,
) -> Cost:
    """Return the cost class of a request; an invalid one is quick, as it soon ends in an error.

    `may_ask_model` is whether a model may choose among its hits, `knows` returns whether a place is
    known: a new one waits for a child process.
    """
    op, args = OPS.get(request.op), request.args
    if op is None:
        return "quick"
    if op.cost == "waiting" or args.get("fresh"):
        return "waiting"
    if op.cost == "walking":
        return "walking"
    if may_ask_model:
        return "model"
    discloses = (args.get("level", "metadata"), args.get("expand", "none")) != ("metadata", "none")
    place = args.get("place")
    if isinstance(place, str) and not knows(place):
        return "slow"
    reads = any(args.get(name) for name in ("rerank", "related", "exact"))
    if op.cost == "slow" or discloses or reads:
        return "slow"
    # A filter may read every record, and the first one every field; rounds ask many times. A time
    # range for sessions is a filter too.
    text = args.get("text")
    many = args.get("where") or args.get("rounds") or (isinstance(text, str) and may_narrow(text))
    return "heavy" if op.cost == "heavy" or many else "quick"
