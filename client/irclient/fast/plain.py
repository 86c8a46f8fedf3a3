"""Plain data of the types that cross the wire, without loading the module that makes them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self


class Plain:
    """Convert between a dataclass and plain data.

    A field with OPTIONAL as its metadata is left out of plain data while it has its default.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, nested values included."""
        return dump_fields(self)

    @classmethod
    def select_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the items of `data` that name a field of this type."""
        names = cls.__dataclass_fields__  # type: ignore[attr-defined]
        return {key: value for key, value in data.items() if key in names}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a value from plain data, nested values included.

        Raises TypeError if a field without a default is missing.
        """
        known = cls.select_fields(data)
        for name, read in _list_readers(cls):
            if name in known:
                known[name] = read(known[name])
        return cls(**known)


OPTIONAL = {"optional": True}
_optional: dict[type, list[tuple[str, Any]]] = {}
_readers: dict[type, list[tuple[str, Callable[[Any], Any]]]] = {}


def _list_readers(cls: type[Plain]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the fields that need converting (tuples, nested types), each with its reader."""
    if cls not in _readers:
        fields = cls.__dataclass_fields__.values()  # type: ignore[attr-defined]
        found = ((field.name, _choose_reader(cls, field.type)) for field in fields)
        _readers[cls] = [(name, read) for name, read in found if read]
    return _readers[cls]


def _choose_reader(cls: type[Plain], annotation: str) -> Callable[[Any], Any] | None:
    bare = annotation.removesuffix(" | None")
    inner = bare.removeprefix("tuple[").removesuffix(", ...]")
    kind = getattr(sys.modules[cls.__module__], inner, None)
    read = kind.from_dict if isinstance(kind, type) and issubclass(kind, Plain) else None
    if bare != inner:
        absent = None if annotation != bare else ()
        return lambda many: absent if many is None else tuple(map(read, many) if read else many)
    return read and (lambda one: None if one is None else read(one))


# Most values are of these, and need no call.
_SCALARS = frozenset((type(None), str, int, float, bool))


def dump_fields(value: Plain) -> dict[str, Any]:
    """Return the fields of a value as plain data, nested values included."""
    cls, fields = type(value), value.__dataclass_fields__  # type: ignore[attr-defined]
    if cls not in _optional:
        _optional[cls] = [(f.name, f.default) for f in fields.values() if f.metadata == OPTIONAL]
    plain: dict[str, Any] = plain_data({name: getattr(value, name) for name in fields})
    for name, default in _optional[cls]:
        if getattr(value, name) == default:
            del plain[name]
    return plain


def plain_data(value: Any) -> Any:
    """Return a value with the types that cross the wire, however deep, as plain data."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [each if type(each) in _SCALARS else plain_data(each) for each in value]
    if isinstance(value, dict) or hasattr(value, "items"):
        return {
            key: each if type(each) in _SCALARS else plain_data(each) for key, each in value.items()
        }
    return value
