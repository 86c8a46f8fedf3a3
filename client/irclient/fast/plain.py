"""Plain data of the types that cross the wire, without loading the module that makes them."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Plain:
    """Convert between a dataclass and plain data."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, nested values included."""
        return dump_fields(self)

    @classmethod
    def select_fields(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the items of `data` that name a field of this type."""
        names = cls.__dataclass_fields__  # type: ignore[attr-defined]
        return {key: value for key, value in data.items() if key in names}


# Most values are of these, and need no call.
_SCALARS = frozenset((type(None), str, int, float, bool))


def dump_fields(value: Plain) -> dict[str, Any]:
    """Return the fields of a value as plain data, nested values included."""
    names = value.__dataclass_fields__  # type: ignore[attr-defined]
    return plain_data({name: getattr(value, name) for name in names})  # type: ignore[no-any-return]


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
