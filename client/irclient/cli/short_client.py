"""A client for the processes that live for one command: neither pyzmq nor the types of results.

It asks over a socket of this machine, and returns replies as they are.
"""

from __future__ import annotations

import os
import time

from irclient.errors import Lost, ProtocolError
from irclient.fast.packing import PROTOCOL, packed, unpacked
from irclient.fast.replies import (
    CONNECT_S,
    connection_lost,
    no_connection,
    no_daemon,
    result_of,
    too_late,
)
from irclient.fast.zmtp import ZmtpLine
from irclient.ops import Operations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from irclient.ops import Op


# How soon to try again where nothing accepts a connection.
_AGAIN_S = 0.02


class Told(dict):  # type: ignore[type-arg]
    """A map of a reply, whose keys can be read as the attributes of the result's type."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Return what lies under a key."""
        try:
            return told(self[name])
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the map itself, which is plain data."""
        return self


def told(value: Any) -> Any:
    """Return plain data with its maps, and those of its list, as `Told`."""
    if isinstance(value, dict):
        return Told(value)
    return [told(each) for each in value] if isinstance(value, list) else value


class ShortClient(Operations):
    """Ask the daemon at a socket path, each operation on a connection of its own.

    Errors and deadlines are those of `Client`. `asked_once` says whether something was asked that
    must not be asked again.
    """

    def __init__(self, endpoint: str, timeout: float):
        self.endpoint = endpoint
        self.timeout = timeout
        self.asked_once = False

    def _run(self, op: Op, args: Mapping[str, Any]) -> Any:
        self.asked_once = self.asked_once or not op.repeatable
        if not os.path.exists(self.endpoint):
            raise no_daemon(self.endpoint)
        allowed = self.timeout + op.extra_s(args)
        deadline = time.monotonic() + allowed
        request = {"v": PROTOCOL, "id": 1, "op": op.name, "args": args}
        data = packed({**request, "timeout_ms": 1000 * allowed})
        try:
            reply = self._exchange(data, deadline)
        except Lost:
            if not op.repeatable:
                raise
            reply = self._exchange(data, deadline)
        return told(result_of(_read(reply)))

    def _exchange(self, data: bytes, deadline: float) -> bytes:
        line = self._sent(data, min(deadline, time.monotonic() + CONNECT_S))
        try:
            line.allow(deadline - time.monotonic())
            return _answer(line, len(data), self.timeout)
        finally:
            line.close()

    def _sent(self, data: bytes, deadline: float) -> ZmtpLine:
        """Return the connection that a request was sent on: a daemon may be about to come back."""
        while (left := deadline - time.monotonic()) > 0:
            line = ZmtpLine(left)
            try:
                line.send(self.endpoint, data)
                return line
            except OSError:
                line.close()
                time.sleep(min(_AGAIN_S, max(0.0, deadline - time.monotonic())))
        raise no_connection(self.endpoint)


def _answer(line: ZmtpLine, size: int, timeout: float) -> bytes:
    try:
        return line.reply()
    except TimeoutError:
        raise too_late(timeout) from None
    except OSError:
        raise connection_lost(size) from None


def _read(reply: bytes) -> Mapping[str, Any]:
    try:
        message = unpacked(reply)
    except ValueError as error:
        raise ProtocolError(f"not a msgpack message: {error}", "see docs/protocol.md") from error
    if not isinstance(message, dict):
        raise ProtocolError("a message is a msgpack map", "see docs/protocol.md")
    return message
