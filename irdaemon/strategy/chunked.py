"""Split long text into overlapping chunks, at Markdown headings where there are any."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar

from irdaemon.runtime.plugins import load
from irdaemon.source.markdown import list_sections
from irdaemon.types import FIRST_LINE, IndexPlan, Surface


def text_of(raw: Any, text_key: str | None = None) -> str:
    """Return the text of a raw artifact.

    A string is itself; a mapping gives `text_key` and nothing else where that is named, "" where
    it lacks it; else "text", else all its string values, one a line; anything else its `str`. None,
    also as the named part, has no text.
    """
    if isinstance(raw, str):
        return raw
    if raw is None:
        return ""
    if not isinstance(raw, Mapping):
        return str(raw)
    if text_key is not None or "text" in raw:
        part = raw.get("text" if text_key is None else text_key)
        return "" if part is None else str(part)
    return "\n".join(value for value in raw.values() if isinstance(value, str))


def get_lexical_words(raw: Any) -> str:
    """Return the text of a source for the lexical leg alone, "" for none."""
    return str(raw.get("lexical") or "") if isinstance(raw, Mapping) else ""


class WholeText:
    """Make one surface of the whole text; blank text makes none.

    The lexical leg also reads the source's further words (`lexical`).
    """

    named: ClassVar[bool] = True

    def __init__(self, text_key: str | None = None, kind: str = "document"):
        self.text_key = text_key
        self.kind = kind

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        text = text_of(raw, self.text_key)
        surface = Surface(artifact_id, self.kind, text, lexical=get_lexical_words(raw))
        return IndexPlan(dict(metadata or {}), (surface,) if text.strip() else ())


_BLANK_LINE = re.compile(r"\n\s*\n")
_MARKDOWN = frozenset({".md", ".mdx", ".markdown"})


def chunk_text(text: str, chunk_size: int, overlap: int) -> list[str]:
    """Pack whole paragraphs into chunks of at most about `chunk_size` characters.

    A chunk that would overflow is closed, and the next begins with its last `overlap` characters.
    A paragraph longer than `chunk_size` is cut every `chunk_size - overlap` characters. No chunk
    is blank.
    """
    text = text.strip()
    if len(text) <= chunk_size:
        return [text] if text else []
    chunks: list[str] = []
    open_chunk = ""
    for paragraph in filter(None, (part.strip() for part in _BLANK_LINE.split(text))):
        if len(paragraph) > chunk_size:
            chunks += [open_chunk] if open_chunk else []
            chunks += _cut(paragraph, chunk_size, overlap)
            open_chunk = ""
        elif not open_chunk:
            open_chunk = paragraph
        elif len(open_chunk) + 2 + len(paragraph) <= chunk_size:
            open_chunk += "\n\n" + paragraph
        else:
            chunks.append(open_chunk)
            tail = open_chunk[-overlap:] if overlap else ""
            open_chunk = f"{tail}\n\n{paragraph}".strip()
    return [*chunks, open_chunk] if open_chunk else chunks


def _cut(paragraph: str, size: int, overlap: int) -> Iterator[str]:
    for start in range(0, len(paragraph), max(1, size - overlap)):
        if (piece := paragraph[start : start + size]).strip():
            yield piece


def number_lines(text: str, chunks: Sequence[str], overlap: int) -> list[tuple[int, int]]:
    """Return the first and the last line, from 0 on, of the chunks of a text, in their order.

    A chunk differs from its part of the text in white space alone, so that is left out to find it.
    """
    ends = list(accumulate(len("".join(line.split())) for line in text.split("\n")))
    solid, end, tail, found = "".join(text.split()), 0, 0, list[tuple[int, int]]()
    for chunk in chunks:
        own = "".join(chunk.split())
        # It goes on where the one before ended, or repeats the end of that.
        likely = (start for start in (end - tail, end) if solid.startswith(own, start))
        start = next(likely, max(0, solid.find(own, max(0, end - overlap))))
        end = start + len(own)
        tail = len("".join(chunk[-overlap:].split())) if overlap else 0
        found.append((bisect_right(ends, start), bisect_left(ends, end)))
    return found


def split_sections(name: str, text: str) -> list[tuple[str, str]]:
    """Split Markdown at its first- and second-level headings into (heading, section) pairs.

    A heading inside a code block is not one. Text before the first heading has heading "". Raises
    SourceError for the text called `name` where a limit is exceeded.
    """
    starts = [(0, ""), *list_sections(name, text)]
    lines = text.splitlines(keepends=True)
    ends = [line for line, _ in starts[1:]] + [len(lines)]
    sections = [
        (heading, "".join(lines[start:end]))
        for (start, heading), end in zip(starts, ends, strict=True)
    ]
    return [(heading, section) for heading, section in sections if section.strip()]


def halve_chunks(chunks: list[str], max_tokens: int, count: Callable[[str], int]) -> list[str]:
    """Halve chunks, at white space where possible, until none counts more than `max_tokens`."""
    pending, done = list(reversed(chunks)), []
    while pending:
        chunk = pending.pop()
        if len(chunk) < 2 or count(chunk) <= max_tokens:
            done.append(chunk)
            continue
        middle = chunk.rfind(" ", 1, len(chunk) // 2 + 1)
        middle = middle if middle > 0 else len(chunk) // 2
        pending += [half for half in (chunk[middle:].strip(), chunk[:middle].strip()) if half]
    return done


def count_words(text: str) -> int:
    """Count words and punctuation marks: the default measure of `max_tokens`."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def choose_counter(token_model: str | None) -> Callable[[str], int]:
    """Return what counts the tokens of a text: "module:attr" of a function, else `count_words`."""
    if not token_model:
        return count_words
    counted: Callable[[str], int] = load("token model", token_model, {})
    return counted


