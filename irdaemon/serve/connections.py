"""What is kept for a client as long as its connection lives: an add-on may have such."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sender:
    """Who has something kept: a client, by its name in the configuration, on one connection.

    `address` is the endpoint's, `identity` that of the connection there, `descriptor` its socket's.
    """

    address: str
    identity: bytes
    descriptor: int
    client: str = ""


class ConnectionStore:
    """What clients have kept on their connections: here nothing. The loop's thread calls this."""

    def __len__(self) -> int:
        return 0

    def of(self, sender: Sender, now: float) -> Any:
        """Return what a client has kept whose connection is there."""
        return None

    def note_request(self, sender: Sender, now: float) -> None:
        """Keep what a client has for another while."""

    def end_connection(self, address: str, descriptor: int) -> None:
        """Forget what was kept on a connection that ended."""

    def expire(self, now: float) -> None:
        """Forget what clients have kept that have sent no request for too long."""
