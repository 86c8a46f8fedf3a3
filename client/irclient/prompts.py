"""Expected prompts as JSON lines: what a line may hold, and what is wrong with one that may not.

A line is {"id": ..., "prompts": [...]}, with `name` or `path` in place of `id`; `not` has near
misses, `corpus` says where the item is. Both the client and the daemon read lines by this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

# Who prompts are from.
PROVENANCES = ("author", "pack", "person", "agent", "use")
MOST_LINES, MOST_PROMPTS, LONGEST_PROMPT = 100_000, 50, 1_000
# Twice as many texts as a line may have, each with every character escaped.
_LONGEST_LINE = 1_200_000
_LONGEST_NAME = 4_096
_BY = ("id", "name", "path")
_KEYS = (*_BY, "prompts", "not", "corpus")
_FORM = '{"id": "...", "prompts": ["..."]}'


@dataclass(frozen=True, slots=True)
class GivenPrompts:
    """The prompts and near misses that a line gives for one item.

    `by` is the key that names the item: id, name or path.
    """

    line: int
    by: str
    item: str
    prompts: tuple[str, ...]
    misses: tuple[str, ...] = ()
    corpus: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the line as it is sent: `line` has its number."""
        plain: dict[str, Any] = {"line": self.line, self.by: self.item}
        plain["prompts"] = list(self.prompts)
        if self.misses:
            plain["not"] = list(self.misses)
        return {**plain, "corpus": self.corpus} if self.corpus else plain


@dataclass(frozen=True, slots=True)
class LineProblem:
    """What is wrong with a line."""

    line: int
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"line": self.line, "message": self.message}


def read_lines(file: BinaryIO) -> Iterator[GivenPrompts | LineProblem]:
    """Yield what each line of a file gives, or what is wrong with it; blank ones are passed over.

    Beyond the most lines that a file may have nothing is read.
    """
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if number > MOST_LINES:
            yield LineProblem(number, f"more than {MOST_LINES:,} lines: the rest is not read")
            return
        if len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            yield LineProblem(number, f"longer than {_LONGEST_LINE:,} bytes")
        elif line.strip(b" \t\r\n\xef\xbb\xbf"):
            yield read_line(line, number)


def read_line(line: bytes, number: int = 1) -> GivenPrompts | LineProblem:
    """Return what a line gives, or what is wrong with it."""
    try:
        value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return LineProblem(number, "not UTF-8")
    except RecursionError:
        return LineProblem(number, "not JSON that can be read: it nests too deep")
    except ValueError as error:
        return LineProblem(number, f"not JSON: {error}")
    return read_record(value, number)


def read_record(value: Any, number: int) -> GivenPrompts | LineProblem:
    """Return what plain data gives as a line of this number, or what is wrong with it."""
    try:
        return _check_line(value, number)
    except ValueError as error:
        return LineProblem(number, str(error))


def _check_line(value: Any, number: int) -> GivenPrompts:
    if not isinstance(value, dict):
        raise ValueError(f"a line is {_FORM}, not {_show(value)}")
    if unknown := [key for key in value if key not in _KEYS]:
        raise ValueError(f"unknown key {_show(unknown[0])}; the keys are {', '.join(_KEYS)}")
    named = [key for key in _BY if key in value]
    if len(named) != 1:
        found = " and ".join(named) or "none of them"
        raise ValueError(f"just one of id, name and path names the item, not {found}")
    item, corpus = _check_name(value, named[0]), ""
    if value.get("corpus") is not None:
        corpus = _check_name(value, "corpus")
    prompts, misses = _check_texts(value, "prompts"), _check_texts(value, "not")
    if not prompts:
        raise ValueError('no prompts: "prompts" is a list of at least one text')
    if both := [text for text in misses if text in prompts]:
        raise ValueError(f"{_show(both[0])} is a prompt and a near miss")
    return GivenPrompts(number, named[0], item, prompts, misses, corpus)


def _check_name(value: dict[str, Any], key: str) -> str:
    name = value[key]
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{key!r} is a text, not {_show(name)}")
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"{key!r} is longer than {_LONGEST_NAME:,} characters")
    return _check_unicode(name, key)


def _check_texts(value: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts of a list, each once, with single spaces."""
    texts = value.get(key)
    if texts is None:
        return ()
    if not isinstance(texts, list):
        raise ValueError(f"{key!r} is a list of texts, not {_show(texts)}")
    if len(texts) > MOST_PROMPTS:
        raise ValueError(f"{key!r} has {len(texts):,} texts, the limit is {MOST_PROMPTS}")
    return tuple(dict.fromkeys(_check_text(text, key) for text in texts))


def _check_text(text: Any, key: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{key!r} is a list of texts: {_show(text)} is none")
    shown = " ".join(text.split())
    if not shown:
        raise ValueError(f"a text of {key!r} is empty")
    if len(shown) > LONGEST_PROMPT:
        raise ValueError(
            f"a text of {key!r} has {len(shown):,} characters, the limit is {LONGEST_PROMPT:,}"
        )
    return _check_unicode(shown, key)


def _check_unicode(text: str, key: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{key!r} holds half a character (a lone surrogate)") from None
    return text


def _show(value: Any) -> str:
    """Return a value as an error shows it, cut, however deep it nests."""
    if isinstance(value, (dict, list)):
        return f"a {'map' if isinstance(value, dict) else 'list'}"
    return f"{value!r:.60}"
