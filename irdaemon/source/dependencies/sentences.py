"""Find what program texts say in words: doc comments, messages of errors, names of tests.

Nothing is parsed: patterns look at a text as it stands, which may end anywhere, and take time that
is linear in its length. What looks like a sentence and is none costs a place among the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

ENOUGH = 200
_SENTENCE_CHARS = 300
_COMMENT_CHARS = 1_500
_FEWEST_WORDS, _FEWEST_IN_LOOSE = 2, 4
# A message may be written as so many literals, one behind the other.
_MOST_PIECES = 4

_END = re.compile(r"(?<=[.!?:])(?<!\be\.g\.)(?<!\bi\.e\.)\s")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LINK = re.compile(r"\{@\w{1,20}\s{1,20}([^{}]{0,200})\}")
_QUOTED = re.compile(r":[\w:]{1,20}:(?=`)|[`*]+")
_MARKS = re.compile(r"\|+|<[^<>]{0,80}>|https?://\S+")
_PLACEHOLDER = re.compile(r"\$?\{[^{}]{0,80}\}|%(?:\(\w{0,40}\))?[+#0-9.]{0,6}[a-zA-Z]\b|\\.")
_TOLD = re.compile(r"@(?:summary|description|desc|overview|fileoverview)\s{1,20}")
_RULE = re.compile(r"[\W_]{3,}")
_LEGAL = re.compile(
    r"copyright|licen[sc]e|eslint|prettier|@(?:internal|ignore|hidden)\b|\btslint", re.I
)


@dataclass(slots=True)
class Sentences:
    """What was found in texts, each once and in order: of doc comments, of errors, of tests.

    `loose` are literals that read like messages.
    """

    docs: dict[str, None] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)
    loose: dict[str, None] = field(default_factory=dict)
    tests: dict[str, None] = field(default_factory=dict)


def gather_sentences(into: Sentences, text: str, suffix: str) -> None:
    """Add what a program text says; `suffix` (".ts") tells its language."""
    _add(into.docs, _DOCS[suffix](text))
    _add(into.errors, _list_errors(text))
    _add(into.loose, _list_loose(text))


def _add(into: dict[str, None], found: Iterator[str]) -> None:
    """Add sentences, up to so many of a kind: what there is enough of is looked for no more."""
    while len(into) < ENOUGH and (sentence := next(found, "")):
        into[sentence] = None


def gather_tests(into: Sentences, text: str) -> None:
    """Add the names of the tests in a text."""
    _add(into.tests, _list_tests(text))


def _clean(text: str) -> str:
    """Return the first sentence of a text in plain words; "" where there is none."""
    plain = _QUOTED.sub("", _LINK.sub(r"\1", text[:_COMMENT_CHARS]))
    shown = " ".join(_MARKS.sub(" ", plain).split())
    sentence = _END.split(shown, maxsplit=1)[0][:_SENTENCE_CHARS].rstrip(" .:")
    few = sum(1 for _ in _WORD.finditer(sentence)) < _FEWEST_WORDS
    return "" if few else sentence


# Doc comments.


def _list_blocks(text: str) -> Iterator[str]:
    """Yield the first sentences of /** comments */."""
    start = text.find("/**")
    while start >= 0:
        end = text.find("*/", start + 3)
        if end < 0:
            return
        lines = text[start + 3 : min(end, start + _COMMENT_CHARS)].split("\n")
        yield from _read_paragraph(line.strip().lstrip("*").strip() for line in lines)
        start = text.find("/**", end + 2)


def _read_paragraph(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first sentence of a comment, or of its summary; none of a licence."""
    kept: list[str] = []
    for line in lines:
        if not kept and (told := _TOLD.match(line)):
            kept = [line[told.end() :]]
        elif kept and (not line or line.startswith("@")):
            break
        elif line and not line.startswith("@") and not _RULE.fullmatch(line):
            kept.append(line)
    shown = " ".join(kept)
    if not _LEGAL.search(shown[:_SENTENCE_CHARS]) and (sentence := _clean(shown)):
        yield sentence


_QUOTES = re.compile("\"\"\"|'''")
_HEAD_CHARS = 4_000


def _list_docstrings(text: str) -> Iterator[str]:
    """Yield the first sentences of the strings that begin a module, a class or a function."""
    opened, ended = "", 0
    for match in _QUOTES.finditer(text):
        if opened == match[0]:
            opened, ended = "", match.end()
        elif not opened:
            opened = match[0]
            if _begins_block(text, match.start(), ended):
                inside = text[match.end() : match.end() + _COMMENT_CHARS].partition(opened)[0]
                yield from _read_paragraph(line.strip() for line in inside.split("\n"))


def _begins_block(text: str, start: int, after: int) -> bool:
    """Return whether a string stands first behind a colon, or in a module."""
    before = text[max(after, start - _HEAD_CHARS) : start].rstrip("rRuU").rstrip(" \t")
    if before.endswith("\n") and before.rstrip().endswith(":"):
        return True
    lines = before.split("\n")
    return start < _HEAD_CHARS and not after and all(not x or x.startswith("#") for x in lines)


