"""The one analyzer, used for indexing and for queries alike.

Words are cut at anything that is not a letter, digit, mark or underscore. An identifier
(`parseConfigFile`, `parse_config_file`) gives itself, lower-cased, and its parts. Parts and plain
words are lower-cased and stemmed (Snowball English); stop words and one-character tokens are
dropped. Scripts written without spaces give overlapping character pairs. `c++`, `c#` and `f#`
are words. Of a plain word that stemming changes, a second token keeps the form: it is counted zero
times, so it weighs nothing in a score and tells which records hold the word as it is written.
ANALYZER names this behaviour: change it and every corpus is re-decomposed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import numpy as np
import Stemmer

ANALYZER = "snowball-en-2"

STOP_WORDS = frozenset(
    """a about all also am an and any are as at be been being but by can could did do does doing
    for from get got had has have he her him his how i if in into is it its itself just let like
    may me might more most must my need no nor not of on one or our out over own please re s shall
    she should so some such t than that the their them then there these they this those to too
    under up us ve very want was we were what when where which while who whom why will with would
    you your""".split()
)

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0002fa1f"
)
# Combining marks that Python's \w leaves out, without which Indic and Semitic words fall apart.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_WORD = re.compile(rf"[cC]\+\+|[cCfF]#(?!\w)|[{_UNSPACED}]+|(?:[^\W{_UNSPACED}]|[{_MARKS}])+")
# The same where none of those characters occurs, and for plain ASCII: the wide classes cost nearly
# three times as much.
_PLAIN_WORD = re.compile(r"[cC]\+\+|[cCfF]#(?!\w)|\w+")
_ASCII_WORD = re.compile(_PLAIN_WORD.pattern, re.ASCII)
_SPECIAL = [(ord(low), ord(high)) for low, high in re.findall("(.)-(.)", _UNSPACED + _MARKS)]
_FIRST_SPECIAL = min(low for low, _ in _SPECIAL)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_QUALIFIER = re.compile(r"[./:]")
_SHORTEST_LAST_PART = 5

# Qualified names, and words in backticks.
_NAME_IN_CODE = re.compile(r"(\w+(?:(?:\.|::)\w+)+)|`(\w+)`")
_SHORTEST_IDENTIFIER = 5

# A token of a form begins with what no word holds. Short words' forms say little.
_FORM = "="
_SHORTEST_FORM = 6

_CACHED_WORDS = 200_000
_LONGEST_WORD = 100

_stemmer = Stemmer.Stemmer("english")
_cache: dict[str, tuple[str, ...]] = {}
_form_cache: dict[str, str] = {}


def forget_words() -> None:
    """Give back the memory of what words were analysed to."""
    _cache.clear()
    _form_cache.clear()


def tokenize(text: str) -> list[str]:
    """Return the tokens of `text` in order, repeats included."""
    tokens: list[str] = []
    for word in _words(text):
        known = _cache.get(word)
        tokens += _analyze(word) if known is None else known
    return tokens


def identifiers(text: str) -> list[str]:
    """Return the tokens of words that are written as names in code are, each once.

    Those are words of several parts, the parts of qualified names (`windows.malfind`), single words
    in backticks, and a text of one word.
    """
    inside = " ".join(each for match in _NAME_IN_CODE.findall(text) for each in match)
    alone = text if len(text.split()) == 1 else ""
    found = dict.fromkeys(
        _analyze(word)[0]
        for words, fewest in ((_words(text), 2), (_words(f"{inside} {alone}"), 1))
        for word in words
        if len(_analyze(word)) >= fewest and _PART.search(word)
    )
    return [token for token in found if len(token) >= _SHORTEST_IDENTIFIER]


def unstemmed(text: str) -> list[str]:
    """Return the plain words of a text in lower case, each once, whose token is another.

    An identifier (`EventEmitter`) is indexed by its whole, unstemmed; who types it without its
    capitals means the same.
    """
    words = {word.lower().strip("_"): _analyze(word) for word in _words(text)}
    return [word for word, tokens in words.items() if len(tokens) == 1 and tokens[0] != word]


def as_typed(text: str) -> list[str]:
    """Return the tokens of records that hold the plain words of a text as they are typed.

    Each once: the word, which an identifier has for its whole, and the token that keeps its form.
    """
    plain = (word for word in _words(text) if _is_plain(word))
    typed = (each for word in plain for each in (word.lower(), _form(word)) if each)
    return list(dict.fromkeys(typed))


def _is_plain(word: str) -> bool:
    usual = _SHORTEST_FORM <= len(word) <= _LONGEST_WORD and word.isalpha()
    return usual and len(_analyze(word)) == 1


def _form(word: str) -> str:
    """Return the token that keeps the form of a plain word, "" where that is its own stem."""
    known = _form_cache.get(word)
    if known is None:
        form = word.lower()
        known = _FORM + form if _is_plain(word) and _analyze(word)[0] != form else ""
        _form_cache[word] = known
    return known


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    text = unicodedata.normalize("NFKC", text)
    return (_WORD if _has_special(text) else _PLAIN_WORD).findall(text)


def _has_special(text: str) -> bool:
    """Return whether a text has characters that plain words do not: most have dashes and quotes.

    Asked of all its code points at once, which takes a tenth of what the wide pattern does.
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    points = points[points >= _FIRST_SPECIAL]
    return any(((points >= low) & (points <= high)).any() for low, high in _SPECIAL)


