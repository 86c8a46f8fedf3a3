"""The identity of a strategy: equal only for equal decompositions, and the same in each process.

Parameters count by their values, strategies and functions among them by their parts. An attribute
with a private name (a cache, a client) counts by its type alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

SCALAR = (str, int, float, bool, type(None))
# Wrappers in wrappers deeper than this, or around themselves, count by their types.
_DEEPEST = 8


def list_attributes(value: object) -> dict[str, Any]:
    """Return the attributes of an object, by name, whether it has slots or not."""
    slots = [name for kind in type(value).__mro__ for name in _list_slots(kind)]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**held, **getattr(value, "__dict__", {})}


def make_spec(strategy: object) -> dict[str, Any]:
    """Return the name and scalar parameters of a strategy."""
    held = list_attributes(strategy).items()
    params = {key: value for key, value in held if isinstance(value, SCALAR)}
    return {"name": type(strategy).__name__, "params": params}


def identify_parts(strategy: object, depth: int = 0) -> dict[str, Any]:
    """Return the identity of each parameter that is no scalar."""
    return {
        key: _name_type(value) if key.startswith("_") else _identify(value, depth + 1)
        for key, value in list_attributes(strategy).items()
        if not isinstance(value, SCALAR)
    }


def identify_function(function: object) -> str:
    """Return the identity of a function or object: its name, and its code where it has none."""
    identity = _identify_callable(function, 0)
    return identity if isinstance(identity, str) else json.dumps(identity, sort_keys=True)


def _identify(value: Any, depth: int) -> Any:
    """Return plain data that is equal for values with the same effect."""
    if isinstance(value, SCALAR):
        return value
    if depth > _DEEPEST:
        return _name_type(value)
    if isinstance(value, Mapping):
        return {str(key): _identify(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_identify(each, depth + 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(_identify(each, depth + 1), sort_keys=True) for each in value)
    if hasattr(value, "decompose") and not isinstance(value, type):
        return [make_spec(value), identify_parts(value, depth)]
    return _identify_callable(value, depth)


def _identify_callable(value: Any, depth: int) -> Any:
    if isinstance(value, partial):
        parts = (value.func, value.args, value.keywords)
        return ["partial", *(_identify(part, depth + 1) for part in parts)]
    if isinstance(value, MethodType):
        return [value.__qualname__, _identify(value.__self__, depth + 1)]
    if isinstance(value, FunctionType) and "<" in value.__qualname__:
        return [value.__qualname__, _digest_function(value, depth)]
    return _name_type(value)


def _name_type(value: Any) -> str:
    """Return the qualified name of a function or class, else that of the value's type."""
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _digest_function(function: FunctionType, depth: int) -> str:
    """Fingerprint a function without a name of its own: its code, defaults and closure."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
    held = (function.__defaults__ or (), function.__kwdefaults__ or {}, cells)
    parts = [_list_code(function.__code__), _identify(held, depth + 1)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _list_code(code: CodeType) -> list[Any]:
    constants = [_list_constant(value) for value in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), constants]


def _list_constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _list_code(value)
    if isinstance(value, frozenset):  # its order differs between processes
        return sorted(map(repr, value))
    return [_list_constant(each) for each in value] if isinstance(value, tuple) else repr(value)


def _is_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _list_slots(kind: type) -> tuple[str, ...]:
    named = kind.__dict__.get("__slots__", ())
    slots = (named,) if isinstance(named, str) else tuple(named)
    return tuple(name for name in slots if name not in ("__dict__", "__weakref__"))
