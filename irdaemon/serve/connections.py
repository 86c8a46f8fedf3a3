"""What an add-on keeps for a client as long as its connection lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sender:
    """The owner of what is kept: a client, by its name in the configuration, on one connection.

    `address` is the endpoint's, `identity` that of the connection there, `descriptor` its socket's.
    """

    address: str
    identity: bytes
    descriptor: int
    client: str = ""


class ConnectionStore:
    """Keep nothing; an add-on's store overrides it. The loop's thread calls this."""

    def __len__(self) -> int:
        return 0

    def find(self, sender: Sender, now: float) -> Any:
        """Return what is kept for a client whose connection lives."""
        return None

    def note_request(self, sender: Sender, now: float) -> None:
        """Keep what a client has for another ten minutes."""

    def end_connection(self, address: str, descriptor: int) -> None:
        """Forget what was kept on a connection that ended."""

    def expire(self, now: float) -> None:
        """Forget what clients have that have sent no request for too long."""
