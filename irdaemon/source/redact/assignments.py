"""Secrets known by their surroundings: assigned to a telling name, sent in a header, in a URL.

For transcripts, which hold what tools printed. Published text is full of sample passwords, which
its readers need. A value in quotes is whatever the quotes hold. One without is a secret where it
has a digit, as names in a program seldom do, or where nothing but a value can stand: in the
environment, in a line of settings, in a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from irdaemon.source.redact.requests import authorized, borne, by_curl, cookies, in_url
from irdaemon.source.redact.spans import Effort, Span
from irdaemon.source.redact.spelling import EQUALS, GREATER, LESS, LINE_ENDS, NEWLINE, QUOTE
from irdaemon.source.redact.values import (
    has_letter_and_digit,
    is_code,
    is_name,
    is_placeholder,
    is_sentence,
    is_word,
)

_KIND = "Secret Keyword"
_NAME = re.compile(
    r"(?P<core>passw(?:or)?d|passphrase|passcode|pass(?![a-z])|pwd|secret|token(?!s(?![a-z])|iz)|contrase[ñn]a|key)"
    r"(?P<more>[\w-]{0,40})",
    re.IGNORECASE,
)
_OF_KEY = re.compile(
    r"(?:api|access|priv|private|secret|auth|account|service|db|database|client|signing|encryption"
    r"|master)[_-]?\Z",
    re.IGNORECASE,
)
# What stands in the place of a secret names its kind, which assigns nothing.
_IN_MARK = re.compile(r"\[secret: [\w .-]{0,40}\Z")
# What a name goes on with that is not itself the secret.
_ABOUT = re.compile(
    r"s?[_-]?(?:names?|types?|files?|paths?|ur[li]s?|counts?|lengths?|limits?|usage|expir\w*|ttl"
    r"|labels?|fields?|folders?|dir\w*|refs?|arns?|placeholders?|hints?|polic(?:y|ies)|managers?"
    r"|providers?|prompts?|errors?|messages?|required|reset\w*|stdin|env)",
    re.IGNORECASE,
)
_TYPE = r"[ \t]{0,3}:[ \t]{0,3}[\w.&'\[ ]{0,20}[sS]tr(?:ing)?\]?(?: ?\| ?None)?(?=[ \t]{0,3}=)"
_OPERATOR = re.compile(
    rf"(?:{QUOTE})?\]{{0,2}}(?:\[\d{{0,4}}\])?(?:{_TYPE})?[ \t]{{0,40}}"
    rf"(?P<sign>:=|=>|={{2,3}}|!={{1,2}}|{EQUALS}|:(?![:/]))[ \t]{{0,40}}"
)
_QUOTED = re.compile(
    rf"[bBrRuUfF@]{{0,2}}(?P<quote>{QUOTE})"
    r"(?P<value>(?:(?!(?<!\\)(?P=quote))[^\r\n]){1,1024}+)(?P=quote)"
)
# Up to a space, a quote or what spells one; not into the next pair of a list.
_BARE = re.compile(
    rf"(?:{QUOTE})?(?P<value>(?:(?![,;&][\w.-]{{1,30}}=)(?:[^\s\"'`\\%<\x00-\x1f]"
    r"|%(?!0[aAdD]|26)|<(?!/)|\\(?!\\{0,63}(?:[\"'`nrt/]|u00|x[01])))){4,256}+)"
)
_CLOSING = {")": "(", "]": "[", "}": "{", ">": "<"}
_LINE_BEGINS = re.compile(
    rf"(?:\A|{NEWLINE}|{QUOTE})[ \t\d→|>+*-]{{0,20}}(?:export |set |ENV |ARG |\$ )?(?:{QUOTE})?"
    r"[\w.-]{0,60}\Z"
)
_IN_QUERY = re.compile(r"(?:[?&;]|\w=[^\s,()]{1,60} )[\w.\[-]{0,40}\Z")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,60}\Z")
_BLOCK = re.compile(rf"(?:{QUOTE})?[ \t]{{0,9}}:[ \t]{{0,9}}[|>][+-]?\d?[ \t]{{0,9}}(?=[\r\n\\%])")
_BLOCK_LINE = re.compile(
    rf"(?:{NEWLINE})++(?:[ \t]{{0,7}}\d{{1,7}}(?:\t|→|\\{{1,63}}t)|[+>-])?(?P<indent>[ \t]+)"
    r"(?P<value>(?:[^\r\n\\]|\\(?!\\{0,63}[nr])){1,4096})"
)
_STATEMENT = re.compile(r"[ \t]{1,40}(?P<quote>[\"'`])(?P<value>[^\r\n\"'`]{1,256})(?P=quote);")
_COMPARED = re.compile(
    r"(?P<quote>[\"'`])(?P<value>[^\r\n\"'`]{1,200})(?P=quote)\s{0,3}[!=]={1,2}\s{0,3}[\w.]{0,40}\Z"
)
_ELEMENT = re.compile(
    rf"[\w:.-]{{0,40}}(?:\s[^<>\n]{{0,80}})?{GREATER}\s{{0,40}}"
    rf"(?P<value>(?:(?!{LESS})[^\r\n]){{1,512}}+){LESS}\\{{0,63}}/"
)
_OPTION = re.compile(r"(?:\s|[\"'`])--[\w-]{0,30}\Z")
_SPACE = re.compile(r"[ \t]{1,4}")
_OTHER_ARGUMENT = re.compile(r"-|[\w-]+=")
_NETRC = re.compile(
    r"(?:machine\s+\S{1,200}|default)\s+(?:(?:login|account)\s+\S{1,200}\s+){0,2}\Z"
)
_NETRC_VALUE = re.compile(r"\s+(?P<value>[^\s\"'`\\]{3,256})")
# What one place costs, in characters that are read. Few of the many keys in a text are secret.
_COST, _COST_OF_KEY = 2_000, 300


def assigned(text: str) -> Iterator[Span]:
    """Yield what is assigned to a telling name, sent in a header or written into a URL."""
    effort = Effort()
    # The only letter whose small form is longer is replaced: places must stay the same.
    lowered = text.replace("\u0130", "I").lower()
    for word, rule in _RULES:
        past, at = 0, lowered.find(word)
        while at >= 0:
            effort.spend(_COST_OF_KEY if word == "key" else _COST)
            for span in rule(text, at):
                yield span
                past = span.end
            at = lowered.find(word, max(at + len(word), past))


def _named(text: str, at: int) -> Iterator[Span]:
    """Yield what the name at a place is given."""
    name = _NAME.match(text, at)
    if name and _is_telling(text, name):
        yield from (span for way in _WAYS if (span := way(text, name)))


def _is_telling(text: str, name: re.Match[str]) -> bool:
    core, before = name["core"].lower(), text[max(0, name.start() - 60) : name.start()]
    if _IN_MARK.search(before) or text.startswith("[secret: ", name.start() - 1):
        return False
    if core == "key":
        return _OF_KEY.search(before) is not None
    return core != "pass" or not before[-1:].isalpha()


def _span(match: re.Match[str]) -> Span:
    return Span(match.start("value"), match.end("value"), _KIND)


def _by_sign(text: str, name: re.Match[str]) -> Span | None:
    """Return the value after an equals sign or a colon."""
    sign = _OPERATOR.match(text, name.end())
    if not sign or _ABOUT.fullmatch(name["more"]):
        return None
    if quoted := _QUOTED.match(text, sign.end()):
        return _span(quoted) if _is_secret_in_quotes(quoted["value"], name) else None
    bare = _BARE.match(text, sign.end())
    return _without_quotes(text, name, sign, bare) if bare else None


def _is_secret_in_quotes(value: str, name: re.Match[str]) -> bool:
    if len(value) < 3 or value[0].isspace():
        return False
    if is_placeholder(value) or is_word(value) or is_sentence(value):
        return False
    return any(map(str.isalpha, value)) or name["core"].lower() != "token"


def _without_quotes(
    text: str, name: re.Match[str], sign: re.Match[str], bare: re.Match[str]
) -> Span | None:
    value = _without_closing(bare["value"])
    span = Span(bare.start("value"), bare.start("value") + len(value), _KIND)
    rest = text[span.end : span.end + 200].partition("\n")[0]
    if is_placeholder(value) or is_word(value) or is_code(value, rest):
        return None
    if len(value) >= 8 and has_letter_and_digit(value):
        return span
    enough = len(value) >= 6 and not (value.isdigit() and name["core"].lower() == "token")
    return span if enough and _only_a_value_can_stand(text, name, sign, span) else None


def _without_closing(value: str) -> str:
    """Return a value without what ends the expression it stands in."""
    while value:
        last = value[-1]
        opening = _CLOSING.get(last)
        if last not in ",;" and not (opening and value.count(last) > value.count(opening)):
            break
        value = value[:-1]
    return value


def _only_a_value_can_stand(
    text: str, name: re.Match[str], sign: re.Match[str], span: Span
) -> bool:
    before = text[max(0, name.start() - 80) : name.start()]
    tight = sign["sign"] != ":" and not any(map(str.isspace, sign[0]))
    if tight and _VARIABLE.search(text, max(0, name.start() - 60), name.end()):
        return True
    if is_name(text[span.start : span.end]):
        return False
    if tight and (_IN_QUERY.search(before) or _OPTION.search(before)):
        return True
    of_settings = _LINE_BEGINS.search(before) and LINE_ENDS.match(text, span.end)
    return bool(of_settings) and name["core"].lower() != "token"


def _in_block(text: str, name: re.Match[str]) -> Span | None:
    """Return the lines of a block of YAML, as far as they are indented like the first."""
    block = _BLOCK.match(text, name.end())
    first = block and _BLOCK_LINE.match(text, block.end())
    if not first or name["more"] == "s" or _ABOUT.fullmatch(name["more"]):
        return None
    last, line = first, _BLOCK_LINE.match(text, first.end())
    while line and len(line["indent"]) >= len(first["indent"]):
        last, line = line, _BLOCK_LINE.match(text, line.end())
    return Span(first.start("value"), last.end(), _KIND)


def _in_statement(text: str, name: re.Match[str]) -> Span | None:
    """Return the value in quotes after a name and before a semicolon, as servers are set up."""
    value = _STATEMENT.match(text, name.end())
    return _span(value) if value and _is_secret_in_quotes(value["value"], name) else None


def _compared(text: str, name: re.Match[str]) -> Span | None:
    """Return the value in quotes that a name is compared with, where it stands before that."""
    value = _COMPARED.search(text, max(0, name.start() - 250), name.start())
    return _span(value) if value and _is_secret_in_quotes(value["value"], name) else None


def _in_element(text: str, name: re.Match[str]) -> Span | None:
    """Return the text of an element of XML."""
    element = _ELEMENT.match(text, name.end())
    if not element or is_placeholder(element["value"]) or is_sentence(element["value"]):
        return None
    return _span(element)


def _as_option(text: str, name: re.Match[str]) -> Span | None:
    """Return the value of an option of a command."""
    before = text[max(0, name.start() - 40) : name.start()]
    space = _SPACE.match(text, name.end())
    if not space or not _OPTION.search(before) or _ABOUT.fullmatch(name["more"]):
        return None
    if quoted := _QUOTED.match(text, space.end()):
        return _span(quoted) if _is_secret_in_quotes(quoted["value"], name) else None
    bare = _BARE.match(text, space.end())
    return _span(bare) if bare and _is_argument(text, bare) else None


def _is_argument(text: str, bare: re.Match[str]) -> bool:
    value = bare["value"]
    if len(value) < 6 or value.isupper() or _OTHER_ARGUMENT.match(value):
        return False
    if is_placeholder(value) or is_word(value) or is_name(value) or is_code(value):
        return False
    is_prose = value.isalpha() and value.islower() and not LINE_ENDS.match(text, bare.end())
    return not is_prose


def _in_netrc(text: str, name: re.Match[str]) -> Span | None:
    """Return the password in a line of netrc."""
    if name[0] != "password":
        return None
    value = _NETRC_VALUE.match(text, name.end())
    machine = _NETRC.search(text, max(0, name.start() - 400), name.start())
    return _span(value) if value and machine and not is_placeholder(value["value"]) else None


_WAYS = (
    _in_block, _by_sign, _in_element, _in_statement, _compared, _as_option, _in_netrc
)  # fmt: skip
_RULES: tuple[tuple[str, Callable[[str, int], Iterator[Span]]], ...] = (
    *((word, _named) for word in ("pass", "pwd", "secret", "token", "contrase", "key")),
    ("authorization", authorized),
    ("bearer", borne),
    ("cookie", cookies),
    (":/", in_url),
    (":\\", in_url),
    ("curl ", by_curl),
)
