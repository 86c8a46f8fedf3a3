"""Name the directories below which products keep their files for a user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from irdaemon.source.opening import resolved
from irdaemon.types import Root

# Directories an environment variable can move: variable, default below home.
_HOMES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "copilot": ("COPILOT_HOME", ".copilot"),
    "config": ("XDG_CONFIG_HOME", ".config"),
}


Places = Iterable[tuple[str, str, str]]


def existing(inside: Places, home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the roots that exist, each once, of (base, path below it, scope).

    A base is a product's directory that the environment can move (claude, codex, copilot, config),
    `home`, or `/`.
    """
    found: dict[str, Root] = {}
    for root in possible(inside, home, env):
        if os.path.exists(root.path):
            found.setdefault(resolved(root.path), root)
    return tuple(found.values())


def possible(inside: Places, home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the same roots, existing or not."""
    return tuple(Root(os.path.join(_base(base, home, env), path), s) for base, path, s in inside)


def _base(base: str, home: str, env: Mapping[str, str]) -> str:
    if base not in _HOMES:
        return home if base == "home" else base
    variable, default = _HOMES[base]
    moved = env.get(variable, "")
    moved = home + moved[1:] if moved == "~" or moved.startswith("~/") else moved
    return os.path.abspath(moved) if moved else os.path.join(home, default)
