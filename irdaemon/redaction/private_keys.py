"""Private keys: the whole block goes, not just the line it begins with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irdaemon.redaction.spans import Span

_KIND = "Private Key"
_LONGEST = 16_384
_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# Of a key that is cut short: lines of base64, ended by a line break or its spelling in JSON.
_BODY = re.compile(r"(?:(?:\s|\\[nr]){0,4}[A-Za-z0-9+/=]{16,})*")
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d")
_PUTTY_END = re.compile(r"Private-MAC: ?[0-9a-f]+")


def key_blocks(text: str) -> Iterator[Span]:
    """Yield the private keys of a text: PEM, OpenSSH, PGP, SSH2 and PuTTY, whole or cut short."""
    if "PRIVATE KEY" in text:
        yield from _blocks(text, _BEGIN, _END)
    if "PuTTY-User-Key-File-" in text:
        yield from _blocks(text, _PUTTY, _PUTTY_END)


def _blocks(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> Iterator[Span]:
    # The ends are found once: to look for one from each beginning would take the square of both.
    ends = [match.end() for match in end.finditer(text)]
    past = at = 0
    for match in begin.finditer(text):
        if match.start() < past:
            continue
        while at < len(ends) and ends[at] <= match.end():
            at += 1
        closed = at < len(ends) and ends[at] - match.start() <= _LONGEST
        past = ends[at] if closed else _end_of_body(text, match.end())
        yield Span(match.start(), past, _KIND)


def _end_of_body(text: str, start: int) -> int:
    body = _BODY.match(text, start, start + _LONGEST)
    return body.end() if body else start
