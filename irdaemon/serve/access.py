"""Access: who a client is, by token, key or uid, and what it may request."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import Denied, NotFound
from irclient.types import LEVELS
from irdaemon.config.clients import ClientConfig
from irdaemon.discovery.disclose import unknown_corpus
from irdaemon.discovery.expand import parse_expand
from irdaemon.discovery.where import parse_filter


@dataclass(frozen=True, slots=True)
class Scope:
    """What one client may request; `corpora` None means all.

    `whole` is whether nothing is hidden from this client. `has_projects` is whether it is the
    daemon's own user, unnamed, on the private socket: only that user may say where a query comes
    from, and see what a project has.
    """

    client: str = ""
    corpora: frozenset[str] | None = None
    levels: tuple[str, ...] = LEVELS
    read_only: bool = False
    whole: bool = field(init=False, default=True)
    has_projects: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        limited = self.corpora is not None or self.read_only or set(self.levels) != set(LEVELS)
        object.__setattr__(self, "whole", not limited)
        object.__setattr__(self, "has_projects", not (limited or self.client))


WHOLE = Scope()


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a connection: a user of this machine, or a CURVE key's holder."""

    uid: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Scopes:
    """Every client's scope. `own` is the daemon's uid, which may request everything."""

    own: int
    by_uid: Mapping[int, Scope] = field(default_factory=dict)
    by_key: Mapping[str, Scope] = field(default_factory=dict)
    by_token: Mapping[bytes, Scope] = field(default_factory=dict)

    def find(self, peer: Peer, token: str = "") -> Scope:
        """Return a client's scope, by its token, else by its key, else by its uid.

        Raises Denied for an unknown client.
        """
        if token:
            found = self.by_token.get(hash_token(token))
        elif peer.key:
            found = self.by_key.get(peer.key)
        elif peer.uid is not None:
            found = self.by_uid.get(peer.uid, WHOLE if peer.uid == self.own else None)
        else:
            found = None
        if found is None:
            raise Denied("the daemon does not know this client", "its owner names it in [[client]]")
        return found


def hash_token(token: str) -> bytes:
    """Return the digest that a token is looked up by: timing a lookup reveals no other token."""
    return hashlib.sha256(token.strip().encode("utf-8", "replace")).digest()


def make_scope(client: ClientConfig) -> Scope:
    """Return the scope that a [[client]] table describes."""
    corpora = None if client.corpora is None else frozenset(client.corpora)
    return Scope(client.name, corpora, client.levels, client.read_only)


def list_visible(scope: Scope, corpora: Collection[str]) -> list[str]:
    """Return the corpora that a client may see."""
    return [name for name in corpora if scope.corpora is None or name in scope.corpora]


# Rules: how a limited client's requests are narrowed, and which parts of a result it is shown.
#
# A client that is limited to some corpora is answered as if no others existed. Each operation has a
# rule, which returns the arguments to run with or refuses (Denied, NotFound), and may have a filter
# for its plain result. irdaemon.serve.operations names them; neither applies to a client without
# limits.

Args = Mapping[str, Any]
# (scope, arguments, the corpora that the client may see) -> the arguments to run with
Rule = Callable[[Scope, Args, list[str]], Args]
# (scope, plain result) -> the part of it that the client may see
Filter = Callable[[Scope, Any], Any]

# Arguments that the daemon adds to a request, for handlers that have such a parameter: the client's
# name in the configuration; the documents registered on its connection; the corpora that a limited
# client may see, None: all; whether a limited client's evaluation is not stored; whether it is not
# the daemon's own user on the private socket.
CLIENT, DOCUMENTS, VISIBLE, PASSING = "client", "documents", "visible", "passing"
LIMITED = "limited"
# The actions of a session's turn are for the daemon's own user alone.
_WORK = ("file", "file_written", "commit")
# The kinds of surfaces made from an artifact's description instead of its text.
_DESCRIBING = ("capability", "description", "deps", "own_words")


