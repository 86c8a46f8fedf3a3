"""Program text by its symbols: functions, classes, methods, and the text between them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

from irclient.errors import Unavailable
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import ProcessLimits, run_program
from irdaemon.strategy.chunked import text_of
from irdaemon.types import IndexPlan, Surface

# Languages by the suffixes of their files, and the parsers of their symbols.

_SUFFIXES = {
    "bash": ".bash .sh",
    "c": ".c .h",
    "clojure": ".clj",
    "cpp": ".cc .cpp .hpp",
    "csharp": ".cs",
    "css": ".css",
    "dart": ".dart",
    "elixir": ".ex .exs",
    "erlang": ".erl",
    "go": ".go",
    "haskell": ".hs",
    "html": ".html",
    "java": ".java",
    "javascript": ".js .jsx .cjs .mjs",
    "julia": ".jl",
    "kotlin": ".kt",
    "lua": ".lua",
    "ocaml": ".ml",
    "perl": ".pl",
    "php": ".php",
    "powershell": ".ps1",
    "python": ".py",
    "r": ".r",
    "ruby": ".rb",
    "rust": ".rs",
    "scala": ".scala",
    "sql": ".sql",
    "swift": ".swift",
    "tsx": ".tsx",
    "typescript": ".ts",
    "vue": ".vue",
    "zig": ".zig",
}
_BY_SUFFIX = {suffix: name for name, every in _SUFFIXES.items() for suffix in every.split()}
# The module of each grammar that `outline` has patterns for; of TypeScript one has both.
_MODULES = {
    **{name: f"tree_sitter_{name}" for name in ("c", "go", "java", "javascript", "ruby", "rust")},
    **dict.fromkeys(("tsx", "typescript"), "tree_sitter_typescript"),
}
_COMMENTS = {
    **dict.fromkeys(("bash", "elixir", "julia", "perl", "python", "r", "ruby"), ("#",)),
    **dict.fromkeys(("haskell", "lua", "sql"), ("--",)),
    "rust": ("//", "/*", "*", "#["),
}


def find_language(suffix: str) -> str:
    """Return the language of files with a suffix (in lower case), "" for an unknown one."""
    return _BY_SUFFIX.get(suffix, "")


def list_comment_marks(language: str) -> tuple[str, ...]:
    """Return the beginnings of lines that are comments or attributes."""
    return _COMMENTS.get(language, ("//", "/*", "*", "@"))


def list_outlined_languages() -> tuple[str, ...]:
    """Return the languages with an installed parser of symbols, sorted."""
    if not find_spec("tree_sitter"):
        return ("python",)
    return tuple(sorted(["python", *(n for n, module in _MODULES.items() if find_spec(module))]))


def list_missing_languages() -> tuple[str, ...]:
    """Return the languages that the extra `code` would add, sorted."""
    return tuple(sorted(set(_MODULES) - set(list_outlined_languages())))


# Get the symbols of a text from a child process.
#
# A parser of programs meets hostile texts: an f-string of one megabyte keeps Python's own busy for
# 51 seconds, with the interpreter's lock held. So it runs in a process of its own (`outline`), with
# limits, which reads one text after the other.

# The largest text that is read by default takes a tenth of it.
_LIMITS = ProcessLimits(10.0, 1024 * MB)
_OUTPUT = 16 * MB


class Symbol(NamedTuple):
    """A named part of a text: its first and last line, from 1 on, and the symbols around it.

    `head` is the last line before its body.
    """

    name: str
    kind: str
    start: int
    end: int
    head: int
    parents: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """Return its name after the names of the symbols around it."""
        return ".".join((*self.parents, self.name))


def list_symbols(text: str, language: str) -> tuple[Symbol, ...] | None:
    """Return the symbols of a text in its order; None where they cannot be parsed.

    The lines of `text` end with line feeds alone. A parser that fails, or exceeds its limits, gives
    None.
    """
    program = os.path.join(os.path.dirname(__file__), "outline.py")
    request = f"{language}\n{text}".encode("utf-8", "replace")
    try:
        found = json.loads(run_program(program, request, _LIMITS, _OUTPUT))
    except (Unavailable, ValueError):
        return None
    if found is None:
        return None
    return tuple(Symbol(**{**each, "parents": tuple(each["parents"])}) for each in found)


_LINE_END = re.compile(r"\r\n?")
NO_SYMBOLS = "no_symbols"
# The kind of the surface of a symbol.
SYMBOL = "symbol"


class Code:
    """Make a surface of kind `symbol` per function, class and method, of kind `chunk` of the rest.

    A symbol of more than `chunk_size` characters is several, its signature repeated; a class is its
    own without its methods. Metadata: `symbol`, `qualified_name`, `symbol_kind`, `start_line` and
    `end_line`; the artifact has `language`. Where the symbols cannot be parsed, since the language
    has no parser here or the text has errors, there are only `chunk`s, and `flags` has
    `no_symbols`. `context` is the number of lines shown around a symbol; they are not searched as
    part of it. The installed parsers are part of the recipe.
    """

    named: ClassVar[bool] = True

    def __init__(self, chunk_size: int = 2000, context: int = 5):
        if chunk_size < 1 or context < 0:
            raise TypeError("chunk_size is at least 1, and context at least 0")
        self.chunk_size = chunk_size
        self.context = context
        self.languages = list_outlined_languages()

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        fields = dict(metadata or {})
        text = _LINE_END.sub("\n", text_of(raw))
        path = str(fields.get("path") or artifact_id)
        suffix = str(fields.get("suffix") or os.path.splitext(path)[1]).lower()
        language = str(fields.get("language") or find_language(suffix))
        symbols = list_symbols(text, language) if language in self.languages else None
        if language:
            fields["language"] = language
        if symbols is None and text.strip():
            fields["flags"] = [*fields.get("flags", ()), NO_SYMBOLS]
        lines = text.split("\n")
        marks = list_comment_marks(language)
        spans = divide_lines(
            lines, symbols or (), self.chunk_size, lambda line: line.lstrip().startswith(marks)
        )
        pieces = [(span, piece) for span in spans for piece in self._split_span(span, lines)]
        surfaces = []
        for at, (span, piece) in enumerate(pieces):
            place = {"chunk_index": at, "n_chunks": len(pieces)}
            surfaces.append(_make_surface(artifact_id, path, span, piece, place))
        return IndexPlan(fields, tuple(surfaces))

    def _split_span(self, span: LineSpan, lines: list[str]) -> Iterator[str]:
        """Yield the text of a span, in several parts where it is one long line."""
        if span.start < span.end or len(lines[span.start - 1]) <= self.chunk_size:
            yield span.join_text(lines)
            return
        line = lines[span.start - 1]
        for at in range(0, len(line), self.chunk_size):
            yield line[at : at + self.chunk_size]


def _make_surface(
    artifact_id: str, path: str, span: LineSpan, text: str, place: Mapping[str, Any]
) -> Surface:
    lines = {"start_line": span.start, "end_line": span.end}
    symbol = span.symbol
    if symbol is None:
        return Surface(artifact_id, "chunk", text, "chunk", {**place, **lines}, path)
    qualified = symbol.qualified
    names = {"symbol": symbol.name, "qualified_name": qualified, "symbol_kind": symbol.kind}
    metadata = {**place, **names, **lines}
    return Surface(artifact_id, SYMBOL, text, SYMBOL, metadata, f"{path} {qualified}")


# Divide the lines of a text among its symbols: each line belongs to one span, or is blank.

# The parts of these kinds are chunks of their own, however short they are.
_HOLDERS = frozenset({"class", "interface", "trait", "impl", "enum", "module", "record", "struct"})
_WORD = re.compile(r"\w")
# The end of a block in languages without braces is no text of its own.
_CLOSERS = ("end",)
# A signature that is repeated may take half of a chunk.
_MOST_OF_CHUNK = 2


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines from `start` to `end`, both included, from 1 on, and their symbol, if any.

    `head` is repeated before the text of any but the first span of a symbol.
    """

    start: int
    end: int
    symbol: Symbol | None = None
    head: str = ""

    def join_text(self, lines: Sequence[str]) -> str:
        """Return its text, with the head before it."""
        own = "\n".join(lines[self.start - 1 : self.end])
        return f"{self.head}\n{own}" if self.head else own


