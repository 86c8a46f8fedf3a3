"""The page: what is indexed, how fresh it is, and why an answer is as it is, in a browser.

It is a client of the daemon like any other, in a process of its own. The packages it is made with
are an extra (`irclient[web]`), so nothing outside this package imports them for it.
"""

from __future__ import annotations

import os

from irclient.errors import Unavailable

PORT = 7412


def require_web() -> None:
    """Raise Unavailable, with the command that helps, unless the packages can be imported."""
    try:
        import sse_starlette  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        from irclient.installation import extra_command

        cure = extra_command("web", "irclient")
        raise Unavailable(f"the page cannot be served: {error}", cure) from error


def key_path() -> str:
    """Return the file of the key that signs the page's links and cookies."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = state if os.path.isabs(state) else os.path.expanduser("~/.local/state")
    return os.path.join(base, "irdaemon", "web-key")
