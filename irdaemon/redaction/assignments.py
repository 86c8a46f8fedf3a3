"""Secrets known by their surroundings: assigned to a telling name, sent in a header, in a URL.

For transcripts, which hold what tools printed. Published text is full of sample passwords, which
its readers need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from irdaemon.redaction.spans import Effort, Span

_KEYWORD = re.compile(r"key|pass|pwd|secret|contrase", re.IGNORECASE)
_ASSIGNED = "Secret Keyword"
# NAME=value and name: value without quotes, which detect-secrets takes only in files of settings.
_UNQUOTED = re.compile(
    r"(?:(?:api|access|private|secret|auth|account)[_-]?key|secret|token|passw(?:or)?d|passphrase"
    r"|pwd)[\w-]{0,40}[\"'`]?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}[\"'`]?"
    r"(?P<value>(?=[^\s\"'`,;<>(){}\[\]$]{0,100}\d)[^\s\"'`,;<>(){}\[\]$]{8,512})",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?:authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:basic|token|apikey|bearer)|\bbearer)"
    r"[ \t]+"
    r"(?P<value>(?=[\w.~+/=-]{0,100}\d)[\w.~+/=-]{16,4096})",
    re.IGNORECASE,
)
# How much of a keyword's line is looked at.
_BEFORE, _AFTER = 40, 200
# detect-secrets goes over it with five patterns, each of which may go back.
_QUOTED_EFFORT = 2_000


def assigned(text: str) -> Iterator[Span]:
    """Yield what is assigned to a telling name, sent in a header or written into a URL."""
    yield from _in_urls(text)
    yield from _values(_HEADER, text, "Authorization Header")
    yield from _values(_UNQUOTED, text, _ASSIGNED)
    yield from _in_quotes(text)


def _values(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if not _is_marked(match["value"]):
            yield Span(match.start("value"), match.end("value"), kind)


def _in_quotes(text: str) -> Iterator[Span]:
    """Yield what detect-secrets takes for assigned, the keywords of one line looked at together."""
    effort, looked_at = Effort(), 0
    for word in _KEYWORD.finditer(text):
        if word.start() >= looked_at:
            effort.spend(_QUOTED_EFFORT)
            looked_at = _line_end(text, word.start())
            start = max(text.rfind("\n", 0, word.start()) + 1, word.start() - _BEFORE)
            yield from _quoted(text, start, looked_at)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at, at + _AFTER)
    return end if end >= 0 else min(len(text), at + _AFTER)


def _quoted(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield what detect-secrets takes for assigned in a part of one line."""
    part = text[start:end]
    for value in _library().keyword.analyze_string(part):
        at = part.find(value)
        if at >= 0 and not _is_marked(value) and not _library().is_no_secret(value, part):
            yield Span(start + at, start + at + len(value), _ASSIGNED)


def _in_urls(text: str) -> Iterator[Span]:
    if "://" in text and "@" in text:
        detector = _library().basic_auth
        for pattern in detector.denylist:
            for match in pattern.finditer(text):
                yield Span(match.start(1), match.end(1), detector.secret_type)


def _is_marked(value: str) -> bool:
    return value.startswith("[secret:")


class _Library:
    """What is used of detect-secrets here, imported when it is first needed."""

    def __init__(self) -> None:
        from detect_secrets.filters import heuristic
        from detect_secrets.plugins.basic_auth import BasicAuthDetector
        from detect_secrets.plugins.keyword import KeywordDetector

        self.keyword: Any = KeywordDetector()
        self.basic_auth: Any = BasicAuthDetector()
        self._heuristic: Any = heuristic

    def is_no_secret(self, value: str, line: str) -> bool:
        """Say whether a value is a placeholder, a variable or the result of a call."""
        heuristic = self._heuristic
        return bool(
            heuristic.is_templated_secret(value)
            or heuristic.is_prefixed_with_dollar_sign(value)
            or heuristic.is_not_alphanumeric_string(value)
            or heuristic.is_indirect_reference(line)
        )


@cache
def _library() -> _Library:
    return _Library()
