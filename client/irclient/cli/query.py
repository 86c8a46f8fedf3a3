"""Make a query from the options of a command line."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from irclient.cli.place import PLACE, choose_place
from irclient.client import Client
from irclient.errors import QueryError
from irclient.fast.choices import FUSIONS, LEVELS, MODES, STRATEGIES
from irclient.ops import OPS
from irclient.terminal.conditions import parse_where
from irclient.terminal.help import Add, add_repeated, argument, flag, group, make_type
from irclient.terminal.output import note
from irclient.types import Query


def make_query(options: argparse.Namespace, text: str = "") -> Query:
    """Return the query that the options describe, of their words or of another text."""
    chosen = {"fusion": options.fusion, "rounds": getattr(options, "rounds", None)}
    for name in ("passages", "related", "exact", "ignore_case"):
        if hasattr(options, name):
            chosen[name] = getattr(options, name)
    if hasattr(options, "select"):
        named = {"strategy": options.select, "max_k": options.max_k, "rel": options.rel}
        chosen["select"] = {**named, "min_score": options.min_score}
    return Query.from_dict(
        {
            "text": text or " ".join(options.query),
            "corpora": options.corpus,
            "k": options.k,
            "mode": options.mode,
            "where": parse_where(list_conditions(options)),
            "surfaces": options.surface,
            "level": options.disclose,
            "weights": dict(options.weight),
            "expand": options.expand,
            "rerank": options.rerank,
            "fresh": options.fresh,
            "wait_ms": options.wait_ms,
            "budget_ms": options.budget_ms,
            **chosen,
        }
    )


def _translate_mode(text: str) -> str:
    """Return our name of a mode, given ours or another program's."""
    return {"keyword": "lexical", "semantic": "dense"}.get(text, text)


def list_conditions(options: argparse.Namespace) -> list[str]:
    """Return the conditions of --where and --asset-type."""
    if not options.asset_type:
        return list(options.where)
    return [*options.where, json.dumps({"asset_type": {"$in": options.asset_type}})]


def _read_floor(text: str) -> float | str | None:
    return {"auto": "auto", "none": None}[text] if text in ("auto", "none") else float(text)


def _read_weight(text: str) -> tuple[str, float]:
    kind, _, weight = text.partition("=")
    return kind, float(weight)


# A number, "auto", or None for "none".
FLOOR = make_type(
    _read_floor,
    "a number from 0 to 1, `auto` or `none`",
    lambda floor: not isinstance(floor, float) or 0 <= floor <= 1,
)


def take_argument(name: str, form: str, meaning: str, **details: Any) -> Add:
    """Return the argument for one of an operation, OP.NAME, with its type and default."""
    op, _, name = name.partition(".")
    if number := {int: int, (int, float): float}.get(OPS[op].args[name]):
        details = {"type": number, **details}
    return argument(form, meaning, default=OPS[op].find_default(name), **details)


Act = Callable[[Client, argparse.Namespace], int]
ONE_CORPUS = argument("corpus CORPUS", "only this corpus (all)", nargs="?")
EXPAND = take_argument(
    "discover.expand",
    "--expand HOW",
    "show the text around what matched: window, window:K or artifact",
)
WAIT = take_argument("wait.wait_ms", "--wait-ms N", "wait at most N ms (1000)")
ROUNDS = argument(
    "--rounds N",
    "ask in at most N rounds (1 to 8): parts without an answer are asked again",
    type=int,
)
SELECT_OPTIONS = group(
    "how to select",
    argument(
        "--select --strategy STRATEGY",
        f"{', '.join(STRATEGIES)} (conservative)",
        choices=STRATEGIES,
        default="conservative",
    ),
    argument("-n --max-k N", "commit at most N (3)", type=int, default=3),
    argument("--rel F", "share of the top score needed (0.9, relaxed)", type=float),
    argument(
        "--min-score F",
        "abstain below F (0 to 1), `auto` (calibrated, the default) or `none`",
        type=FLOOR,
        default="auto",
    ),
)
# All of a query but its words.
QUERY_SHAPE = (
    group(
        "what to search",
        add_repeated("-c --corpus CORPUS", "search only this corpus; may be repeated"),
        add_repeated(
            "--where COND", "field=value, field>=value, ..., or a filter in JSON; may be repeated"
        ),
        add_repeated(
            "--asset-type --asset_type TYPE",
            "only text, code, pdf, image or multimodal; may be repeated",
        ),
        add_repeated("--surface KIND", "search only surfaces of this kind"),
    ),
    group(
        "how to rank",
        take_argument("discover.k", "-k N", "candidates to rank (10)"),
        take_argument(
            "discover.mode",
            "--mode MODE",
            "hybrid (meaning and words, the default), dense (semantic) or lexical (keyword)",
            type=_translate_mode,
            choices=MODES,
        ),
        take_argument(
            "discover.fusion",
            "--fusion HOW",
            f"how to combine the rankings: {', '.join(FUSIONS)} (as configured)",
            choices=FUSIONS,
        ),
        add_repeated(
            "--weight KIND=W",
            "multiply the score of a surface kind; may be repeated",
            kind=make_type(_read_weight, "KIND=W with a number W"),
        ),
        flag("--rerank --rerank-text", "let the configured reranker reorder the best"),
    ),
    group(
        "what to answer",
        take_argument(
            "discover.level",
            "--disclose LEVEL",
            "metadata (the default), body (--disclose alone), or bundled: with the files that"
            " go with it",
            choices=LEVELS,
        ),
        EXPAND,
        flag("--fresh", "wait until every change made so far is included"),
        WAIT,
        take_argument(
            "discover.budget_ms", "--budget-ms N", "give the best answer possible within N ms"
        ),
    ),
)
QUERY = (
    argument("query QUERY", "what is needed, in words; - reads stdin", nargs="+"),
    *QUERY_SHAPE,
    PLACE,
    argument("--since WHEN", "only since WHEN: 7d, 12h, 30m, 2w or a date", default=""),
)


