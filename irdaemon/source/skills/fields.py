"""Take typed values out of frontmatter fields, which are mappings, lists and strings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, object]

_FALSE = {"false", "no", "off", "0"}
_TRUE = {"true", "yes", "on", "1"}
_NULL = {"", "~", "null", "none"}
# A tool may carry a pattern with spaces and commas in it: `Bash(git add:*, git rm:*)`.
TOOL = re.compile(r"[^\s,(]+(?:\([^)]{0,1000}\))?")
_LISTED = re.compile(r"[^,\n]+")


def get_text(fields: Fields, name: str) -> str:
    """Return a field's text on one line; "" when it is missing, null or not a scalar."""
    value = fields.get(name)
    stated = " ".join(value.split()) if isinstance(value, str) else ""
    return "" if stated.lower() in _NULL else stated


def get_truth(fields: Fields, name: str, default: bool) -> bool:
    """Return a yes-or-no field, in any of the spellings agents accept."""
    stated = get_text(fields, name).lower()
    return stated in _TRUE if stated in _TRUE | _FALSE else default


def get_words(fields: Fields, name: str, pattern: re.Pattern[str] = _LISTED) -> list[str]:
    """Return a field that is a list, or a string to be taken apart by `pattern`."""
    value = fields.get(name)
    if isinstance(value, list):
        return [item.strip() for item in value if isinstance(item, str) and item.strip()]
    return [item.strip() for item in pattern.findall(get_text(fields, name)) if item.strip()]


def make_metadata(fields: Fields, codex: Fields) -> dict[str, Any]:
    """Collect the fields worth filtering on; `codex` holds the display texts of Codex."""
    inner = fields.get("metadata")
    extra = inner if isinstance(inner, dict) else {}
    found: dict[str, Any] = {
        "license": get_text(fields, "license"),
        "compatibility": get_text(fields, "compatibility"),
        "allowed_tools": get_words(fields, "allowed-tools", TOOL),
        "paths": get_words(fields, "paths"),
        "tags": get_words(extra, "tags") or get_words(fields, "tags"),
        "author": _get_author(extra) or _get_author(fields),
        "version": get_text(extra, "version") or get_text(fields, "version"),
        "category": get_text(extra, "category") or get_text(fields, "category"),
        "display_name": get_text(codex, "display_name"),
        "short_description": get_text(codex, "short_description")
        or get_text(extra, "short-description"),
    }
    return drop_empty(found) | {
        "user_invocable": get_truth(fields, "user-invocable", True),
        "model_invocable": not is_hidden(fields),
        "hidden": is_hidden(fields),
    }


def is_hidden(fields: Fields) -> bool:
    """Return whether the model may not invoke the skill by itself."""
    return get_truth(fields, "disable-model-invocation", False)


def drop_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is empty: a skill that states no licence has no such field."""
    return {key: value for key, value in fields.items() if value}


def _get_author(fields: Fields) -> str:
    value = fields.get("author")
    return get_text(value, "name") if isinstance(value, dict) else get_text(fields, "author")
