"""How a client reaches a daemon and as whom: a socket path or an address, CURVE keys, a token."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from irclient import places
from irclient.errors import Unavailable
from irclient.keys import Keys, read_keys, read_private


@dataclass(frozen=True, slots=True)
class Access:
    """A way to a daemon. Without `keys` the endpoint is the path of a socket on this machine."""

    endpoint: str
    keys: Keys | None = None
    token: str = ""

    @property
    def exists(self) -> bool:
        """Say whether there is something to connect to, as far as can be seen from here."""
        return self.keys is not None or os.path.exists(self.endpoint)

    def connect(self, socket: Any) -> None:
        """Connect a socket."""
        if self.keys is None:
            socket.connect(f"ipc://{self.endpoint}")
            return
        socket.ipv6 = True
        socket.curve_serverkey = self.keys.server.encode()
        socket.curve_publickey = self.keys.public.encode()
        socket.curve_secretkey = self.keys.secret.encode()
        socket.connect(self.endpoint)


def choose_access(endpoint: str | None, keys: str, token: str) -> Access:
    """Return the way to an endpoint, the usual one by default.

    `keys` and `token` are the paths of files; IRDAEMON_KEYS and IRDAEMON_TOKEN name those that are
    not given. Raises Unavailable for an address without keys, or a file that cannot be used.
    """
    chosen = endpoint or places.endpoint()
    token_path = token or os.environ.get("IRDAEMON_TOKEN", "")
    secret = read_private(token_path).strip() if token_path else ""
    return Access(chosen, _read_keys(keys) if places.is_remote(chosen) else None, secret)


def _read_keys(path: str) -> Keys:
    path = path or os.environ.get("IRDAEMON_KEYS", "")
    if not path:
        raise Unavailable(
            "a daemon is asked over TCP only with keys", "set IRDAEMON_KEYS to your key file"
        )
    keys = read_keys(path)
    if not keys.server:
        raise Unavailable(f"{path} has no server key: whose answers to trust", "add it there")
    return keys
