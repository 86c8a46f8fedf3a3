"""Name the directories below which products keep their files for a user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from irdaemon.source.opening import resolve_path
from irdaemon.types import Root

# Directories an environment variable can move: variable, default below home.
_HOMES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "copilot": ("COPILOT_HOME", ".copilot"),
    "config": ("XDG_CONFIG_HOME", ".config"),
}
# (base, path below it, scope). A base is a product's directory that the environment can move
# (claude, codex, copilot, config), `home`, or a path.
Places = Iterable[tuple[str, str, str]]


def list_places(places: Places, home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the roots that places stand for, existing or not."""
    return tuple(
        Root(os.path.join(_find_base(base, home, env), path), s) for base, path, s in places
    )


def keep_existing(roots: Iterable[Root], reads_files: bool = True) -> tuple[Root, ...]:
    """Return the roots that `is_place` finds, each once: the first that leads to one directory."""
    found: dict[str, Root] = {}
    for root in roots:
        if is_place(root.path, reads_files):
            found.setdefault(resolve_path(root.path), root)
    return tuple(found.values())


def is_place(path: str, reads_files: bool) -> bool:
    """Return whether a directory is at a path, or a file where a kind reads those as roots."""
    return os.path.isdir(path) or (reads_files and os.path.isfile(path))


def _find_base(base: str, home: str, env: Mapping[str, str]) -> str:
    if base not in _HOMES:
        return home if base == "home" else base
    variable, default = _HOMES[base]
    moved = env.get(variable, "")
    moved = home + moved[1:] if moved == "~" or moved.startswith("~/") else moved
    return os.path.abspath(moved) if moved else os.path.join(home, default)
