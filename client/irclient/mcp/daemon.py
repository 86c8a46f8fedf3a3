"""Ask the daemon from a tool: report progress while it waits, and return errors as advice."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from irclient.async_client import AsyncClient
from irclient.errors import IRError, NotFound, Timeout, Unreachable
from irclient.mcp.items import make_plain
from irclient.types import Query

Answer = TypeVar("Answer")

# A restart of the daemon takes about this long.
_RESTART_S = 1.0
_REPORT_EVERY_S = 1.0
_NEAREST = 3
# The longest error, which may repeat the request.
_LONGEST = 4_000
# The start of the daemon's hint if it knows similar names.
_KNOWN = "the nearest are "


class DaemonCaller:
    """Call the daemon at `endpoint`; each call may take `timeout` seconds.

    `place` is the directory that calls come from which name none: that of a server over stdio, ""
    of one for many clients.

    Every call has a connection of its own: one made after a restart knows nothing of the daemon
    before it, and the server may be run in one event loop after another.
    """

    def __init__(self, endpoint: str, timeout: float, place: str = ""):
        self.place = place
        self._endpoint = endpoint
        self._timeout = timeout

    async def ask(
        self,
        call: Callable[[AsyncClient], Awaitable[Answer]],
        context: Context[Any, Any],
        since: float | None = None,
    ) -> Answer:
        """Return what `call` gets from the daemon; report progress if that takes a while.

        `since` is when the client began to wait, for a call that is not the first one for it.
        Raises ToolError with what to do next.
        """
        began = anyio.current_time() if since is None else since
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_report_waiting, context, began)
            answer = await self._try(call)
            tasks.cancel_scope.cancel()
        if isinstance(answer, IRError):
            raise ToolError(make_plain(make_advice(answer))[:_LONGEST]) from answer
        return answer

    async def _try(self, call: Callable[[AsyncClient], Awaitable[Answer]]) -> Answer | IRError:
        """Return the answer or the error, asking again while the daemon restarts.

        An error that was raised would be wrapped by the task group in a group of errors.
        """
        tried = False
        while True:
            try:
                async with AsyncClient(self._endpoint, self._timeout) as client:
                    return await call(client)
            except IRError as error:
                is_gone = isinstance(error, Unreachable) and not isinstance(error, Timeout)
                # If there is a socket, the client itself has already tried long enough.
                if tried or not is_gone or os.path.exists(self._endpoint):
                    return error
            tried = True
            await anyio.sleep(_RESTART_S)


async def report(context: Context[Any, Any], since: float, message: str) -> None:
    """Report progress: the seconds waited, as progress must grow, and a message."""
    await context.report_progress(round(anyio.current_time() - since, 3), None, message)


async def _report_waiting(context: Context[Any, Any], since: float) -> None:
    while True:
        await anyio.sleep(_REPORT_EVERY_S)
        await report(context, since, "waiting for irdaemon")


def make_advice(error: IRError) -> str:
    """Say what went wrong and what to do next, for a model."""
    if isinstance(error, Timeout):
        return f"{error.message}. It is busy: call again in a moment. `irc status` shows its load."
    if isinstance(error, Unreachable):
        return (
            f"The irdaemon daemon is not running ({error.message}). Start it with"
            " `irdaemon start --detach`, or ask the user to, then call again."
        )
    return f"{error.message} ({error.hint})" if error.hint else error.message


async def add_nearest(
    client: AsyncClient, error: NotFound, reference: str, place: str = ""
) -> NotFound:
    """Return the error for an unknown reference with the references nearest to it, at a place.

    By spelling where the daemon names them, else by what its words find.
    """
    if error.hint.startswith(_KNOWN):
        return error
    corpus, _, name = reference.partition("/")
    words = (name or corpus).replace("/", " ").replace("-", " ").replace("_", " ")
    try:
        hits = (await client.search(Query(words, k=_NEAREST, place=place))).results
    except IRError:
        hits = ()
    near = ", ".join(f"{hit.corpus}/{hit.artifact_id}" for hit in hits)
    hint = f"{_KNOWN}{near}" if near else "call discover to find what there is"
    return NotFound(error.message, hint)


async def resolve_path(path: str) -> str:
    """Resolve the links of a path on a thread, so that a slow disk delays no other call."""
    if "\0" in path:  # it leads nowhere, and the system's functions fail at it
        return path
    return await anyio.to_thread.run_sync(os.path.realpath, os.path.expanduser(path))
