"""The thin client of irdaemon.

from irclient import Client, Query

with Client() as client:
    for hit in client.discover(Query("fill a pdf form")).results:
        print(hit.name, hit.score, hit.pointer)
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from irclient.client import Client
    from irclient.errors import (
        Denied,
        InternalError,
        IRError,
        LimitError,
        NotFound,
        ProtocolError,
        QueryError,
        Timeout,
        Unavailable,
        Unreachable,
    )
    from irclient.types import Disclosure, Hit, Query, Selection, SelectSpec

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Denied",
    "Disclosure",
    "Hit",
    "IRError",
    "InternalError",
    "LimitError",
    "NotFound",
    "ProtocolError",
    "Query",
    "QueryError",
    "SelectSpec",
    "Selection",
    "Timeout",
    "Unavailable",
    "Unreachable",
]

_TYPES = ("Disclosure", "Hit", "Query", "SelectSpec", "Selection")


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: pyzmq takes 25 ms, dataclasses 15."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "client" if name == "Client" else "types" if name in _TYPES else "errors"
    value = globals()[name] = getattr(import_module(f"irclient.{home}"), name)
    return value
