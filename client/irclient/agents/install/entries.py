"""The entries of irdaemon in a settings file, and how to recognise them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Find whether a hook of ours may name a missing file. `irc status` asks that every time, so nothing
# heavy is imported; the files are parsed (`irclient.agents.install.targets`) only if a path is
# missing.

# Settings of agents are short; a larger file is not read just for a warning.
MOST_BYTES = 1_000_000
# The variable with an agent's directory, the default below home, the file; then a project's.
Place = tuple[str, str, str, str]
# By agent: the file of its hooks.
HOOK_FILES: Mapping[str, Place] = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json", ".claude/settings.local.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json", ".codex/hooks.json"),
    "gemini": ("", ".gemini", "settings.json", ".gemini/settings.json"),
    "cursor": ("", ".cursor", "hooks.json", ".cursor/hooks.json"),
    "copilot": ("COPILOT_HOME", ".copilot", "hooks/irdaemon.json", ".github/hooks/irdaemon.json"),
}
# The characters of simple words of a command, besides letters; anything else needs a parser.
_ODD = ("'", "\\", "$", "`")


def may_be_gone(home: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Return whether a hook of ours may name a missing file; False is certain."""
    paths = [
        os.path.join(env.get(variable) or os.path.join(home, usual), name)
        for variable, usual, name, _ in HOOK_FILES.values()
    ]
    paths += [os.path.join(cwd, place[3]) for place in HOOK_FILES.values()]
    return any(map(_names_missing_file, paths))


def _names_missing_file(path: str) -> bool:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return False
    # Line by line: settings have one entry on each line, and a file of one line is one entry.
    return any(_is_gone(line) for line in text.splitlines() if _is_ours(line))


def _is_ours(line: str) -> bool:
    return "hook/start.py" in line or "irc hook" in line


def _is_gone(line: str) -> bool:
    if any(odd in line for odd in _ODD):
        return True
    words = line.replace('"', " ").replace(",", " ").split()
    return any(word.startswith("/") and not os.path.exists(word) for word in words)


SERVER = "irdaemon"
_HOOK = re.compile(r"irclient/(?:agents/)?hook/start\.py|\birc hook --agent\b")


@dataclass(frozen=True, slots=True)
class HookEntry:
    """A hook: the agent's name of the event, and the item for that event's list."""

    event: str
    item: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The MCP server: the table of servers it belongs in, and its entry there."""

    table: str
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file and the entries that belong in it; `head` is required by the agent.

    `is_ours` marks a file that we write as a whole.
    """

    path: str
    hooks: tuple[HookEntry, ...] = ()
    server: ServerEntry | None = None
    head: Mapping[str, Any] = field(default_factory=dict)
    is_ours: bool = False

    def keep_only(self, hooks: bool, server: bool) -> SettingsFile:
        """Keep only the hooks, only the server, or both."""
        return replace(
            self, hooks=self.hooks if hooks else (), server=self.server if server else None
        )

    @property
    def wanted(self) -> bool:
        """Return whether it has any entry."""
        return bool(self.hooks or self.server)

    def list_literals(self) -> Iterator[str | int | bool]:
        """Yield every key and value of its entries."""
        yield from ("hooks", SERVER)
        yield from _list_literals(self.head)
        for hook in self.hooks:
            yield from (hook.event, *_list_literals(hook.item))
        if self.server:
            yield from (self.server.table, *_list_literals(self.server.entry))


def _list_literals(value: Any) -> Iterator[str | int | bool]:
    if isinstance(value, Mapping):
        yield from (
            each for pair in value.items() for part in pair for each in _list_literals(part)
        )
    elif isinstance(value, (list, tuple)):
        yield from (each for part in value for each in _list_literals(part))
    else:
        yield value


def is_our_hook(handler: Any) -> bool:
    """Return whether a hook's command is irdaemon's, from any installation."""
    return any(map(_HOOK.search, list_commands(handler)))


def list_commands(handler: Any) -> list[str]:
    """Return the shell commands of a hook's handler, under any key that an agent uses."""
    values = [handler.get(key) for key in ("command", "bash")] if _is_map(handler) else []
    return [value for value in values if isinstance(value, str)]


def is_our_server(entry: Any) -> bool:
    """Return whether a server's entry starts `irc mcp`, from any installation."""
    if not _is_map(entry):
        return False
    command, args = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *args]
    program = words[0].rsplit("/", 1)[-1] if words and isinstance(words[0], str) else ""
    return program == "irc" and words[1:2] == ["mcp"]


def starts_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two entries start the same program; other keys belong to the user."""
    return all(one.get(key) == other.get(key) for key in ("command", "args"))


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)