def _list_slashed(text: str) -> Iterator[str]:
    """Yield the first sentences of /// and //! comments, but for headings and examples."""
    block: list[str] = []
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith(("///", "//!")) and not line.startswith("////"):
            block.append(line[3:].strip().lstrip("#").strip())
        elif block:
            yield from _read_paragraph(block)
            block = []


_EXPORTED = re.compile(r"(?:func (?:\([^()]{1,100}\) )?|type |var |const |\t)[A-Z]\w*", re.ASCII)


def _list_above(text: str) -> Iterator[str]:
    """Yield the first sentences of the comments above exported names of Go."""
    block: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("//"):
            block += [] if stripped.startswith("//go:") else [stripped[2:].strip()]
            continue
        if block and _EXPORTED.match(line):
            yield from _read_paragraph(block)
        block = []


# By the end of a file's name, how doc comments are written there.
_DOCS: Mapping[str, Callable[[str], Iterator[str]]] = {
    **dict.fromkeys((".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".tsx", ".jsx"), _list_blocks),
    **dict.fromkeys((".py", ".pyi"), _list_docstrings),
    ".rs": _list_slashed,
    ".go": _list_above,
}

# Messages: the literals in a call whose name says that something is wrong.

# These are looked for one after the other, which takes a tenth of the time of a pattern for all.
_CALLED = (
    *(
        "rror(",
        "rrorf(",
        "rrors.New(",
        "xception(",
        "arn(",
        "arning(",
        "nvariant(",
        "ail(",
        "ailed(",
    ),
    *("anic(", "anic!(", "bail!(", "anyhow!(", "ensure!(", "xpect(", "eject("),
)
_INTRODUCED = ("raise ", "throw new ", "assert", "message", "msg")
# What stands before a literal; a line ends only behind a parenthesis or a comma.
_ARGUMENT = re.compile(r"(?:[^\"'`\n;]|(?<=[(,])\n){0,160}+(?=[\"'`])")
_INTRODUCTION = re.compile(rf"(?:[\w.$]{{0,60}}\(|[\"']?\s{{0,4}}[:=]){_ARGUMENT.pattern}")
_LITERAL = re.compile(
    r"""(?:\s{0,20}\+\s{0,20}[\w.$\[\]]{1,60}(?:\(\w{0,40}\))?\s{0,20}\+)?+  # + name +
    [\s+\\(]{0,40}[rbufRBUF]{0,2}
    (?:"((?:[^"\\\n]|\\.){0,400})"|'((?:[^'\\\n]|\\.){0,400})'|`((?:[^`\\]|\\.){0,400})`)""",
    re.VERBOSE,
)
_LOOSE = re.compile(
    r"\"([A-Z][^\"\\\n]{15,240})\"|'([A-Z][^'\\\n]{15,240})'|`([A-Z][^`\\]{15,240})`"
)
# What is no prose: markup, code, a pattern, a list of words for a program.
_CODE = re.compile(r"[{};=<>|^~]|\w\(|::|//|\w,\w")


def _list_errors(text: str) -> Iterator[str]:
    starts = sorted(
        [(at, _ARGUMENT) for each in _CALLED for at in _find_ends(text, each)]
        + [(at, _INTRODUCTION) for each in _INTRODUCED for at in _find_ends(text, each)],
        key=itemgetter(0),
    )
    for start, pattern in starts:
        if not (match := pattern.match(text, start)):
            continue
        pieces, at = list[str](), match.end()
        while len(pieces) < _MOST_PIECES and (literal := _LITERAL.match(text, at)):
            pieces.append(literal[1] or literal[2] or literal[3] or "")
            at = literal.end()
        if message := _clean_message("".join(pieces)):
            yield message


def _find_ends(text: str, part: str) -> Iterator[int]:
    """Yield where a text goes on behind each occurrence of a part."""
    at = text.find(part)
    while at >= 0:
        yield at + len(part)
        at = text.find(part, at + len(part))


def _list_loose(text: str) -> Iterator[str]:
    for found in _LOOSE.findall(text):
        message = _clean_message("".join(found))
        if len(message.split()) >= _FEWEST_IN_LOOSE and not _CODE.search(message):
            yield message


def _clean_message(text: str) -> str:
    shown = " ".join(_PLACEHOLDER.sub(" ", text).split())[:_SENTENCE_CHARS].rstrip(" .:")
    few = sum(1 for _ in _WORD.finditer(shown)) < _FEWEST_WORDS
    return "" if few or " " not in shown else shown


# Names of tests, in each of the languages.

_TEST = re.compile(
    r"^[ \t]{0,40}(?:async )?def test_(\w{3,100})"
    r"|\b(?:describe|it|test|t\.Run)(?:\.\w{1,10})?\(\s{0,20}"
    r"(?:\"((?:[^\"\\\n]|\\.){3,120})\"|'((?:[^'\\\n]|\\.){3,120})'|`([^`\n]{3,120})`)"
    r"|^func Test_?(\w{3,100})\("
    r"|\#\[(?:\w{1,20}::)?test(?:\([^()\n]{0,80}\))?\]\s{1,40}(?:async )?fn (\w{3,100})",
    re.MULTILINE,
)


def _list_tests(text: str) -> Iterator[str]:
    for found in _TEST.findall(text):
        if name := " ".join(_PLACEHOLDER.sub(" ", "".join(found)).replace("_", " ").split()):
            yield name
