"""Times: "what did we change last week" asks for the sessions of that week.

Words of time narrow sessions and nothing else, and only if a text plausibly asks for sessions: it
is short, and says that a person did, decided or talked about something, or names a session. Words
in front of a noun belong to it ("the last week view", "october cms", "yesterday's data") and are
not a time. English, and ISO 8601 dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.where import Filter
from irdaemon.index import Columns, CorpusIndex

# Longer texts tell a story, and their times belong to it.
_LONGEST = 300
# The field with a session's time.
TIME = "timestamp"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_MANY = dict(a=1, an=1, one=1, two=2, three=3, four=4, five=5, six=6, seven=7, few=3)

_DID = (
    r"did|have|had|was|were|decided|fixed|changed|talked|discussed|worked|wrote|tried|built|agreed"
    r"|learned|learnt|found|used|ran|set|made|said|asked|solved|debugged|chose|picked|started"
)
_ASKS = re.compile(
    rf"\b(?:i|we|you)\s+(?:\w+\s+)?(?:{_DID})\b|\b(?:did|have|had|was|were)\s+(?:i|we|you)\b"
    r"|\b(?:sessions?|conversations?|transcripts?|chats?)\b|\bremember\b|\brecall\b"
    r"|\bworking\s+on\b",
    re.IGNORECASE,
)
# What may follow a time that is not part of a name: an end, or a word that continues a sentence.
_END = (
    r"(?=\s*(?:$|[,;:.?!)]|-\s|\b(?:about|when|where|with|without|on|for|from|to|in|at|by|of|and|or"
    r"|but|that|which|who|how|what|why|i|we|you|it|is|was|were|did|do|does|have|had|the|a|an|this"
    r"|please|again|until|till|before|after|as|so|because|while|using|via|into)\b))"
)
_DATE = r"\d{4}-\d\d-\d\d"
_NAMED = rf"today|yesterday|{'|'.join(_DAYS)}|{_DATE}"
_MONTH = rf"(?:{'|'.join(_MONTHS)})(?:\s+\d{{4}})?|\d{{4}}-\d\d"
_TIME = re.compile(
    r"(?<![\w./@-])(?:"
    rf"(?:between|from)\s+(?P<first>{_NAMED})\s+(?:and|to|until|till)\s+(?P<second>{_NAMED})"
    rf"|since\s+(?P<since>{_NAMED}|{_MONTH})"
    rf"|(?:before|until)\s+(?P<before>{_DATE})"
    r"|(?P<before_yesterday>the\s+day\s+before\s+yesterday)"
    r"|(?P<day>today|yesterday|this\s+morning|last\s+night)"
    r"|(?:the\s+)?(?P<which>last|this|past)\s+(?P<span>week|month|year)"
    r"|(?:in\s+|over\s+|during\s+)?the\s+(?:last|past)\s+(?P<rolling>\d{1,3}|\w+)\s+"
    r"(?P<unit>day|week|month)s?"
    r"|(?P<count>\d{1,3}|\w+)\s+(?P<ago>day|week|month)s?\s+ago"
    rf"|(?:on|last)\s+(?P<weekday>{'|'.join(_DAYS)})"
    rf"|(?:in|last)\s+(?P<month>{_MONTH})"
    rf"|(?:on\s+)?(?P<date>{_DATE})"
    rf"){_END}",
    re.IGNORECASE,
)

_CUES = ("day", "week", "month", "year", "night", "morning", "-0", "-1", *_MONTHS)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time from one moment up to another; None is open. Both are timezone-aware."""

    start: datetime | None
    end: datetime | None

    def describe(self) -> dict[str, str | None]:
        """Return both in ISO 8601."""
        start, end = (each.isoformat() if each else None for each in (self.start, self.end))
        return {"from": start, "to": end}

    def holds(self, timestamp: object) -> bool:
        """Return whether an ISO 8601 moment lies in it."""
        at = _read_moment(timestamp) if isinstance(timestamp, str) else None
        if at is None:
            return False
        zone = (self.start or self.end or at).tzinfo
        at = at if at.tzinfo else at.replace(tzinfo=zone)
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)


@lru_cache(maxsize=65_536)
def _read_moment(timestamp: str) -> datetime | None:
    try:
        return datetime.fromisoformat(timestamp)
    except ValueError:
        return None


@lru_cache(maxsize=8)
def _find_time(text: str) -> re.Match[str] | None:
    if len(text) > _LONGEST:
        return None
    folded = text.lower()  # most texts name no time, which this finds in a fiftieth of the time
    return _TIME.search(text) if any(cue in folded for cue in _CUES) else None


def may_narrow(text: str) -> bool:
    """Return whether a text may ask for the sessions of a time."""
    return _find_time(text) is not None


def begin_locally(day: date) -> datetime:
    """Return when a day begins in this computer's time zone."""
    return datetime.combine(day, time()).astimezone()


