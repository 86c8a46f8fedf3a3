"""Serve the page on its own, until a signal ends it."""

from __future__ import annotations

import socket

from starlette.types import ASGIApp

from irclient.mcp.listening import Admission, server


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve an application until a signal ends it."""
    server(app, Admission()).run(sockets=[listener])
