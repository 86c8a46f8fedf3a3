"""Secrets in requests and commands: in headers, in URLs, in what programs are called with."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from irdaemon.source.redact.spelling import LINE_ENDS, QUOTE, Span

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


# What is assigned to a telling name: a secret, or an expression, a type, a path, a placeholder.

# What a configuration, a template or a manual writes where the value goes.
_PLACEHOLDER = re.compile(
    r"""\$(?:[A-Za-z_]\w*|[({].*) | \{.*\}? | \[.*\] | <.*>? | %[\w({].* | [*&!][A-Za-z][\w.-]*
    | \#\{.* | @\w*[({].* | \^\w+\^.* | [*.•…_?x-]{3,} | [\w-]{0,20}[-_]x{3,}
    | [\w-]*(?:\.{3}|…|\*{3}).*
    | (?:your|insert|enter|replace|put)[ _-].* | .*[_-]here | change_?-?me
    | (?:my|some|the)[ _-](?:\w+[ _-])?(?:api|secret|password|token|key).*
    | -----(?:BEGIN|END).* | \[secret:.* | [~^<>=v]{0,3}\d{1,4}(?:\.\d{1,4}){1,3} | \\?<.*>""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
# A value that says of itself what it is, as samples do: these words alone, and one that names it.
_WORDS_OF_SAMPLES = (
    "my|your|our|the|this|that|some|test|mock|dummy|fake|sample|example|demo|default|dev|prod|production"
    "|local|secure|strong|super|very|long|hard|coded|new|old|initial|current|user|admin|app|client"
    "|server|api|access|refresh|auth|service|private|public|signing|master|value|string|name|here|hashed"
    "|plain|raw|bootstrap|fallback|goes|forgot|reset|placeholder|changeme|changeit|redacted"
    "|passwords?|passphrase|passwd|pass(?!w|p)|pwd|secrets?|tokens?|keys?|credentials?"
)
_SAMPLE = re.compile(rf"(?:(?:{_WORDS_OF_SAMPLES})[-_. ]?){{1,9}}", re.IGNORECASE)
_NAMES_SAMPLE = re.compile(
    r"dummy|fake|sample|example|hard-?coded|placeholder|change|redacted|pass|pwd|secret|token|key"
    r"|credential",
    re.IGNORECASE,
)
_LONGEST_SAMPLE = 60
_CONSTANT = re.compile(r"[A-Z]+(?:_[A-Z]+)*_(?:TOKEN|KEY|SECRET|PASSWORD|PASS|PWD|PAT)S?")
_TEMPLATE = re.compile(r"[$#]\{\w|\{\{|\$\(")
_DOT = r"(?:\?\.|\.|::|->)"
# Names of a program seldom hold digits, and then at their ends.
_WORD_NAME = r"[A-Za-z_$]+\d{0,2}"
_CHAIN = rf"(?:{_WORD_NAME}{_DOT}){{0,9}}{_WORD_NAME}"
_REFERENCE = re.compile(rf"(?:{_WORD_NAME}{_DOT}){{1,9}}{_WORD_NAME}!?")
_CALL = re.compile(
    rf"[(\[{{]*(?:[\w$]{{1,64}}{_DOT}){{0,9}}[A-Za-z_$][\w$]*!?[(\[](?:[({{\[]*$|.*[)\]])"
)
_GENERIC = re.compile(_CHAIN + r"(?:<[\w\[\],.| ]*>|\[[\w\[\],.| ]*\])")
_TYPE = re.compile(
    rf"(?:[\w$]{{1,64}}{_DOT}){{0,9}}(?:Secret[A-Z][a-z]+"
    r"|[A-Z][A-Za-z0-9]{0,40}(?:Key|Token|Secret|Password|Credential)(?:s|Types?)?)"
)
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\w@+.-]{2,}(?:[\\/][\w.@+$-]*)+")
_LOCATION = re.compile(r"[a-z][a-z0-9+.-]{0,20}://", re.IGNORECASE)
# Labels of forms.
_SENTENCE = re.compile(r"[A-Z][\w']*,?(?: [a-z(][\w'(),.:/-]*)+(?:[ .?!:…].*)?", re.DOTALL)
_COMPOUND = re.compile(r"[a-z]+(?:_[a-z]+)+\d?|[a-z]+(?:[A-Z][a-z]+)+\d?|[A-Z]+(?:_[A-Z]+)+\d?")
_SAID_OF_SECRETS = frozenset(
    """
    access_token any api_key apikey basic bearer bool boolean bytes date default disabled double
    empty enabled expired false float hidden incorrect int integer invalid list long missing never
    nil none not null number oauth object optional pass passwd password passphrase private public
    pwd redacted removed required secret self str string text token tokens true type undefined
    unknown unset username valid varchar void
    """.split()
)


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder for a secret."""
    return bool(_PLACEHOLDER.fullmatch(value) or _TEMPLATE.search(value))


def is_sample(value: str) -> bool:
    """Return whether a value says that it is a placeholder: `my-password`, `fake_token`."""
    if len(value) > _LONGEST_SAMPLE:
        return False
    said = _SAMPLE.fullmatch(value) and _NAMES_SAMPLE.search(value)
    return bool(said or _CONSTANT.fullmatch(value))


def is_sentence(value: str) -> bool:
    """Return whether a value in quotes is a sentence, as a form shows."""
    return _SENTENCE.fullmatch(value) is not None


def is_word(value: str) -> bool:
    """Return whether a value is the name of a type, or a word that describes a secret."""
    return value.rstrip("!?").lower() in _SAID_OF_SECRETS


def is_code(value: str, rest: str = "") -> bool:
    """Return whether an unquoted value is an expression, a type or a path; `rest` follows it."""
    whole = any(pattern.fullmatch(value) for pattern in (_REFERENCE, _PATH, _GENERIC, _TYPE))
    return whole or bool(_LOCATION.match(value) or _CALL.match(value + rest))


def is_name(value: str) -> bool:
    """Return whether a value of letters is the name of a variable."""
    return _COMPOUND.fullmatch(value) is not None


def has_letter_and_digit(value: str) -> bool:
    """Return whether a value holds a letter and a digit, as no word does."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
