"""Make cases by back-translation: a model is asked for queries that each artifact would answer.

The model is the caller's: `ask` takes a prompt and returns text, one query a line, or a list. The
artifact's name is masked, and queries that give it away are dropped, so that a case tests finding
and not spelling.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

from irclient.errors import QueryError
from irdaemon.evaluate.cases import Case

Ask = Callable[[str], str | Sequence[str]]

QUERIES_EACH = 5
ABSTENTION_SHARE = 0.15
FEWEST_CHARS = 20
_MASKS = ("this capability", "the tool")
_SEPARATORS = re.compile(r"[\s_-]+")
# A bullet has white space after it, or could be nothing else: "-9 degrees" and "3.5 mm" have none.
_BULLET = re.compile(r"^\s*(?:(?:[-\u2013\u2014*+]|\d+\.)\s+|(?:[•‣▪◦·]|\d+\))\s*)")


def generate_cases(
    artifacts: Mapping[str, tuple[str, str]], ask: Ask, k: int = QUERIES_EACH
) -> list[Case]:
    """Return up to `k` cases for each artifact {id: (name, text)} with text enough.

    An artifact for which the model fails is left out, and how many were is warned of. Raises what
    the model raised where it fails for all, QueryError for a `k` below 1.
    """
    if k < 1:
        raise QueryError(f"{k} queries for each artifact are none", "ask for 1 or more")
    cases: list[Case] = []
    failed: list[Exception] = []
    wanted = {id: each for id, each in artifacts.items() if len(each[1].strip()) >= FEWEST_CHARS}
    for artifact_id, (name, text) in wanted.items():
        try:
            asked = _lines(ask(_prompt(mask_name(text, name), k)))
        except Exception as error:  # the caller's model may raise anything
            failed.append(error)
            continue
        queries = [query for query in asked if not gives_away(query, name)]
        cases += [Case(query, (artifact_id,), source_id=artifact_id) for query in queries[:k]]
    _tell(failed, len(wanted))
    return cases


def _tell(failed: Sequence[Exception], of: int) -> None:
    """Warn of artifacts that no cases were made for; raise the first error where that is all."""
    if failed and len(failed) == of:
        raise failed[0]
    if failed:
        left_out = f"the model failed for {len(failed)} of {of} artifacts, which have no cases"
        warnings.warn(f"{left_out}; first: {failed[0]!r}", RuntimeWarning, stacklevel=3)


def generate_abstentions(
    n_gold: int, ask: Ask, about: str, share: float = ABSTENTION_SHARE
) -> list[Case]:
    """Return cases that nothing answers, `share` of all together with `n_gold` others.

    Where that is none the model is not asked. Raises QueryError for a share that is not from 0 to
    below 1.
    """
    if not 0 <= share < 1:
        raise QueryError(f"a share of {share} is not from 0 to below 1", "0.15 is the usual one")
    wanted = math.ceil(share * n_gold / (1 - share))
    if wanted < 1:
        return []
    prompt = f"Write {wanted} requests, one a line, that have nothing to do with: {about}"
    return [Case(query) for query in _lines(ask(prompt))[:wanted]]


def mask_name(text: str, name: str) -> str:
    """Replace a name, however its words are joined, by a phrase that does not give it away."""
    words = _words(name)
    if not words:
        return text
    mask = _MASKS[0] if not set(words) & set(_MASKS[0].split()) else _MASKS[1]
    spelled = r"[\s_-]*".join(map(re.escape, words))
    return re.sub(rf"(?<!\w){spelled}(?!\w)", mask, text, flags=re.IGNORECASE)


def gives_away(query: str, name: str) -> bool:
    """Return whether a query holds the name, or all the words of a name of several."""
    words = _words(name)
    if not words:
        return False
    if mask_name(query, name) != query:
        return True
    found = set(re.findall(r"\w+", query.casefold()))
    return len(words) > 1 and set(words) <= found


def _words(name: str) -> list[str]:
    return [word for word in _SEPARATORS.split(name.casefold()) if len(word) > 1]


def _prompt(text: str, k: int) -> str:
    return (
        f"Write {k} different requests, one a line, in the words of a person who needs what is"
        f" described below but does not know that it exists. Do not name it.\n\n{text}"
    )


def _lines(reply: str | Iterable[str]) -> list[str]:
    lines = reply.splitlines() if isinstance(reply, str) else reply
    cleaned = (_BULLET.sub("", line).strip().strip('"') for line in lines)
    return list(dict.fromkeys(line for line in cleaned if line))
