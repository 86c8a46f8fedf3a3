"""Private keys: the whole block goes, not just the line it begins with.

A key whose end is missing, or far away, goes as far as its lines do. They may stand behind line
numbers, marks of quotation or of a diff, or in the quotes of a program. Kubernetes and environments
hold them in base64 once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from irdaemon.source.redact.spelling import GREATER, LESS, NEWLINE, QUOTE, Span

_KIND = "Private Key"
# Within this an END belongs to a BEGIN whatever stands between them.
_LONGEST = 16_384
_SPACE = r"(?: |\+|%20)"
_LABEL = rf"(?:[A-Z0-9]+{_SPACE}){{0,3}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?"
_BEGIN = re.compile(rf"-{{4,5}} ?BEGIN{_SPACE}{_LABEL} ?-{{4,5}}")
_END = re.compile(rf"-{{4,5}} ?END{_SPACE}{_LABEL} ?-{{4,5}}")
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d")
_PUTTY_END = re.compile(r"Private-MAC: ?[0-9a-f]+")
# What base64 makes of -----BEGIN before the label of a private key; that of a certificate differs.
_ENCODED = re.compile(
    r"LS0tLS1CRUdJTiB(?:QUklW|SU0EgUFJJV|FQyBQUklW|EU0EgUFJJV|PUEVOU1NI|FTkNSWVBU|QR1AgUFJJV)"
)
_GAP = r"(?:[ \t]|\\{1,63}t){0,20}"
_NUMBER = r"\d{1,7} {0,4}(?:\t|→|[:|]|\\{1,63}(?:t|u2192))"
_MARGIN = rf"(?>{_GAP}(?:{_NUMBER}|[>+|#*-]{{1,4}}|//)?+{_GAP})"
_BREAK = rf"(?:[\"'`,;+ \t]{{0,8}}\\{{0,63}}(?:{NEWLINE}){_MARGIN}(?:{QUOTE})?|[ \t]{{1,8}})"
_HEADER = (
    r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID|Encryption|Public-Lines"
    r"|Private-Lines|Key-Derivation|Argon2-\w{1,20}|X-[\w-]{1,30}|Subject): ?[^\r\n\\]{0,200}"
)
_BASE64 = r"(?:[A-Za-z0-9+/=]|\\{1,63}(?:/|u00(?:2[bBfF]|3[dD]))|%(?:2[bBfF]|3[dD]))"
_HEADERS = rf"(?:(?:{_BREAK}){{1,3}}+{_HEADER})*+"
_FULL = rf"(?:(?:{_BREAK}){{0,4}}+{_BASE64}{{16,}}+)++"
# The last line of a key may be short, but is no word of the text that goes on.
_SHORT = rf"(?>{_BREAK})(?=[a-z]*[A-Z0-9+/=]){_BASE64}{{1,15}}+(?=[\"'`,; \t]*(?:[\r\n\\%]|\Z))"
_LINES = rf"{_FULL}(?:{_SHORT})?+"
_BODY = re.compile(rf"{_HEADERS}(?:{_LINES}(?:{_HEADERS}{_LINES})*+)?+")
_BREAKS = re.compile(rf"(?:{_BREAK}){{0,4}}")


def find_key_blocks(text: str) -> Iterator[Span]:
    """Yield the private keys of a text: PEM, OpenSSH, PGP, SSH2 and PuTTY, whole or cut short."""
    if "PRIVATE" in text:
        yield from _find_blocks(text, _BEGIN, _END)
    if "PuTTY-User-Key-File-" in text:
        yield from _find_blocks(text, _PUTTY, _PUTTY_END)
    if "LS0tLS1CRUdJTi" in text:
        past = 0
        for match in _ENCODED.finditer(text):
            if match.start() >= past:
                past = _find_end_of_body(text, match.end())
                yield Span(match.start(), past, _KIND)


def _find_blocks(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> Iterator[Span]:
    # The ends are found once: a search from each beginning would take the square of both.
    ends = [match.span() for match in end.finditer(text)]
    past = at = 0
    for match in begin.finditer(text):
        if match.start() < past:
            continue
        while at < len(ends) and ends[at][1] <= match.end():
            at += 1
        past = _find_end_of_body(text, match.end())
        if at < len(ends):
            first, last = ends[at]
            near = last - match.start() <= _LONGEST
            past = last if near or _holds_only_breaks(text, past, first) else past
        yield Span(match.start(), past, _KIND)


def _find_end_of_body(text: str, start: int) -> int:
    body = _BODY.match(text, start)
    return body.end() if body else start


def _holds_only_breaks(text: str, past: int, end: int) -> bool:
    """Return whether only the break of a line stands between a body and an END."""
    return _BREAKS.fullmatch(text, past, end) is not None


_NAME = r"\s{0,8}(\\{0,63}/|)\s{0,8}private\s{0,8}"
_TAG = re.compile(f"<{_NAME}>", re.IGNORECASE)
# As JSON spells it where it is shown in a page. Slower to search for, and rare.
_SPELT = re.compile(f"{LESS}{_NAME}{GREATER}", re.IGNORECASE)


def has_private(text: str) -> bool:
    """Return whether a private block begins in a text, closed or not."""
    pattern = _SPELT if "u003" in text or "&lt;" in text else _TAG
    return any(not tag[1] for tag in pattern.finditer(text))


def remove_private(text: str) -> str:
    """Return a text without its closed private blocks; one within another goes with it."""
    pattern = _SPELT if "u003" in text or "&lt;" in text else _TAG
    kept, at, opened = [], 0, list[int]()
    for tag in pattern.finditer(text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            start = opened.pop()
            if not opened:
                kept.append(text[at:start])
                at = tag.end()
    return "".join(kept) + text[at:] if kept else text