def split_text(
    text: str, chunk_size: int, overlap: int, max_tokens: int | None, token_model: str | None
) -> list[str]:
    """Return the chunks of a text, each of at most `max_tokens` where that is given."""
    chunks = chunk_text(text, chunk_size, overlap)
    if max_tokens is None:
        return chunks
    return halve_chunks(chunks, max_tokens, choose_counter(token_model))


class Chunked:
    """Make one surface per chunk of the text; of a text in pages none reaches over two.

    `chunk_size` and `overlap` are in characters. `max_tokens` further bounds each chunk by tokens,
    counted by `token_model` ("module:attr" of a function str -> int; default: words and marks).
    `headings` starts a new chunk at each Markdown heading of level one or two, and names it. The
    words that the source offers beside the text (`lexical`) count for the first chunk. Where that
    says in which line of a file the text begins, each chunk has its `start_line` and `end_line`.
    """

    named: ClassVar[bool] = True

    def __init__(
        self,
        chunk_size: int = 1200,
        overlap: int = 200,
        text_key: str | None = None,
        kind: str = "chunk",
        max_tokens: int | None = None,
        token_model: str | None = None,
        headings: bool = False,
    ):
        self.chunk_size = chunk_size
        self.overlap = overlap
        self.text_key = text_key
        self.kind = kind
        self.max_tokens = max_tokens
        self.token_model = token_model
        self.headings = headings

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        fields = dict(metadata or {})
        text = text_of(raw, self.text_key)
        markdown = self.headings and fields.get("suffix", ".md") in _MARKDOWN
        sections = split_sections(artifact_id, text) if markdown else [("", text)]
        parts: list[tuple[dict[str, Any], str]] = [
            ({"heading": heading} if heading else {}, section) for heading, section in sections
        ]
        if pages := _split_pages(text, fields):
            parts = [({"page": number}, page) for number, page in pages]
        limits = (self.chunk_size, self.overlap, self.max_tokens, self.token_model)
        chunks = [(place, chunk) for place, part in parts for chunk in split_text(part, *limits)]
        first = raw.get(FIRST_LINE) if isinstance(raw, Mapping) and not pages else None
        if isinstance(first, int):
            lines = number_lines(text, [chunk for _, chunk in chunks], self.overlap)
            chunks = [
                ({**place, "start_line": start + first, "end_line": end + first}, chunk)
                for (place, chunk), (start, end) in zip(chunks, lines, strict=True)
            ]
        surfaces = tuple(self._make_surfaces(artifact_id, chunks))
        if surfaces and (words := get_lexical_words(raw)):
            surfaces = (replace(surfaces[0], lexical=words), *surfaces[1:])
        return IndexPlan(fields, surfaces)

    def _make_surfaces(
        self, artifact_id: str, chunks: list[tuple[dict[str, Any], str]]
    ) -> Iterator[Surface]:
        for index, (place, chunk) in enumerate(chunks):
            metadata = {"chunk_index": index, "n_chunks": len(chunks), **place}
            yield Surface(artifact_id, self.kind, chunk, "chunk", metadata)


def _split_pages(text: str, fields: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the pages of a text that states `n_pages` and parts them by form feeds, numbered.

    Empty for any other, also where redaction took what lay between two pages: the numbers would be
    wrong.
    """
    pages = text.split("\f")
    return list(enumerate(pages, start=1)) if len(pages) == fields.get("n_pages") else []
