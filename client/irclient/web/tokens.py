"""Who may see the page: a link that works once, and the cookie it is exchanged for.

Both are signed with a key in a file of the user's own, so that another process of this user (`irc
web`, where the page is served already) can make a link, and a cookie outlives a restart. The time
is an argument, in Unix seconds.
"""

from __future__ import annotations

import hmac
import secrets

VALID_S = 60.0
# A cookie ends with the browser; one that was copied ends with this.
_COOKIE_S = 30 * 86_400.0


class OneTimeTokens:
    """Make and check tokens signed with one key; a link's is taken once, at its own port.

    One made before `since` is not taken: what was taken before a restart is not remembered.
    """

    def __init__(self, key: str, port: int = 0, since: float = 0.0):
        self._key = key.encode()
        self._link = f"link {port}"
        self._since = int(since)
        self._taken: dict[str, float] = {}

    def link(self, now: float) -> str:
        """Return a token for a link, valid for a minute."""
        return self._signed(self._link, now + VALID_S)

    def cookie(self, now: float) -> str:
        """Return the value of a cookie."""
        return self._signed("cookie", now + _COOKIE_S)

    def knows(self, cookie: str, now: float) -> bool:
        """Say whether a cookie was made with this key, and is not too old."""
        return self._ends("cookie", cookie) > now

    def was_taken(self, token: str) -> bool:
        """Say whether a link was used before, in the last minute."""
        return token in self._taken

    def take(self, token: str, now: float) -> bool:
        """Take a link's token: True for a valid one, the first time."""
        ends = self._ends(self._link, token)
        self._taken = {each: until for each, until in self._taken.items() if until > now}
        if ends <= now or ends - VALID_S < self._since or token in self._taken:
            return False
        self._taken[token] = ends
        return True

    def _signed(self, use: str, ends: float) -> str:
        told = f"{int(ends)}.{secrets.token_urlsafe(16)}"
        return f"{told}.{self._signature(use, told)}"

    def _signature(self, use: str, told: str) -> str:
        return hmac.new(self._key, f"{use}:{told}".encode(), "sha256").hexdigest()

    def _ends(self, use: str, token: str) -> float:
        """Return until when a token holds, 0 for one that was not signed here."""
        told, _, signature = token.rpartition(".")
        expected = self._signature(use, told)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return 0.0
        return float(told.partition(".")[0])