def divide_lines(
    lines: Sequence[str], symbols: Sequence[Symbol], size: int, is_comment: Callable[[str], bool]
) -> Iterator[LineSpan]:
    """Yield the spans of a text in its order.

    Symbols come in the order of the text, outer ones first. Parts of classes and the like are taken
    out of them, those of a function where it is longer than `size` characters. Comments directly
    above a symbol belong to it, and so do attributes.
    """
    tree = _build_tree(lines, symbols, is_comment)
    for span in _split_range(1, len(lines), None, tree, _Cutter(lines, size)):
        own = "\n".join(lines[span.start - 1 : span.end]).strip()
        if _WORD.search(own) and own not in _CLOSERS:
            yield span


@dataclass(slots=True)
class _SymbolNode:
    """A symbol with its first line, comments above it included, and the symbols in it."""

    symbol: Symbol
    start: int
    inner: list[_SymbolNode]


@dataclass(frozen=True, slots=True)
class _Cutter:
    lines: Sequence[str]
    size: int

    def get_head(self, symbol: Symbol) -> str:
        """Return the signature of a symbol, "" where it takes too much of a chunk."""
        text = "\n".join(self.lines[symbol.start - 1 : symbol.head])
        return text if len(text) <= self.size // _MOST_OF_CHUNK else ""


