"""Numbers and durations in words; a noun, and a verb where it is wanted, agree with a number."""

from __future__ import annotations

_IRREGULAR = {
    "corpus": "corpora",
    "synopsis": "synopses",
    "has": "have",
    "is": "are",
    "was": "were",
}
_HISSING = ("s", "x", "ch", "sh")


def format_count(number: int, noun: str, verb: str = "") -> str:
    """Return a number with its noun and verb in the singular, or in their plurals.

    1 corpus; 1,200 entries; with the verb `is`: 1 entry is, 2 entries are.
    """
    one = number == 1
    said = f"{number:,} {noun if one else _pluralize(noun)}"
    if verb:
        said += f" {verb if one else _IRREGULAR.get(verb) or verb.removesuffix('s')}"
    return said


def format_largest_unit(seconds: float) -> str:
    """Return a duration in the words of its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"


def _pluralize(noun: str) -> str:
    first, _, last = noun.rpartition(" ")
    return f"{first} {_pluralize_word(last)}".lstrip()


def _pluralize_word(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word + ("es" if word.endswith(_HISSING) else "s")