def find_window(
    text: str,
    today: date,
    begin: Callable[[date], datetime] = begin_locally,
    *,
    sessions_only: bool = False,
) -> TimeWindow | None:
    """Return the time whose sessions a text asks for; None if it names none.

    `begin` says when a day begins. With `sessions_only` the rest of the text does not matter.
    """
    if (found := _find_time(text)) is None:
        return None
    if not sessions_only and not _ASKS.search(text):
        return None
    try:
        first, behind = _read_days(found, today)
        window = TimeWindow(begin(first) if first else None, begin(behind) if behind else None)
    except (ValueError, OverflowError):  # 2026-02-30, or many years ago
        return None
    return window if first or behind else None


# From a day on, and up to another one.
_Days = tuple[date | None, date | None]
_NO_DAYS: _Days = (None, None)
_ONE = timedelta(1)


def _read_days(found: re.Match[str], today: date) -> _Days:
    """Return the days that a match means. Raises ValueError, OverflowError for impossible ones."""
    said = {name: text.lower() for name, text in found.groupdict().items() if text}
    if "first" in said:
        return _read_named(said["first"], today)[0], _read_named(said["second"], today)[1]
    if "since" in said:
        return _read_named(said["since"], today)[0], None
    if "before" in said:
        return None, date.fromisoformat(said["before"])
    if "before_yesterday" in said:
        return today - 2 * _ONE, today - _ONE
    if "span" in said:
        return _read_span(said["span"], said["which"], today)
    if "unit" in said:
        n = _read_count(said["rolling"])
        days = {"day": 1, "week": 7, "month": 30}[said["unit"]]
        return (today - n * days * _ONE, today + _ONE) if n else _NO_DAYS
    if "ago" in said:
        return _read_ago(_read_count(said["count"]), said["ago"], today)
    if "weekday" in said:
        # Today is "on monday" on a Monday, and not "last monday".
        latest = today - _ONE if found.group().lower().startswith("last") else today
        return _read_weekday(said["weekday"], latest)
    return _read_named(next(iter(said.values())), today)


def _read_named(name: str, today: date) -> _Days:
    """Return the day or month with a name or a date."""
    if name in ("today", "this morning"):
        return today, today + _ONE
    if name == "yesterday":
        return today - _ONE, today
    if name == "last night":
        return today - _ONE, today + _ONE
    if name in _DAYS:
        return _read_weekday(name, today)
    if len(name) == len("2026-09-01") and name[0].isdigit():
        return date.fromisoformat(name), date.fromisoformat(name) + _ONE
    if name[0].isdigit():
        return _read_month(date.fromisoformat(f"{name}-01"))
    month, _, year = name.partition(" ")
    number = _MONTHS.index(month) + 1
    own = int(year) if year else today.year - (number > today.month)
    return _read_month(date(own, number, 1))


def _read_weekday(name: str, latest: date) -> _Days:
    day = latest - (latest.weekday() - _DAYS.index(name)) % 7 * _ONE
    return day, day + _ONE


def _read_month(first: date) -> _Days:
    return first, (first + 31 * _ONE).replace(day=1)


def _read_span(span: str, which: str, today: date) -> _Days:
    """Return this week, month or year, or the last whole one; or a number of days up to today."""
    if which == "past":
        return today - {"week": 7, "month": 30, "year": 365}[span] * _ONE, today + _ONE
    last = which == "last"
    if span == "week":
        monday = today - today.weekday() * _ONE
        return (monday - 7 * _ONE, monday) if last else (monday, monday + 7 * _ONE)
    if span == "month":
        first = today.replace(day=1)
        return _read_month((first - _ONE).replace(day=1) if last else first)
    year = today.year - last
    return date(year, 1, 1), date(year + 1, 1, 1)


def _read_ago(n: int, unit: str, today: date) -> _Days:
    """Return the day, week or month a number of them before this one."""
    if not n:
        return _NO_DAYS
    if unit == "day":
        return today - n * _ONE, today - (n - 1) * _ONE
    if unit == "week":
        monday = today - (today.weekday() + 7 * n) * _ONE
        return monday, monday + 7 * _ONE
    month = today.year * 12 + today.month - 1 - n
    return _read_month(date(month // 12, month % 12 + 1, 1))


def _read_count(word: str) -> int:
    return int(word) if word.isdigit() else _MANY.get(word, 0)


# -- the sessions of a time ----------------------------------------------------------------------


def holds_sessions(index: CorpusIndex) -> bool:
    """Return whether a corpus has sessions, judged by its first artifact."""
    if index.elsewhere or not index.rows.alive.any():
        return False
    return index.rows.cards[int(index.rows.alive.argmax())].get_field("session_id") is not None


def narrow_filter(filter: Filter, index: CorpusIndex, window: TimeWindow) -> Filter | None:
    """Return a filter that also requires a time; None if a corpus of sessions has none in it."""

    def make_mask(columns: Columns) -> NDArray[np.bool_]:
        return columns.get_column(TIME).mask(window.holds)

    if not (make_mask(index.columns) & index.rows.present).any():
        return None
    where = {**filter.where, TIME: window.describe()}
    return replace(filter, where=where, masks=(*filter.masks, make_mask))
