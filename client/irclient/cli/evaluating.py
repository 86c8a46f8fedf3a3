"""Draw how far an evaluation is, while its reply is waited for."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from irclient.client import Client
from irclient.errors import IRError
from irclient.terminal.progress import ProgressLine

_LOOKED_EVERY_S = 0.3


class EvaluationProgress:
    """A bar on a terminal's stderr as long as the block lasts; nothing elsewhere.

    The daemon's events move it; they come to a client of its own, on a thread of its own.
    """

    def __init__(self, endpoint: str):
        self._endpoint = endpoint
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> EvaluationProgress:
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _draw(self) -> None:
        line = ProgressLine()
        try:
            with Client(self._endpoint) as client:
                while not self._ended.is_set():
                    self._follow(client, line)
        except IRError:
            pass  # events are not published there: no bar
        finally:
            line.clear()

    def _follow(self, client: Client, line: ProgressLine) -> None:
        for event in client.events(["evaluation"], _LOOKED_EVERY_S):
            if self._ended.is_set():
                return
            if "todo" in event.data:
                line.draw("cases", event.data["done"], event.data["todo"])
