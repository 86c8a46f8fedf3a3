"""When a document was written, as ISO 8601: what it says of itself, else when its file changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

# The newest first: what was updated since is found by that.
_STATED = ("updated", "date")
_SECOND_NS = 1_000_000_000


def timestamp_of(front_matter: Mapping[str, object], mtime_ns: int) -> str:
    """Return the day (YYYY-MM-DD) or the moment (in UTC) a document was written.

    From `updated` or `date` of its front matter, where that is an ISO date, else from the time its
    file was last modified (nanoseconds since the epoch).
    """
    stated = (_iso(str(front_matter.get(key, "")).strip()) for key in _STATED)
    return next(filter(None, stated), None) or _utc(
        datetime.fromtimestamp(mtime_ns // _SECOND_NS, UTC)
    )


def _iso(text: str) -> str:
    """Return an ISO date in its one form, "" for any other text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if "T" not in text and ":" not in text:
        return moment.date().isoformat()
    try:
        return _utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except OverflowError:
        return ""


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
