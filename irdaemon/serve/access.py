"""Scopes: what each client may ask for, and what it is shown.

A client that is limited to some corpora is answered as if there were no others. All of it is
decided here, between the wire and the engine: `narrowed` before an operation runs, `seen` after it.
An operation without a rule is refused to every limited client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from irclient.errors import Denied, NotFound
from irclient.types import LEVELS
from irdaemon.config.clients import ClientConfig
from irdaemon.disclosure.expand import parse_expand
from irdaemon.disclosure.references import unknown_corpus

Args = Mapping[str, Any]
# The kinds of surfaces that are made of an artifact's description, and not of its text.
_DESCRIBING = ("capability", "description", "deps")


@dataclass(frozen=True, slots=True)
class Scope:
    """What one client may ask for; `corpora` None means all."""

    client: str = ""
    corpora: frozenset[str] | None = None
    levels: tuple[str, ...] = LEVELS
    read_only: bool = False

    @property
    def whole(self) -> bool:
        """Say whether nothing is kept from this client."""
        return self.corpora is None and not self.read_only and set(self.levels) == set(LEVELS)


WHOLE = Scope()


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a connection: a user of this machine, or a CURVE key's holder."""

    uid: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Scopes:
    """Every client's scope. `own` is the daemon's uid, which may ask for everything."""

    own: int
    by_uid: Mapping[int, Scope] = field(default_factory=dict)
    by_key: Mapping[str, Scope] = field(default_factory=dict)
    by_token: Mapping[bytes, Scope] = field(default_factory=dict)

    def of(self, peer: Peer, token: str = "") -> Scope:
        """Return what a client may ask for: by its token, else by its key, else by its uid.

        Raises Denied for one that is not known.
        """
        if token:
            found = self.by_token.get(digest(token))
        elif peer.key:
            found = self.by_key.get(peer.key)
        elif peer.uid is not None:
            found = self.by_uid.get(peer.uid, WHOLE if peer.uid == self.own else None)
        else:
            found = None
        if found is None:
            raise Denied("the daemon does not know this client", "its owner names it in [[client]]")
        return found


def digest(token: str) -> bytes:
    """Return what a token is looked up by, so that looking up tells nothing of others."""
    return hashlib.sha256(token.strip().encode("utf-8", "replace")).digest()


def scope_of(client: ClientConfig) -> Scope:
    """Return the scope that a [[client]] table describes."""
    corpora = None if client.corpora is None else frozenset(client.corpora)
    return Scope(client.name, corpora, client.levels, client.read_only)


def narrowed(scope: Scope, op: str, args: Args, corpora: Collection[str]) -> Args:
    """Return the arguments with which a client's operation may run; `corpora` are those there are.

    Raises Denied for what it may not do, NotFound for a corpus that it may not see.
    """
    if scope.whole:
        return args
    if op not in _RULES:
        raise Denied(f"{op} is not for the client {scope.client!r}", "its owner can run it")
    return _RULES[op](scope, args, _visible(scope, corpora))


def seen(scope: Scope, op: str, result: Any) -> Any:
    """Return what of an operation's plain result a client may see. Raises NotFound."""
    if scope.whole or op not in _SEEN:
        return result
    return _SEEN[op](scope, result)


def _visible(scope: Scope, corpora: Collection[str]) -> list[str]:
    return [name for name in corpora if scope.corpora is None or name in scope.corpora]


# -- before an operation -------------------------------------------------------------------------


def _as_it_is(scope: Scope, args: Args, visible: list[str]) -> Args:
    return args


def _query(scope: Scope, args: Args, visible: list[str]) -> Args:
    _check_level(scope, args.get("level", "metadata"))
    if parse_expand(args.get("expand", "none")) is not None:
        _check_level(scope, "body")
    asked = args.get("corpora") or visible
    for name in asked:
        _check_corpus(name, visible)
    if not asked:
        raise NotFound("there is no corpus that this client may see", "its owner names them")
    return {**args, "corpora": list(asked)}


def _explain(scope: Scope, args: Args, visible: list[str]) -> Args:
    if item := args.get("item"):
        _check_reference(item, visible)
    return _query(scope, args, visible)


def _eval(scope: Scope, args: Args, visible: list[str]) -> Args:
    for case in args.get("cases", ()):
        if isinstance(case, Mapping) and case.get("corpus"):
            _check_corpus(case["corpus"], visible)
    return _query(scope, args, visible)


def _disclose(scope: Scope, args: Args, visible: list[str]) -> Args:
    _check_level(scope, args.get("level", "body"))
    if parse_expand(args.get("expand", "none")) is not None:
        _check_level(scope, "body")
    for reference in args.get("references", ()):
        _check_reference(str(reference), visible)
    return args


