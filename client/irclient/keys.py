"""CURVE keys in files: what a client needs to reach a daemon over TCP, what a daemon shows there.

A key file is TOML of two or three texts in Z85: `public` and `secret`, and for a client `server`,
the public key of the daemon it may trust. Only its owner may be able to read it.
"""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import dataclass

from irclient.errors import Unavailable

_KEY_CHARS = 40


@dataclass(frozen=True, slots=True)
class Keys:
    """A pair of CURVE keys and, for a client, the daemon's public one, in Z85."""

    public: str
    secret: str
    server: str = ""

    def to_toml(self) -> str:
        """Return the text of a key file."""
        server = f'server = "{self.server}"\n' if self.server else ""
        return f'{server}public = "{self.public}"\nsecret = "{self.secret}"\n'


def read_keys(path: str) -> Keys:
    """Read a key file. Raises Unavailable for one that is missing, broken or not private."""
    try:
        data = tomllib.loads(read_private(path))
    except tomllib.TOMLDecodeError as error:
        raise Unavailable(f"{path} is not a key file: {error}", _HINT) from error
    found = [data.get(name, "") for name in ("public", "secret", "server")]
    if not all(isinstance(key, str) and len(key) in (0, _KEY_CHARS) for key in found):
        raise Unavailable(f"{path} is not a key file: a key has {_KEY_CHARS} characters", _HINT)
    if not (found[0] and found[1]):
        raise Unavailable(f"{path} is not a key file: it has no public and secret key", _HINT)
    return Keys(*found)


def read_private(path: str) -> str:
    """Return the text of a file that only its owner can read. Raises Unavailable for any other."""
    try:
        with open(path, encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
                raise Unavailable(f"{path} can be read by others", f"chmod 600 {path}")
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"{path} cannot be read: {error}", _HINT) from error


_HINT = "irdaemon keys add, on the daemon's machine, writes one"
