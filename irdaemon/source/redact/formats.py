"""Tokens that are known by their format, be it by their first characters or by what is around."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress

from irdaemon.source.redact.prefixes import find_prefixed, make_finders
from irdaemon.source.redact.spans import Effort, Span, find_token_end
from irdaemon.source.redact.spelling import EQUALS, QUOTE, begins_word

_BASE64 = r"(?:[A-Za-z0-9+/]|\\{1,63}(?:/|u002[bBfF])|%2[bBfF])"
_PADDING = r"(?:=|\\{1,63}u003[dD]|%3[dD])"


def _accept_token(token: str) -> bool:
    return True


def _is_web_token(token: str) -> bool:
    """Return whether a JSON Web Token's header names its algorithm."""
    header, _, rest = token.partition(".")
    try:
        made = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except ValueError:
        return False
    return isinstance(made, dict) and "alg" in made and len(rest.replace(".", "")) >= 16


@dataclass(frozen=True, slots=True)
class _Surrounded:
    """A format that is searched for at its triggers, from `before` to `after` characters of each.

    Without `before` its pattern begins at the trigger. Its first group, where it has one, is the
    token. `own_word` requires that a trigger begins a word; `valid` checks a match.
    """

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    before: int = 0
    after: int = 300
    own_word: bool = False
    valid: Callable[[str], bool] = _accept_token


SURROUNDED = (
    _Surrounded(
        "JSON Web Token",
        ("eyJ",),
        re.compile(r"eyJ[\w-]{8,2048}={0,2}(?:\.[\w-]*={0,2}){1,4}", re.ASCII),
        after=8_192,
        valid=_is_web_token,
    ),
    _Surrounded(
        "AWS Access Key",
        ("aws", "AWS", "Aws"),
        re.compile(
            r"aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?"
            r"[\"']([0-9a-z/+]{40})\\{0,63}[\"']",
            re.IGNORECASE,
        ),
    ),
    _Surrounded(
        "Azure Storage Account access key",
        ("AccountKey", "SharedAccessKey"),
        re.compile(rf"(?:Account|SharedAccess)Key{EQUALS}((?:{_BASE64}|{_PADDING}){{43,90}})"),
    ),
    _Surrounded(
        "Shared Access Signature",
        ("sig=", "sig\\", "sig%3"),
        re.compile(rf"sig{EQUALS}({_BASE64}{{43}}{_PADDING})"),
        own_word=True,
    ),
    _Surrounded(
        "Discord Bot Token",
        ("discord", "Discord", "DISCORD"),
        re.compile(r"[MNO][a-zA-Z\d_-]{23,25}\.[a-zA-Z\d_-]{6}\.[a-zA-Z\d_-]{27}"),
        before=100,
    ),
    _Surrounded(
        "Mailchimp Access Key", ("-us",), re.compile(r"[0-9a-z]{32}-us[0-9]{1,2}"), before=32
    ),
    _Surrounded(
        "Mailgun Key",
        ("mailgun", "Mailgun", "MAILGUN"),
        re.compile(r"key-[0-9a-f]{32}"),
        before=100,
    ),
    _Surrounded(
        "NPM tokens",
        ("_authToken",),
        re.compile(rf"_authToken{EQUALS}\s*((?:{QUOTE})?[A-Za-z0-9+/_=-]{{16,}})"),
    ),
    _Surrounded(
        "Telegram Bot Token", (":AA",), re.compile(r"\d{8,10}:[0-9A-Za-z_-]{35}"), before=10
    ),
    _Surrounded(
        "Twilio API Key",
        ("twilio", "Twilio", "TWILIO"),
        re.compile(r"(?:AC|SK)[a-z0-9]{32}"),
        before=100,
    ),
)


def list_cues() -> list[tuple[str, ...]]:
    """Return what to look for of each format that is surrounded, then for each finder."""
    return [*(known.triggers for known in SURROUNDED), *(f.prefixes for f in make_finders())]


def find_formatted(text: str, possible: list[bool]) -> Iterator[Span]:
    """Yield the tokens of known formats in a text; one found twice is yielded twice.

    `possible` tells for each of the cues whether it may be in the text.
    """
    yield from find_prefixed(text, compress(make_finders(), possible[len(SURROUNDED) :]))
    effort = Effort()
    for known in compress(SURROUNDED, possible):
        for trigger in known.triggers:
            yield from _find_at_trigger(trigger, known, text, effort)


def _find_at_trigger(trigger: str, known: _Surrounded, text: str, effort: Effort) -> Iterator[Span]:
    at = text.find(trigger)
    while at >= 0:
        end = at + len(trigger)
        if not known.own_word or begins_word(text, at):
            effort.spend(known.before + known.after)
            for span in _list_matches(known, text, at):
                yield span
                end = max(end, span.end)
        at = text.find(trigger, end)


def _list_matches(known: _Surrounded, text: str, at: int) -> Iterator[Span]:
    start, stop = max(0, at - known.before), at + known.after
    group = known.pattern.groups
    for match in _search_pattern(known, text, start, stop):
        if known.valid(match[0]):
            yield Span(match.start(group), find_token_end(text, match.end(group)), known.kind)


def _search_pattern(
    known: _Surrounded, text: str, start: int, stop: int
) -> Iterator[re.Match[str]]:
    if known.before:
        yield from known.pattern.finditer(text, start, stop)
    elif match := known.pattern.match(text, start, stop):
        yield match
