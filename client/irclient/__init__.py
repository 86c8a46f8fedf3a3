"""The thin client of irdaemon.

from irclient import Client, Query

with Client() as client:
    for hit in client.discover(Query("fill a pdf form")).results:
        print(hit.name, hit.score, hit.pointer)
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from irclient.async_client import AsyncClient
    from irclient.client import Client
    from irclient.errors import (
        Conflict,
        Denied,
        InternalError,
        IRError,
        LimitError,
        Lost,
        NotFound,
        ProtocolError,
        QueryError,
        Timeout,
        Unavailable,
        Unreachable,
    )
    from irclient.types import Disclosure, Event, Hit, Query, Selection, SelectSpec

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "Denied",
    "Disclosure",
    "Event",
    "Hit",
    "IRError",
    "InternalError",
    "LimitError",
    "Lost",
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

# Where each public name lives; what is not listed is an error.
_HOMES = {"AsyncClient": "async_client", "Client": "client"}
_HOMES |= dict.fromkeys(("Disclosure", "Event", "Hit", "Query", "SelectSpec", "Selection"), "types")


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: pyzmq takes 25 ms, dataclasses 15."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"irclient.{_HOMES.get(name, 'errors')}")
    value = globals()[name] = getattr(home, name)
    return value
