"""Follow the queue of what a person typed while Claude Code was at work.

A message is queued, and later taken out: to be the next prompt, which is then written as one, or
during the turn, of which versions before 2.1.133 wrote nothing but this. Newer ones also write it
as an attachment of the same turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irdaemon.source.sessions.lines import plain
from irdaemon.source.sessions.prompt import spoken, typed

# Newer versions say why a message was taken out; for other reasons the agent never saw it.
_DURING_THE_TURN = ("", "absorbed_mid_turn")


@dataclass(slots=True)
class ClaudeQueue:
    """The messages that wait, as the operations come in.

    `missed` is true once one was taken out that had been queued before the first operation read.
    """

    waiting: deque[str] = field(default_factory=deque)
    missed: bool = False

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
                self.waiting.clear()
        return ""

    def _removed(self, record: Mapping[str, Any]) -> str:
        text = spoken(record.get("content"))
        if text in self.waiting:
            self.waiting.remove(text)
        elif not text:
            text = self._next()
        seen = plain(record.get("reason"), 40) in _DURING_THE_TURN
        return _message(text) if seen else ""

    def _next(self) -> str:
        if self.waiting:
            return self.waiting.popleft()
        self.missed = True
        return ""


def _message(text: str) -> str:
    """Return what a person typed, "" for a bare command or what a program queued."""
    message = typed(text)
    bare_command = message.startswith("/") and len(message.split()) == 1
    return "" if bare_command else message
