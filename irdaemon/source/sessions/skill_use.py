"""Tell which skill a tool call uses: one that is called by its name, or whose SKILL.md is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_TOOLS = frozenset({"skill", "use_skill", "activate_skill"})
_NAMED_BY = ("skill", "command", "name", "skill_name")
_READ_CHARS, _MOST = 4_000, 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FILE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,63})[/\\]+SKILL\.md\b")
_COMMAND = re.compile(r"/([A-Za-z0-9][A-Za-z0-9_.:-]{0,99})(?:\s|$)")


def skill_used(tool: object, arguments: Any) -> str:
    """Return the name of the skill that a call of a tool uses, "" for none.

    Arguments are a mapping, or JSON as text.
    """
    if isinstance(tool, str) and tool.lower() in _TOOLS:
        return _own_name(_stated(arguments))
    found = next(filter(None, map(_FILE.search, _texts(arguments))), None)
    return found[1] if found else ""


def command_in(prompt: str) -> str:
    """Return the name of the command that a prompt begins with, "" for none.

    A skill that a person calls is a command; not every command is a skill.
    """
    found = _COMMAND.match(prompt)
    return _own_name(found[1]) if found else ""


def _stated(arguments: Any) -> str:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return ""
    given = arguments if isinstance(arguments, dict) else {}
    return next((each for key in _NAMED_BY if isinstance(each := given.get(key), str)), "")


def _texts(arguments: Any) -> Iterator[str]:
    """Yield the texts of arguments, and those in their lists, each as far as it is looked at."""
    given = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
    for each in given[:_MOST]:
        listed = each[:_MOST] if isinstance(each, list) else [each]
        yield from (text[:_READ_CHARS] for text in listed if isinstance(text, str))


def _own_name(name: str) -> str:
    """Return a name without the plugin that it is of; "" for what is none."""
    own = name.strip().lstrip("/").rpartition(":")[2]
    return own if _NAME.fullmatch(own) else ""