def term_counts(text: str, lexical: str = "") -> Counter[str]:
    """Count the tokens of a surface: its text twice beside further lexical text, else once.

    Those that keep a word's form count zero.

    The doubling is the measured recipe "2 x (name and description) + body".
    """
    counts: dict[str, int] = {}
    _count(counts, text, 2 if lexical else 1)
    _count(counts, lexical, 1)
    return Counter(counts)


def _count(counts: dict[str, int], text: str, weight: int) -> None:
    """Add the tokens of a text; each distinct word is analysed but once."""
    for word, times in Counter(_words(text)).items():
        known = _cache.get(word)
        for token in _analyze(word) if known is None else known:
            counts[token] = counts.get(token, 0) + weight * times
        if form := _form(word):
            counts[form] = 0


def name_tokens(name: str) -> list[str]:
    """Return the words of a name, each once: the parts of an identifier without the whole.

    Of a qualified name (`math.factorial`, `plugin:skill`, `@scope/package`) the last part counts,
    unless that is too short to be more than a file type (`node.js`).
    """
    last = _QUALIFIER.split(name.strip(" ./:"))[-1]
    wanted = last if len(last) >= _SHORTEST_LAST_PART else name
    words = _WORD.findall(unicodedata.normalize("NFKC", wanted))
    return list(dict.fromkeys(token for word in words for token in _parts_of(word)))


def _parts_of(word: str) -> list[str]:
    tokens = tokenize(word)
    return tokens[1:] if len(tokens) > 1 and tokens[0] == word.lower() else tokens


def _analyze(word: str) -> tuple[str, ...]:
    if (known := _cache.get(word)) is not None:
        return known
    if len(_cache) >= _CACHED_WORDS:
        _cache.clear()
        _form_cache.clear()
    tokens = tuple(_tokens_of(word))
    if len(word) <= _LONGEST_WORD:
        _cache[word] = tokens
    return tokens


def _tokens_of(word: str) -> list[str]:
    if _IS_UNSPACED.match(word):
        return [word[i : i + 2] for i in range(max(1, len(word) - 1))]
    if len(word) > _LONGEST_WORD:
        return []  # encoded data, not language
    whole = word.lower()
    parts = _PART.findall(word) if word.isascii() else [p for p in word.split("_") if p]
    if len(parts) < 2:
        return _stemmed([whole.strip("_")])
    return [whole, *_stemmed([part.lower() for part in parts])]


def _stemmed(words: list[str]) -> list[str]:
    return [_stemmer.stemWord(w) for w in words if len(w) > 1 and w not in STOP_WORDS]
