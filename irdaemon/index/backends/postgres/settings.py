"""What a transaction that reads is told: how long it may take, and whose corpora it may see."""

from __future__ import annotations

import time

from irdaemon.index.backends.postgres.connections import Connection
from irdaemon.index.backends.scope import corpora_in_scope

# The server gives up a little after the client, which says it better.
_LATER_MS = 200
_MOST_MS = 60_000

EVERY_CORPUS = "*"


def scope_setting() -> str:
    """Return the corpora in the scope of this request, as the policies of the tables read them."""
    corpora = corpora_in_scope()
    # No corpus has an empty name: an empty scope is one that nothing is in.
    return EVERY_CORPUS if corpora is None else ",".join(sorted(corpora))


def begin_reading(connection: Connection) -> None:
    """Begin a transaction that reads one state of the server."""
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    settings = {
        "irdaemon.corpora": scope_setting(),
        "statement_timeout": str(_left_ms(connection)),
        "jit": "off",
    }
    names = [f"set_config('{name}', %s, true)" for name in settings]
    connection.execute(f"SELECT {', '.join(names)}", list(settings.values()))


def _left_ms(connection: Connection) -> int:
    left_s = getattr(connection, "until", 0.0) - time.monotonic()
    return int(min(max(left_s, 0) * 1000 + _LATER_MS, _MOST_MS))
