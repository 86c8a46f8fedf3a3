"""What is assigned to a telling name: a secret, or an expression, a type, a path, a placeholder."""

from __future__ import annotations

import re

# What a configuration, a template or a manual writes where the value goes.
_PLACEHOLDER = re.compile(
    r"""\$(?:[A-Za-z_]\w*|[({].*) | \{.*\}? | \[.*\] | <.*>? | %[\w({].* | [*&!][A-Za-z][\w.-]*
    | \#\{.* | @\w*\{.* | [*.•…_?x-]{3,} | [\w-]{0,20}[-_]x{3,} | [\w-]*\.{3}.*
    | (?:your|insert|enter|replace|put)[ _-].* | .*[_-]here | change_?-?me
    | (?:my|some|the)[ _-](?:\w+[ _-])?(?:api|secret|password|token|key).*
    | -----BEGIN.* | \[secret:.*""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
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
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\w@+.-]{2,}(?:[\\/][\w.@+$-]*)+")
_LOCATION = re.compile(r"[a-z][a-z0-9+.-]{0,20}://", re.IGNORECASE)
# Labels of forms.
_SENTENCE = re.compile(r"[A-Z][\w']*,?(?: [a-z(][\w'(),.:/-]*)+(?:[ .?!:…].*)?", re.DOTALL)
_COMPOUND = re.compile(r"[a-z]+(?:_[a-z]+)+\d?|[a-z]+(?:[A-Z][a-z]+)+\d?|[A-Z]+(?:_[A-Z]+)+\d?")
_SAID_OF_SECRETS = frozenset(
    """
    access_token any api_key apikey basic bearer bool boolean bytes date default disabled double
    empty enabled expired false float hidden incorrect int integer invalid list long missing never
    nil none not null number oauth object optional password passphrase private public pwd redacted
    removed required secret self str string text token tokens true type undefined unknown unset
    username valid varchar void
    """.split()
)


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder for a secret."""
    return bool(_PLACEHOLDER.fullmatch(value) or _TEMPLATE.search(value))


def is_sentence(value: str) -> bool:
    """Return whether a value in quotes is a sentence, as a form shows."""
    return _SENTENCE.fullmatch(value) is not None


def is_word(value: str) -> bool:
    """Return whether a value is the name of a type, or a word that describes a secret."""
    return value.rstrip("!?").lower() in _SAID_OF_SECRETS


def is_code(value: str, rest: str = "") -> bool:
    """Return whether an unquoted value is an expression, a type or a path; `rest` follows it."""
    whole = any(pattern.fullmatch(value) for pattern in (_REFERENCE, _PATH, _GENERIC))
    return whole or bool(_LOCATION.match(value) or _CALL.match(value + rest))


def is_name(value: str) -> bool:
    """Return whether a value of letters is the name of a variable."""
    return _COMPOUND.fullmatch(value) is not None


def has_letter_and_digit(value: str) -> bool:
    """Return whether a value holds a letter and a digit, as no word does."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
