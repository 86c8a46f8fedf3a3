"""Program text by its symbols: functions, classes, methods, and what lies between them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from irdaemon.strategy.code.languages import comment_marks, language_of, outlined_languages
from irdaemon.strategy.code.outlined import symbols_of
from irdaemon.strategy.code.spans import LineSpan, divided
from irdaemon.strategy.whole import text_of
from irdaemon.types import IndexPlan, Surface

_LINE_END = re.compile(r"\r\n?")
NO_SYMBOLS = "no_symbols"
# The kind of a surface that is about one symbol.
SYMBOL = "symbol"


class Code:
    """Make a surface of kind `symbol` per function, class and method, of kind `chunk` of the rest.

    A symbol of more than `chunk_size` characters is several, its signature repeated; a class is its
    own without its methods. Metadata: `symbol`, `qualified_name`, `symbol_kind`, `start_line` and
    `end_line`; the artifact has `language`. Where no symbols can be told, since nothing here reads
    the language or the text has errors, all is `chunk`s, and `flags` has `no_symbols`. `context` is
    how many lines around a symbol are shown with it; they are not searched as part of it. What is
    shown of one language depends on what is installed, which is part of the recipe.
    """

    named: ClassVar[bool] = True

    def __init__(self, chunk_size: int = 2000, context: int = 5):
        if chunk_size < 1 or context < 0:
            raise TypeError("chunk_size is at least 1, and context at least 0")
        self.chunk_size = chunk_size
        self.context = context
        self.languages = outlined_languages()

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        fields = dict(metadata or {})
        text = _LINE_END.sub("\n", text_of(raw))
        path = str(fields.get("path") or artifact_id)
        suffix = str(fields.get("suffix") or os.path.splitext(path)[1]).lower()
        language = str(fields.get("language") or language_of(suffix))
        symbols = symbols_of(text, language) if language in self.languages else None
        if language:
            fields["language"] = language
        if symbols is None and text.strip():
            fields["flags"] = [*fields.get("flags", ()), NO_SYMBOLS]
        lines = text.split("\n")
        marks = comment_marks(language)
        spans = divided(lines, symbols or (), self.chunk_size, lambda line: _begins(line, marks))
        pieces = [(span, piece) for span in spans for piece in self._pieces(span, lines)]
        surfaces = (
            self._surface(
                artifact_id, path, span, piece, {"chunk_index": at, "n_chunks": len(pieces)}
            )
            for at, (span, piece) in enumerate(pieces)
        )
        return IndexPlan(fields, tuple(surfaces))

    def _pieces(self, span: LineSpan, lines: list[str]) -> Iterator[str]:
        """Yield the text of a span, in several parts where it is one long line."""
        if span.start < span.end or len(lines[span.start - 1]) <= self.chunk_size:
            yield span.text(lines)
            return
        line = lines[span.start - 1]
        for at in range(0, len(line), self.chunk_size):
            yield line[at : at + self.chunk_size]

    def _surface(
        self, artifact_id: str, path: str, span: LineSpan, text: str, place: Mapping[str, Any]
    ) -> Surface:
        lines = {"start_line": span.start, "end_line": span.end}
        symbol = span.symbol
        if symbol is None:
            return Surface(artifact_id, "chunk", text, "chunk", {**place, **lines}, path)
        named = {
            "symbol": symbol.name,
            "qualified_name": symbol.qualified,
            "symbol_kind": symbol.kind,
        }
        words = f"{path} {symbol.qualified}"
        return Surface(artifact_id, SYMBOL, text, SYMBOL, {**place, **named, **lines}, words)


def _begins(line: str, marks: tuple[str, ...]) -> bool:
    return line.lstrip().startswith(marks)
