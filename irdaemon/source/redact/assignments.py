"""Secrets known by their surroundings: assigned to a telling name, sent in a header, in a URL.

For what is a person's own: notes, and transcripts, which hold what tools printed. Published text is
full of sample passwords, which its readers need. A value in quotes is whatever the quotes hold. One
without is a secret where it has a digit, as names in a program seldom do, or where nothing but a
value can stand: in the environment, in a line of settings, in a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import compress

from irdaemon.source.redact.requests import (
    KEYWORD,
    PROGRAMS,
    find_authorization,
    find_bearer,
    find_cookies,
    find_in_pgpass,
    find_in_url,
    find_stored_login,
    has_letter_and_digit,
    is_code,
    is_name,
    is_placeholder,
    is_sample,
    is_sentence,
    is_word,
)
from irdaemon.source.redact.spelling import (
    EQUALS,
    GREATER,
    LESS,
    LINE_ENDS,
    NEWLINE,
    QUOTE,
    Effort,
    Span,
)

_WORDS = ("pass", "pwd", "secret", "token", "contrase", "key")
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
    r"s?[_-]?(?:[\w-]*[_-])?(?:names?|types?|methods?|prefix(?:es)?|status|headers?|formats?|files?|paths?|ur[li]s?|counts?|lengths?|limits?|usage|expir\w*|ttl"
    r"|labels?|fields?|folders?|dir\w*|refs?|arns?|placeholders?|hints?|polic(?:y|ies)|managers?"
    r"|providers?|prompts?|errors?|messages?|required|reset\w*|stdin|env(?:[_-]?var\w*)?)",
    re.IGNORECASE,
)
_TYPE = r"[ \t]{0,3}:[ \t]{0,3}[\w.&'\[ ]{0,20}[sS]tr(?:ing)?\]?(?: ?\| ?None)?(?=[ \t]{0,3}=)"
_OPERATOR = re.compile(
    rf"(?:{QUOTE})?\]{{0,2}}(?:\[\d{{0,4}}\])?(?:{_TYPE})?[ \t]{{0,40}}"
    rf"(?P<sign>:=|=>|={{2,3}}|!={{1,2}}|{EQUALS}|:(?![:/])"
    rf"|(?<=[ \t])(?:is|was|ist|es|est)(?=[ \t:])[ \t]{{0,3}}:?)[ \t]{{0,40}}"
)
# Whether a value is secret is told by so much of it; a longer one then goes to its end. To read it
# that far at each name that stands in it would take the square of its length.
_LETTERS_OF_TOKEN = 16
_TOLD_BY, _TOLD_BY_QUOTED, _TOLD_BY_ELEMENT = 256, 1_024, 512
_BEGINS_QUOTED = rf"[bBrRuUfF@]{{0,2}}(?P<quote>{QUOTE})"
_QUOTED = re.compile(
    rf"{_BEGINS_QUOTED}"
    rf"(?P<value>(?:(?!(?<!\\)(?P=quote))[^\r\n]){{1,{_TOLD_BY_QUOTED}}}+)(?P=quote)"
)
_LONG_QUOTED = re.compile(
    rf"{_BEGINS_QUOTED}(?P<value>(?:(?!(?<!\\)(?P=quote))\S){{{_TOLD_BY_QUOTED}}})"
)
# Up to a space, a quote or what spells one; not into the next pair of a list.
_OF_BARE = (
    r"(?:(?![,;&][\w.-]{1,30}[=:]|\)?\]\()(?:[^\s\"'`\\%<\x00-\x1f]"
    r"|%(?!0[aAdD]|26)|<(?!/)|\\(?!\\{0,63}(?:[\"'`nrt/]|u00|x[01]))))"
)
_BARE = re.compile(rf"(?:{QUOTE})?(?P<value>{_OF_BARE}{{4,{_TOLD_BY}}}+)")
_REST_OF_BARE = re.compile(rf"{_OF_BARE}*+")
_CLOSING = {")": "(", "]": "[", "}": "{", ">": "<"}
_LINE_BEGINS = re.compile(
    rf"(?:\A|{NEWLINE}|{QUOTE})[ \t\d→|>+*#/-]{{0,20}}(?:export |set |ENV |ARG |\$ )?(?:{QUOTE})?"
    r"[\w.-]{0,60}\Z"
)
_IN_QUERY = re.compile(r"(?:[?&;]|\w=[^\s,()]{1,60} )[\w.\[-]{0,40}\Z")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,60}\Z")
_BLOCK = re.compile(rf"(?:{QUOTE})?[ \t]{{0,9}}:[ \t]{{0,9}}[|>][+-]?\d?[ \t]{{0,9}}(?=[\r\n\\%])")
_BLOCK_LINE = re.compile(
    rf"(?:{NEWLINE})++(?:[ \t]{{0,7}}\d{{1,7}}(?:\t|→|\\{{1,63}}t)|[+>-])?(?P<indent>[ \t]+)"
    r"(?P<value>(?:[^\r\n\\]|\\(?!\\{0,63}[nr]))++)"
)
_STATEMENT = re.compile(r"[ \t]{1,40}(?P<quote>[\"'`])(?P<value>[^\r\n\"'`]+)(?P=quote);")
_COMPARED = re.compile(r"(?P<quote>[\"'`])\s{0,3}[!=]={1,2}\s{0,3}[\w.]{0,40}\Z")
_COMPARED_VALUE = re.compile(r"[\"'`](?P<value>[^\r\n\"'`]+)\Z")
_IN_ELEMENT = rf"[\w:.-]{{0,40}}(?:\s[^<>\n]{{0,80}})?{GREATER}\s{{0,40}}"
_ELEMENT = re.compile(
    rf"{_IN_ELEMENT}(?P<value>(?:(?!{LESS})[^\r\n]){{1,{_TOLD_BY_ELEMENT}}}+){LESS}\\{{0,63}}/"
)
_LONG_ELEMENT = re.compile(rf"{_IN_ELEMENT}(?P<value>(?:(?!{LESS})\S){{{_TOLD_BY_ELEMENT}}})")
_REST_OF_ELEMENT = re.compile(rf"(?:(?!{LESS})\S)*+")
_TAG_BEGINS = re.compile(rf"{LESS}[\w:.-]{{0,40}}\Z")
_OPTION = re.compile(r"(?:\s|[\"'`])--[\w-]{0,30}\Z")
_SPACE = re.compile(r"[ \t]{1,4}")
_OTHER_ARGUMENT = re.compile(r"-|[\w-]+=")
_NETRC = re.compile(
    r"(?:machine\s+\S{1,200}|default)\s+(?:(?:login|account)\s+\S{1,200}\s+){0,2}\Z"
)
_NETRC_VALUE = re.compile(r"\s+(?P<value>[^\s\"'`\\]{3,})")
_KIND_OF_SECRET = re.compile(rf"kind(?:{QUOTE})?[ \t]{{0,3}}:[ \t]{{0,3}}(?:{QUOTE})?Secret\b")
_MANIFEST, _EDGES = 65_536, ("kind", "\n---", "\n```")
# Lines that are indented further, or of base64: what extracts texts drops indentation.
_DATA = re.compile(
    r"(?m:^)(?P<indent>[ \t]{0,20}(?:(?:#|//|[>+|*-])[ \t]{0,20})?)(?:stringData|data):[ \t]*\r?\n"
    r"(?P<lines>(?:(?P=indent)(?:[ \t][^\n]*+"
    r"|[\w.-]{1,253}:[ \t]+(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{8,}+={0,2}\s*?)(?:\n|\Z))++)"
    rf"|(?:stringData|data){QUOTE}\s{{0,9}}:\s{{0,9}}\{{(?P<pairs>[^{{}}]{{0,{_MANIFEST}}})"
)
_DATUM = re.compile(
    r"(?m:^)[ \t]*+(?:(?:#|//|[>+|*-])[ \t]++)?(?:[\"']?[\w.-]{1,253}[\"']?:[ \t]++)?+[\"']?"
    r"(?P<value>[^\s#\"'](?:(?! #)[^\r\n\"']){2,})"
)
_JSON_DATUM = re.compile(
    rf"{QUOTE}[\w.-]{{1,253}}{QUOTE}\s{{0,9}}:\s{{0,9}}{QUOTE}"
    r"(?P<value>(?:[^\"'`\\]|\\++[^\"'`\\]){3,})"
)
# What one place costs, in characters that are read: less where nothing is given to the word, as in
# a log of tests that passed. Few of many keys and logins are secret.
_COST, _COST_OF_WORD = 2_000, 300
_CHEAP = frozenset(("key", "login"))
_GIVEN_NOTHING = re.compile(r"[\w-]{0,60}+[ \t]?(?=[\w\s.,;)(]|\Z)")


def find_assigned(text: str, possible: list[bool]) -> Iterator[Span]:
    """Yield what is assigned to a telling name, sent in a header or written into a URL.

    `possible` tells for each of the rare words whether it may be in the text.
    """
    effort = Effort()
    # The only letter whose small form is longer is replaced: places must stay the same.
    lowered = text.replace("\u0130", "I").lower()
    for word, rule in (*_RULES, *compress(RARE_RULES, possible)):
        past, at = 0, lowered.find(word)
        while at >= 0:
            cheap = word in _CHEAP or _GIVEN_NOTHING.match(text, at)
            effort.spend(_COST_OF_WORD if cheap else _COST)
            for span in rule(text, at):
                yield span
                past = span.end
            at = lowered.find(word, max(at + len(word), past))


def is_telling(name: str) -> bool:
    """Return whether a name may be that of a secret."""
    lowered = name.lower()
    return any(word in lowered for word in _WORDS)


def is_assigned(name: str, value: str) -> bool:
    """Return whether a value of plain data is a secret for the name it has there."""
    quote = next((each for each in "\"'`" if each not in value), "")
    line = f"{name}={quote}{value}{quote}"
    begins = len(line) - len(value) - len(quote)
    return bool(quote) and any(span.start == begins for span in find_assigned(line, []))


def _read_name(text: str, at: int) -> Iterator[Span]:
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


def _make_span(match: re.Match[str], rest: re.Pattern[str] | None = None) -> Span:
    """Return where a value stands; `rest` is what of it may follow what was matched."""
    more = rest.match(match.string, match.end("value")) if rest else None
    return Span(match.start("value"), more.end() if more else match.end("value"), KEYWORD)


def _match_quoted(text: str, at: int) -> tuple[re.Match[str], re.Pattern[str] | None] | None:
    """Return the value in quotes at a place, and what of it may follow what was matched."""
    if quoted := _QUOTED.match(text, at):
        return quoted, None
    quoted = _LONG_QUOTED.match(text, at)
    return (quoted, _compile_rest_of_quoted(quoted["quote"])) if quoted else None


@cache
def _compile_rest_of_quoted(quote: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?!(?<!\\){re.escape(quote)})\S)*+")


def _read_after_sign(text: str, name: re.Match[str]) -> Span | None:
    """Return the value after an equals sign or a colon."""
    sign = _OPERATOR.match(text, name.end())
    if not sign or _ABOUT.fullmatch(name["more"]):
        return None
    if _is_said(sign) and text[name.start() - 1 : name.start()].isalnum():
        return None
    if quoted := _match_quoted(text, sign.end()):
        value = quoted[0]["value"]
        is_secret = not _is_said(sign) or _looks_random(value)
        return _make_span(*quoted) if is_secret and _is_secret_in_quotes(value, name) else None
    bare = _BARE.match(text, sign.end())
    return _read_unquoted(text, name, sign, bare) if bare else None


def _is_said(sign: re.Match[str]) -> bool:
    """Return whether a sentence says what a password is."""
    return sign["sign"][0].isalpha()


def _looks_random(value: str) -> bool:
    return len(value) >= 8 and has_letter_and_digit(value) and " " not in value


def _is_secret_in_quotes(value: str, name: re.Match[str]) -> bool:
    if len(value) < 3 or value[0].isspace():
        return False
    if is_placeholder(value) or is_word(value) or is_sentence(value) or is_sample(value):
        return False
    if _names_itself(value, name):
        return False
    if name["core"].lower() != "token" or has_letter_and_digit(value):
        return True
    # Programs that take texts apart have tokens that are words.
    return len(value) >= _LETTERS_OF_TOKEN and " " not in value and not is_code(value)


def _names_itself(value: str, name: re.Match[str]) -> bool:
    """Return whether a value is a label of its name: `RESET_TOKEN = "reset-token"`."""
    if name["core"].lower() not in value.lower():
        return False
    named = name.string[max(0, name.start() - 60) : name.end()]
    return _keep_letters(value) in _keep_letters(named)


def _keep_letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def _read_unquoted(
    text: str, name: re.Match[str], sign: re.Match[str], bare: re.Match[str]
) -> Span | None:
    value = _drop_closing(bare["value"])
    span = Span(bare.start("value"), bare.start("value") + len(value), KEYWORD)
    rest = text[span.end : span.end + 200].partition("\n")[0]
    if is_placeholder(value) or is_word(value) or is_sample(value) or is_code(value, rest):
        return None
    if _looks_random(value):
        return _extend_to_end(text, bare, span)
    enough = (
        not _is_said(sign)
        and len(value) >= 6
        and not (value.isdigit() and name["core"].lower() == "token")
    )
    if enough and _must_be_value(text, name, sign, span):
        return _extend_to_end(text, bare, span)
    return None


def _extend_to_end(text: str, bare: re.Match[str], span: Span) -> Span:
    """Return where a value without quotes stands that may be longer than what was matched of it."""
    if len(bare["value"]) < _TOLD_BY:
        return span
    whole = _make_span(bare, _REST_OF_BARE)
    closing = len(text[span.end : whole.end]) - len(text[span.end : whole.end].rstrip(",;)]}>"))
    return Span(whole.start, whole.end - closing, KEYWORD)


def _drop_closing(value: str) -> str:
    """Return a value without what ends the expression it stands in."""
    while value:
        last = value[-1]
        opening = _CLOSING.get(last)
        if last not in ",;" and not (opening and value.count(last) > value.count(opening)):
            break
        value = value[:-1]
    return value


def _must_be_value(text: str, name: re.Match[str], sign: re.Match[str], span: Span) -> bool:
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


def _read_block(text: str, name: re.Match[str]) -> Span | None:
    """Return the lines of a block of YAML, as far as they are indented like the first."""
    block = _BLOCK.match(text, name.end())
    first = block and _BLOCK_LINE.match(text, block.end())
    if not first or name["more"] == "s" or _ABOUT.fullmatch(name["more"]):
        return None
    last, line = first, _BLOCK_LINE.match(text, first.end())
    while line and len(line["indent"]) >= len(first["indent"]):
        last, line = line, _BLOCK_LINE.match(text, line.end())
    return Span(first.start("value"), last.end(), KEYWORD)


def _read_statement(text: str, name: re.Match[str]) -> Span | None:
    """Return the value in quotes after a name and before a semicolon, as servers are set up."""
    if name[0].lower() == "pass" and not text[name.start() - 1 : name.start()].isalnum():
        return None  # the verb
    value = _STATEMENT.match(text, name.end())
    return _make_span(value) if value and _is_secret_in_quotes(value["value"], name) else None


def _read_comparison(text: str, name: re.Match[str]) -> Span | None:
    """Return the value in quotes that a name is compared with, where it stands before that."""
    sign = _COMPARED.search(text, max(0, name.start() - 50), name.start())
    if not sign:
        return None
    begin = text.rfind(sign["quote"], 0, sign.start())
    value = _COMPARED_VALUE.match(text, begin, sign.start()) if begin >= 0 else None
    return _make_span(value) if value and _is_secret_in_quotes(value["value"], name) else None


def _read_element(text: str, name: re.Match[str]) -> Span | None:
    """Return the text of an element of XML."""
    element = _ELEMENT.match(text, name.end())
    if not element and _TAG_BEGINS.search(text, max(0, name.start() - 50), name.start()):
        element = _LONG_ELEMENT.match(text, name.end())
    if not element or is_placeholder(element["value"]) or is_sentence(element["value"]):
        return None
    if is_word(element["value"]) or is_sample(element["value"]):
        return None
    return _make_span(element, _REST_OF_ELEMENT)


def _read_option(text: str, name: re.Match[str]) -> Span | None:
    """Return the value of an option of a command."""
    before = text[max(0, name.start() - 40) : name.start()]
    space = _SPACE.match(text, name.end())
    if not space or not _OPTION.search(before) or _ABOUT.fullmatch(name["more"]):
        return None
    if quoted := _match_quoted(text, space.end()):
        return _make_span(*quoted) if _is_secret_in_quotes(quoted[0]["value"], name) else None
    bare = _BARE.match(text, space.end())
    return _make_span(bare, _REST_OF_BARE) if bare and _is_argument(text, bare) else None


def _is_argument(text: str, bare: re.Match[str]) -> bool:
    value = bare["value"]
    if len(value) < 6 or value.isupper() or _OTHER_ARGUMENT.match(value):
        return False
    if is_placeholder(value) or is_word(value) or is_name(value) or is_code(value):
        return False
    if is_sample(value):
        return False
    is_prose = value.isalpha() and value.islower() and not LINE_ENDS.match(text, bare.end())
    return not is_prose


def _read_netrc(text: str, name: re.Match[str]) -> Span | None:
    """Return the password in a line of netrc."""
    if name[0] != "password":
        return None
    value = _NETRC_VALUE.match(text, name.end())
    machine = _NETRC.search(text, max(0, name.start() - 400), name.start())
    return _make_span(value) if value and machine and not is_placeholder(value["value"]) else None


_WAYS = (
    _read_block,
    _read_after_sign,
    _read_element,
    _read_statement,
    _read_comparison,
    _read_option,
    _read_netrc,
)


def find_in_manifests(text: str) -> Iterator[Span]:
    """Yield the values of the Secrets of Kubernetes.

    They stand behind the kind of a manifest or before it, up to the kind of another.
    """
    for kind in _KIND_OF_SECRET.finditer(text) if "Secret" in text else ():
        start, stop = max(0, kind.start() - _MANIFEST), kind.end() + _MANIFEST
        for edge in _EDGES:  # each within what the one before left
            start = max(start, text.rfind(edge, start, kind.start()))
            end = text.find(edge, kind.end(), stop)
            stop = end if end >= 0 else stop
        for data in _DATA.finditer(text, start, stop):
            group, pattern = ("lines", _DATUM) if data["lines"] else ("pairs", _JSON_DATUM)
            for value in pattern.finditer(text, *data.span(group)):
                if not is_placeholder(value["value"]):
                    yield _make_span(value)


_Rule = Callable[[str, int], Iterator[Span]]
_RULES: tuple[tuple[str, _Rule], ...] = (
    *((word, _read_name) for word in _WORDS),
    ("authorization", find_authorization),
    ("bearer", find_bearer),
    ("cookie", find_cookies),
    (":/", find_in_url),
    (":\\", find_in_url),
)
# Words that hardly a text holds, as they are mostly written.
RARE_RULES: tuple[tuple[str, _Rule], ...] = (
    *((port, find_in_pgpass) for port in (":5432:", ":5433:", ":6432:", ":*:")),
    *((key, find_stored_login) for key in ('auth"', "auth\\", "_auth")),
    *PROGRAMS,
)
