"""Our entries in a JSON settings file. Raises ValueError if the file does not allow them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from irclient.agents.install.entries import (
    SERVER,
    HookEntry,
    ServerEntry,
    SettingsFile,
    is_our_hook,
    is_our_server,
    list_commands,
    starts_same,
)

# Edit JSON as text, so that comments and layout stay. Comments and trailing commas are accepted, as
# agents do. A duplicate key on the way to an edit is refused, since readers differ in which they
# take. No library is used because none edits JSON with comments and keeps every other byte.

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
# But not a comma without a value before it.
_LAST_COMMA = re.compile(_STRING + r"|[{\[][ \t\r\n]*,|,(?=[ \t\r\n]*[}\]])", re.DOTALL)
_SCALAR = re.compile(_COMMENT.pattern + r"|-?\d[\d.eE+-]*", re.DOTALL)
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()

Key = str | int


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its position: `text[start:end]`.

    `key` is its key or number, `begins` where that is. The whole has none.
    """

    key: Key | None
    begins: int
    start: int
    end: int
    value: Any


class JsonText:
    """A text with one JSON value. Raises ValueError, with the line, if it is invalid."""

    def __init__(self, text: str):
        self.text = text
        # Two copies of equal length: without comments, and also without trailing commas.
        self._bare = _COMMENT.sub(_blank, text)
        self._strict = _LAST_COMMA.sub(_blank, self._bare)
        start = self._skip(0)
        self.root = self._read_node(None, start, start)
        if self._skip(self.root.end) != len(text):
            raise self._make_error("something follows the value", self.root.end)

    @cached_property
    def unit(self) -> str:
        """Return one step of indentation: that of the first member of the whole value."""
        members = self.list_members(self.root)
        first = members[0].begins if members else 0
        return self.indent(first) if members and self.begins_line(first) else "  "

    @property
    def newline(self) -> str:
        """Return the line ending of the text."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def list_members(self, node: JsonNode) -> list[JsonNode]:
        """Return the members of an object or list, in order; none for other values."""
        if not isinstance(node.value, (dict, list)):
            return []
        found: list[JsonNode] = []
        at = self._skip(node.start + 1)
        while at < node.end - 1:
            key, start = self._read_key(at) if isinstance(node.value, dict) else (len(found), at)
            if any(each.key == key for each in found):
                raise self._make_error(f"the key {key!r} is there twice", at)
            found.append(self._read_node(key, at, start))
            at = self._skip(self.find_comma_end(found[-1].end))
        return found

    def find(self, keys: Sequence[Key]) -> JsonNode | None:
        """Return the node at a path of keys and numbers, None if there is none."""
        node: JsonNode | None = self.root
        for key in keys:
            members = self.list_members(node) if node else []
            node = next((each for each in members if each.key == key), None)
        return node

    def find_comma_end(self, at: int) -> int:
        """Return the offset after the comma that comes next; `at` itself without one."""
        comma = self._skip(at)
        return comma + 1 if self._bare[comma : comma + 1] == "," else at

    def begins_line(self, at: int) -> bool:
        """Return whether only blanks come before an offset in its line; False in the first line."""
        start = self.text.rfind("\n", 0, at) + 1
        return start > 0 and not self.text[start:at].strip()

    def is_in_comment(self, at: int) -> bool:
        """Return whether a line comment comes before an offset in its line."""
        found = (each for each in _COMMENT.finditer(self.text) if each.start() < at <= each.end())
        return any(each.group().startswith("//") for each in found)

    def indent(self, at: int) -> str:
        """Return the indentation of the line of an offset."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip())]

    def dump(self, value: Any, indent: str) -> str:
        """Format a value in the style of this text, for a line with that indentation."""
        written = json.dumps(value, ensure_ascii=False, indent=self.unit)
        return written.replace("\n", self.newline + indent)

    def _skip(self, at: int) -> int:
        found = _BLANK.match(self._bare, at)
        return found.end() if found else at

    def _read_key(self, at: int) -> tuple[str, int]:
        key, end = _DECODER.raw_decode(self._strict, at)
        return key, self._skip(self._skip(end) + 1)

    def _read_node(self, key: Key | None, begins: int, start: int) -> JsonNode:
        try:
            value, end = _DECODER.raw_decode(self._strict, start)
        except json.JSONDecodeError as error:
            raise self._make_error(self._explain_error(error), error.pos) from error
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return JsonNode(key, begins, start, end, value)

    def _make_error(self, what: str, at: int) -> ValueError:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return ValueError(f"line {line}, column {column}: {what}")

    def _explain_error(self, error: json.JSONDecodeError) -> str:
        """Return the decoder's error as a sentence."""
        if error.msg.startswith("Invalid control character"):
            code = ord(self.text[error.pos])
            return f"a control character, U+{code:04X}, within a text; write it as \\u{code:04x}"
        return error.msg.removesuffix(" starting at")


