"""The triggers of a corpus' scans, and the hours of the day for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

CHANGE, INTERVAL, MANUAL = TRIGGERS = ("change", "interval", "manual")
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Reindex:
    """The trigger of a corpus' scans: each change, an interval in seconds, or a person."""

    on: str = CHANGE
    every_s: float = 24 * 60 * 60.0

    @property
    def follows_changes(self) -> bool:
        """Return whether an observed change is indexed at once."""
        return self.on == CHANGE

    def is_due(self, scanned_at: float | None, now: float) -> bool:
        """Return whether a whole scan is due; the first always is, unless indexing is by hand only.

        A corpus that follows changes may be scanned at any time: it costs little.
        """
        if self.on != INTERVAL or scanned_at is None:
            return self.on != MANUAL
        return now - scanned_at >= self.every_s


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Hours of every day by the local clock, in minutes of the day; equal ends mean all day.

    They may pass midnight.
    """

    start: int = 0
    end: int = 0

    def hold(self, now: float) -> bool:
        """Return whether a time, in Unix seconds, lies in these hours."""
        local = datetime.fromtimestamp(now)
        minute = 60 * local.hour + local.minute
        if self.start < self.end:
            return self.start <= minute < self.end
        return self.start == self.end or minute >= self.start or minute < self.end

    def __str__(self) -> str:
        start, end = (f"{at // 60:02}:{at % 60:02}" for at in (self.start, self.end))
        return f"{start} to {end}"


ALWAYS = QuietHours()


def parse_quiet_hours(text: str) -> QuietHours | None:
    """Return the hours of a string like 22:00-06:00; all day for "", None if it is invalid."""
    if not text:
        return ALWAYS
    found = _HOURS.fullmatch(text)
    if found is None:
        return None
    hours = [int(part) for part in found.groups()]
    made = QuietHours(60 * hours[0] + hours[1], 60 * hours[2] + hours[3])
    return made if made.start != made.end else None
