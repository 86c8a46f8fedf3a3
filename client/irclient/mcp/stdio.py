"""Serve over stdin and stdout."""

from __future__ import annotations

import signal

from irclient.mcp.tools import Tools


def serve(tools: Tools) -> None:
    """Answer until the client closes stdin, or is gone when a reply is ready for it."""
    # The SDK reads stdin on a thread: after Python's own handler the process would wait for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        tools.run("stdio")
    except* BrokenPipeError:
        pass
