"""JSON by the C functions of the standard library alone: its `json` package loads `re`, 7 ms."""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Lenient:
    """What the scanner asks of a decoder."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def parse_json(data: bytes) -> Any:
    """Return the value of JSON bytes. Raises ValueError or RecursionError for what is none."""
    text = data.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        value, end = make_scanner(_Lenient)(text, 0)  # type: ignore[arg-type]
    except (StopIteration, SystemError) as stopped:
        # The scanner's own error is of a module that is not loaded here: SystemError says so.
        raise ValueError("not JSON") from stopped
    if end != len(text):
        raise ValueError("not JSON: something follows the value")
    return value


def dump_json(value: Any, ascii_only: bool = False) -> str:
    """Return plain data as JSON, as `json.dumps` writes it."""
    text = encode_basestring_ascii if ascii_only else encode_basestring
    encode = make_encoder({}, _refuse, text, None, ": ", ", ", False, False, True)
    return "".join(encode(value, 0))


def _refuse(value: Any) -> Any:
    raise TypeError(f"no JSON for {type(value).__name__}")
