"""Redact credentials and private blocks in a text before it is stored or shown.

Every text of a source passes a Redactor once: on its way to the ledger, or to a client at a
disclosure. A secret is replaced by its kind, `[secret: GitHub Token]`; neither its value nor a hash
of it is stored.

Secrets are recognised by their format (`prefixes`, `formats`, `private`) or by their context
(`assignments`, `requests`), never by entropy: identifiers and digests are common in transcripts.
A pattern is tried only where one of its triggers is in the text, for most text holds none. One
program quotes what another printed: a text is read as it is written, and, where an escape stands in
a word, as it is spelt too (`spelling`). The tests compare the formats with those of detect-secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from irdaemon.source.redact.assignments import (
    RARE_RULES,
    find_assigned,
    find_in_manifests,
    is_assigned,
    is_telling,
)
from irdaemon.source.redact.formats import find_formatted, list_cues
from irdaemon.source.redact.private import find_key_blocks, remove_private
from irdaemon.source.redact.requests import KEYWORD
from irdaemon.source.redact.spelling import Span, decode
from irdaemon.text.cues import CueTable

__all__ = ["LEVELS", "FoundSecret", "Redactor", "make_recipe"]

# `tokens`: private keys and the well-known formats of tokens. `all`: also what is assigned to a
# name like `password`, sent in an Authorization header, or written into a URL. Which kind of corpus
# has which stands in irdaemon.config.corpus.
LEVELS = ("tokens", "all")
# Raise when the same text would be redacted differently.
_VERSION = 3
_SHORTEST = 8
# Short texts in which nothing was found, such as licenses: the same stand in many artifacts.
_LONGEST_KNOWN, _MOST_KNOWN = 64, 4_096
_known_clean: set[tuple[str, str]] = set()
# Characters of its line that locate a value; a short value alone occurs in many places.
_LEAD = 24


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """One secret that was redacted. The value is for locating it, and must not be stored.

    `lead` is the text before it on its line, or the end of that.
    """

    kind: str
    value: str = field(repr=False)
    lead: str = field(default="", repr=False)


def make_recipe(level: str) -> str:
    """Return the identity of redaction at a level: a change makes what is stored stale."""
    return f"redact {level} {_VERSION}"


class Redactor:
    """Redact the texts of one artifact; `found` collects the secrets that were in them."""

    def __init__(self, level: str):
        self._level = level
        self.found: list[FoundSecret] = []

    def redact_text(self, text: str) -> str:
        """Return a text without private blocks, and with each secret replaced by its kind.

        Raises Refused for a text with too many beginnings of secrets.
        """
        known = self._level, text
        if len(text) < _SHORTEST or known in _known_clean:
            return text
        plain = remove_private(text)
        spans = _join_overlaps(sorted(self._find_spans(plain)))
        if not spans and plain == text and len(text) <= _LONGEST_KNOWN:
            if len(_known_clean) >= _MOST_KNOWN:
                _known_clean.clear()
            _known_clean.add(known)
        return self._mark_secrets(plain, spans)

    def redact_value(self, value: Any) -> Any:
        """Return plain data with every text in it redacted, but for keys of mappings."""
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return {key: self._redact_value(key, item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)([self.redact_value(item) for item in value])
        return value

    def _redact_value(self, key: Any, value: Any) -> Any:
        """Return the value of a key, which may tell that it is a secret."""
        if self._level != "all" or not isinstance(key, str) or not is_telling(key):
            return self.redact_value(value)
        if isinstance(value, (list, tuple)):
            return type(value)([self._redact_value(key, item) for item in value])
        if not isinstance(value, str) or not is_assigned(key, value):
            return self.redact_value(value)
        self.found.append(FoundSecret(KEYWORD, value, f"{key}: "))
        return f"[secret: {KEYWORD}]"

    def _find_spans(self, text: str) -> Iterator[Span]:
        yield from self._find_written(text)
        if decoded := decode(text):
            yield from map(decoded.locate_source, self._find_written(decoded.text))

    def _find_written(self, text: str) -> Iterator[Span]:
        possible = _make_cue_table().find_possible(text)
        yield from find_key_blocks(text)
        yield from find_formatted(text, possible[len(RARE_RULES) :])
        if self._level == "all":
            yield from find_assigned(text, possible)
            yield from find_in_manifests(text)

    def _mark_secrets(self, text: str, spans: list[Span]) -> str:
        if not spans:
            return text
        parts, at = [], 0
        for span in spans:
            parts += [text[at : span.start], f"[secret: {span.kind}]"]
            lead = text[max(0, span.start - _LEAD) : span.start].rpartition("\n")[2]
            self.found.append(FoundSecret(span.kind, text[span.start : span.end], lead))
            at = span.end
        return "".join(parts) + text[at:]


@cache
def _make_cue_table() -> CueTable:
    """Return what to look for of the rare words, then of the formats."""
    return CueTable([*((word,) for word, _ in RARE_RULES), *list_cues()])


def _join_overlaps(spans: list[Span]) -> list[Span]:
    """Join spans that overlap; the one that begins first names the kind."""
    apart: list[Span] = []
    for span in spans:
        if apart and span.start < apart[-1].end:
            last = apart.pop()
            span = Span(last.start, max(last.end, span.end), last.kind)
        apart.append(span)
    return apart
