"""Limits: the size of a request and its reply, and requests a second, by the [serve] section."""

from __future__ import annotations

from collections.abc import Hashable

from irclient import wire
from irclient.errors import LimitError
from irdaemon.config.config import ServeConfig

# So much of a second's allowance may come at once.
_BURST_S = 10.0
_BUCKETS_KEPT = 4_096


def of_message(serve: ServeConfig) -> wire.MessageLimits:
    """Return what a message may measure."""
    return wire.MessageLimits(serve.max_message_bytes, serve.max_depth, serve.max_items)


def check_request(request: wire.Request, serve: ServeConfig) -> None:
    """Raise LimitError, naming the limit, for a request that asks for too much at once."""
    for arg, what, key, limit in (
        ("text", "query has {:,} characters", "max_query_chars", serve.max_query_chars),
        ("query", "query has {:,} characters", "max_query_chars", serve.max_query_chars),
        ("references", "request has {:,} references", "max_references", serve.max_references),
        ("cases", "request has {:,} cases", "max_cases", serve.max_cases),
    ):
        value = request.args.get(arg)
        if isinstance(value, (str, list)) and 0 < limit < len(value):
            raise LimitError(
                f"the {what.format(len(value))}, the limit is {limit:,} ([serve] {key})",
                "send less at once",
            )


def check_reply(reply: bytes, serve: ServeConfig) -> None:
    """Raise LimitError, naming the limit, for a reply that is too large."""
    if 0 < serve.max_reply_bytes < len(reply):
        raise LimitError(
            f"the reply has {len(reply):,} bytes, the limit is {serve.max_reply_bytes:,}"
            " ([serve] max_reply_bytes)",
            "ask for less at once",
        )


class Rates:
    """A bucket of tokens for every connection: each request takes one, time gives them back."""

    def __init__(self) -> None:
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def check(self, connection: Hashable, per_second: float, now: float) -> None:
        """Count a request at `now` (seconds). Raises LimitError beyond `per_second`; 0: any."""
        if not per_second:
            return
        full = _BURST_S * per_second
        left, at = self._buckets.get(connection, (full, now))
        left = min(full, left + (now - at) * per_second)
        if left < 1:
            raise LimitError(
                f"more than {per_second:,g} requests a second on one connection"
                " ([serve] requests_per_second)",
                "wait a moment",
            )
        self._buckets[connection] = (left - 1, now)
        if len(self._buckets) > _BUCKETS_KEPT:
            self._forget_idle(now)

    def _forget_idle(self, now: float) -> None:
        """Drop what is full again; of connections that all are busy, the half that came first."""
        busy = {who: held for who, held in self._buckets.items() if now - held[1] < _BURST_S}
        kept = list(busy.items())[-_BUCKETS_KEPT // 2 :]
        self._buckets = dict(kept)
