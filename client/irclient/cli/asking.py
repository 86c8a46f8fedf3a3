"""The query of a command line: its words, or those on stdin, and since when."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from irclient.cli.query import conditions, plain_query
from irclient.client import Client
from irclient.errors import QueryError
from irclient.terminal.output import note

# What is beyond is not even sent: a daemon searches for less, and says of how much.
MOST_CHARS = 100_000
_FIELD = "timestamp"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def asked(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    """Return the query that the options ask, as plain data.

    With --since the daemon is asked which corpora have dates. Raises QueryError for empty words, a
    moment that is none, and a corpus without dates.
    """
    _take_corpus(client, options)
    text = words(options.query)
    if not options.since:
        return plain_query(options, text)
    from datetime import UTC, datetime

    from irclient.terminal.conditions import parse_where

    start = moment(options.since, datetime.now(UTC))
    wanted = plain_query(options, text)
    where = parse_where([*conditions(options), f"{_FIELD}>={start}"])
    return {**wanted, "where": where, "corpora": _dated(client, wanted["corpora"])}


def _take_corpus(client: Client, options: argparse.Namespace) -> None:
    """Take the first of two words for the corpus where it names one, and the other was quoted."""
    if options.corpus or len(options.query) != 2 or " " not in options.query[1]:
        return
    name, text = options.query
    if name in [corpus.name for corpus in client.status().corpora]:
        options.corpus, options.query = [name], [text]
        note(f"irc: asked of {name} alone; quote all of a query to ask every corpus")


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
        note(f"irc: of this text only the first {MOST_CHARS:,} characters are sent")
    return text[:MOST_CHARS]


def moment(since: str, now: datetime) -> str:
    """Return a moment as dates of sessions are written: `7d` before now, or a date as it is."""
    import re
    from datetime import datetime, timedelta

    if ago := re.match(r"(\d{1,4})([mhdw])\Z", since):
        start = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return start.strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        if re.match(r"\d{4}-\d\d-\d\d", since) and datetime.fromisoformat(since):
            return since
    except ValueError:
        pass
    raise _no_moment(since)


def _no_moment(since: str) -> QueryError:
    return QueryError(f"--since {since!r} is no moment", "write 7d, 12h, 30m, 2w or 2026-09-01")


def _dated(client: Client, corpora: Sequence[str]) -> list[str]:
    """Return the corpora that have dates: those named, which all must, or else all there are."""
    every = corpora or [corpus.name for corpus in client.status().corpora]
    dated = [name for name in every if _FIELD in client.info(name).fields]
    lacking = [name for name in every if name not in dated]
    if (corpora and lacking) or not dated:
        raise QueryError(
            f"--since needs dates, and there are none in {', '.join(lacking) or 'any corpus'}",
            "sessions have them; leave the others out",
        )
    return dated
