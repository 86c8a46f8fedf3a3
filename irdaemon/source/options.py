"""Check the extra keys of a corpus' configuration, and take typed values out of them.

Every list among them is a list of strings.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, ClassVar

from irclient.errors import QueryError
from irdaemon.types import Root

# By the type of an option's default.
_TYPES: Mapping[type, tuple[str, type | tuple[type, ...]]] = {
    str: ("a string", str),
    int: ("a whole number", int),
    bool: ("true or false", bool),
    list: ("a list of strings", list),
    tuple: ("a string or a list of strings", (str, list)),
}


class RootSource:
    """A source with roots and options."""

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, roots: tuple[Root, ...]):
        self._roots = roots

    def roots(self) -> tuple[Root, ...]:
        """Return the given directories and files."""
        return self._roots


def read_options(
    kind: str, options: Mapping[str, object], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options of a source of this kind, lists as tuples, with the default of each other.

    The type of an option is that of its default; that of a tuple is a string or a list of them.
    Raises QueryError naming the first wrong option and the valid ones.
    """
    read = dict(defaults)
    for name, value in options.items():
        if name not in defaults:
            raise QueryError(f"{kind}: unknown option {name!r}", _list_valid(name, defaults))
        said, types = _TYPES[type(defaults[name])]
        has_type = isinstance(value, types) and isinstance(value, bool) is (types is bool)
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            has_type = False
        if not has_type:
            reason = f"{kind}: option {name!r} must be {said}, not {value!r}"
            raise QueryError(reason, _list_valid(name, defaults))
        read[name] = [value] if types == (str, list) and isinstance(value, str) else value
    return {name: tuple(each) if isinstance(each, list) else each for name, each in read.items()}


def _list_valid(name: str, valid: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, valid, n=1)
    did_you_mean = f"did you mean {near[0]!r}? " if near and near[0] != name else ""
    return f"{did_you_mean}valid options: {', '.join(sorted(valid)) or 'none'}"
