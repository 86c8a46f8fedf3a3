"""The tables of docs/protocol.md, made of the rows of irclient.ops and the types of their results.

A table stands between two comments that name it; in that of a query's arguments the last column is
written by hand, and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from textwrap import dedent
from typing import Any

import irclient.results
import irclient.types
from irclient.ops import OPS
from irclient.ops.row import Op

_QUERY = "Query | str | Mapping[str, Any]"
_WORDS = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
_WORDS |= {"Any": "anything", "object": "anything"}
# What the types of the table hold that no operation returns as such.
_PARTS = ("Hit", "Verdict", "RelatedItem", "Round", "BundledFile", "CorpusStatus")


def with_tables(page: str) -> str:
    """Return the page with its tables as the rows and types have them now."""
    made = {"operations": _operations(), "query": _query(page), "results": _results()}
    for name, lines in made.items():
        begin, end = (
            f"<!-- {name}: python -m tests.golden.protocol -->\n",
            f"<!-- end of {name} -->",
        )
        head, found, rest = page.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"docs/protocol.md has no place for the table of {name}: {begin}")
        page = head + begin + "\n" + "\n".join(lines) + "\n\n" + end + tail
    return page


def show_default(value: Any) -> str:
    """Return a default as the page shows it."""
    if value is MISSING:
        return ""
    text = json.dumps(int(value) if isinstance(value, float) and value == int(value) else value)
    return f"`{text}`" if text[0] in '"[{' else text


def _operations() -> Iterator[str]:
    yield "| operation | arguments | result | add-on |"
    yield "|---|---|---|---|"
    for name, op in OPS.items():
        args = ", ".join(_argument(op, each) for each in op.annotations)
        once = "" if op.repeatable else ", sent once"
        yield _row(f"[`{name}`](#{name})", args, f"{_type(op.result_type)}{once}", op.addon)


def _argument(op: Op, name: str) -> str:
    type_ = op.annotations[name]
    if type_ == _QUERY:
        return "those of a [query](#discover)"
    default = f" = {show_default(op.defaults[name])}" if name in op.defaults else ""
    return f"`{name}`: {_type(type_)}{default}"


def _query(page: str) -> Iterator[str]:
    """Yield the arguments of discover, each with the meaning that the page gives it."""
    meanings = dict(re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){2} (.*?) \|$", page, re.M))
    row = OPS["discover"]
    types = {field.name: str(field.type) for field in fields(irclient.types.Query)}
    types |= {name: each for name, each in row.annotations.items() if each != _QUERY}
    yield "| argument | type | default | |"
    yield "|---|---|---|---|"
    for name in row.args:
        default = MISSING if name in ("text", "select") else row.find_default(name)
        yield _row(f"`{name}`", _type(types[name]), show_default(default), meanings.get(name, ""))


def _results() -> Iterator[str]:
    """Yield the types of results in the order in which operations return them, then their parts."""
    returned = (re.sub(r"list\[(\w+)\]", r"\1", op.result_type) for op in OPS.values())
    for name in dict.fromkeys((*(each for each in returned if each not in _WORDS), *_PARTS)):
        kind = _class(name)
        yield f"### Result: {name}"
        yield ""
        yield _prose(kind.__doc__ or "")
        yield ""
        yield "| field | type | default |"
        yield "|---|---|---|"
        for field in fields(kind):
            yield _row(f"`{field.name}`", _type(str(field.type)), _field_default(field))
        yield ""


def _class(name: str) -> type[Any]:
    kind: type[Any] = getattr(irclient.results, name, None) or getattr(irclient.types, name)
    return kind


def _field_default(field: Field[Any]) -> str:
    if field.metadata.get("optional"):
        return "left out"
    made = field.default_factory is not MISSING
    return show_default(field.default_factory() if made else field.default)  # type: ignore[misc]


def _type(written: str) -> str:
    """Return an annotation in words; a type of ours is a link to its table."""
    parts = [part for part in _split(written) if part != "None"]
    words = " or ".join(_word(part) for part in parts)
    return f"{words} or null" if len(parts) < len(_split(written)) else words


def _split(written: str) -> list[str]:
    """Return the alternatives of an annotation, not those within its brackets."""
    return re.findall(r"[^|\[\s]+(?:\[(?:[^\[\]]|\[[^\]]*\])*\])?", written)


def _word(part: str) -> str:
    outer, _, inner = part.removesuffix("]").partition("[")
    if outer in ("Sequence", "tuple", "list"):
        return f"list of {_plural(inner.removesuffix(', ...'))}"
    if outer in ("Mapping", "dict", "SelectSpec"):
        return "map"
    return _WORDS.get(part) or f"[{part}](#result-{part.lower()})"


def _plural(inner: str) -> str:
    word = _type(inner) if "|" in inner else _word(inner)
    plurals = {"text": "texts", "whole number": "numbers", "map": "maps"}
    return {**plurals, "text or map": "texts or maps"}.get(word, word)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def _prose(doc: str) -> str:
    first, _, rest = doc.partition("\n")
    return f"{first}\n{dedent(rest)}".strip().replace("None", "null")
