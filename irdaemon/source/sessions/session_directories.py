"""Know where agents keep sessions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from irdaemon.source.sessions import aider, cursor_store
from irdaemon.types import Root

# The directory of an editor's own files, on Linux and on macOS.
_CURSOR = ("{config}/Cursor", "{home}/Library/Application Support/Cursor")
_OPENCODE = re.compile(r"opencode(-[\w.]+)?\.db")


def known_roots(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the places where this user's agents keep sessions, existing ones only.

    `env` may move some: CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME, GOOSE_PATH_ROOT, OPENCODE_DB,
    XDG_CONFIG_HOME, XDG_DATA_HOME. Aider writes into each repository, so only a history in the
    home directory itself is among them.
    """
    return tuple(root for root in known_places(home, env) if os.path.exists(root.path))


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the same places, existing or not."""
    paths = map(os.path.abspath, _candidates(home, env))
    return tuple(map(Root, dict.fromkeys(paths)))


def _candidates(home: str, env: Mapping[str, str]) -> Iterator[str]:
    codex = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    config = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield os.path.join(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects")
    yield os.path.join(codex, "sessions")
    yield os.path.join(codex, "archived_sessions")
    yield os.path.join(home, ".gemini", "tmp")
    yield os.path.join(env.get("COPILOT_HOME") or os.path.join(home, ".copilot"), "session-state")
    yield os.path.join(home, ".pi", "agent", "sessions")
    yield os.path.join(home, ".cursor", "projects")
    for base in _CURSOR:
        editor = base.format(home=home, config=config)
        yield os.path.join(editor, "User", "globalStorage", cursor_store.FILE_NAME)
    yield from _opencode(data, env)
    moved = env.get("GOOSE_PATH_ROOT")
    goose = os.path.join(moved, "data") if moved else os.path.join(data, "goose")
    yield os.path.join(goose, "sessions", "sessions.db")
    yield os.path.join(home, aider.FILE_NAME)


def _opencode(data: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the databases one by one: beside them are logs, caches and repositories."""
    directory = os.path.join(data, "opencode")
    if named := env.get("OPENCODE_DB"):
        yield os.path.join(directory, named)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    yield from (os.path.join(directory, name) for name in names if _OPENCODE.fullmatch(name))
