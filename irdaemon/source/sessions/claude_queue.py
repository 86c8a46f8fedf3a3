"""Follow the queue of what a person typed while Claude Code was at work.

A message is queued, and later taken out: to be the next prompt, which is then written as one, or
during the turn, of which versions before 2.1.133 wrote nothing but this. Newer ones also write it
as an attachment of the same turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irdaemon.source.sessions.lines import plain
from irdaemon.source.sessions.prompt import spoken, typed

# Newer versions say why a message was taken out; for other reasons the agent never saw it.
_DURING_THE_TURN = ("", "absorbed_mid_turn")


@dataclass(slots=True)
class ClaudeQueue:
    """The messages that wait, as the lines come in: `older` since before the last prompt.

    `missed` is true once one was taken out that had been queued before the first line read.
    """

    waiting: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    missed: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether nothing waits."""
        return not (self.waiting or self.older)

    def open_turn(self, prompt: str) -> None:
        """Note a prompt: it waits no more, and what has waited for a whole turn was forgotten."""
        self.older = [text for text in self.waiting if text != prompt]
        self.waiting = []

    def taken_up(self, record: Mapping[str, Any]) -> str:
        """Take in an operation; return what a person said to the agent at work by it, or ""."""
        match record.get("operation"):
            case "enqueue":
                self.waiting.append(spoken(record.get("content")))
            case "dequeue":
                self._next()
            case "remove":
                return self._removed(record)
            case "popAll":
                self.waiting, self.older = [], []
        return ""

    def _removed(self, record: Mapping[str, Any]) -> str:
        if text := spoken(record.get("content")):
            self._drop(text)
        else:
            text = self._next()
        seen = plain(record.get("reason"), 40) in _DURING_THE_TURN
        return _message(text) if seen else ""

    def _drop(self, text: str) -> None:
        for queue in (self.older, self.waiting):
            if text in queue:
                queue.remove(text)
                return

    def _next(self) -> str:
        for queue in (self.older, self.waiting):
            if queue:
                return queue.pop(0)
        self.missed = True
        return ""


def _message(text: str) -> str:
    """Return what a person typed, "" for a bare command or what a program queued."""
    message = typed(text)
    bare_command = message.startswith("/") and len(message.split()) == 1
    return "" if bare_command else message