def _records(scope: Scope, args: Args, visible: list[str]) -> Args:
    _check_level(scope, "body")  # they hold the text
    _check_reference(args.get("reference", ""), visible)
    return args


def _artifacts(scope: Scope, args: Args, visible: list[str]) -> Args:
    if scope.corpora is not None and not args.get("corpus"):
        raise Denied("this client must say which corpus to list", f"one of {', '.join(visible)}")
    if args.get("corpus"):
        _check_corpus(args["corpus"], visible)
    return args


def _impressions(scope: Scope, args: Args, visible: list[str]) -> Args:
    for reference in args.get("references", ()):
        _check_reference(str(reference), visible)
    return args


def _audit(scope: Scope, args: Args, visible: list[str]) -> Args:
    _check_level(scope, "body")  # a diff holds the text
    return _failures(scope, args, visible)


def _hint(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Refuse: which corpora a path belongs to is not for everybody to find out."""
    raise Denied(f"the client {scope.client!r} may not give hints", "irc build CORPUS looks anew")


def _info(scope: Scope, args: Args, visible: list[str]) -> Args:
    _check_corpus(args.get("corpus", ""), visible)
    return args


def _failures(scope: Scope, args: Args, visible: list[str]) -> Args:
    if (name := args.get("corpus")) is not None:
        _check_corpus(name, visible)
    return args


def _build(scope: Scope, args: Args, visible: list[str]) -> Args:
    if scope.read_only:
        raise Denied(f"the client {scope.client!r} may only read", "its owner can build")
    if scope.corpora is not None and not args.get("corpus"):
        raise Denied("this client must say which corpus to build", f"one of {', '.join(visible)}")
    if args.get("corpus"):
        _check_corpus(args["corpus"], visible)
    return args


def _configure(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Refuse: what limits a client is part of the configuration."""
    raise Denied(f"the client {scope.client!r} may not change the configuration")


_RULES: Mapping[str, Callable[[Scope, Args, list[str]], Args]] = MappingProxyType(
    {
        "ping": _as_it_is,
        "discover": _query,
        "search": _query,
        "explain": _explain,
        "eval": _eval,
        "disclose": _disclose,
        "records": _records,
        "artifacts": _artifacts,
        "status": _as_it_is,
        "failures": _failures,
        "secrets": _failures,
        "audit": _audit,
        "info": _info,
        "build": _build,
        "hint": _hint,
        "impressions": _impressions,
        "progress": _as_it_is,
        "add": _configure,
        "rm": _configure,
        "reload": _configure,
        "wait": _as_it_is,
    }
)


def _check_level(scope: Scope, level: Any) -> None:
    if level in LEVELS and level not in scope.levels:
        raise Denied(
            f"the client {scope.client!r} may not be disclosed {level}",
            f"levels: {', '.join(scope.levels) or 'none'}",
        )


def _check_corpus(name: Any, visible: Collection[str]) -> None:
    if name not in visible:
        raise unknown_corpus(str(name), visible)


def _check_reference(reference: str, visible: Collection[str]) -> None:
    _check_corpus(reference.partition("/")[0], visible)


# -- after it ------------------------------------------------------------------------------------


def _own_status(scope: Scope, status: Any) -> Any:
    kept = ("version", "pid", "uptime_s", "generation")
    jobs = _of_visible(scope, status["jobs"], "corpus")
    return {
        **{name: status[name] for name in kept if name in status},
        "queue": len(jobs),
        "jobs": jobs,
        "corpora": _of_visible(scope, status["corpora"], "name"),
    }


def _own_hits(scope: Scope, answer: Any) -> Any:
    """Keep what a document says from whom its body is kept: a summary may be its opening words."""
    if "body" in scope.levels:
        return answer
    return {**answer, "results": [_without_text(hit) for hit in answer["results"]]}


def _without_text(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    return hit if hit["kind"] in _DESCRIBING else {**hit, "summary": hit["name"]}


def _own_rows(scope: Scope, rows: Any) -> Any:
    return _of_visible(scope, rows, "corpus")


def _own_progress(scope: Scope, progress: Any) -> Any:
    if not _of_visible(scope, [progress], "corpus"):
        raise NotFound(f"no job {progress['number']}", "the last few hundred are remembered")
    return progress


def _of_visible(scope: Scope, rows: list[Any], key: str) -> list[Any]:
    return [row for row in rows if scope.corpora is None or row[key] in scope.corpora]


_SEEN: Mapping[str, Callable[[Scope, Any], Any]] = MappingProxyType(
    {
        "discover": _own_hits,
        "search": _own_hits,
        "status": _own_status,
        "failures": _own_rows,
        "secrets": _own_rows,
        "audit": _own_rows,
        "progress": _own_progress,
    }
)
