"""The operations as the daemon serves them, and the way of a request: bytes, `handle`, bytes.

`irclient.ops` has their arguments and results; `OPS` adds what runs each, its cost class, and its
rule and filter for limited clients. The loop reads a request (`read_request`), and `handle` makes
the bytes of its reply, in the loop or on a worker. Neither knows a socket.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from irclient import ops, wire
from irclient.errors import InternalError, IRError, NotFound, ProtocolError, QueryError
from irclient.types import plain_data
from irdaemon import __version__
from irdaemon.config.config import ServeConfig
from irdaemon.engine import Engine
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.runtime.tracebacks import where
from irdaemon.serve import directories, front, handlers, rules, writing
from irdaemon.serve.access import Peer, Scope, Scopes, visible_corpora
from irdaemon.serve.documents import ClientDocuments
from irdaemon.serve.limits import check_reply, check_request, of_message
from irdaemon.serve.rules import Args, Filter, Rule

if TYPE_CHECKING:
    from irdaemon.engine.front import FrontEngine

log = logging.getLogger(__name__)

# quick: answered by the loop. By workers: heavy may read all records or a client's documents, slow
# reads files or the ledger, walking walks whole trees, waiting mostly waits for the writer, model
# waits for a model's reply, remote for a backend.
Cost = Literal["quick", "heavy", "slow", "walking", "waiting", "model", "remote"]


@dataclass(frozen=True, slots=True)
class ServedOp:
    """What the daemon adds to an operation; `front` runs it in a front end, None: not there."""

    run: Callable[[Engine, Args], Any]
    cost: Cost
    rule: Rule
    filter: Filter | None = None
    front: Callable[[FrontEngine, Args], Any] | None = None


OPS: Mapping[str, ServedOp] = {
    "ping": ServedOp(handlers.ping, "quick", rules.as_given, front=handlers.ping),
    "discover": ServedOp(
        handlers.discover, "quick", rules.query_and_related, rules.own_hits, front=front.discover
    ),
    "search": ServedOp(handlers.search, "quick", rules.query, rules.own_hits, front=front.search),
    "explain": ServedOp(handlers.explain, "slow", rules.query_and_item, front=front.explain),
    "eval": ServedOp(handlers.evaluate, "slow", rules.query_and_cases),
    "evaluation": ServedOp(handlers.evaluation, "slow", rules.owner_only),
    "calibrate": ServedOp(handlers.calibrate, "slow", rules.owner_only),
    "disclose": ServedOp(handlers.disclose, "slow", rules.disclosed, front=handlers.disclose),
    "records": ServedOp(handlers.records, "slow", rules.recorded, front=handlers.records),
    "artifacts": ServedOp(handlers.artifacts, "slow", rules.listed_corpus),
    "status": ServedOp(
        handlers.status, "slow", rules.as_given, rules.own_status, front=handlers.status
    ),
    "failures": ServedOp(handlers.failures, "slow", rules.any_corpus, rules.own_rows),
    "secrets": ServedOp(handlers.secrets, "slow", rules.any_corpus, rules.own_rows),
    "audit": ServedOp(handlers.audit, "slow", rules.audited_corpus, rules.own_rows),
    "coverage": ServedOp(handlers.coverage, "walking", rules.listed_corpus, rules.own_rows),
    "info": ServedOp(handlers.info, "slow", rules.one_corpus, front=handlers.info),
    "build": ServedOp(handlers.build, "quick", rules.built_corpus),
    "maintain": ServedOp(handlers.maintain, "slow", rules.built_corpus),
    # Resolving a path may touch a slow disk.
    "hint": ServedOp(handlers.hint, "slow", rules.no_hint),
    "impressions": ServedOp(
        handlers.impressions, "quick", rules.referenced, front=handlers.impressions
    ),
    "usage": ServedOp(handlers.usage, "slow", rules.owner_only),
    "uses": ServedOp(handlers.uses, "slow", rules.owner_only),
    "usage_forget": ServedOp(handlers.usage_forget, "slow", rules.owner_only),
    "usage_import": ServedOp(handlers.usage_import, "slow", rules.owner_only),
    "usage_rollback": ServedOp(handlers.usage_rollback, "quick", rules.owner_only),
    "gaps": ServedOp(handlers.gaps, "slow", rules.owner_only),
    "listing": ServedOp(handlers.listing, "slow", rules.owner_only),
    "progress": ServedOp(handlers.progress, "quick", rules.as_given, rules.own_progress),
    "add": ServedOp(handlers.add, "slow", rules.no_configuration),
    "preview": ServedOp(directories.preview, "walking", rules.no_configuration),
    "rm": ServedOp(handlers.rm, "slow", rules.no_configuration),
    "reload": ServedOp(handlers.reload, "slow", rules.no_configuration, front=front.reload),
    "wait": ServedOp(handlers.wait, "waiting", rules.as_given, front=handlers.wait),
    # A client's own documents: what it may see of the corpora does not matter.
    "discover_in": ServedOp(handlers.discover_in, "heavy", rules.as_given, front=front.discover_in),
    "register_docs": ServedOp(
        handlers.register_docs, "heavy", rules.as_given, front=handlers.register_docs
    ),
    "drop_docs": ServedOp(handlers.drop_docs, "quick", rules.as_given, front=handlers.drop_docs),
    "doc_add": ServedOp(writing.doc_add, "waiting", rules.written),
    "doc_update": ServedOp(writing.doc_update, "waiting", rules.written),
    "doc_remove": ServedOp(writing.doc_remove, "waiting", rules.written),
    "doc_index": ServedOp(directories.doc_index, "slow", rules.no_configuration),
}
# Operations on what a client registered on its connection.
WITH_DOCUMENTS = frozenset(("discover_in", "register_docs", "drop_docs"))


@dataclass(frozen=True, slots=True)
class ServeRules:
    """The limits of requests and the scopes of clients, as configured."""

    serve: ServeConfig = field(default_factory=ServeConfig)
    scopes: Scopes = field(default_factory=lambda: Scopes(os.getuid()))


def read_request(data: bytes, rules: ServeRules, peer: Peer) -> tuple[wire.Request, Scope]:
    """Return the request that bytes are, and the scope of the client that sent it.

    Raises LimitError, ProtocolError, Denied.
    """
    request = wire.unpack_request(data, of_message(rules.serve))
    return request, rules.scopes.of(peer, request.token)


def handle(
    engine: Engine | FrontEngine,
    request: wire.Request,
    scope: Scope,
    serve: ServeConfig,
    documents: ClientDocuments | None = None,
) -> bytes:
    """Return the reply to a request, an error where it has no result; raise nothing.

    `documents` are those that the client registered, None where its connection has ended.
    """
    try:
        _check_protocol(engine, request)
        op = _op(request.op)
        _check_args(request)
        check_request(request, serve)
        given = {name: each for name, each in request.args.items() if name != rules.VISIBLE}
        run = _bound(engine, request.op, op)
        with _limited(scope, engine):
            args = narrowed(scope, op, given, engine.snapshot.corpora)
            # Whatever the request has there.
            args = {**args, handlers.CLIENT: scope.client, handlers.DOCUMENTS: documents}
            check_clock()
            result = run(args)
        reply = wire.pack_result(request.id, shown(scope, op, result))
        check_reply(reply, serve)
    except IRError as error:
        return wire.pack_error(request.id, error)
    except Exception as error:
        fault = secrets.token_hex(4)
        log.error("fault %s: %s", fault, where(error))
        failed = InternalError(f"the daemon failed (fault {fault})", "its log has the details")
        return wire.pack_error(request.id, failed)
    return reply


def _check_protocol(engine: Engine | FrontEngine, request: wire.Request) -> None:
    """Raise ProtocolError for a request of another protocol, which the status then tells of.

    A hook shows no error: it would be silent for ever.
    """
    try:
        wire.check_request_protocol(request.v, f"irdaemon {__version__}")
    except ProtocolError as error:
        if isinstance(engine, Engine):
            engine.state.mismatched.note(request.v, request.op, error.hint)
        raise


def _bound(engine: Engine | FrontEngine, name: str, op: ServedOp) -> Callable[[Args], Any]:
    """Return what runs an operation. Raises Unavailable for what a front end does not have."""
    if isinstance(engine, Engine):
        return partial(op.run, engine)
    if op.front is None:
        raise engine.elsewhere(name)
    return partial(op.front, engine)


@contextlib.contextmanager
def _limited(scope: Scope, engine: Engine | FrontEngine) -> Iterator[None]:
    """Have backends give nothing but the corpora of a client's scope to what runs inside.

    Raises Unavailable for a corpus that may be in a backend which a front end never reached.
    """
    if isinstance(engine, Engine):
        yield
        return
    with engine.limited_to(scope.corpora):
        try:
            yield
        except NotFound:
            engine.backends.check_heard()
            raise


def narrowed(scope: Scope, op: ServedOp, args: Args, corpora: Collection[str]) -> Args:
    """Return the arguments with which a client's operation may run, of the corpora there are.

    Raises Denied for what it may not do, NotFound for a corpus that it may not see.
    """
    return args if scope.whole else op.rule(scope, args, visible_corpora(scope, corpora))


def shown(scope: Scope, op: ServedOp, result: Any) -> Any:
    """Return what of a result a client may see, as plain data. Raises NotFound."""
    plain = plain_data(result)
    return plain if scope.whole or op.filter is None else op.filter(scope, plain)


def _op(name: str) -> ServedOp:
    if name not in OPS:
        raise QueryError(
            f"unknown operation {name!r:.60}{did_you_mean(name, OPS)}",
            f"operations: {', '.join(OPS)}",
        )
    return OPS[name]


def _check_args(request: wire.Request) -> None:
    known = ops.OPS[request.op].args
    for name, value in request.args.items():
        kind = known.get(name)
        if kind is None:
            continue  # from a newer client
        wrong_bool = isinstance(value, bool) and kind is not bool
        if wrong_bool or not isinstance(value, kind):
            raise QueryError(f"{request.op}: {name} is of the wrong type ({value!r:.60})")


def front_cost(request: wire.Request) -> Cost:
    """Return the cost class of a request to a front end: what asks a backend waits for that."""
    op, found = OPS.get(request.op), cost(request)
    if op is None or op.front is None:
        return "quick"
    asks = found in ("slow", "heavy") or request.op in ("discover", "search")
    return "remote" if asks and found != "waiting" and request.op not in WITH_DOCUMENTS else found


def cost(request: wire.Request, may_ask_model: bool = False) -> Cost:
    """Return the cost class of a request; that of a wrong one, which is an error soon, is quick.

    `may_ask_model` is whether a model may choose among what a query of its arguments finds.
    """
    op, args = OPS.get(request.op), request.args
    if op is None:
        return "quick"
    if op.cost == "waiting" or args.get("fresh"):
        return "waiting"
    if op.cost == "walking":
        return "walking"
    if request.op == "discover" and may_ask_model:
        return "model"
    discloses = (args.get("level", "metadata"), args.get("expand", "none")) != ("metadata", "none")
    if op.cost == "slow" or discloses or args.get("rerank") or args.get("related"):
        return "slow"
    # A filter may read every record there is, and the first one every field; rounds ask many times.
    many = args.get("where") or args.get("rounds")
    return "heavy" if op.cost == "heavy" or many else "quick"
