"""Secrets in requests: in headers, in URLs, and in the arguments of curl."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irdaemon.source.redact.spans import Span
from irdaemon.source.redact.spelling import LINE_ENDS, QUOTE
from irdaemon.source.redact.values import has_letter_and_digit, is_name, is_placeholder, is_word

_HEADER, _COOKIE, _IN_URL = "Authorization Header", "Cookie", "Basic Auth Credentials"
_SIGN = rf"(?:{QUOTE})?[ \t]{{0,3}}[:=,][ \t]{{0,3}}(?:{QUOTE})?"
_AUTHORIZATION = re.compile(
    rf"authorization{_SIGN}(?:(?P<scheme>basic|token|api-?key|bearer|digest|negotiate)[ \t]+)?"
    r"(?P<value>[\w.~+/=:-]{6,4096})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"bearer(?:[ \t]+|%20)(?P<value>[\w.~+/=-]{16,4096})", re.IGNORECASE)
_PAIR = r"[\w.-]{1,64}=[^\s\"'`\\;]"
_COOKIES = re.compile(
    rf"cookie{_SIGN}(?P<value>{_PAIR}{{8,4096}}(?:; ?{_PAIR}{{1,4096}})*)", re.IGNORECASE
)
# A number and a slash, a question mark or a hash after a host are its port and a path.
_URL = re.compile(
    r":\\{0,63}/\\{0,63}/[^\s:/?#\"'`<>\\]{0,128}:(?!\d{1,5}[/?#])"
    r"(?P<value>[^\s/\"'`<>\\]{1,256})@(?=[\w.$\[{%-])"
)
_USER = re.compile(
    rf"\s(?:-u|--user)(?:[ \t]+|=)?(?:{QUOTE})?[^\s:\"'`$<{{\\]{{1,64}}:"
    r"(?P<value>[^\s\"'`\\]{3,256})"
)
_COMMAND_ENDS = re.compile(r"[\r\n]|; |\| |&& ")
_COMMAND = 600


def authorized(text: str, at: int) -> Iterator[Span]:
    """Yield what the Authorization header at a place sends."""
    match = _AUTHORIZATION.match(text, at)
    if match and _is_sent(text, match):
        yield _span(match, _HEADER)


def _is_sent(text: str, match: re.Match[str]) -> bool:
    value = match["value"]
    if is_placeholder(value) or is_word(value) or is_name(value):
        return False
    if len(value) >= 16 and has_letter_and_digit(value):
        return True
    # A word in small letters that a sentence goes on after is none of a header.
    mixed = len(value) >= 16 and value[1:] != value[1:].lower()
    return bool(match["scheme"] and (mixed or LINE_ENDS.match(text, match.end())))


def borne(text: str, at: int) -> Iterator[Span]:
    """Yield what is sent as a bearer token, with or without its header."""
    match = _BEARER.match(text, at)
    if match and any(map(str.isdigit, match["value"])) and not is_placeholder(match["value"]):
        yield _span(match, _HEADER)


def cookies(text: str, at: int) -> Iterator[Span]:
    """Yield what the Cookie header at a place sends."""
    match = _COOKIES.match(text, at)
    if match and has_letter_and_digit(match["value"]):
        yield _span(match, _COOKIE)


def in_url(text: str, at: int) -> Iterator[Span]:
    """Yield the password in the URL whose host begins at a place."""
    match = _URL.match(text, at)
    if match and not is_placeholder(match["value"]):
        yield _span(match, _IN_URL)


def by_curl(text: str, at: int) -> Iterator[Span]:
    """Yield the password that curl is given as `-u user:password`."""
    end = _COMMAND_ENDS.search(text, at, at + _COMMAND)
    for match in _USER.finditer(text, at, end.start() if end else at + _COMMAND):
        if not is_placeholder(match["value"]):
            yield _span(match, _IN_URL)


def _span(match: re.Match[str], kind: str) -> Span:
    return Span(match.start("value"), match.end("value"), kind)