# Longer texts are not even sent: a daemon searches for less, and says so.
MOST_CHARS = 100_000
_FIELD = "timestamp"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_query(client: Client, options: argparse.Namespace) -> Query:
    """Return the query that the options describe.

    For --since it asks the daemon which corpora have dates. Raises QueryError for an empty query,
    an invalid date, and a corpus without dates.
    """
    _take_corpus(client, options)
    wanted = make_query(options, read_words(options.query))
    wanted = replace(wanted, place=choose_place(options))
    if not options.since:
        return wanted
    start = parse_moment(options.since, datetime.now(UTC))
    where = parse_where([*list_conditions(options), f"{_FIELD}>={start}"])
    return replace(wanted, where=where, corpora=tuple(_find_dated(client, wanted.corpora)))


def _take_corpus(client: Client, options: argparse.Namespace) -> None:
    """Take the first of two words for the corpus if it names one and the second was quoted."""
    if options.corpus or len(options.query) != 2 or " " not in options.query[1]:
        return
    name, text = options.query
    if name in [corpus.name for corpus in client.status().corpora]:
        options.corpus, options.query = [name], [text]
        note(f"irc: searching only {name}; quote the whole query to search every corpus")


def read_words(given: Sequence[str]) -> str:
    """Return the words of a query, or, for a single "-", of stdin.

    Raises QueryError if stdin has none.
    """
    if list(given) != ["-"]:
        return " ".join(given)
    if sys.stdin is None:
        raise QueryError("stdin is closed", 'irc discover - < FILE, or irc discover "WORDS"')
    text = sys.stdin.buffer.read(4 * MOST_CHARS + 1).decode("utf-8", "replace")
    if not text.strip():
        raise QueryError("stdin has no words", "say in a few words what is needed")
    if len(text) > MOST_CHARS:
        note(f"irc: only the first {MOST_CHARS:,} characters of the text are sent")
    return text[:MOST_CHARS]


def open_source(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a file, or stdin for "-". Raises QueryError if it cannot be opened."""
    try:
        if path == "-" and sys.stdin is not None:
            return nullcontext(sys.stdin.buffer)
        return open(path, "rb")
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror}", "name a file, or - for stdin") from error


def read_source(path: str) -> bytes:
    """Return the content of a file, or of stdin for "-". Raises QueryError if it cannot be read."""
    try:
        with open_source(path) as source:
            return source.read()
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror}", "name a file, or - for stdin") from error


def parse_moment(since: str, now: datetime) -> str:
    """Return the start of a period as a timestamp: `7d` before now, or a date unchanged."""
    if ago := re.match(r"(\d{1,4})([mhdw])\Z", since):
        start = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return start.strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        if re.match(r"\d{4}-\d\d-\d\d", since) and datetime.fromisoformat(since):
            return since
    except ValueError:
        pass
    raise QueryError(
        f"--since {since!r} is not a point in time", "write 7d, 12h, 30m, 2w or 2026-09-01"
    )


def _find_dated(client: Client, corpora: Sequence[str]) -> list[str]:
    """Return the named corpora, all of which must have dates, or every corpus that has."""
    every = corpora or [corpus.name for corpus in client.status().corpora]
    dated = [name for name in every if _FIELD in client.info(name).fields]
    lacking = [name for name in every if name not in dated]
    if (corpora and lacking) or not dated:
        raise QueryError(
            f"--since needs dates, and there are none in {', '.join(lacking) or 'any corpus'}",
            "sessions have them; leave the others out",
        )
    return dated
