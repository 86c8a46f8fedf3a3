"""Our entry in a TOML settings file (Codex). Raises ValueError if the file does not allow it.

It is a table of its own at the end, put in and taken out as text, so that nothing else moves; the
standard library's parser checks before and after that the file holds what it should. tomlkit would
not do: a table put in and taken out by it leaves other blank lines behind, it ends new lines with
LF in a file with CRLF, and it would be a dependency of the client for one agent's one file.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from irclient.agents.install.entries import (
    SERVER,
    ServerEntry,
    SettingsFile,
    is_our_server,
    starts_same,
)


def add_entries(text: str, file: SettingsFile) -> str:
    """Add our server to the text, if one belongs there."""
    server = file.server
    if server is None:
        return text
    before = tomllib.loads(text)
    there = _find_ours(before, server.table)
    if there is not None and not is_our_server(there):
        raise ValueError(f"{server.table}.{SERVER} already exists, and starts something else")
    if there is not None and starts_same(there, server.entry):
        return text
    text = remove_entries(text, file)
    after = text + _choose_gap(text) + _write_table(server, _find_newline(text))
    servers = {**before.get(server.table, {}), SERVER: server.entry}
    _check(after, {**before, server.table: servers}, server.table)
    return after


def remove_entries(text: str, file: SettingsFile) -> str:
    """Remove our server and the tables below it from the text."""
    server = file.server
    if server is None:
        return text
    before = tomllib.loads(text)
    if not is_our_server(_find_ours(before, server.table)):
        return text
    after = _remove_tables(text, f"{server.table}.{SERVER}")
    del before[server.table][SERVER]
    _check(after, before, server.table)
    return after


def update_entries(text: str, file: SettingsFile) -> str:
    """Update our server, if the text has it."""
    return text if remove_entries(text, file) == text else add_entries(text, file)


def mask_others(text: str, file: SettingsFile) -> str:
    """Return the text for display: only the lines that we write."""
    ours = _write_table(file.server, "\n").splitlines() if file.server else []
    return "\n".join(line if line.strip() in ("", *ours) else "..." for line in text.split("\n"))


def _find_ours(document: dict[str, Any], table: str) -> Any:
    servers = document.get(table, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{table} is not a table")
    return servers.get(SERVER)


def _check(text: str, expected: dict[str, Any], table: str) -> None:
    """Raise ValueError unless the edited text parses to the intended value."""
    try:
        found = tomllib.loads(text)
    except ValueError as error:
        raise ValueError(f"{table} has a form that cannot be edited: {error}") from error
    if {table: {}, **found} != {table: {}, **expected}:
        raise ValueError(f"{table} has a form that cannot be edited safely")


def _write_table(server: ServerEntry, newline: str) -> str:
    """Return the entry as a table; texts and lists of texts are written as in JSON."""
    lines = [f"[{server.table}.{SERVER}]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in server.entry.items()]
    return newline.join([*lines, ""])


def _choose_gap(text: str) -> str:
    """Return the white space between the end of the text and a new table."""
    if not text:
        return ""
    return _find_newline(text) if text.endswith("\n") else 2 * _find_newline(text)


def _remove_tables(text: str, name: str) -> str:
    """Return the text without the lines of a table and those below it, and the gap before it.

    Comments and blank lines at a table's end belong to what follows.
    """
    header = re.compile(rf"\s*\[\[?\s*{re.escape(name)}\s*[.\]]")
    kept: list[str] = []
    waiting: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            if not inside and header.match(line) and kept and not kept[-1].strip():
                kept.pop()
            inside = bool(header.match(line))
        if not inside:
            kept += [*waiting, line]
            waiting = []
        elif not line.strip() or line.lstrip().startswith("#"):
            waiting.append(line)
        else:
            waiting = []
    return "".join([*kept, *waiting])


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
