"""Spans of time by name or by dates, as bounds that timestamps in UTC are compared with."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

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


def in_utc(day: date) -> str:
    """Return the beginning of a day here as an ISO time in UTC, to compare timestamps with."""
    return datetime.combine(day, time()).astimezone().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
