"""The views: what each asks of the daemon, and which part of it the page draws.

Each is plain data: the results of operations under their names, as `irc ... --json` prints them,
with names on one line as on a terminal. Long lists are cut, and their length is sent too.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import shlex
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.datastructures import QueryParams

from irclient.agents.install.targets import list_agents_with_hooks
from irclient.async_client import AsyncClient
from irclient.errors import IRError, NotFound, QueryError
from irclient.invisible import list_hidden
from irclient.results import CorpusStatus, Explanation, ProjectRow, Result, Status
from irclient.terminal.conditions import parse_where
from irclient.types import Query, SelectSpec

# Commands for a person to copy, with the names of what they are about.
#
# A name may come from another author's file. It is quoted for the shell; a name with an invisible
# character or a line end is not put into a command.

_LONGEST = 300


def make_command(*words: str, otherwise: str) -> str:
    """Return words as a shell command, or `otherwise` if one of them is unsafe there."""
    for word in words:
        if list_hidden(word) or "\n" in word or "\t" in word or len(word) > _LONGEST:
            return otherwise
    return shlex.join(words)


# How many entries of a long list are sent; the page says how many there are.
MOST = 200
_MOST_DIFFS = 50
# An explanation has a table for each corpus: how many of the nearest are sent.
_MOST_EXPLAINED = 20
# Floors and evaluations need an operation per corpus: how many are asked for at a time.
_ASKED = 64
_AT_ONCE = 8
_WHOLE = re.compile(r"[0-9]{1,9}")
# A walk of the disk gets more time, in seconds.
PATIENCE = {"coverage": 60.0}

ViewOf = Callable[[AsyncClient, QueryParams], Awaitable[dict[str, Any]]]


async def show_now(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return the state of the daemon and every corpus, and the floors of the first corpora."""
    status = await client.status()
    return {
        "status": status.to_dict(),
        **await _read_floors(client, status, 0),
        "commands": {each.name: _make_corpus_command(each) for each in status.corpora},
        **await _list_projects(client),
        "now": time.time(),
    }


async def _list_projects(client: AsyncClient) -> dict[str, Any]:
    """Return the known projects; none if the daemon is older or refuses."""
    found: list[ProjectRow] = []
    with contextlib.suppress(IRError):
        found = await client.projects(listed=False)
    return {"projects": [each.to_dict() for each in found[:MOST]], "n_projects": len(found)}


