"""Secrets in requests and commands: in headers, in URLs, in what programs are called with."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from irdaemon.source.redact.spans import Span
from irdaemon.source.redact.spelling import LINE_ENDS, QUOTE
from irdaemon.source.redact.values import (
    has_letter_and_digit,
    is_name,
    is_placeholder,
    is_sample,
    is_word,
)

KEYWORD = "Secret Keyword"
_HEADER, _COOKIE, _IN_URL = "Authorization Header", "Cookie", "Basic Auth Credentials"
_SIGN = rf"(?:{QUOTE})?[ \t]{{0,3}}[:=,][ \t]{{0,3}}(?:{QUOTE})?"
# So much of a value tells whether it is secret; it then goes to its end.
_AUTHORIZATION = re.compile(
    rf"authorization{_SIGN}(?:(?P<scheme>basic|token|api-?key|bearer|digest|negotiate)[ \t]+)?"
    r"(?P<value>[\w.~+/=:-]{6,4096})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"bearer(?:[ \t]+|%20)(?P<value>[\w.~+/=-]{16,4096})", re.IGNORECASE)
_REST_OF_HEADER = re.compile(r"[\w.~+/=:-]*+")
_PAIR = r"[\w.-]{1,64}=[^\s\"'`\\;]"
_OF_COOKIES = rf"{_PAIR}{{8,4096}}(?:; ?{_PAIR}{{1,4096}})*"
_COOKIES = re.compile(rf"cookie{_SIGN}(?P<value>{_OF_COOKIES})", re.IGNORECASE)
_REST_OF_COOKIES = re.compile(rf"[^\s\"'`\\;]*+(?:; ?{_PAIR}++)*+")
# A number and a slash, a question mark or a hash after a host are its port and a path.
_URL = re.compile(
    r":\\{0,63}/\\{0,63}/(?P<user>[^\s:/?#\"'`<>\\]*+):(?!\d{1,5}[/?#])"
    r"(?P<value>[^\s/\"'`<>\\]+)@(?P<local>localhost\b|127\.0\.0\.1\b)?(?=[\w.$\[{%:/-])"
)
_VALUE = (
    rf"(?:(?P<quote>{QUOTE})(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{3,1024}})(?P=quote)"
    r"|(?P<value>[^\s\"'`\\]{3,}))"
)
_REST_OF_VALUE = re.compile(r"[^\s\"'`\\]*+")
_USER = re.compile(
    r"\s(?:-[uU]|--user|--proxy-user)(?:[ \t]+|=)?(?:"
    rf"(?P<quote>{QUOTE})[^\s:\"'`$<{{\\]{{1,64}}:(?P<quoted>(?:(?!(?P=quote))[^\r\n]){{3,1024}})"
    r"(?P=quote)|[^\s:\"'`$<{\\]{1,64}:(?P<value>[^\s\"'`\\]{3,}))"
)
_SENT_COOKIES = re.compile(rf"\s(?:-b|--cookie)(?:[ \t]+|=)?(?:{QUOTE})?(?P<value>{_OF_COOKIES})")
# The option of a program that takes a password, by the word that the program's name holds.
_OPTIONS: dict[str, tuple[tuple[re.Pattern[str], str, re.Pattern[str]], ...]] = {
    "curl": ((_USER, _IN_URL, _REST_OF_VALUE), (_SENT_COOKIES, _COOKIE, _REST_OF_COOKIES)),
    **{
        word: ((re.compile(rf"\s{option}{_VALUE}"), KEYWORD, _REST_OF_VALUE),)
        for word, option in {
            "mysql": "-p",
            "mariadb": "-p",
            "sshpass": r"-p[ \t]*",
            "redis-cli": r"(?:-a|--pass)[ \t]+",
            "login": r"-p[ \t]+",
            "mongo": r"-p[ \t]+",
            "ldap": r"-w[ \t]+",
        }.items()
    },
}
# A client, not the server of the same name.
_PROGRAM_ENDS = re.compile(r"(?!db?\b)[a-z-]{0,20}[ \t]")
_COMMAND_ENDS = re.compile(r"(?<!\\)(?<!\\\r)[\r\n]|; |\| |&& ")
_COMMAND = 4_000
_PGPASS = re.compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,64}:[\w*@.-]{1,64}:(?P<value>[^\s\"'`]{3,})(?=\s|\Z|[\"'`])"
)
_PGPASS_HOST = re.compile(r"(?:\A|[\s\"'`>|])[\w.*/-]{1,255}\Z")
_STORED_LOGIN = re.compile(
    rf"_?auth(?:{QUOTE})?[ \t]{{0,3}}[:=][ \t]{{0,3}}(?:{QUOTE})?"
    r"(?P<value>[A-Za-z0-9+/]{8,4096}={0,2})(?![A-Za-z0-9+/])"
)


def find_authorization(text: str, at: int) -> Iterator[Span]:
    """Yield what the Authorization header at a place sends."""
    match = _AUTHORIZATION.match(text, at)
    if match and _is_sent(text, match):
        yield _make_span(match, _HEADER, _REST_OF_HEADER)


def _is_sent(text: str, match: re.Match[str]) -> bool:
    value = match["value"]
    if is_placeholder(value) or is_word(value) or is_name(value) or is_sample(value):
        return False
    if len(value) >= 16 and has_letter_and_digit(value):
        return True
    # A word in small letters that a sentence goes on after does not belong to a header.
    mixed = len(value) >= 16 and value[1:] != value[1:].lower()
    return bool(match["scheme"] and (mixed or LINE_ENDS.match(text, match.end())))


def find_bearer(text: str, at: int) -> Iterator[Span]:
    """Yield what is sent as a bearer token, with or without its header."""
    match = _BEARER.match(text, at)
    if match and any(map(str.isdigit, match["value"])) and not is_placeholder(match["value"]):
        yield _make_span(match, _HEADER, _REST_OF_HEADER)


def find_cookies(text: str, at: int) -> Iterator[Span]:
    """Yield what the Cookie header at a place sends."""
    match = _COOKIES.match(text, at)
    if match and has_letter_and_digit(match["value"]):
        yield _make_span(match, _COOKIE, _REST_OF_COOKIES)


def find_in_url(text: str, at: int) -> Iterator[Span]:
    """Yield the password in the URL whose host begins at a place.

    A service of this machine whose password is its user's name has one of a manual.
    """
    match = _URL.match(text, at)
    if not match or is_placeholder(match["value"]) or is_word(match["value"]):
        return
    if not is_sample(match["value"]) and not (match["local"] and match["user"] == match["value"]):
        yield _make_span(match, _IN_URL)


def make_program_rule(word: str) -> Callable[[str, int], Iterator[Span]]:
    """Return the rule for what a program is called with whose name holds a word."""

    def given(text: str, at: int) -> Iterator[Span]:
        if not _PROGRAM_ENDS.match(text, at + len(word)) or text[at - 1 : at].isalnum():
            return
        # Up to where the program is named again, from where it is looked at again.
        stop = text.find(word, at + len(word), at + _COMMAND)
        stop = stop if stop >= 0 else at + _COMMAND
        end = _COMMAND_ENDS.search(text, at, stop)
        for pattern, kind, rest in _OPTIONS[word]:
            for match in pattern.finditer(text, at, end.start() if end else stop):
                group = "value" if match["value"] else "quoted"
                if _is_given(match[group], kind):
                    yield _make_span(match, kind, rest if match["value"] else None, group)

    return given


def _is_given(value: str, kind: str) -> bool:
    if kind == _COOKIE:
        return has_letter_and_digit(value)
    return not (is_placeholder(value) or is_word(value) or is_sample(value))


PROGRAMS = tuple((word, make_program_rule(word)) for word in _OPTIONS)


def find_in_pgpass(text: str, at: int) -> Iterator[Span]:
    """Yield the password in the line of .pgpass whose port stands at a place."""
    if not _PGPASS_HOST.search(text, max(0, at - 256), at):
        return
    match = _PGPASS.match(text, at)
    if match and not is_placeholder(match["value"]) and not is_word(match["value"]):
        yield _make_span(match, KEYWORD)


def find_stored_login(text: str, at: int) -> Iterator[Span]:
    """Yield a name and a password that Docker or npm keep in base64."""
    match = _STORED_LOGIN.match(text, at)
    if match and b":" in _decode_base64(match["value"]):
        yield _make_span(match, KEYWORD)


def _decode_base64(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        return b""


def _make_span(
    match: re.Match[str], kind: str, rest: re.Pattern[str] | None = None, group: str = "value"
) -> Span:
    """Return where a value stands; `rest` is what of it may follow what was matched."""
    more = rest.match(match.string, match.end(group)) if rest else None
    return Span(match.start(group), more.end() if more else match.end(group), kind)
