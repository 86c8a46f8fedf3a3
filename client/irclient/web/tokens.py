"""Who may see the page: a link that works once, and the cookie and the path it is exchanged for.

Links are signed with a key in a file of the user's own, so that another process of this user (`irc
web`, where the page is served already) can make one; by the same key the page proves to it whose it
is. Cookies are signed with a key that no file holds and that ends with the process: what takes its
port afterwards is sent nothing that lets it in. The time is an argument, in Unix seconds.
"""

from __future__ import annotations

import hmac
import secrets

VALID_S = 60.0
# A cookie ends with the browser and with the process; one that was copied ends with this.
_COOKIE_S = 7 * 86_400.0


class OneTimeTokens:
    """Make and check tokens signed with one key; a link's is taken once, at its own port.

    One made before `since` is not taken: what was taken before a restart is not remembered. `path`
    is the secret one below which a browser sends the cookie.
    """

    def __init__(self, key: str, port: int = 0, since: float = 0.0):
        self._key = key.encode()
        self._own_key = secrets.token_bytes(32)
        self.path = f"/{secrets.token_urlsafe(24)}"
        self._port = port
        self._link = f"link {port}"
        self._since = int(since)
        self._taken: dict[str, float] = {}

    def link(self, now: float) -> str:
        """Return a token for a link, valid for a minute."""
        return self._signed(self._key, self._link, now + VALID_S)

    def cookie(self, now: float) -> str:
        """Return the value of a cookie."""
        return self._signed(self._own_key, "cookie", now + _COOKIE_S)

    def knows(self, cookie: str, now: float) -> bool:
        """Say whether a cookie was made here, by this process, and is not too old."""
        return self._ends(self._own_key, "cookie", cookie) > now

    def proof(self, endpoint: str, nonce: str) -> str:
        """Return what shows, of a nonce, that a page at this port is of a daemon and a key."""
        return _signature(self._key, f"page {self._port} {endpoint}", nonce)

    def was_taken(self, token: str) -> bool:
        """Say whether a link was used before, in the last minute."""
        return token in self._taken

    def take(self, token: str, now: float) -> bool:
        """Take a link's token: True for a valid one, the first time."""
        ends = self._ends(self._key, self._link, token)
        self._taken = {each: until for each, until in self._taken.items() if until > now}
        if ends <= now or ends - VALID_S < self._since or token in self._taken:
            return False
        self._taken[token] = ends
        return True

    @staticmethod
    def _signed(key: bytes, use: str, ends: float) -> str:
        told = f"{int(ends)}.{secrets.token_urlsafe(16)}"
        return f"{told}.{_signature(key, use, told)}"

    @staticmethod
    def _ends(key: bytes, use: str, token: str) -> float:
        """Return until when a token holds, 0 for one that was not signed here."""
        told, _, signature = token.rpartition(".")
        expected = _signature(key, use, told)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return 0.0
        return float(told.partition(".")[0])


def _signature(key: bytes, use: str, told: str) -> str:
    return hmac.new(key, f"{use}:{told}".encode(), "sha256").hexdigest()
