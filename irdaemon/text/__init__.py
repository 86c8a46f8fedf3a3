"""The analyzer for both indexing and queries.

Words are split at anything that is not a letter, digit, mark or underscore. An identifier
(`parseConfigFile`, `parse_config_file`) yields itself, lower-cased, and its parts. Parts and plain
words are lower-cased and stemmed (Snowball English); stop words and one-character tokens are
dropped. Scripts written without spaces yield overlapping character pairs. `c++`, `c#` and `f#` are
words. If stemming changes a plain word, a second token keeps its form: it is counted zero times, so
it weighs nothing in a score and tells which records contain the word as written. ANALYZER names
this behaviour: change it and every corpus is decomposed again.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain
from operator import mul
from typing import Literal, NamedTuple

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
# Variants for text without those characters, and for plain ASCII: the wide classes cost nearly
# three times as much.
_PLAIN_WORD = re.compile(r"[cC]\+\+|[cCfF]#(?!\w)|\w+")
_ASCII_WORD = re.compile(_PLAIN_WORD.pattern, re.ASCII)
_SHARP = frozenset((b"c", b"C", b"f", b"F"))  # that, and a sharp, may belong to a word
_IN_WORDS = frozenset("_+#")
_EMOJI_FOLLOWS = "\ufe0f"  # the one common mark, and it joins nothing
_ASCII_BYTES = bytes(range(128))
_SPACES = re.sub(rb"\W", b" ", bytes(range(256)))
_ASCII_SPACES = _SPACES[:128] + bytes(range(128, 256))
_SPECIAL = [(ord(low), ord(high)) for low, high in re.findall("(.)-(.)", _UNSPACED + _MARKS)]
_FIRST_SPECIAL = min(low for low, _ in _SPECIAL)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_QUALIFIER = re.compile(r"[./:]")
_SHORTEST_LAST_PART = 5

# Qualified names, and words in backticks. A name is searched only from the beginning of a word:
# from each letter of a long word that would take quadratic time.
_NAME_IN_CODE = re.compile(r"(?<!\w)(\w+(?:(?:\.|::)\w+)+)|`(\w+)`")
_SHORTEST_IDENTIFIER = 5

# A token of a form begins with a character that no word contains. Short words' forms say little.
_FORM = "="
_SHORTEST_FORM = 6

# Normalising takes time quadratic in a run of marks, so a long text is normalised in pieces that
# end before white space, or before a character that cannot join the piece.
_PIECE = re.compile(r".{1,400}(?=\s|\Z)|.{1,400}(?=\w)|.{1,400}", re.DOTALL)
_LONGEST_PIECE = 400
# With more separators than this, one pass for all of them is faster.
_FEW_CHARACTERS = 32

# Words per generation: twice as many take some 25 MB.
_CACHED_WORDS = 40_000
_LONGEST_WORD = 100

# Each word is stemmed once and its tokens are kept here: a lookup in the stemmer's own cache takes
# twice as long as stemming.
_stemmer = Stemmer.Stemmer("english", 0)


class _Words(dict[str, tuple[tuple[str, ...], str]]):
    """The tokens of words and of their forms (see `make_form`), computed at their first use.

    Words of two generations are kept: one that is used again moves to the newer.
    """

    def __init__(self) -> None:
        self._older: dict[str, tuple[tuple[str, ...], str]] = {}

    def __missing__(self, word: str) -> tuple[tuple[str, ...], str]:
        if len(self) >= _CACHED_WORDS:
            self._older = dict(self)
            self.clear()
        if (analysed := self._older.get(word)) is None:
            # Many words share a token: one object for it takes less room, and is found faster.
            tokens = tuple(map(sys.intern, tokenize_word(word)))
            analysed = tokens, sys.intern(make_form(word, tokens))
        if len(word) <= _LONGEST_WORD:
            self[word] = analysed
        return analysed

    def forget(self) -> None:
        """Forget all words."""
        self._older = {}
        self.clear()


_analysed = _Words()


def forget_words() -> None:
    """Release the memory of the analysed words."""
    _analysed.forget()


def tokenize(text: str) -> list[str]:
    """Return the tokens of `text` in order, including repeats."""
    return [token for word in split_words(text) for token in _analysed[word][0]]


class QueryWords(NamedTuple):
    """The words of a query, as tokens, each once.

    `tokens` are its own. `identifiers` are the tokens of words written like names in code: of
    several parts, the parts of qualified names (`windows.malfind`), single words in backticks, and
    a text of one word. `unstemmed` are plain words in lower case whose token differs: an identifier
    (`EventEmitter`) is indexed by its whole, unstemmed, and a person who types it without capitals
    means the same. `typed` are the tokens of records that contain the plain words as typed: the
    word, which is an identifier's whole, and the token that keeps its form.
    """

    tokens: tuple[str, ...]
    identifiers: tuple[str, ...]
    unstemmed: tuple[str, ...]
    typed: tuple[str, ...]


def find_query_words(text: str) -> QueryWords:
    """Return the words of a query."""
    analysed = [(word, *_analysed[word]) for word in split_words(text)]
    named = " ".join(each for match in _NAME_IN_CODE.findall(text) for each in match)
    if len(text.split()) == 1:
        named = f"{named} {text}"
    code = [word for word, tokens, _ in analysed if len(tokens) > 1]
    code += [word for word in split_words(named) if _analysed[word][0]]
    identifiers = (_analysed[word][0][0] for word in code if _PART.search(word))
    lower = {word.lower().strip("_"): tokens for word, tokens, _ in analysed}
    plain = [(word.lower(), form) for word, tokens, form in analysed if _is_plain(word, tokens)]
    return QueryWords(
        tuple(dict.fromkeys(token for _, tokens, _ in analysed for token in tokens)),
        tuple(t for t in dict.fromkeys(identifiers) if len(t) >= _SHORTEST_IDENTIFIER),
        tuple(w for w, tokens in lower.items() if len(tokens) == 1 and tokens[0] != w),
        tuple(dict.fromkeys(each for pair in plain for each in pair if each)),
    )


def _is_plain(word: str, tokens: Sequence[str]) -> bool:
    usual = _SHORTEST_FORM <= len(word) <= _LONGEST_WORD and word.isalpha()
    return usual and len(tokens) == 1


def make_form(word: str, tokens: Sequence[str]) -> str:
    """Return the token that keeps the form of a plain word, or "" if the word is its own stem."""
    form = word.lower()
    return _FORM + form if _is_plain(word, tokens) and tokens[0] != form else ""


def split_words(text: str) -> list[str]:
    """Return the words of a text; most take a third of the time that the patterns need."""
    data = text.encode("utf-8", "surrogatepass")
    if not text.isascii() and not all(map(_separates, _find_wide(data))):
        return _split_wide_words(normalize(text, "NFKC"))
    if _has_signed(data):
        return _ASCII_WORD.findall(text)
    return data.translate(_SPACES).decode("ascii").split()


def _split_wide_words(text: str) -> list[str]:
    """Return the words of a normalised text with letters beyond ASCII."""
    data = text.encode("utf-8", "surrogatepass")
    wide = _find_wide(data)
    if any(map(_is_special, wide)):
        return _WORD.findall(text)
    if _has_signed(data):
        return _PLAIN_WORD.findall(text)
    separate = [character for character in wide if not character.isalnum()]
    if len(separate) > _FEW_CHARACTERS:
        text = text.translate(dict.fromkeys(map(ord, separate), " "))
    else:
        for character in separate:
            text = text.replace(character, " ")
    data = text.encode("utf-8", "surrogatepass")
    return data.translate(_ASCII_SPACES).decode("utf-8").split()


def normalize(text: str, form: Literal["NFC", "NFKC"]) -> str:
    """Return a text in a normal form of Unicode, in time linear in its length."""
    if len(text) <= _LONGEST_PIECE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _PIECE.findall(text))


def _has_signed(data: bytes) -> bool:
    """Return whether a text may contain `c++` or the like."""
    before = (part[-1:] for part in data.split(b"#")[:-1])
    return (b"+" in data and b"++" in data) or not _SHARP.isdisjoint(before)


def _find_wide(data: bytes) -> set[str]:
    """Return the non-ASCII characters of a text."""
    return set(data.translate(None, _ASCII_BYTES).decode("utf-8", "surrogatepass"))


@cache
def _separates(character: str) -> bool:
    """Return whether a character separates words in any place, as typographic quotes do.

    A mark, which may join the character before it, does not, nor a character that is normalised to
    a part of a word.
    """
    parts = unicodedata.normalize("NFKC", character)
    is_mark = unicodedata.category(character).startswith("M") and character != _EMOJI_FOLLOWS
    if is_mark or not _IN_WORDS.isdisjoint(parts):
        return False
    return not any(each.isalnum() or _is_special(each) for each in parts)


def _is_special(character: str) -> bool:
    """Return whether words with a character need the wide pattern."""
    point = ord(character)
    return point >= _FIRST_SPECIAL and any(low <= point <= high for low, high in _SPECIAL)


def split_surface(text: str, lexical: str) -> list[str]:
    """Return the words of a surface: its text twice if it has further lexical text, else once.

    The doubling is the measured recipe "2 x (name and description) + body".
    """
    words = split_words(text)
    return [*words, *words, *split_words(lexical)] if lexical else words


def count_terms(text: str, lexical: str = "") -> Counter[str]:
    """Count the tokens of a surface. Those that keep a word's form count zero.

    In bulk a TermCounter (see `counting`) takes half the time.
    """
    words = split_surface(text, lexical)
    if not words:
        return Counter()
    # Each distinct word is looked up once, since its data are scattered in memory; and none of the
    # hundreds in a text takes a line of Python.
    distinct = Counter(words)
    tokens, forms = zip(*map(_analysed.__getitem__, distinct), strict=True)
    counts = Counter(chain.from_iterable(map(mul, tokens, distinct.values())))
    dict.update(counts, dict.fromkeys(filter(None, forms), 0))
    return counts


def tokenize_name(name: str) -> list[str]:
    """Return the words of a name, each once: the parts of an identifier without the whole.

    The last part of a qualified name (`math.factorial`, `plugin:skill`, `@scope/package`) counts,
    unless it is so short that it may be a file type (`node.js`).
    """
    last = _QUALIFIER.split(name.strip(" ./:"))[-1]
    wanted = last if len(last) >= _SHORTEST_LAST_PART else name
    words = _WORD.findall(normalize(wanted, "NFKC"))
    return list(dict.fromkeys(token for word in words for token in _tokenize_parts(word)))


def _tokenize_parts(word: str) -> list[str]:
    tokens = tokenize(word)
    return tokens[1:] if len(tokens) > 1 and tokens[0] == word.lower() else tokens


def tokenize_word(word: str) -> list[str]:
    """Return the tokens of a word as returned by `split_words`; see ANALYZER."""
    is_ascii = word.isascii()
    if not is_ascii and _IS_UNSPACED.match(word):
        return [word[i : i + 2] for i in range(max(1, len(word) - 1))]
    if len(word) > _LONGEST_WORD:
        return []  # encoded data, not language
    if is_ascii and word[1:].islower() and word.isalpha():  # most words: one part
        return _stem([word.lower()])
    whole = word.lower()
    parts = _PART.findall(word) if is_ascii else [p for p in word.split("_") if p]
    if len(parts) < 2:
        return _stem([whole.strip("_")])
    return [whole, *_stem([part.lower() for part in parts])]


def _stem(words: list[str]) -> list[str]:
    return [_stemmer.stemWord(w) for w in words if len(w) > 1 and w not in STOP_WORDS]
