"""Check the extra keys of a corpus' configuration, and take typed values out of them.

Every list among them is a list of strings.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import UnionType

from irclient.errors import QueryError


def check_options(
    kind: str, options: Mapping[str, object], valid: Mapping[str, type | UnionType]
) -> dict[str, object]:
    """Return the options of a source of this kind, each known by name and of its type.

    A whole number passes for a float; true and false do not pass for numbers. Raises QueryError
    naming the first wrong option and the valid ones.
    """
    for name, value in options.items():
        if name not in valid:
            raise QueryError(f"{kind}: unknown option {name!r}", _list_valid(name, valid))
        if not _has_type(value, valid[name]):
            raise QueryError(
                f"{kind}: option {name!r} must be {_describe_type(valid[name])}, not {value!r}",
                _list_valid(name, valid),
            )
    return dict(options)


def get_number(options: Mapping[str, object], name: str, default: int) -> int:
    """Return a checked option that is a whole number, or its default."""
    value = options.get(name, default)
    return value if isinstance(value, int) else default


def get_switch(options: Mapping[str, object], name: str, default: bool) -> bool:
    """Return a checked option that is true or false, or its default."""
    value = options.get(name, default)
    return value if isinstance(value, bool) else default


def get_string(options: Mapping[str, object], name: str, default: str) -> str:
    """Return a checked option that is a string, or its default."""
    value = options.get(name, default)
    return value if isinstance(value, str) else default


def get_strings(
    options: Mapping[str, object], name: str, default: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return a checked option that is a string or a list of them, or its default."""
    value = options.get(name, default)
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list | tuple) else default


def _has_type(value: object, wanted: type | UnionType) -> bool:
    if isinstance(value, bool) and wanted is not object:
        return wanted is bool
    if isinstance(value, int) and wanted is float:
        return True
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return False
    return isinstance(value, wanted)


def _describe_type(wanted: type | UnionType) -> str:
    names = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    names[list] = "a list of strings"
    parts = wanted.__args__ if isinstance(wanted, UnionType) else (wanted,)
    return " or ".join(names.get(part, part.__name__) for part in parts)


def _list_valid(name: str, valid: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, valid, n=1)
    did_you_mean = f"did you mean {near[0]!r}? " if near and near[0] != name else ""
    return f"{did_you_mean}valid options: {', '.join(sorted(valid)) or 'none'}"
