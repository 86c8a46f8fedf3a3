"""The only file that knows bytes: requests and replies as msgpack maps.

A request is `{v, id, op, args}`; its reply `{v, id, ok: true, result}` or `{v, id, ok: false,
error: {code, message, hint}}`. Unknown keys are ignored, so that either side may be newer. On the
socket a message is one frame beside the routing frames; see docs/protocol.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from irclient.errors import BY_CODE, IRError, LimitError, ProtocolError
from irclient.packing import PROTOCOL as PROTOCOL

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
_MAX_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class Request:
    """An operation by name, with its arguments and the id its reply will carry."""

    id: int
    op: str
    args: Mapping[str, Any]


def pack_request(request: Request) -> bytes:
    """Return the bytes of a request."""
    return _pack({"v": PROTOCOL, "id": request.id, "op": request.op, "args": request.args})


def unpack_request(data: bytes, limit: int = MAX_MESSAGE_BYTES) -> Request:
    """Read a request. Raises LimitError or ProtocolError, never anything else."""
    if len(data) > limit:
        raise LimitError(
            f"the message has {len(data):,} bytes, the limit is {limit:,}", "send less at once"
        )
    message = _unpack(data)
    number, op, args = message.get("id"), message.get("op"), message.get("args", {})
    if not isinstance(number, int) or not isinstance(op, str) or not isinstance(args, dict):
        raise ProtocolError(
            "a request is a map of v, id (a number), op (a text) and args (a map)",
            "see docs/protocol.md",
        )
    return Request(number, op, args)


def pack_result(number: int, result: Any) -> bytes:
    """Return the bytes of a good reply."""
    return _pack({"v": PROTOCOL, "id": number, "ok": True, "result": result})


def pack_error(number: int, error: IRError) -> bytes:
    """Return the bytes of a reply that says what went wrong."""
    said = {"code": error.code, "message": error.message, "hint": error.hint}
    return _pack({"v": PROTOCOL, "id": number, "ok": False, "error": said})


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for the request with this id: a result, or the error it met."""

    id: int
    result: Any = None
    error: IRError | None = None

    def value(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


def read_reply(data: bytes) -> Reply:
    """Read a reply. Raises ProtocolError for bytes that are none."""
    message = _unpack(data)
    number, said = message.get("id"), message.get("error")
    if not isinstance(number, int):
        number = 0
    if message.get("ok") is True:
        return Reply(number, message.get("result"))
    if not isinstance(said, dict):
        raise ProtocolError("the reply has neither a result nor an error")
    named = (str(said.get(key, "")) for key in ("code", "message", "hint"))
    return Reply(number, error=_error(*named))


def unpack_reply(data: bytes) -> tuple[int, Any]:
    """Return the id and the result of a reply, or raise the error it carries."""
    reply = read_reply(data)
    return reply.id, reply.value()


def _error(code: str, message: str, hint: str) -> IRError:
    if code in BY_CODE:
        return BY_CODE[code](message, hint)
    error = IRError(message, hint)
    error.code = code  # of a newer daemon, or of a kind that only it raises
    return error


def pack_event(data: Mapping[str, Any]) -> bytes:
    """Return the bytes of an event's body."""
    return _pack(dict(data))


def unpack_event(data: bytes) -> dict[str, Any]:
    """Read an event's body."""
    return _unpack(data)


def _pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, default=str)
    return packed


def _unpack(data: bytes) -> dict[str, Any]:
    try:
        value = msgpack.unpackb(
            data,
            unicode_errors="replace",
            max_array_len=_MAX_ITEMS,
            max_map_len=_MAX_ITEMS,
            max_ext_len=0,
        )
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
        raise ProtocolError(f"not a msgpack message: {error}", "see docs/protocol.md") from error
    if not isinstance(value, dict):
        raise ProtocolError("a message is a msgpack map", "see docs/protocol.md")
    return value
