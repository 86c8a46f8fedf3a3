"""As much of msgpack as one request and its reply need, for processes that live for one call.

Importing the msgpack package takes 4 ms (it loads datetime), a third of a bare interpreter's start;
whatever lives longer uses it (`wire.py`). Spec: github.com/msgpack/msgpack/blob/master/spec.md.
"""

from __future__ import annotations

# `struct` without the module around it.
from _struct import error as _StructError  # type: ignore[attr-defined]  # noqa: N812
from _struct import pack as _pack
from _struct import unpack_from

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from typing import Any

PROTOCOL = 2


def is_same_protocol(version: object) -> bool:
    """Return whether a message's `v` is this protocol's; true is a number to Python, and is not."""
    return type(version) is int and version == PROTOCOL


# By first byte: the struct format of a number, or of the length of a text, list or map.
_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
_NUMBERS |= {0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_LENGTHS = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_LENGTHS |= {0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}
_WIDTH = {">B": 1, ">b": 1, ">H": 2, ">h": 2, ">I": 4, ">i": 4, ">f": 4, ">Q": 8, ">q": 8, ">d": 8}
_SINGLE = {0xC0: None, 0xC2: False, 0xC3: True}


def pack(value: Any) -> bytes:
    """Return plain data as msgpack: None, truth values, numbers, texts, lists and maps of them."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return bytes((value,)) if 0 <= value < 0x80 else _pack(">Bq", 0xD3, value)
    if isinstance(value, float):
        return _pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        data = value.encode("utf-8", "replace")
        return _pack(">BI", 0xDB, len(data)) + data
    if isinstance(value, dict):
        items = [pack(each) for pair in value.items() for each in pair]
        return _pack(">BI", 0xDF, len(value)) + b"".join(items)
    return _pack(">BI", 0xDD, len(value)) + b"".join(map(pack, value))


def unpack(data: bytes) -> Any:
    """Return the value that msgpack bytes hold. Raises ValueError for bytes that hold none."""
    try:
        value, end = _read_value(data, 0)
    except (IndexError, TypeError, RecursionError, ValueError, _StructError) as error:
        raise ValueError(f"not msgpack: {error}") from error
    if end != len(data):
        raise ValueError("not msgpack: bytes after the value")
    return value


def _read_value(data: bytes, at: int) -> tuple[Any, int]:
    """Return the value at a place, and the place after it."""
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first < 0x90:
        return _read_map(data, at, first & 0x0F)
    if first < 0xA0:
        return _read_list(data, at, first & 0x0F)
    if first < 0xC0:
        return _read_text(data, at, first & 0x1F)
    if first in _SINGLE:
        return _SINGLE[first], at
    form = _NUMBERS.get(first) or _LENGTHS.get(first)
    if form is None:
        raise ValueError(f"a kind of value ({first:#x}) that no reply has")
    number = unpack_from(form, data, at)[0]
    at += _WIDTH[form]
    if first in _NUMBERS:
        return number, at
    if first >= 0xDE:
        return _read_map(data, at, number)
    if first >= 0xDC:
        return _read_list(data, at, number)
    if first >= 0xD9:
        return _read_text(data, at, number)
    return _read_bytes(data, at, number), at + number


def _read_bytes(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError("the bytes end too early")
    return data[at : at + size]


def _read_text(data: bytes, at: int, size: int) -> tuple[str, int]:
    return _read_bytes(data, at, size).decode("utf-8", "replace"), at + size


def _read_list(data: bytes, at: int, size: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(size):
        item, at = _read_value(data, at)
        items.append(item)
    return items, at


def _read_map(data: bytes, at: int, size: int) -> tuple[dict[Any, Any], int]:
    items = {}
    for _ in range(size):
        key, at = _read_value(data, at)
        items[key], at = _read_value(data, at)
    return items, at
