"""What is assigned to a telling name: a secret, or an expression, a type, a path, a placeholder."""

from __future__ import annotations

import re

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
_NAME = r"[A-Za-z_$]+\d{0,2}"
_CHAIN = rf"(?:{_NAME}{_DOT}){{0,9}}{_NAME}"
_REFERENCE = re.compile(rf"(?:{_NAME}{_DOT}){{1,9}}{_NAME}!?")
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
