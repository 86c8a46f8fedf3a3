"""Split a Markdown file into its YAML frontmatter and its body, even invalid ones.

Fields are mappings, lists and strings; the functions at the end take typed values out of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irdaemon.source import lenient_yaml

NONE = "no_frontmatter"
UNCLOSED = "unclosed_frontmatter"
NOT_MAPPING = "frontmatter_not_mapping"

_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_RULE = re.compile(r"^---[^\S\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Front:
    """A file's frontmatter fields, the body after them, and the oddities met on the way.

    `head` is the text that the fields were read from.
    """

    fields: dict[str, object]
    body: str
    flags: tuple[str, ...] = field(default=())
    head: str = field(default="", compare=False)


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Decode UTF-8 with Unix line ends and no byte order mark; flag replaced bytes."""
    try:
        text, flags = data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return _fix_line_ends(data.decode("utf-8-sig", errors="replace")), ("invalid_utf8",)
    return _fix_line_ends(text), flags


def split_front(text: str) -> Front:
    """Take a decoded text apart. Never raises; what YAML cannot read is rescued and flagged."""
    front = _split(text)
    return Front(front.fields, front.body, front.flags, text.removesuffix(front.body))


def _split(text: str) -> Front:
    whole = text.lstrip("\n")
    opening = _RULE.match(whole)
    if not opening:
        return Front({}, text, (NONE,))
    closing = _RULE.search(whole, opening.end())
    if not closing:
        return _split_unclosed(text, whole.split("\n"))
    block = whole[opening.end() + 1 : closing.start() - 1]
    value, flag = lenient_yaml.load_yaml(block)
    # A rule (`---`) far down in the body closes nothing: headings before it are no comments.
    if flag and _HEADING.search(block):
        return _split_unclosed(text, whole.split("\n"))
    return _make_front(value, flag, text, whole[closing.end() + 1 :])


def _make_front(value: object, flag: str, text: str, body: str) -> Front:
    if value is None or value == "":
        return Front({}, body)
    if not isinstance(value, dict) or not value:
        return Front({}, text, (NOT_MAPPING,))
    return Front({str(k): v for k, v in value.items()}, body, (flag,) if flag else ())


def _split_unclosed(text: str, lines: list[str]) -> Front:
    """Take the leading keys for frontmatter; a rule with no key after it is a plain body."""
    end = _find_end_of_keys(lines)
    value, flag = lenient_yaml.load_yaml("\n".join(lines[1:end]))
    if not isinstance(value, dict) or not value:
        return Front({}, text, (NONE,))
    found = _make_front(value, flag, text, "\n".join(lines[end:]))
    return Front(found.fields, found.body, (UNCLOSED, *found.flags))


def _find_end_of_keys(lines: list[str]) -> int:
    for i in range(1, len(lines)):
        line, following = lines[i], lines[i + 1] if i + 1 < len(lines) else ""
        blank_within = not line.strip() and following[:1] in (" ", "\t")
        if not (blank_within or line[:1] in (" ", "\t", "-") or lenient_yaml.KEY.match(line)):
            return i
    return len(lines)


def _fix_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


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


def get_table(fields: Mapping[Any, Any], name: str) -> Mapping[str, Any]:
    """Return a field that is a mapping, or an empty one."""
    value = fields.get(name)
    return value if isinstance(value, Mapping) else {}


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


def is_hidden(fields: Fields) -> bool:
    """Return whether the model may not invoke the skill or command by itself."""
    return get_truth(fields, "disable-model-invocation", False)


def drop_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without empty ones: a skill without a licence has no such field."""
    return {key: value for key, value in fields.items() if value}
