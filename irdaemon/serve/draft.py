"""The text of a document that a client wants kept: its file name, its front matter, and checks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from irclient.errors import LimitError, QueryError
from irdaemon.source.files.document import binary_kind
from irdaemon.source.frontmatter import UNCLOSED, decode, front
from irdaemon.source.redact import Redactor
from irdaemon.types import Refused

SUFFIX = ".md"
_NAME_BYTES = 100
# Agents load files of these names as instructions, some in any case and from any directory below.
_LOADED_BY_AGENTS = frozenset(
    """agent agents claude clinerules copilot-instructions crush cursorrules gemini goosehints qwen
    skill warp windsurfrules""".split()
)
_TITLE_CHARS = 300
_MOST_TAGS = 50
_KEPT = ("title", "date", "source", "tags")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document to add: `source` says where its content comes from, "" for nothing."""

    title: str
    content: str
    source: str = ""
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_line("title", self.title)
        if not self.title.strip():
            raise QueryError("a document needs a title", "its file is named after it")
        if len(self.tags) > _MOST_TAGS:
            raise QueryError(f"{len(self.tags)} tags", f"at most {_MOST_TAGS}")
        for name, text in (("source", self.source), *(("tags", tag) for tag in self.tags)):
            _check_line(name, text)

    def text(self, now: float) -> str:
        """Return what the file is to hold: the content, with what its front matter lacks."""
        stated = front(self.content)
        own = self.content.startswith("---\n") and bool(stated.fields)
        lines = _lines(
            {
                key: value
                for key, value in self._fields(now).items()
                if value and key not in stated.fields
            }
        )
        if own:
            return "---\n" + lines + self.content.removeprefix("---\n")
        return f"---\n{lines}---\n\n" + self.content.rstrip("\n") + "\n"

    def _fields(self, now: float) -> dict[str, str | list[str]]:
        date = datetime.fromtimestamp(now).date().isoformat()  # the day that it is here
        title = " ".join(self.title.split())
        return {"title": title, "date": date, "source": self.source, "tags": list(self.tags)}


def with_front(content: str, held: bytes) -> str:
    """Return what a document is to hold: the content, with the front matter that it leaves out.

    Content without front matter gets what the document has; content with it what it lacks of the
    title, date, source and tags.
    """
    text = decode(held)[0]
    had, stated = front(text), front(content)
    if not had.fields or UNCLOSED in had.flags:
        return content
    if not (content.startswith("---\n") and stated.fields):
        kept = text.removesuffix(had.body).rstrip("\n")
        return kept + "\n\n" + content.lstrip("\n")
    lacking = {key: had.fields[key] for key in _KEPT if key in had.fields.keys() - stated.fields}
    return "---\n" + _lines(lacking) + content.removeprefix("---\n")


def _lines(fields: Mapping[str, object]) -> str:
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items()
    )


def _check_line(name: str, text: str) -> None:
    if len(text) > _TITLE_CHARS or not text.isprintable():
        raise QueryError(
            f"{name}: {text!r:.60} is no single line of text",
            f"at most {_TITLE_CHARS} characters, none of them a control character",
        )


def file_name(title: str, number: int = 1) -> str:
    """Return the name of a file for a title, with a number where it is not the first one.

    Lower-case words joined by hyphens, at most 100 bytes; it never begins with a dot, and is none
    that agents load as instructions: a document is content that is found, not orders.
    """
    end = f"-{number}{SUFFIX}" if number > 1 else SUFFIX
    stem = re.sub(r"[\W_]+", "-", title.casefold()).strip("-") or "document"
    stem = f"{stem}-document" if stem in _LOADED_BY_AGENTS else stem
    cut = stem.encode("utf-8")[: _NAME_BYTES - len(end)].decode("utf-8", "ignore")
    return cut.rstrip("-") + end


def checked(text: str, most_bytes: int, redaction: str) -> bytes:
    """Return a text as the bytes of a file.

    Raises QueryError for what is no text or holds a secret, LimitError where it is too large.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QueryError("the content is not UTF-8", "send it as text") from error
    if len(data) > most_bytes:
        raise LimitError(
            f"the document has {len(data):,} bytes, more than the limit of {most_bytes:,}",
            "split it",
        )
    if kind := binary_kind(data):
        raise QueryError(f"the content is not text ({kind})", "only text is kept")
    _check_secrets(text, redaction)
    return data


def _check_secrets(text: str, redaction: str) -> None:
    redactor = Redactor(redaction)
    try:
        redactor.text(text)
    except Refused as error:
        raise QueryError(f"the content cannot be kept: {error.message}", error.hint) from error
    if redactor.found:
        kinds = ", ".join(sorted({each.kind for each in redactor.found}))
        raise QueryError(f"the document holds a secret ({kinds})", "take it out; nothing is kept")