def put(text: str, keys: Sequence[Key], value: Any) -> str:
    """Set a value at a path of keys, creating the objects on the way.

    Raises ValueError where something else than an object is on the way.
    """
    json_text = JsonText(text)
    node = json_text.root
    for depth, key in enumerate(keys):
        if not isinstance(node.value, dict):
            raise ValueError(f"{'.'.join(map(str, keys[:depth])) or 'the whole'} is not an object")
        found = json_text.find(keys[: depth + 1])
        if found is None:
            for inner in reversed(keys[depth + 1 :]):
                value = {inner: value}
            return _insert(json_text, node, value, str(key))
        node = found
    return replace(text, keys, value)


def replace(text: str, keys: Sequence[Key], value: Any) -> str:
    """Replace the value at a path of keys."""
    json_text = JsonText(text)
    node = json_text.find(keys)
    if node is None:
        raise ValueError(f"{'.'.join(map(str, keys))} is not there")
    written = json.dumps(value, ensure_ascii=False)
    if json_text.begins_line(node.begins):
        written = json_text.dump(value, json_text.indent(node.begins))
    return text[: node.start] + written + text[node.end :]


def append(text: str, keys: Sequence[Key], value: Any) -> str:
    """Append a value to the list at a path of keys, creating the list if needed."""
    json_text = JsonText(text)
    node = json_text.find(keys)
    if node is None:
        return put(text, keys, [value])
    if not isinstance(node.value, list):
        raise ValueError(f"{'.'.join(map(str, keys))} is not a list")
    return _insert(json_text, node, value)


def remove(text: str, keys: Sequence[Key]) -> str:
    """Remove the value at a path, and the containers that become empty."""
    json_text = JsonText(text)
    parent = json_text.find(keys[:-1])
    node = json_text.find(keys)
    if parent is None or node is None:
        return text
    members = json_text.list_members(parent)
    if len(members) == 1 and len(keys) > 1:
        return remove(text, keys[:-1])
    return _remove_member(json_text, parent, members, members.index(node))


def _insert(json_text: JsonText, container: JsonNode, value: Any, key: str | None = None) -> str:
    """Insert a new last member, laid out like the one before it."""
    text = json_text.text
    close = container.end - 1
    # After the last member and its comment.
    tail = len(text[:close].rstrip())
    members = json_text.list_members(container)
    if not members:
        outer = json_text.indent(container.begins)
        inner = outer + json_text.unit
        written = _format_member(key, json_text.dump(value, inner))
        line, end = json_text.newline + inner, json_text.newline + outer
        return text[:tail] + line + written + end + text[close:]
    last = members[-1]
    anchor = json_text.find_comma_end(last.end)
    comma, further = ("", ",") if anchor != last.end else (",", "")
    if not json_text.begins_line(last.begins):
        written = " " + _format_member(key, json.dumps(value, ensure_ascii=False))
        return text[:anchor] + comma + written + further + text[anchor:]
    inner = json_text.indent(last.begins)
    written = json_text.newline + inner + _format_member(key, json_text.dump(value, inner))
    return text[:anchor] + comma + text[anchor:tail] + written + further + text[tail:]


def _remove_member(
    json_text: JsonText, container: JsonNode, members: Sequence[JsonNode], number: int
) -> str:
    """Remove a member: the reverse of `_insert`."""
    text, node = json_text.text, members[number]
    # From the end of the member before it, including its comment.
    before = len(text[: node.begins].rstrip())
    after = json_text.find_comma_end(node.end)
    trails = after != node.end
    head, gap = text[:before], text[before : node.begins]
    if number and number == len(members) - 1 and not trails:
        comma = json_text.find_comma_end(members[number - 1].end)
        head = text[: comma - 1] + text[comma:before]
    close = container.end - 1
    if len(members) == 1 and before == container.start + 1 and not text[after:close].strip():
        after = close
    elif json_text.is_in_comment(before) and text[after:].lstrip(" \t\r")[:1] != "\n":
        head += gap  # what comes next must not move up into the comment
    return head + text[after:]


def mask_text(text: str, kept: Collection[str]) -> str:
    """Replace scalars, comments and keys that are not kept by `...`; return the lines.

    `kept` are texts and numbers as JSON has them.
    """

    def mask(found: re.Match[str]) -> str:
        token = found.group()
        if token in kept:
            return token
        if token[0] == "/":
            return token[:2] + "..." + "\n" * token.count("\n")
        return '"..."' if token[0] == '"' else "..."

    return _SCALAR.sub(mask, text)


def _format_member(key: str | None, written: str) -> str:
    return written if key is None else f"{json.dumps(key, ensure_ascii=False)}: {written}"


