"""Detect text in another language than English, by the words that every sentence of it needs."""

from __future__ import annotations

import re

from irdaemon.text import STOP_WORDS

# German, French, Spanish, Portuguese, Italian, Dutch: articles, pronouns, prepositions.
_FUNCTION_WORDS = (
    frozenset(
        """
    der die das den dem des ein eine einen einem und oder ich wir ihr sie es ist sind nicht mit von
    zu zum zur auf im bei aus wie wenn welche welcher welches kann soll haben hat wird werden
    le la les un une et ou je nous vous il elle est sont ne pas avec de du au aux sur dans par pour
    comment quand quel quelle peut avoir qui que se ce cette mon ma mes
    el los las una y o yo nosotros es son no con del al en por para como cuando cual puede si su mi
    o os as um uma e eu ele ela com do da dos das no na em por quando qual pode se seu meu
    il lo gli i uno ed io noi lui lei sono non di della nel sul che perch\u00e9 quando quale mio
    het een ik wij zij zijn niet met van naar op bij uit hoe wanneer welke kan heeft wordt
    """.split()
    )
    - STOP_WORDS
    - frozenset("do no as is in an on me i".split())
)
_WORD = re.compile(r"[^\W\d_]+")


def is_foreign(text: str) -> bool:
    """Return whether foreign and non-ASCII words outnumber English function words."""
    words = [word.lower() for word in _WORD.findall(text)]
    foreign = sum(word in _FUNCTION_WORDS or not word.isascii() for word in words)
    return foreign > sum(word in STOP_WORDS for word in words)
