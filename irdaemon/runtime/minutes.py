"""The last sixty minutes: the number and durations of answers in each, and refused requests.

In memory only. No lock: of two simultaneous answers one may be missed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

KEPT = 60
_MINUTE_S = 60
# The newest durations kept for each minute, four bytes each.
_DURATIONS = 500
# How many kinds of refused requests are distinguished, and how long an operation's name may be.
_KINDS, _OP_CHARS = 8, 40


class _Minute:
    """The answers of one minute: their number, and the last durations."""

    __slots__ = ("count", "took")

    def __init__(self) -> None:
        self.count = 0
        self.took = array("f")

    def p50(self) -> float:
        return round(sorted(self.took)[len(self.took) // 2], 3)


class AnswerMinutes:
    """Count answers by the minute, and forget those of more than an hour ago.

    Times are Unix seconds, and are passed in.
    """

    def __init__(self) -> None:
        self._minutes: dict[int, _Minute] = {}

    def note(self, ms: float, now: float) -> None:
        """Count an answer that took `ms` milliseconds."""
        at = int(now // _MINUTE_S)
        if (minute := self._minutes.get(at)) is None:
            for each in [minute for minute in list(self._minutes) if minute < at - KEPT + 1]:
                self._minutes.pop(each, None)
            minute = self._minutes.setdefault(at, _Minute())
        if len(minute.took) < _DURATIONS:
            minute.took.append(ms)
        else:
            minute.took[minute.count % _DURATIONS] = ms
        minute.count += 1

    def to_dict(self, now: float) -> dict[str, Any]:
        """Return the last sixty minutes, oldest first, including the current one.

        `since` is when the first of them began, `queries` the number of answers in each, and `p50`
        the median of their milliseconds, None for a minute without answers.
        """
        first = int(now // _MINUTE_S) - KEPT + 1
        found = [self._minutes.get(first + at) for at in range(KEPT)]
        return {
            "since": float(first * _MINUTE_S),
            "queries": [each.count if each else 0 for each in found],
            "p50": [each.p50() if each else None for each in found],
        }


class Refusals:
    """The refused requests of other protocol versions: a few kinds, for an hour."""

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._kinds: dict[tuple[str, str], dict[str, Any]] = {}

    def note(self, protocol: object, op: str, fix: str) -> None:
        """Count a refused request, with its fix."""
        kind = ("none" if protocol is None else f"{protocol!r:.20}", op[:_OP_CHARS])
        known = self._kinds.get(kind)
        if known is None and len(self._kinds) >= _KINDS:
            return
        count, at = (known["count"] if known else 0) + 1, self._clock()
        found = {"protocol": kind[0], "op": kind[1], "count": count, "at": at, "fix": fix}
        self._kinds[kind] = found

    def list_recent(self) -> list[dict[str, Any]]:
        """Return the kinds refused in the last hour, most frequent first; forget the others."""
        since = self._clock() - KEPT * _MINUTE_S
        self._kinds = {kind: each for kind, each in self._kinds.items() if each["at"] > since}
        return sorted(self._kinds.values(), key=lambda each: -each["count"])
