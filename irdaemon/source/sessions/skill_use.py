"""Name the skills that a turn used: called by name, by their files, or as commands."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from irdaemon.types import ItemUse

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_COMMAND = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_.:-]{0,99})(?:\s|$)")


def skills_used(uses: Iterable[ItemUse], prompts: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once, of what a turn's uses and prompts may have used as a skill.

    A skill that a person calls is a command; not every command is a skill.
    """
    names = [*map(_skill_of, uses), *map(command_in, prompts)]
    return tuple(dict.fromkeys(filter(None, names)))


def command_in(prompt: str) -> str:
    """Return the name of the command that a prompt begins with, "" for none."""
    found = _COMMAND.match(prompt)
    return _own_name(found[1]) if found else ""


def _skill_of(use: ItemUse) -> str:
    if use.how in ("read", "shell"):
        return _own_name(os.path.basename(os.path.dirname(use.what.replace("\\", "/"))))
    return _own_name(use.what) if use.how in ("skill", "command") else ""


def _own_name(name: str) -> str:
    """Return a name without the plugin that it is of; "" for what is none."""
    own = name.strip().lstrip("/").rpartition(":")[2]
    return own if _NAME.fullmatch(own) else ""