def _build_tree(
    lines: Sequence[str], symbols: Sequence[Symbol], is_comment: Callable[[str], bool]
) -> list[_SymbolNode]:
    """Return the outermost symbols, each with those inside it.

    One that begins on a line of another one is a part of that.
    """
    outermost: list[_SymbolNode] = []
    around: list[_SymbolNode] = []
    taken = 0
    for symbol in symbols:
        while around and around[-1].symbol.end < symbol.end:
            around.pop()
        first = max(taken, around[-1].symbol.head if around else 0) + 1
        inside = around and symbol.start <= around[-1].symbol.head
        if symbol.start <= taken or inside or symbol.end > len(lines):
            continue
        start = symbol.start
        while start > first and is_comment(lines[start - 2]):
            start -= 1
        part = _SymbolNode(symbol, start, [])
        (around[-1].inner if around else outermost).append(part)
        around.append(part)
        taken = symbol.start
    return _drop_overlaps(outermost)


def _drop_overlaps(parts: list[_SymbolNode]) -> list[_SymbolNode]:
    """Return the parts that begin below the end of the one before."""
    kept: list[_SymbolNode] = []
    for part in parts:
        if not kept or part.start > kept[-1].symbol.end:
            kept.append(part)
            part.inner = _drop_overlaps(part.inner)
    return kept


def _split_range(
    start: int, end: int, owner: Symbol | None, inner: Sequence[_SymbolNode], cutter: _Cutter
) -> Iterator[LineSpan]:
    """Yield the spans of lines that belong to a symbol, if any, and to those in it."""
    at, is_first = start, True
    for part in inner:
        if at < part.start:
            yield from _cut_span(LineSpan(at, part.start - 1, owner), is_first, cutter)
            is_first = False
        symbol = part.symbol
        length = sum(len(line) + 1 for line in cutter.lines[part.start - 1 : symbol.end])
        within = part.inner if symbol.kind in _HOLDERS or length > cutter.size else ()
        yield from _split_range(part.start, symbol.end, symbol, within, cutter)
        at = symbol.end + 1
    if at <= end:
        yield from _cut_span(LineSpan(at, end, owner), is_first, cutter)


def _cut_span(span: LineSpan, is_first: bool, cutter: _Cutter) -> Iterator[LineSpan]:
    """Yield a span in pieces of whole lines, of at most `size` characters.

    A single line that is longer is a piece.
    """
    head = cutter.get_head(span.symbol) if span.symbol else ""
    at = span.start
    while at <= span.end:
        repeated = "" if is_first else head
        left = cutter.size - len(repeated) - len(cutter.lines[at - 1])
        end = at
        while end < span.end and (left := left - 1 - len(cutter.lines[end])) >= 0:
            end += 1
        yield LineSpan(at, end, span.symbol, repeated)
        at, is_first = end + 1, False
