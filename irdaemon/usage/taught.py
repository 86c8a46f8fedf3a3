"""What uses teach: for each artifact the prompts that led to it, and what each of them weighs.

An artifact needs two uses out of two sessions: one alone is as likely an accident. Of a session
only the newest prompt counts, and of an entry too, whatever sessions its lines say they are of: so
no transcript can teach an artifact by itself. A prompt that names the artifact teaches nothing, as
the name is found anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from irdaemon.index.names import names_in
from irdaemon.ledger import Learned, LearnedPrompt, LearnRate
from irdaemon.types import Use

# Sessions that must have used an artifact before anything is learned of it, and prompts at most.
FEWEST_SESSIONS = 2
MOST_PROMPTS = 10
_LONGEST = 1_000
_WORD = re.compile(r"[^\W_]+")
_HALF_LIFE_S = 90 * 86_400.0
# After ten half-lives a use weighs a thousandth, and is forgotten.
_LEAST_WEIGHT = 2.0**-10

# How much prompts may count, what counts more first: measured in docs/learning.md.
RATES = (LearnRate(words=0.5, share=0.5), LearnRate(words=0.25, share=0.3))

Prompts = Mapping[str, Sequence[LearnedPrompt]]


class _Dated(NamedTuple):
    at: float
    order: bytes
    use: Use


def taught(
    uses: Iterable[Use], names: Mapping[str, str], now: float
) -> dict[str, tuple[LearnedPrompt, ...]]:
    """Return the prompts that uses teach of the artifacts in `names` (id -> name), newest first.

    A use weighs one, shared by the artifacts it was of, and half of that each 90 days before the
    newest use. Uses without a time, or of the future (`now` is Unix seconds), count as the newest.
    """
    return {id: _distinct(each)[:MOST_PROMPTS] for id, each in attested(uses, names, now).items()}


def attested(
    uses: Iterable[Use], names: Mapping[str, str], now: float
) -> dict[str, tuple[LearnedPrompt, ...]]:
    """Return the newest prompt of each session for the artifacts that enough sessions used.

    Arguments, weights and order are those of `taught`, which keeps the newest few.
    """
    dated = _by_age(uses, now)
    newest = dated[0].at if dated else now
    found: dict[str, list[LearnedPrompt]] = {}
    counted: dict[str, set[str]] = {}
    for at, _, use in dated:
        weight = 2 ** ((at - newest) / _HALF_LIFE_S) / max(len(set(use.gold)), 1)
        prompt = " ".join(use.prompt.split())[:_LONGEST]
        if weight < _LEAST_WEIGHT or not prompt:
            continue
        for artifact_id in dict.fromkeys(use.gold):
            if artifact_id not in names or _is_named(names[artifact_id], prompt):
                continue
            # One without a session and an entry counts as a session of its own.
            told_by = {use.session, use.entry} - {""}
            if told_by.isdisjoint(counted.setdefault(artifact_id, set())):
                counted[artifact_id] |= told_by
                learned = LearnedPrompt(prompt, use.session, at, round(weight, 6))
                found.setdefault(artifact_id, []).append(learned)
    return {id: tuple(each) for id, each in found.items() if len(each) >= FEWEST_SESSIONS}


def learned(prompts: Prompts, rate: LearnRate) -> dict[str, Learned]:
    """Return what prompts teach at a rate."""
    return {id: Learned(tuple(each), rate) for id, each in prompts.items()}


def newest_fifth(uses: Iterable[Use], now: float) -> tuple[list[Use], list[Use]]:
    """Return the older four fifths of uses and the newest fifth, by time."""
    dated = _by_age(uses, now)
    n = len(dated) // 5
    return [each.use for each in dated[n:]], [each.use for each in dated[:n]]


def newest_of_each(uses: Iterable[Use], now: float) -> tuple[list[Use], list[Use]]:
    """Return all uses but the newest of each artifact that has more than enough, and those.

    At most a fifth of the uses. It shows what is learned where artifacts are used one after
    another, so that the newest fifth is of others than the rest.
    """
    dated = _by_age(uses, now)
    left = Counter(id for each in dated for id in set(each.use.gold))
    kept: list[Use] = []
    newest: list[Use] = []
    seen: set[str] = set()
    for each in dated:
        fresh = not seen & set(each.use.gold)
        enough = all(left[id] > FEWEST_SESSIONS for id in each.use.gold)
        held_out = fresh and enough and len(newest) < len(dated) // 5
        (newest if held_out else kept).append(each.use)
        seen.update(each.use.gold)
    return kept, newest


def _by_age(uses: Iterable[Use], now: float) -> list[_Dated]:
    """Return uses with their times, the newest first; those of one time in no order of theirs."""
    dated = [
        _Dated(min(use.at, now) if use.at > 0 else now, _shuffled(use, number), use)
        for number, use in enumerate(uses)
    ]
    return sorted(dated, key=lambda each: (each.at, each.order), reverse=True)


def _shuffled(use: Use, number: int) -> bytes:
    return blake2b(f"{use.prompt}\0{number}".encode("utf-8", "replace"), digest_size=8).digest()


def _distinct(prompts: Sequence[LearnedPrompt]) -> tuple[LearnedPrompt, ...]:
    """Return each text once, the newest of equal ones, in their order."""
    return tuple({each.text.casefold(): each for each in reversed(prompts)}.values())[::-1]


def _is_named(name: str, prompt: str) -> bool:
    """Return whether a prompt calls for a name: as code is written, or by its words in a row."""
    words = _WORD.findall(name.rsplit(":", 1)[-1].rsplit("/", 1)[-1])
    if len(words) > 1 and re.search(
        r"\b" + r"\W+".join(map(re.escape, words)) + r"\b", prompt, re.I
    ):
        return True
    return name.casefold() in {each.casefold() for each in names_in(prompt)}
