"""What of ours goes into a settings file, and how to tell it from what is not ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

SERVER = "irdaemon"
_HOOK = re.compile(r"irclient/(?:agents/)?hook/start\.py|\birc hook --agent\b")


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook: the agent's name of the event, and what goes into that event's list."""

    event: str
    item: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """The MCP server: the table of servers it goes into, and what stands there under its name."""

    table: str
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A settings file and what goes into it; `head` is what every file of that kind must have."""

    path: str
    hooks: tuple[Hook, ...] = ()
    server: Server | None = None
    head: Mapping[str, Any] = field(default_factory=dict)

    def only(self, hooks: bool, server: bool) -> Place:
        """Return the place with a part of what goes there."""
        return replace(
            self, hooks=self.hooks if hooks else (), server=self.server if server else None
        )

    @property
    def wanted(self) -> bool:
        """Say whether anything goes there."""
        return bool(self.hooks or self.server)

    def said(self) -> Iterator[str | int | bool]:
        """Yield every key and value of what goes there."""
        yield from ("hooks", SERVER)
        yield from _said(self.head)
        for hook in self.hooks:
            yield from (hook.event, *_said(hook.item))
        if self.server:
            yield from (self.server.table, *_said(self.server.entry))


def _said(value: Any) -> Iterator[str | int | bool]:
    if isinstance(value, Mapping):
        yield from (each for pair in value.items() for part in pair for each in _said(part))
    elif isinstance(value, (list, tuple)):
        yield from (each for part in value for each in _said(part))
    else:
        yield value


def our_hook(handler: Any) -> bool:
    """Say whether a hook's command is ours, of whichever installation."""
    commands = [handler.get(key) for key in ("command", "bash")] if _is_map(handler) else []
    return any(isinstance(each, str) and _HOOK.search(each) for each in commands)


def our_server(entry: Any) -> bool:
    """Say whether a server's entry starts `irc mcp`, of whichever installation."""
    if not _is_map(entry):
        return False
    command, args = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *args]
    program = words[0].rsplit("/", 1)[-1] if words and isinstance(words[0], str) else ""
    return program == "irc" and words[1:2] == ["mcp"]


def same_start(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two entries start the same program; what else is there is its owner's."""
    return all(one.get(key) == other.get(key) for key in ("command", "args"))


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)
