"""Spans of time by name or by dates, as bounds that timestamps in UTC are compared with."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

Timeframe = Literal[
    "today",
    "yesterday",
    "this_week",
    "last_week",
    "last_7_days",
    "this_month",
    "last_month",
    "last_30_days",
    "this_year",
]


def bounds_of(name: Timeframe, today: date) -> tuple[date, date]:
    """Return the first day of a span and the first day after it; weeks begin on Monday."""
    tomorrow = today + timedelta(days=1)
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    spans: dict[str, tuple[date, date]] = {
        "today": (today, tomorrow),
        "yesterday": (today - timedelta(days=1), today),
        "this_week": (monday, tomorrow),
        "last_week": (monday - timedelta(days=7), monday),
        "last_7_days": (today - timedelta(days=6), tomorrow),
        "this_month": (first, tomorrow),
        "last_month": ((first - timedelta(days=1)).replace(day=1), first),
        "last_30_days": (today - timedelta(days=29), tomorrow),
        "this_year": (today.replace(month=1, day=1), tomorrow),
    }
    return spans[name]


def condition(first: date | None, after: date | None) -> dict[str, Any]:
    """Return the filter for timestamps from one day here up to another, which is not included.

    A timestamp is a moment in UTC or, of a document that states no more, a day. As text a day sorts
    before its own moments, so the days at both ends are named.
    """
    moments: dict[str, Any] = {"$gte": _in_utc(first)} if first else {}
    if after:
        moments |= {"$lt": _in_utc(after), "$nin": [after.isoformat()]}
    if first:
        return {"$or": [{"timestamp": moments}, {"timestamp": first.isoformat()}]}
    return {"timestamp": moments}


def day_after(day: date) -> date | None:
    """Return the next day, None after the last that there is."""
    return day + timedelta(days=1) if day < date.max else None


def _in_utc(day: date) -> str:
    """Return the beginning of a day here as an ISO time in UTC, to compare timestamps with."""
    try:
        begins = datetime.combine(day, time()).astimezone().astimezone(UTC)
    except (OverflowError, ValueError):  # of a year that no clock shows
        return day.isoformat()
    return begins.isoformat()[:19]
