"""JSON by the C functions of the standard library alone: its `json` package loads `re`, 7 ms."""

from __future__ import annotations

from _json import encode_basestring, make_scanner

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


def parsed(data: bytes) -> Any:
    """Return the value of JSON bytes. Raises ValueError or RecursionError for what is none."""
    text = data.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        value, end = make_scanner(_Lenient)(text, 0)  # type: ignore[arg-type]
    except StopIteration as stopped:
        raise ValueError("not JSON") from stopped
    if end != len(text):
        raise ValueError("not JSON: something follows the value")
    return value


def dumped(value: dict[str, Any] | str) -> str:
    """Return texts, and maps of them, as JSON."""
    if isinstance(value, str):
        return encode_basestring(value)
    items = (f"{encode_basestring(key)}: {dumped(item)}" for key, item in value.items())
    return "{" + ", ".join(items) + "}"
