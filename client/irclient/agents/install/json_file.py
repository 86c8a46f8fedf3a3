"""Our entries in a JSON settings file. Where the file does not allow them: ValueError."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from irclient.agents.install.entries import (
    SERVER,
    HookEntry,
    ServerEntry,
    SettingsFile,
    commands,
    our_hook,
    our_server,
    same_start,
)
from irclient.agents.install.jsonc import JsonText, Key, append, masked, put, remove, replace

HOOKS = "hooks"
# How long the path of an item of an event's list is; a handler within a group has a longer one.
_ITEM = 3


def added(text: str, file: SettingsFile) -> str:
    """Return the text with our entries: exactly those, each once, whatever was there of ours."""
    text = text if text.strip() else "{}\n"
    if file.wanted:
        for key, value in file.head.items():
            text = text if JsonText(text).find([key]) else put(text, [key], value)
    for hook in file.hooks:
        text = _with_hook(text, hook)
    return _read_again(_with_server(text, file.server) if file.server else text)


def taken_out(text: str, file: SettingsFile) -> str:
    """Return the text without our entries, of any installation."""
    if not text.strip():
        return text
    if file.hooks:
        for keys in reversed(_our_hooks(text)):
            text = remove(text, keys)
    if file.server:
        keys = [file.server.table, SERVER]
        if our_server(_value(text, keys)):
            text = remove(text, keys)
    return _read_again(text)


def updated(text: str, file: SettingsFile) -> str:
    """Return the text with those of our entries that are in it brought up to date."""
    events = {keys[1] for keys in _our_hooks(text)}
    for hook in file.hooks:
        if hook.event in events:
            text = _with_hook(text, hook)
    if file.server and our_server(_value(text, [file.server.table, SERVER])):
        text = _with_server(text, file.server)
    return text


def only_ours(text: str, file: SettingsFile) -> str:
    """Return the text to be shown: of its texts, numbers and comments only those we write."""
    return masked(text, frozenset(json.dumps(each, ensure_ascii=False) for each in file.literals()))


def _read_again(text: str) -> str:
    """Return the text, if it is still JSON. Raises ValueError where it is not."""
    JsonText(text)
    return text


def _with_hook(text: str, hook: HookEntry) -> str:
    """Return the text with a hook, in the place of an outdated one of ours for that event."""
    ours = [keys for keys in _our_hooks(text) if keys[1] == hook.event]
    items = [_value(text, keys) for keys in ours]
    if items == [hook.item]:
        return text
    if len(ours) == 1 and len(ours[0]) == _ITEM:
        return replace(text, ours[0], hook.item)
    for keys in reversed(ours):
        text = remove(text, keys)
    return append(text, [HOOKS, hook.event], hook.item)


def _with_server(text: str, server: ServerEntry) -> str:
    keys = [server.table, SERVER]
    there = _value(text, keys)
    if there is not None and not our_server(there):
        raise ValueError(f"{server.table}.{SERVER} is there already, and starts something else")
    if there is not None and same_start(there, server.entry):
        return text
    return put(text, keys, server.entry)


def our_commands(text: str) -> list[str]:
    """Return the shell commands of our hooks, in order."""
    items = (JsonText(text).find(keys) for keys in _our_hooks(text))
    handlers = (
        handler for item in items if item for handler in item.value.get(HOOKS, [item.value])
    )
    return [command for handler in handlers for command in commands(handler)]


def _our_hooks(text: str) -> list[list[Key]]:
    """Return the paths of our hooks, in order; of the whole group where it has no others."""
    found: list[list[Key]] = []
    events = _value(text, [HOOKS])
    for event, items in events.items() if isinstance(events, dict) else ():
        for number, item in enumerate(items if isinstance(items, list) else ()):
            handlers = item.get(HOOKS) if isinstance(item, dict) else None
            if not isinstance(handlers, list):
                handlers = [item]
            ours = [at for at, handler in enumerate(handlers) if our_hook(handler)]
            if ours and len(ours) == len(handlers):
                found.append([HOOKS, event, number])
            else:
                found += [[HOOKS, event, number, HOOKS, at] for at in ours]
    return found


def _value(text: str, keys: Sequence[Key]) -> Any:
    node = JsonText(text).find(keys)
    return node.value if node else None
