"""Keyed digests: they tell whether two texts are the same, and nothing of what they say.

The key lies in a file of its own, for its owner alone. Who has the log but not the key cannot
even try texts out.
"""

from __future__ import annotations

import hmac
import os
import secrets

from irdaemon.source.sessions.transcript import strip_injected

_KEY_BYTES = 32
_DIGEST_BYTES = 16
# The prompt hook sends no more of a prompt than this.
_COMPARED_CHARS = 8_000


class DigestKey:
    """The key of this machine's digests. Raises OSError where its file cannot be used.

    A file that holds no key is replaced: what was digested with another key joins nothing.
    """

    def __init__(self, path: str):
        self._key = _read(path) or _made(path)

    def digest(self, text: str) -> bytes:
        """Return the digest of what a person typed of a text; white space makes no difference."""
        words = " ".join(strip_injected(text[:_COMPARED_CHARS]).split())
        whole = hmac.digest(self._key, words.encode("utf-8", "replace"), "sha256")
        return whole[:_DIGEST_BYTES]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            key = file.read(_KEY_BYTES + 1)
    except FileNotFoundError:
        return b""
    return key if len(key) == _KEY_BYTES else b""


def _made(path: str) -> bytes:
    key = secrets.token_bytes(_KEY_BYTES)
    temporary = f"{path}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(key)
    os.replace(temporary, path)
    return key
