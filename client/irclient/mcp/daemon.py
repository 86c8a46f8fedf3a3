"""Ask the daemon from a tool: away from the event loop, with progress, and errors as advice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from irclient.client import Client
from irclient.errors import IRError, NotFound, Timeout, Unreachable
from irclient.mcp.sanitise import plain
from irclient.types import Query

Answer = TypeVar("Answer")

# A daemon that is being restarted is there again after about this long.
_RESTART_S = 1.0
_TELL_EVERY_S = 1.0
_NEAREST = 3


class Daemon:
    """The daemon at `endpoint`; each call may take `timeout` seconds.

    Every call has a connection of its own: calls may come at the same time, and one made after a
    restart knows nothing of the daemon before it.
    """

    def __init__(self, endpoint: str, timeout: float):
        self._endpoint = endpoint
        self._timeout = timeout

    async def ask(
        self,
        call: Callable[[Client], Answer],
        context: Context[Any, Any],
        since: float | None = None,
    ) -> Answer:
        """Return what `call` gets from the daemon; tell the client that it takes a while.

        `since` is when the client began to wait, for a call that is not the first one for it.
        Raises ToolError that says what to do next.
        """
        began = anyio.current_time() if since is None else since
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell_of_waiting, context, began)
            answer = await anyio.to_thread.run_sync(self._tried, call, abandon_on_cancel=True)
            tasks.cancel_scope.cancel()
        if isinstance(answer, IRError):
            raise ToolError(plain(advice(answer))) from answer
        return answer

    def _tried(self, call: Callable[[Client], Answer]) -> Answer | IRError:
        # An error is returned, not raised: a task group would wrap it in a group of errors.
        try:
            return self._twice(call)
        except IRError as error:
            return error

    def _twice(self, call: Callable[[Client], Answer]) -> Answer:
        try:
            return self._once(call)
        except Timeout:
            raise
        except Unreachable:
            if os.path.exists(self._endpoint):
                raise  # the client has tried for long enough
            time.sleep(_RESTART_S)
            return self._once(call)

    def _once(self, call: Callable[[Client], Answer]) -> Answer:
        with Client(self._endpoint, self._timeout) as client:
            return call(client)


async def tell(context: Context[Any, Any], since: float, message: str) -> None:
    """Report progress: the seconds waited, as progress must grow, and a message."""
    await context.report_progress(round(anyio.current_time() - since, 3), None, message)


async def _tell_of_waiting(context: Context[Any, Any], since: float) -> None:
    while True:
        await anyio.sleep(_TELL_EVERY_S)
        await tell(context, since, "waiting for irdaemon")


def advice(error: IRError) -> str:
    """Return what went wrong and what to do next, in words for a model."""
    if isinstance(error, Timeout):
        return f"{error.message}. It is busy: call again in a moment. `irc status` shows its load."
    if isinstance(error, Unreachable):
        return (
            f"The irdaemon daemon is not running ({error.message}). Start it with"
            " `irdaemon start --detach`, or ask the user to, then call again."
        )
    return f"{error.message} ({error.hint})" if error.hint else error.message


def with_nearest(client: Client, error: NotFound, reference: str) -> NotFound:
    """Return the error for an unknown reference with the references nearest to it."""
    corpus, _, name = reference.partition("/")
    words = (name or corpus).replace("/", " ").replace("-", " ").replace("_", " ")
    try:
        hits = client.search(Query(words, k=_NEAREST)).results
    except IRError:
        hits = ()
    near = ", ".join(f"{hit.corpus}/{hit.artifact_id}" for hit in hits)
    said = f"the nearest are {near}" if near else "call discover to find what there is"
    return NotFound(error.message, said)