def allow(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow the request as it is."""
    return args


def allow_query(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a query over visible corpora (all of them if none is named), at an allowed level."""
    _check_level(scope, args.get("level", "metadata"))
    # Repeated exact searches could spell out a text character by character.
    if args.get("exact") or parse_expand(args.get("expand", "none")) is not None:
        _check_level(scope, "body")
    corpora = args.get("corpora") or visible
    for name in corpora:
        _check_corpus(name, visible)
    if not corpora:
        raise NotFound("there is no corpus that this client may see", "its owner names them")
    return {**args, "corpora": list(corpora)}


def check_filter(scope: Scope, args: Args) -> None:
    """Raise Denied for a filter on the actions of sessions: whether it matches would reveal them.

    Raises QueryError for an invalid filter.
    """
    conditions = parse_filter(args.get("where") or {}).conditions
    if asked := next((name for name, _ in conditions if name in _WORK), None):
        raise Denied(
            f"the client {scope.client!r} is not allowed to filter by {asked!r}",
            "ask at the daemon's own socket, or without this condition",
        )


def allow_query_and_related(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a query; related items are looked for in visible corpora."""
    return {**allow_query(scope, args, visible), VISIBLE: visible}


def allow_query_and_item(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a query as `allow_query` does, about an item of a visible corpus."""
    if item := args["item"]:
        _check_references([item], visible)
    return {**allow_query(scope, args, visible), PASSING: True}


def allow_query_and_cases(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a query as `allow_query` does, with cases of visible corpora."""
    for case in args["cases"]:
        if isinstance(case, Mapping) and case.get("corpus"):
            _check_corpus(case["corpus"], visible)
    return {**allow_query(scope, args, visible), PASSING: True}


def _refuse_to(use: str, hint: str = "") -> Rule:
    def refuse_client(scope: Scope, args: Args, visible: list[str]) -> Args:
        raise Denied(f"the client {scope.client!r} is not allowed to {use}", hint)

    return refuse_client


# It belongs to the daemon's own user.
refuse = _refuse_to("ask for this", "its owner can")
# To all but the daemon's own user on the private socket: the result covers projects, or prompts,
# whose words no other client is shown, or use, which names items of projects.
refuse_others = _refuse_to("ask for this", "ask at the daemon's own socket")
# A limited client must not learn which corpora a path belongs to.
refuse_hint = _refuse_to("give hints", "irc build CORPUS scans again")
# The limits of clients are part of the configuration.
refuse_configuration = _refuse_to("change the configuration")


def allow_disclosure(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow references to visible corpora, at an allowed level."""
    _check_level(scope, args["level"])
    if parse_expand(args["expand"]) is not None:
        _check_level(scope, "body")
    _check_references(args["references"], visible)
    return args


def allow_records(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a reference to a visible corpus if the client may have bodies: records contain text."""
    _check_level(scope, "body")
    _check_references([args["reference"]], visible)
    return args


def allow_listing(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow one visible corpus; all of them only if all are visible."""
    return _check_one_corpus(scope, args, visible, "list")


def allow_references(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow references to visible corpora."""
    _check_references(args["references"], visible)
    return args


def allow_audit(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a visible corpus, or all, if the client may have bodies: a diff contains the text."""
    _check_level(scope, "body")
    return allow_corpora(scope, args, visible)


def allow_corpus(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a visible corpus."""
    _check_corpus(args["corpus"], visible)
    return args


def allow_corpora(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow a visible corpus, or all."""
    if (name := args["corpus"]) is not None:
        _check_corpus(name, visible)
    return args


def allow_build(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow one visible corpus if the client may write."""
    if scope.read_only:
        raise Denied(f"the client {scope.client!r} may only read", "its owner can build")
    return _check_one_corpus(scope, args, visible, "build")


def _check_one_corpus(scope: Scope, args: Args, visible: list[str], use: str) -> Args:
    if scope.corpora is not None and not args["corpus"]:
        raise Denied(f"this client must say which corpus to {use}", f"one of {', '.join(visible)}")
    if args["corpus"]:
        _check_corpus(args["corpus"], visible)
    return args


def allow_writing(scope: Scope, args: Args, visible: list[str]) -> Args:
    """Allow documents to be written into visible corpora if the client may write."""
    if scope.read_only:
        raise Denied(f"the client {scope.client!r} may only read", "its owner can write documents")
    return {**args, VISIBLE: visible}


def _check_level(scope: Scope, level: Any) -> None:
    if level in LEVELS and level not in scope.levels:
        raise Denied(
            f"the client {scope.client!r} is not allowed the level {level!r}",
            f"levels: {', '.join(scope.levels) or 'none'}",
        )


def _check_corpus(name: Any, visible: Collection[str]) -> None:
    if name not in visible:
        raise unknown_corpus(str(name), visible)


def _check_references(references: Collection[Any], visible: Collection[str]) -> None:
    for reference in references:
        _check_corpus(str(reference).partition("/")[0], visible)


def keep_own_status(scope: Scope, status: Any) -> Any:
    """Return the visible jobs and corpora, and little about the process.

    A client that may see everything but projects gets everything but those.
    """
    if scope.whole:
        return {name: told for name, told in status.items() if name != "projects"}
    kept = ("version", "pid", "uptime_s", "generation")
    jobs = _keep_visible(scope, status["jobs"], "corpus")
    return {
        **{name: status[name] for name in kept if name in status},
        "queue": len(jobs),
        "jobs": jobs,
        "corpora": _keep_visible(scope, status["corpora"], "name"),
    }


def hide_text(scope: Scope, answer: Any) -> Any:
    """Leave out the actions of sessions and, if the client may not read bodies, summaries.

    A summary may be the beginning of a body; one made from a description stays.
    """
    results = list(map(_drop_work, answer["results"]))
    if "body" not in scope.levels:
        results = [
            hit if hit["kind"] in _DESCRIBING else {**hit, "summary": hit["name"]}
            for hit in results
        ]
    return {**answer, "results": results}


def _drop_work(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    told = {name: value for name, value in hit.get("fields", {}).items() if name not in _WORK}
    return {**hit, "fields": told} if "fields" in hit else hit


def keep_own_rows(scope: Scope, rows: Any) -> Any:
    """Return the rows of visible corpora."""
    return _keep_visible(scope, rows, "corpus")


def check_own_progress(scope: Scope, progress: Any) -> Any:
    """Return the progress of a visible corpus' job; raise NotFound for another one's."""
    if not _keep_visible(scope, [progress], "corpus"):
        raise NotFound(f"no job {progress['number']}", "the last few hundred are remembered")
    return progress


def _keep_visible(scope: Scope, rows: list[Any], key: str) -> list[Any]:
    return [row for row in rows if scope.corpora is None or row[key] in scope.corpora]
