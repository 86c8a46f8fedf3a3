"""What an answer says of a hit, in one line, made of what the index holds: nothing is read for it.

A package, or a rule, is described by its own description; a turn of a session by its date, project
and agent, what was asked, and how the answer begins, or why there is none; a symbol of a program
text by its kind, name and lines, and that and anything else by the sentences of the matched record
that hold most of the query's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from irdaemon.index.rows import Card, Rows, Shown
from irdaemon.strategy.code import SYMBOL
from irdaemon.text import tokenize

_PASSAGE_CHARS = 320
_QUESTION_CHARS = 120
_ANSWER_CHARS = 200
_BEFORE_MATCH = 60
_AS_IT_IS = ("capability", "description", "deps")
_TURN = ("user_prompt", "assistant_summary", "assistant_full", "session_title")
_OF_SYMBOL = {"symbol_kind", "qualified_name", "start_line", "end_line"}
# What stands before the text of a turn that did not come to its answer, and for one without text.
_NO_ANSWER = {
    "interrupted": ("Interrupted after:", "Interrupted before an answer."),
    "failed": ("Failed after:", "Failed before an answer."),
    "unanswered": ("Left without an answer after:", "Left without an answer."),
}

# What is cut off at the end of a text may lack its end.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\[\]]*\](?:\([^()]*(?:\)|\Z)|\[[^\[\]]*\])?")
_LINK = re.compile(r"(?<!\w)\[([^\[\]]*)\](?:\([^()]*(?:\)|\Z)|\[[^\[\]]*\])")
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|center|code|details|div|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|picture"
    r"|pre|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr|ul|video)\b[^<>]*"
    r"(?:>|\Z)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*(\S(?:.*?\S)?)\*\*")
_HEADING = re.compile(r"#{1,6}\s")
_UNDERLINE = re.compile(r"(?:=+|-+|~+)\Z")
# Rules, code fences, lines under a table's head, and what reStructuredText and links are made with.
_NO_PROSE = re.compile(r"(?:[-*_=~`]{3,}\w*|[|\s:-]+|\.\.\s.*|:\w+:.*|\[[^\]]+\]:\s.*)\Z")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def summary_of(rows: Rows, card: Card, position: int, asked: str) -> str:
    """Return the line that describes a hit whose best record is at `position`; never blank."""
    held = rows.records_of(int(rows.artifact_of.array[position]))
    kind = rows.kind_of(position)
    if rows.kind_of(held.start) == "description":
        return _described(rows, card, held.start)
    if kind in _TURN:
        return _turn(rows, card, held, position)
    if kind in _AS_IT_IS:
        return _described(rows, card, position)
    if kind == SYMBOL and rows.shown[position].fields.keys() >= _OF_SYMBOL:
        return _symbol(rows.shown[position], asked)
    title, _, rest = (text := rows.shown[position].text).partition("\n")
    return passage(rest if title.strip() == card.name else text, asked) or card.name


def _described(rows: Rows, card: Card, position: int) -> str:
    text = rows.shown[position].summary.removeprefix(card.name).strip(": \n")
    if rows.kind_of(position) == "description":
        text = _without_markup(text)
    return " ".join(text.split()) or card.name


def _symbol(shown: Shown, asked: str) -> str:
    """Return "KIND NAME, lines A to B: ..." of a symbol of a program text."""
    place = "{symbol_kind} {qualified_name}, lines {start_line} to {end_line}: "
    place = place.format_map(shown.fields)
    return place + passage(shown.text, asked, _PASSAGE_CHARS - len(place))


# -- a turn of a session -------------------------------------------------------------------------


def _turn(rows: Rows, card: Card, held: range, position: int) -> str:
    """Return "DATE, PROJECT, AGENT. Asked: ... Answered: ...", of which any part may be missing.

    Of several questions it is the matched one, else the first.
    """
    texts = {rows.kind_of(at): rows.shown[at].summary for at in (*reversed(held), position)}
    question = _beginning(texts.get("user_prompt", ""), _QUESTION_CHARS)
    parts = [_setting(card.fields)]
    if question and question != card.name:
        parts.append(f"Asked: {question}" + ("" if question[-1] in ".?!…" else "."))
    parts.append(_answered(texts.get("assistant_summary", ""), card.fields.get("outcome")))
    return " ".join(filter(None, parts)) or card.name


def _answered(text: str, outcome: Any) -> str:
    """Return how an answer begins; of one that was not finished, how far it came."""
    answer = _beginning(text, _ANSWER_CHARS)
    lead, alone = _NO_ANSWER.get(str(outcome), ("Answered:", ""))
    return f"{lead} {answer}" if answer else alone


def _setting(fields: Mapping[str, Any]) -> str:
    date = str(fields.get("timestamp") or "")[:10]
    known = [date, *(str(fields.get(name) or "") for name in ("project", "agent"))]
    return f"{', '.join(filter(None, known))}." if any(known) else ""


def _beginning(text: str, most: int) -> str:
    return _cut(" ".join(_pieces(text)), most)


# -- a passage of a document ---------------------------------------------------------------------


def passage(text: str, asked: str, most: int = _PASSAGE_CHARS) -> str:
    """Return what of a text answers a query, as one line of at most `most` characters.

    It begins with the sentence that holds most of the query's words, the first of them where
    several do. Headings, comments, badges and tags are left out; a text of nothing else gives its
    headings.
    """
    pieces = list(_pieces(text)) or [
        line.lstrip("# ") for line in _without_markup(text).split("\n")
    ]
    whole = " ".join(" ".join(pieces).split())
    if len(whole) <= most:
        return whole
    wanted = _words(asked)
    matched = [len(wanted.intersection(tokenize(piece))) for piece in pieces]
    best = matched.index(max(matched))
    rest = " ".join(pieces[best:])
    start = _first_match(pieces[best], wanted) if len(pieces[best]) > most else 0
    return ("… " if best or start else "") + _cut(rest[start:], most - 2)


@lru_cache(maxsize=8)
def _words(asked: str) -> frozenset[str]:
    return frozenset(tokenize(asked))


def _first_match(piece: str, wanted: frozenset[str]) -> int:
    """Return where to begin in a long sentence: at a word, a little before the first match."""
    for word in re.finditer(r"\S+", piece):
        if wanted.intersection(tokenize(word.group())):
            if word.start() <= _BEFORE_MATCH:
                return 0
            return piece.find(" ", word.start() - _BEFORE_MATCH) + 1
    return 0


def _cut(text: str, most: int) -> str:
    """Return text, or its beginning up to the end of a word and an ellipsis."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most)
    return text[: end if end > 0 else most - 1].rstrip() + "…"


def _pieces(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, each on one line, without markup."""
    block: list[str] = []
    for line in map(str.strip, _without_markup(text).split("\n")):
        if _UNDERLINE.match(line) and len(block) == 1:
            block.clear()  # it underlines a heading
        elif not line or _HEADING.match(line) or _NO_PROSE.match(line):
            yield from _sentences(block)
            block.clear()
        else:
            if _ITEM.match(line):
                yield from _sentences(block)
                block.clear()
            block.append(line)
    yield from _sentences(block)


def _sentences(block: list[str]) -> list[str]:
    text = " ".join(" ".join(block).split())
    return _SENTENCE_END.split(text) if text else []


def _without_markup(text: str) -> str:
    text = _IMAGE.sub("", _COMMENT.sub("", text)).rstrip("[")
    return _BOLD.sub(r"\1", _TAG.sub("", _LINK.sub(r"\1", text)))
