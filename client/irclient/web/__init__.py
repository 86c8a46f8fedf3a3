"""The page: what is indexed, how fresh it is, and how answers come about, in a browser.

It is a client of the daemon like any other, in its own process. Its packages are an extra
(`irclient[web]`), so nothing outside this package imports them.
"""

from __future__ import annotations

import os
import secrets
import stat

from irclient.errors import Unavailable

# A secret in a file: created at first use, readable only by its owner.


def keep_token(path: str) -> str:
    """Return the token in a file, creating both if missing.

    Raises Unavailable for a file that others can read or write, or that has no token.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    token = secrets.token_urlsafe(32)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def _read(path: str) -> str:
    if os.path.islink(path):
        raise Unavailable(f"{path} is a link", f"rm {path}; then a new token is made")
    with open(path, encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise Unavailable(
                f"other users can read or write {path}", f"rm {path}; then a new token is made"
            )
        token = file.read().strip()
    if len(token) < 16:
        raise Unavailable(f"{path} contains no token", f"rm {path}; then a new one is made")
    return token


PORT = 7412


def require_web() -> None:
    """Raise Unavailable, with the install command, unless the packages can be imported."""
    try:
        import sse_starlette  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        from irclient.installation import make_extra_command

        cure = make_extra_command("web", "irclient")
        raise Unavailable(f"the page cannot be served: {error}", cure) from error


def find_key_path() -> str:
    """Return the path of the key that signs the page's links and cookies."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = state if os.path.isabs(state) else os.path.expanduser("~/.local/state")
    return os.path.join(base, "irdaemon", "web-key")