async def show_floors(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return the floors of corpora from position `from` on; `next` is the next position, if any."""
    return await _read_floors(client, await client.status(), _read_place(params))


async def _read_floors(client: AsyncClient, status: Status, start: int) -> dict[str, Any]:
    infos = await _ask_each(_name_corpora(status, start), client.info)
    found = {info["name"]: info["floors"] for info in infos}
    return {"floors": found, "next": _find_next(status, start)}


async def show_coverage(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return how much of the files below the roots of `corpus` is indexed, by walking them."""
    return {"coverage": [each.to_dict() for each in await client.coverage(params.get("corpus"))]}


def _read_place(params: QueryParams) -> int:
    return _read_whole(params, "from", "0")


def _name_corpora(status: Status, start: int) -> list[str]:
    return [each.name for each in status.corpora[start : start + _ASKED]]


def _find_next(status: Status, start: int) -> int | None:
    return start + _ASKED if len(status.corpora) > start + _ASKED else None


def _make_corpus_command(corpus: CorpusStatus) -> str:
    """Return the command to run for a corpus."""
    if corpus.failures:
        return "irc status --failures"
    return make_command("irc", "info", corpus.name, otherwise="irc status")


async def show_answer(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return the answer to a query, and how it came about; without words only the options."""
    status = await client.status()
    known: dict[str, Any] = {"corpora": [each.name for each in status.corpora]}
    if not params.get("q", "").strip():
        return known
    asked = _read_query(params)
    item = params.get("item", "")
    answer, explained = await asyncio.gather(
        client.discover(asked, noted=False), client.explain(asked, item)
    )
    return {
        **known,
        "answer": answer.to_dict(),
        "explanation": _keep_nearest(explained, item.partition("/")[0]),
        "command": _make_explain_command(params),
    }


def _keep_nearest(explained: Explanation, always: str) -> dict[str, Any]:
    """Return an explanation with only the nearest corpora, and how many there are."""
    every = explained.corpora
    first = sorted(
        range(len(every)), key=lambda at: _rate_nearness(every[at], always), reverse=True
    )
    kept = [every[at] for at in sorted(first[:_MOST_EXPLAINED])]
    return {**explained.to_dict(), "corpora": kept, "n_corpora": len(every)}


def _rate_nearness(corpus: Mapping[str, Any], always: str) -> tuple[bool, bool, float]:
    above, best = corpus.get("above_floor", False), corpus.get("top_score", 0.0)
    return corpus.get("corpus") == always, above and bool(corpus.get("candidates")), best


def _read_query(params: QueryParams) -> Query:
    return Query(
        text=params["q"],
        corpora=tuple(params.getlist("corpus")),
        k=_read_whole(params, "k", "10"),
        mode=params.get("mode") or "hybrid",
        where=parse_where(each for each in params.getlist("where") if each.strip()),
        select=SelectSpec(
            max_k=_read_whole(params, "max_k", "3"),
            min_score=_read_floor(params.get("min_score") or "auto"),
        ),
        place=params.get("here", "").strip(),
    )


def _read_floor(text: str) -> float | str | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    with contextlib.suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    raise QueryError(
        f"min_score: {text!r:.40} is not a number", "min_score=auto, min_score=none or a number"
    )


def _read_whole(params: QueryParams, name: str, usual: str) -> int:
    text = params.get(name) or usual
    if not _WHOLE.fullmatch(text):
        raise QueryError(f"{name}: {text!r:.40} is not a whole number", f"{name}={usual}")
    return int(text)


def _make_explain_command(params: QueryParams) -> str:
    """Return the command that gives the same answer in a terminal."""
    words = ["irc", "explain"]
    for option, name in (("-c", "corpus"), ("--where", "where")):
        for value in filter(None, params.getlist(name)):
            words += [option, value]
    for option, name, usual in (
        ("-k", "k", "10"),
        ("--mode", "mode", "hybrid"),
        ("--max-k", "max_k", "3"),
        ("--min-score", "min_score", "auto"),
        ("--item", "item", ""),
        ("--here", "here", ""),
    ):
        if (value := params.get(name) or usual) != usual:
            words += [option, value]
    return make_command(*words, "--", params["q"], otherwise="irc explain QUERY")


async def show_use(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return what was offered and used, what a listing has room for, and which agents ask."""
    usage, listing, agents = await asyncio.gather(
        client.usage(), client.listing(), asyncio.to_thread(list_agents_with_hooks)
    )
    used = _cut(usage, "items", "not_installed")
    asking = {each["name"] for each in used["adoption"] if each["by"] == "agent"}  # as by a plugin
    agents = sorted({*agents, *asking})
    return {"usage": used, "listing": _cut(listing, "items"), "agents": agents}


async def show_gaps(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return what was needed but not found, and the last evaluations of the first corpora."""
    found, status, agents = await asyncio.gather(
        client.gaps(), client.status(), asyncio.to_thread(list_agents_with_hooks)
    )
    measured = await _read_evaluations(client, status, 0)
    return {"gaps": _cut(found, "gaps"), **measured, "agents": agents}


async def show_evaluations(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return the last evaluations of corpora from position `from` on, as `show_floors` does."""
    return await _read_evaluations(client, await client.status(), _read_place(params))


async def _read_evaluations(client: AsyncClient, status: Status, start: int) -> dict[str, Any]:
    """Return each corpus' last evaluation without its cases, a shared one only once."""

    async def evaluation(name: str) -> Result | None:
        try:
            return await client.evaluation(name)
        except NotFound:
            return None

    measured = await _ask_each(_name_corpora(status, start), evaluation)
    once = {(each["at"], each["signature"], *each["corpora"]): each for each in measured}
    kept = [
        {name: value for name, value in each.items() if name not in ("cases", "sweep")}
        for each in once.values()
    ]
    return {"evaluations": kept, "next": _find_next(status, start)}


async def show_trouble(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Return the health, failures, credentials found, and what changed since it was disclosed."""
    status, failures, secrets, changed = await asyncio.gather(
        client.status(), client.failures(), client.secrets(), client.audit()
    )
    return {
        "status": status.to_dict(),
        "failures": [
            {**each.to_dict(), "command": _make_scan_command(each.corpus, each.path)}
            for each in failures[:MOST]
        ],
        "secrets": [each.to_dict() for each in secrets[:MOST]],
        "audit": [
            {**each.to_dict(), "command": _make_disclose_command(each.corpus, each.artifact_id)}
            for each in changed[:_MOST_DIFFS]
        ],
        "counts": {
            "failures": len(failures),
            "secrets": len(secrets),
            "audit": len(changed),
            "secret_kinds": dict(Counter(each.kind for each in secrets).most_common(MOST)),
        },
    }


def _make_scan_command(corpus: str, path: str) -> str:
    whole = make_command("irc", "build", corpus, otherwise="irc build")
    return make_command("irc", "hint", path, otherwise=whole) if path.startswith("/") else whole


def _make_disclose_command(corpus: str, artifact_id: str) -> str:
    reference = f"{corpus}/{artifact_id}"
    return make_command("irc", "disclose", reference, "--level", "body", otherwise="irc audit")


async def _ask_each(
    names: Sequence[str], ask: Callable[[str], Awaitable[Result | None]]
) -> list[dict[str, Any]]:
    """Return the result for each name as plain data, a few at a time, leaving out unknown ones."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> Result | None:
        async with free:
            try:
                return await ask(name)
            except NotFound:  # it was removed after the status was read
                return None

    found = await asyncio.gather(*(one(name) for name in names))
    return [each.to_dict() for each in found if each is not None]


def _cut(report: Result, *names: str) -> dict[str, Any]:
    """Return a report as plain data with its lists cut, and their lengths in `n_<name>`."""
    plain = report.to_dict()
    counts = {f"n_{name}": len(plain[name]) for name in names}
    return {**plain, **{name: plain[name][:MOST] for name in names}, **counts}


# By the name of the data; those with a title in `irclient.web.application` are views, the others
# are requested by a view.
VIEWS: Mapping[str, ViewOf] = {
    "now": show_now,
    "floors": show_floors,
    "coverage": show_coverage,
    "try": show_answer,
    "use": show_use,
    "gaps": show_gaps,
    "evaluations": show_evaluations,
    "trouble": show_trouble,
}
