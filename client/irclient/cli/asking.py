"""The query of a command line: its words, or those on stdin, and since when."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from irclient.cli.query import query
from irclient.client import Client
from irclient.errors import QueryError
from irclient.terminal.conditions import parse_where
from irclient.terminal.output import note
from irclient.types import Query

# What a daemon analyses; what is beyond the second is not even sent.
ANALYSED_CHARS = 20_000
MOST_CHARS = 100_000
_FIELD = "timestamp"
_AGO = re.compile(r"(\d{1,4})([mhdw])\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def asked(client: Client, options: argparse.Namespace) -> Query:
    """Return the query that the options ask; with --since the daemon says who has dates.

    Raises QueryError for empty words, a moment that is none, and a corpus without dates.
    """
    wanted = replace(query(options), text=words(options.query))
    if not options.since:
        return wanted
    start = moment(options.since, datetime.now(UTC))
    where = parse_where([*options.where, f"{_FIELD}>={start}"])
    return replace(wanted, where=where, corpora=_dated(client, wanted.corpora))


def words(given: Sequence[str]) -> str:
    """Return the words of a query; a single "-" stands for those on stdin.

    Raises QueryError where there are none.
    """
    if list(given) != ["-"]:
        return " ".join(given)
    if sys.stdin is None:
        raise QueryError("stdin is closed", 'irc discover - < FILE, or irc discover "WORDS"')
    text = sys.stdin.buffer.read(4 * MOST_CHARS + 1).decode("utf-8", "replace")
    if not text.strip():
        raise QueryError("stdin has no words", "say in a few words what is needed")
    if len(text) > MOST_CHARS:
        note(f"irc: of this long text the first {ANALYSED_CHARS:,} characters count")
    return text[:MOST_CHARS]


def moment(since: str, now: datetime) -> str:
    """Return a moment as dates of sessions are written: `7d` before now, or a date as it is."""
    if ago := _AGO.match(since):
        start = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return start.strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        if _DATE.match(since) and datetime.fromisoformat(since):
            return since
    except ValueError:
        pass
    raise _no_moment(since)


def _no_moment(since: str) -> QueryError:
    return QueryError(f"--since {since!r} is no moment", "write 7d, 12h, 30m, 2w or 2026-09-01")


def _dated(client: Client, corpora: Sequence[str]) -> tuple[str, ...]:
    """Return the corpora that have dates: those named, which all must, or else all there are."""
    every = corpora or [corpus.name for corpus in client.status().corpora]
    dated = [name for name in every if _FIELD in client.info(name).fields]
    lacking = [name for name in every if name not in dated]
    if (corpora and lacking) or not dated:
        raise QueryError(
            f"--since needs dates, and there are none in {', '.join(lacking) or 'any corpus'}",
            "sessions have them; leave the others out",
        )
    return tuple(dated)
