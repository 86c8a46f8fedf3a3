"""Read YAML as people write it: strictly first, then key by key, repairing only broken parts.

Every scalar stays the text it was: a version of 1.10 is not the number 1.1, `no` is not false and
a date needs no conversion. Nesting is bounded, because libyaml's composer overflows the stack on
thousands of open brackets and takes the process with it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

LENIENT = "lenient_yaml"
BROKEN = "broken_yaml"
KEY = re.compile(r"""["']?([A-Za-z_][\w.-]*)["']?[ \t]*:(?!//)[ \t]*(.*)$""")
MAX_DEPTH = 20
MAX_CHARS = 65_536

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?[+-]?\s*(#.*)?$")


@dataclass(slots=True)
class _Part:
    """One top-level key with the lines that seem to belong to it."""

    key: str
    first: str
    lines: list[str] = field(default_factory=list)
    unindented: bool = False


def load_yaml(text: str) -> tuple[object, str]:
    """Return the value of a YAML document and the flag it earned: "", LENIENT or BROKEN.

    Values are mappings, lists and strings; None for an empty document. Never raises: a document
    that cannot be repaired gives what could be rescued of its top-level keys.
    """
    if len(text) > MAX_CHARS:
        return _rescue(text[:MAX_CHARS].expandtabs(2))[0], BROKEN
    try:
        return _rescue_scalar(text, parse_strictly(text))
    except yaml.YAMLError:
        return _rescue(text.expandtabs(2))


def parse_strictly(text: str) -> object:
    """Parse YAML, all scalars as strings. Raises yaml.YAMLError."""
    # Nothing nests without one of these signs: few of them need no further check.
    if sum(map(text.count, "[{-:?")) > MAX_DEPTH:
        _check_depth(text)
    return yaml.load(text, Loader=_LOADER)


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH} levels")


def _rescue_scalar(text: str, value: object) -> tuple[object, str]:
    # `name:pdf` without a space is one scalar to YAML, and two words to its author.
    if isinstance(value, str) and _has_key(value):
        return _rescue(text)
    return value, ""


def _rescue(text: str) -> tuple[dict[str, object], str]:
    try:
        value = parse_strictly(text)
    except yaml.YAMLError:
        value = None
    if isinstance(value, dict):
        return value, LENIENT
    return _load_parts(text.split("\n"), nested=False)


def _load_parts(lines: list[str], nested: bool) -> tuple[dict[str, object], str]:
    found: dict[str, object] = {}
    worst = LENIENT
    for part in _split_parts(lines):
        if not part.key:
            worst = BROKEN
            continue
        found[part.key], flag = _load_part(part, nested)
        worst = BROKEN if flag == BROKEN else worst
    return found, worst


def _split_parts(lines: list[str]) -> Iterator[_Part]:
    """Split at the keys in the first column; lines before any key form a part without one."""
    part: _Part | None = None
    for line in lines:
        if match := KEY.match(line):
            if part:
                yield part
            part = _Part(match[1], match[2])
        elif part:
            part.lines.append(line)
            part.unindented |= bool(line.strip()) and line[0] not in " \t-#"
        elif line.strip() and not line.startswith("#"):
            part = _Part("", line)
    if part:
        yield part


def _load_part(part: _Part, nested: bool) -> tuple[object, str]:
    try:
        value = parse_strictly("\n".join([f"{part.key}: {part.first}", *part.lines]))
        if isinstance(value, dict) and part.key in value:
            return value[part.key], ""
    except yaml.YAMLError:
        pass
    inner = textwrap.dedent("\n".join(part.lines)).strip("\n")
    if not part.first.strip() and not nested and _has_key(inner):
        return _load_parts(inner.split("\n"), nested=True)
    return _join_lines(part.first.strip(), inner), BROKEN if part.unindented else LENIENT


def _has_key(text: str) -> bool:
    return bool(KEY.match(text.partition("\n")[0]))


def _join_lines(first: str, inner: str) -> str:
    if _BLOCK_SCALAR.match(first):
        return inner.strip()
    text = " ".join([first, *(line.strip() for line in inner.split("\n"))]).strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text
