"""Requests, replies and events as msgpack maps, and the check of the protocol's number.

A request is `{v, id, op, args}`, with `timeout_ms` and `token` where they are wanted; its reply
`{v, id, ok: true, result}` or `{v, id, ok: false, error: {code, message, hint}}`. Unknown keys are
ignored, so that either side may be newer. On the socket a message is one frame beside the routing
frames; see docs/protocol.md. Processes that live for one call read and write the same bytes without
the msgpack package: irclient.fast.packing, over irclient.fast.zmtp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from irclient.errors import IRError, LimitError, ProtocolError, QueryError
from irclient.fast.packing import PROTOCOL as PROTOCOL
from irclient.fast.packing import is_same_protocol as is_same_protocol
from irclient.fast.replies import (
    MESSAGE_BYTES,
    RESTART_DAEMON,
    UPDATE_CLIENT,
    check_reply_protocol,
    is_newer,
    make_protocol_error,
    read_error,
)
from irclient.invisible import spell_hidden


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """The limits of a message: its bytes, the depth of its values, and their number in all.

    0 means no limit.
    """

    bytes: int = MESSAGE_BYTES
    depth: int = 32
    items: int = 100_000


# A client trusts the daemon that it chose.
_OF_A_REPLY = MessageLimits(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Request:
    """An operation by name, with its arguments and the id its reply will carry.

    `timeout_ms` is how long the client will wait for the reply, 0 for ever; `token` names a client
    that has neither a known uid nor a key. `v` is the protocol's number in the request, or None.
    """

    id: int
    op: str
    args: Mapping[str, Any]
    timeout_ms: float = 0.0
    token: str = ""
    v: Any = PROTOCOL


def pack_request(request: Request) -> bytes:
    """Return the bytes of a request. Raises QueryError for a text that is not valid Unicode."""
    message = {"v": request.v, "id": request.id, "op": request.op, "args": request.args}
    if request.timeout_ms:
        message["timeout_ms"] = request.timeout_ms
    if request.token:
        message["token"] = request.token
    try:
        return _pack(message, "strict")
    except UnicodeEncodeError as error:
        raise QueryError(
            f"{request.op}: not UTF-8: {spell_hidden(error.object)}",
            "names that are not UTF-8 are not indexed",
        ) from error


def unpack_request(data: bytes, limits: MessageLimits = MessageLimits()) -> Request:
    """Read a request. Raises LimitError or ProtocolError, never anything else."""
    message = _unpack(data, limits)
    number, op, args = message.get("id"), message.get("op"), message.get("args", {})
    timeout_ms, token = message.get("timeout_ms", 0), message.get("token", "")
    if not (isinstance(number, int) and isinstance(op, str) and isinstance(args, dict)):
        raise ProtocolError(
            "a request is a map of v, id (a number), op (a text) and args (a map)",
            "see docs/protocol.md",
        )
    if not (isinstance(timeout_ms, (int, float)) and isinstance(token, str)):
        raise ProtocolError("timeout_ms is a number and token a text", "see docs/protocol.md")
    return Request(number, op, args, timeout_ms, token, message.get("v"))


def check_request_protocol(version: Any, daemon: str) -> None:
    """Raise ProtocolError, with a hint, for a request of another protocol than `daemon`'s."""
    if not is_same_protocol(version):
        hint = RESTART_DAEMON if is_newer(version) else UPDATE_CLIENT
        raise make_protocol_error("the client", version, f"this daemon, {daemon},", hint)


def pack_result(number: int, result: Any, v: int = PROTOCOL) -> bytes:
    """Return the bytes of a successful reply."""
    return _pack({"v": v, "id": number, "ok": True, "result": result})


def pack_error(number: int, error: IRError, v: int = PROTOCOL) -> bytes:
    """Return the bytes of a reply with an error."""
    plain = {"code": error.code, "message": error.message, "hint": error.hint}
    return _pack({"v": v, "id": number, "ok": False, "error": plain})


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to the request with this id: a result or an error."""

    id: int
    result: Any = None
    error: IRError | None = None

    def unwrap(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


def read_reply(data: bytes) -> Reply:
    """Read a reply. Raises ProtocolError for other bytes."""
    message = _unpack(data, _OF_A_REPLY)
    number = message.get("id")
    if not isinstance(number, int):
        number = 0
    try:
        check_reply_protocol(message.get("v"))
    except ProtocolError as error:
        return Reply(number, error=error)
    if message.get("ok") is True:
        return Reply(number, message.get("result"))
    return Reply(number, error=read_error(message))


def pack_event(data: Mapping[str, Any]) -> bytes:
    """Return the bytes of an event's body."""
    return _pack(dict(data))


def unpack_event(data: bytes) -> dict[str, Any]:
    """Read an event's body."""
    return _unpack(data, _OF_A_REPLY)


def _pack(value: Any, on_surrogates: str = "backslashreplace") -> bytes:
    """Return a value as bytes; a name that is not valid Unicode must not prevent a reply."""
    packed: bytes = msgpack.packb(value, default=str, unicode_errors=on_surrogates)
    return packed


def _unpack(data: bytes, limits: MessageLimits) -> dict[str, Any]:
    if limits.bytes and len(data) > limits.bytes:
        raise _refuse_size("bytes", len(data), limits.bytes, "max_message_bytes")
    count = _Counter(limits.items) if limits.items or limits.depth else None
    try:
        value = msgpack.unpackb(
            data,
            unicode_errors="replace",
            list_hook=count,
            object_hook=count,
            max_ext_len=0,
        )
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        raise ProtocolError(f"not a msgpack message: {error}", "see docs/protocol.md") from error
    if not isinstance(value, dict):
        raise ProtocolError("a message is a msgpack map", "see docs/protocol.md")
    # A message with few lists and maps cannot be deep.
    if count and 0 < limits.depth < count.containers and _nests_deeper(value, limits.depth):
        raise LimitError(
            f"the message nests deeper than {limits.depth} levels ([serve] max_depth)",
            "nest less",
        )
    return value


class _Counter:
    """Count the values of a message while it is read, and stop at too many.

    `most` is 0 for no limit. `containers` counts lists and maps alone.
    """

    def __init__(self, most: int):
        self._most = most
        self._found = 0
        self.containers = 0

    def __call__(self, container: Any) -> Any:
        self.containers += 1
        self._found += 1 + len(container)
        if 0 < self._most < self._found:
            raise _refuse_size("values or more", self._found, self._most, "max_items")
        return container


def _refuse_size(what: str, found: int, limit: int, name: str) -> LimitError:
    return LimitError(
        f"the message has {found:,} {what}, the limit is {limit:,} ([serve] {name})",
        "send less at once",
    )


def _nests_deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        inner: Iterable[Any] = value.values()
    elif isinstance(value, list):
        inner = value
    else:
        return False
    return levels == 0 or any(_nests_deeper(each, levels - 1) for each in inner)
