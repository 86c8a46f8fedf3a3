"""The thin client of irdaemon.

from irclient import Client, Query

with Client() as client:
    for hit in client.discover(Query("fill a pdf form")).results:
        print(hit.name, hit.score, hit.pointer)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irclient.errors import (
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

if TYPE_CHECKING:
    from irclient.client import Client

__version__ = "0.1.0"

__all__ = [
    "Client",
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


def __getattr__(name: str) -> Any:
    if name == "Client":  # pyzmq takes 25 ms to import: only who connects pays
        from irclient.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