def _blank(found: re.Match[str]) -> str:
    """Return a string unchanged; replace anything else by spaces, except line ends."""
    written = found.group()
    return written if written[0] in '"{[' else re.sub(r"[^\r\n]", " ", written)


HOOKS = "hooks"
# The length of the path of an item in an event's list; a handler in a group has a longer one.
_ITEM = 3


def add_entries(text: str, file: SettingsFile) -> str:
    """Write our entries, each exactly once, replacing any earlier ones of ours."""
    text = text if text.strip() else "{}\n"
    if file.wanted:
        for key, value in file.head.items():
            text = text if JsonText(text).find([key]) else put(text, [key], value)
    text = _remove_misplaced(text, [hook.event for hook in file.hooks])
    for hook in file.hooks:
        text = _put_hook(text, hook)
    return _check(_put_server(text, file.server) if file.server else text)


def remove_entries(text: str, file: SettingsFile) -> str:
    """Remove our entries, from any installation."""
    if not text.strip():
        return text
    if file.hooks:
        for keys in reversed(_find_our_hooks(text)):
            text = remove(text, keys)
    if file.server:
        keys = [file.server.table, SERVER]
        if is_our_server(_read_value(text, keys)):
            text = remove(text, keys)
    return _check(text)


def update_entries(text: str, file: SettingsFile) -> str:
    """Update those of our entries that the text has."""
    events = {keys[1] for keys in _find_our_hooks(text)}
    for hook in file.hooks:
        if hook.event in events:
            text = _put_hook(text, hook)
    if file.server and is_our_server(_read_value(text, [file.server.table, SERVER])):
        text = _put_server(text, file.server)
    return text


def mask_others(text: str, file: SettingsFile) -> str:
    """Return the text for display: of strings, numbers and comments only those we write."""
    return mask_text(
        text, frozenset(json.dumps(each, ensure_ascii=False) for each in file.list_literals())
    )


def _check(text: str) -> str:
    """Return the text. Raises ValueError unless it is valid JSON."""
    JsonText(text)
    return text


def _put_hook(text: str, hook: HookEntry) -> str:
    """Add a hook, or replace an outdated one of ours for that event."""
    ours = [keys for keys in _find_our_hooks(text) if keys[1] == hook.event]
    items = [_read_value(text, keys) for keys in ours]
    if items == [hook.item]:
        return text
    if len(ours) == 1 and len(ours[0]) == _ITEM:
        return replace(text, ours[0], hook.item)
    for keys in reversed(ours):
        text = remove(text, keys)
    return append(text, [HOOKS, hook.event], hook.item)


def _remove_misplaced(text: str, wanted: list[str]) -> str:
    """Remove our hooks for events that are not wanted.

    Those behind them go too, to come back in the order of a first installation: what is undone
    later is compared with that.
    """
    ours = _find_our_hooks(text) if wanted else []
    there = list(dict.fromkeys(str(keys[1]) for keys in ours))
    if not there or set(there) == set(wanted):
        return text
    pairs = zip(there, wanted, strict=False)
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for keys in reversed(ours):
        if keys[1] not in there[:kept]:
            text = remove(text, keys)
    return text


def _put_server(text: str, server: ServerEntry) -> str:
    keys = [server.table, SERVER]
    there = _read_value(text, keys)
    if there is not None and not is_our_server(there):
        raise ValueError(f"{server.table}.{SERVER} already exists, and starts something else")
    if there is not None and starts_same(there, server.entry):
        return text
    return put(text, keys, server.entry)


def list_our_commands(text: str) -> list[str]:
    """Return the shell commands of our hooks, in order."""
    items = (JsonText(text).find(keys) for keys in _find_our_hooks(text))
    handlers = (
        handler for item in items if item for handler in item.value.get(HOOKS, [item.value])
    )
    return [command for handler in handlers for command in list_commands(handler)]


def _find_our_hooks(text: str) -> list[list[Key]]:
    """Return the paths of our hooks, in order; of the whole group if it has only ours."""
    found: list[list[Key]] = []
    events = _read_value(text, [HOOKS])
    for event, items in events.items() if isinstance(events, dict) else ():
        for number, item in enumerate(items if isinstance(items, list) else ()):
            handlers = item.get(HOOKS) if isinstance(item, dict) else None
            if not isinstance(handlers, list):
                handlers = [item]
            ours = [at for at, handler in enumerate(handlers) if is_our_hook(handler)]
            if ours and len(ours) == len(handlers):
                found.append([HOOKS, event, number])
            else:
                found += [[HOOKS, event, number, HOOKS, at] for at in ours]
    return found


def _read_value(text: str, keys: Sequence[Key]) -> Any:
    node = JsonText(text).find(keys)
    return node.value if node else None
