"""Serve: operations by name, from request bytes to reply bytes.

`OPS` is the whole protocol on one table. `handle` knows no socket: the `server` has those.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from irclient import wire
from irclient.errors import InternalError, IRError, QueryError
from irdaemon import __version__
from irdaemon.config.config import ServeConfig
from irdaemon.discovery.impressions import Session
from irdaemon.discovery.query import check_wait
from irdaemon.engine import Engine
from irdaemon.engine.changes import jobs_for_hint
from irdaemon.engine.queue import Job
from irdaemon.evaluate import Case
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Wanted
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.runtime.profile import lapped
from irdaemon.runtime.tracebacks import where
from irdaemon.serve.access import Peer, Scope, Scopes, narrowed, seen
from irdaemon.serve.limits import check_reply, check_request, of_message
from irdaemon.types import Query, Selection

log = logging.getLogger(__name__)

# The argument under which an operation finds who asks, by the name in the configuration.
CLIENT = "client"
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
        answer = _watched(engine.discover(query), query, laps)
    return engine.impressions.unseen(answer, _session(args)).to_dict()


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


def _artifacts(engine: Engine, args: Mapping[str, Any]) -> Any:
    corpus, _, artifact_id = args.get("after", "").partition("/")
    return engine.artifacts(
        Wanted(
            corpus=args.get("corpus") or "",
            under=args.get("under", "").rstrip("/"),
            after=(corpus, artifact_id),
            limit=args.get("limit", 100),
        )
    )


def _status(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.status(args.get("profile", False))


def _failures(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.failures(args.get("corpus"))


def _secrets(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.secrets(args.get("corpus"))


def _audit(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.audit(args.get("corpus"))


def _info(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.info(args.get("corpus", ""))


def _build(engine: Engine, args: Mapping[str, Any]) -> Any:
    look = ScanRequest(full=args.get("full", False), prune=args.get("prune", False))
    names = [args["corpus"]] if args.get("corpus") else list(engine.corpora)
    return [engine.request(Job("reconcile", name, look)) for name in names]


def _hint(engine: Engine, args: Mapping[str, Any]) -> Any:
    jobs = jobs_for_hint(args.get("path", ""), tuple(engine.corpora.values()))
    return [engine.request(job) for job in jobs]


def _session(args: Mapping[str, Any]) -> Session:
    return Session(args.get(CLIENT, ""), args.get("session", ""))


def _offered(engine: Engine, args: Mapping[str, Any]) -> Any:
    session = _session(args)
    engine.impressions.note(session, [str(each) for each in args.get("references", ())])
    return [{"reference": at, "at": when} for at, when in engine.impressions.of(session).items()]


def _progress(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.progress(args.get("job", 0)).to_dict()


def _add(engine: Engine, args: Mapping[str, Any]) -> Any:
    roots = [str(root) for root in args.get("roots", ())]
    return engine.host.add(args.get("name", ""), args.get("kind", ""), roots)


def _rm(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.host.remove(args.get("name", ""))


def _reload(engine: Engine, args: Mapping[str, Any]) -> Any:
    return engine.host.reload()


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
    "discover": Op(_discover, {**_QUERY_ARGS, "session": str}),
    "search": Op(_search, _QUERY_ARGS),
    "explain": Op(_explain, {**_QUERY_ARGS, "item": str}, slow=True),
    "eval": Op(_eval, {**_QUERY_ARGS, "cases": list, "baseline": bool}, slow=True),
    "disclose": Op(_disclose, {"references": list, "level": str, "expand": str}, slow=True),
    "records": Op(_records, {"reference": str}, slow=True),
    "artifacts": Op(
        _artifacts,
        {"corpus": _OPTIONAL_TEXT, "under": str, "after": str, "limit": int},
        slow=True,
    ),
    "status": Op(_status, {"profile": bool}, slow=True),
    "failures": Op(_failures, {"corpus": _OPTIONAL_TEXT}, slow=True),
    "secrets": Op(_secrets, {"corpus": _OPTIONAL_TEXT}, slow=True),
    "audit": Op(_audit, {"corpus": _OPTIONAL_TEXT}, slow=True),
    "info": Op(_info, {"corpus": str}, slow=True),
    "build": Op(_build, {"corpus": _OPTIONAL_TEXT, "full": bool, "prune": bool}),
    # Resolving a path may touch a slow disk.
    "hint": Op(_hint, {"path": str}, slow=True),
    "offered": Op(_offered, {"session": str, "references": list}),
    "progress": Op(_progress, {"job": int}),
    "add": Op(_add, {"name": str, "kind": str, "roots": list}, slow=True),
    "rm": Op(_rm, {"name": str}, slow=True),
    "reload": Op(_reload, {}, slow=True),
    "wait": Op(_wait, {"generation": int, "wait_ms": _NUMBER}, waits=True),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What the configuration says of asking: what a request may cost, and who may ask what."""

    serve: ServeConfig = field(default_factory=ServeConfig)
    scopes: Scopes = field(default_factory=lambda: Scopes(os.getuid()))


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and what its client may ask for."""

    request: wire.Request
    scope: Scope


def handle(engine: Engine, data: bytes, rules: Rules, peer: Peer) -> bytes:
    """Answer one request of a peer. Whatever the bytes are, the result is a reply."""
    try:
        asked = read(data, rules, peer)
    except IRError as error:
        return wire.pack_error(0, error)
    return answer(engine, asked, rules.serve)


def read(data: bytes, rules: Rules, peer: Peer) -> Asked:
    """Return what bytes ask for. Raises LimitError, ProtocolError, Denied."""
    request = wire.unpack_request(data, of_message(rules.serve))
    return Asked(request, rules.scopes.of(peer, request.token))


def answer(engine: Engine, asked: Asked, serve: ServeConfig) -> bytes:
    """Return the reply to a request, an error where it has no answer."""
    request, scope = asked.request, asked.scope
    try:
        wire.check_protocol(request.v, "the request", f"this daemon, irdaemon {__version__},")
        op = _op(request.op)
        _check_args(request, op)
        check_request(request, serve)
        args = narrowed(scope, request.op, request.args, engine.snapshot.corpora)
        args = {**args, CLIENT: scope.client}  # whatever the request says of it
        check_clock()
        reply = wire.pack_result(request.id, seen(scope, request.op, op.run(engine, args)))
        check_reply(reply, serve)
    except IRError as error:
        return wire.pack_error(request.id, error)
    except Exception as error:
        fault = secrets.token_hex(4)
        log.error("fault %s: %s", fault, where(error))
        said = InternalError(f"the daemon failed (fault {fault})", "its log has the details")
        return wire.pack_error(request.id, said)
    return reply


def _op(name: str) -> Op:
    if name not in OPS:
        raise QueryError(
            f"unknown operation {name!r:.60}{did_you_mean(name, OPS)}",
            f"operations: {', '.join(OPS)}",
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


def pace(request: wire.Request) -> Pace:
    """Say how long a request may take; a broken one is answered quickly."""
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
