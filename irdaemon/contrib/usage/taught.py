"""Learn from uses: for each artifact the prompts that led to it, and the weight of each.

An artifact needs two uses from two sessions: a single one may well be an accident. Only the newest
prompt of a session counts, and only the newest of an entry, even if its lines name several
sessions: so no transcript can teach an artifact alone. A prompt that names the artifact teaches
nothing, as the name is found anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from irclient.errors import QueryError
from irdaemon.contrib.usage.names import ItemNames
from irdaemon.contrib.usage.store import UsageStore
from irdaemon.index.names import find_names
from irdaemon.ledger import Expected, ExpectedPrompt, Ledger, PromptRate
from irdaemon.types import Use

# Parse uses from elsewhere, given as records.

_HOW = 'a use is {"prompt": "...", "gold": ["id"], "session": "...", "at": "2026-01-31T12:00:00Z"}'
_KEYS = ("prompt", "gold", "session", "at", "corpus")


def parse_uses(given: Iterable[Use | Mapping[str, Any]]) -> list[Use]:
    """Return the uses in records. Raises QueryError that names the first invalid one."""
    return [
        each if isinstance(each, Use) else _parse_use(each, f"use {number}")
        for number, each in enumerate(given, start=1)
    ]


def _parse_use(record: Any, where: str) -> Use:
    if not isinstance(record, Mapping):
        raise QueryError(f"{where}: not an object but {record!r:.60}", _HOW)
    if unknown := [key for key in record if key not in _KEYS]:
        raise QueryError(f"{where}: unknown key {unknown[0]!r}", _HOW)
    prompt, gold = record.get("prompt"), record.get("gold")
    if not isinstance(prompt, str) or not prompt.strip():
        raise QueryError(f"{where}: `prompt` must be text, not {prompt!r:.60}", _HOW)
    ids = gold if isinstance(gold, (list, tuple)) else ()
    if not ids or not all(isinstance(id, str) and id for id in ids):
        raise QueryError(f"{where}: `gold` must be a list of ids, not {gold!r:.60}", _HOW)
    texts = {key: record.get(key) or "" for key in ("session", "corpus")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise QueryError(f"{where}: `{key}` must be text, not {text!r:.60}", _HOW)
    return Use(
        prompt, tuple(ids), texts["session"], _parse_time(record.get("at"), where), texts["corpus"]
    )


def _parse_time(at: Any, where: str) -> float:
    if at is None or at == "":
        return 0.0
    if isinstance(at, (int, float)) and not isinstance(at, bool):
        return float(at)
    try:
        moment = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        raise QueryError(f"{where}: `at` is not a time: {at!r:.60}", _HOW) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# The uses of a corpus' items with the prompts that led to them, as input for learning.


def list_uses(store: UsageStore, ledger: Ledger, names: ItemNames, corpus: str) -> Iterator[Use]:
    """Yield all known uses of a corpus' items, newest first, one for each turn.

    The prompt is read from the turn's own records in the ledger, so a use whose session is no
    longer indexed, or whose prompt was a bare command, does not count. Of items with the same name
    the nearest counts.
    """
    for turn in store.list_turns(only_used=True):
        meant = [names.resolve_use(how, what)[:1] for how, what in turn.uses]
        gold = dict.fromkeys(id for items in meant for name, id in items if name == corpus)
        if not gold:
            continue
        prompt = "\n\n".join(ledger.artifacts.list_prompts(turn.corpus, turn.turn_id))
        if prompt:
            yield Use(prompt, tuple(gold), turn.session, turn.at, corpus, turn.entry)


# The gate: check that the learned prompts find more of the newest uses, and lose nothing else.
#
# Uses are judged in order of time: prompts from the older four fifths are counted in, and the
# newest fifth is asked with and without them (`weigh_uses` gives the weight of each). Learning must
# rank them better, and must not rank the corpus' own cases worse: the queries that calibration
# makes from its texts.


def weigh_uses(learned: Sequence[bool], share: float) -> list[float]:
    """Return the weight of each held-out use, by whether its artifact has learned prompts.

    The older four fifths teach less than all uses do: a use whose artifact has not learned anything
    yet only shows what the others' prompts take from it. So each of both kinds is weighted by the
    share of all uses, 0 to 1, whose artifacts would have learned prompts when published.
    """
    of_learned = sum(learned)
    others = len(learned) - of_learned
    if not of_learned or not others:
        return [1.0] * len(learned)
    return [share / of_learned if each else (1 - share) / others for each in learned]


# The number of sessions that must have used an artifact before it learns, and its maximum of
# prompts.
FEWEST_SESSIONS = 2
MOST_PROMPTS = 10
_LONGEST = 1_000
_WORD = re.compile(r"[^\W_]+")
_HALF_LIFE_S = 90 * 86_400.0
# After ten half-lives a use weighs a thousandth, and is dropped.
_LEAST_WEIGHT = 2.0**-10

# The rates at which prompts may count, the highest first: measured in bench/HISTORY.md.
RATES = (PromptRate(words=0.5, share=0.5), PromptRate(words=0.25, share=0.3))

Prompts = Mapping[str, Sequence[ExpectedPrompt]]


class _Dated(NamedTuple):
    at: float
    order: bytes
    use: Use


def teach(
    uses: Iterable[Use], names: Mapping[str, str], now: float
) -> dict[str, tuple[ExpectedPrompt, ...]]:
    """Return the prompts that uses teach of the artifacts in `names` (id -> name), newest first.

    A use weighs one, divided among its artifacts, and half of that for each 90 days before the
    newest use. Uses without a time, or of the future (`now` is Unix seconds), count as the newest.
    """
    return {id: _drop_repeats(each)[:MOST_PROMPTS] for id, each in attest(uses, names, now).items()}


def attest(
    uses: Iterable[Use], names: Mapping[str, str], now: float
) -> dict[str, tuple[ExpectedPrompt, ...]]:
    """Return the newest prompt of each session for the artifacts that enough sessions used.

    Arguments, weights and order are those of `teach`, which keeps the newest few.
    """
    dated = _sort_by_age(uses, now)
    newest = dated[0].at if dated else now
    found: dict[str, list[ExpectedPrompt]] = {}
    counted: dict[str, set[str]] = {}
    for at, _, use in dated:
        weight = 2 ** ((at - newest) / _HALF_LIFE_S) / max(len(set(use.gold)), 1)
        prompt = " ".join(use.prompt.split())[:_LONGEST]
        if weight < _LEAST_WEIGHT or not prompt:
            continue
        for artifact_id in dict.fromkeys(use.gold):
            if artifact_id not in names or _is_named(names[artifact_id], prompt):
                continue
            # A use without a session and an entry counts as a separate session.
            told_by = {use.session, use.entry} - {""}
            if told_by.isdisjoint(counted.setdefault(artifact_id, set())):
                counted[artifact_id] |= told_by
                learned = ExpectedPrompt(prompt, use.session, at, round(weight, 6))
                found.setdefault(artifact_id, []).append(learned)
    return {id: tuple(each) for id, each in found.items() if len(each) >= FEWEST_SESSIONS}


def make_expected(prompts: Prompts, rate: PromptRate) -> dict[str, Expected]:
    """Return the prompts with their weights at a given rate."""
    return {id: Expected(tuple(each), rate) for id, each in prompts.items()}


def split_newest_fifth(uses: Iterable[Use], now: float) -> tuple[list[Use], list[Use]]:
    """Return the older four fifths of uses and the newest fifth, by time."""
    dated = _sort_by_age(uses, now)
    n = len(dated) // 5
    return [each.use for each in dated[n:]], [each.use for each in dated[:n]]


def split_newest_of_each(uses: Iterable[Use], now: float) -> tuple[list[Use], list[Use]]:
    """Return all uses except the newest of each artifact that has enough, and those newest ones.

    These are at most a fifth of the uses. This tests learning if artifacts are used one after
    another, so that the newest fifth uses different ones.
    """
    dated = _sort_by_age(uses, now)
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


def _sort_by_age(uses: Iterable[Use], now: float) -> list[_Dated]:
    """Return uses with their times, the newest first; ties are broken by a hash."""
    dated = [
        _Dated(min(use.at, now) if use.at > 0 else now, _hash_use(use, number), use)
        for number, use in enumerate(uses)
    ]
    return sorted(dated, key=lambda each: (each.at, each.order), reverse=True)


def _hash_use(use: Use, number: int) -> bytes:
    return blake2b(f"{use.prompt}\0{number}".encode("utf-8", "replace"), digest_size=8).digest()


def _drop_repeats(prompts: Sequence[ExpectedPrompt]) -> tuple[ExpectedPrompt, ...]:
    """Return each text once, the newest of equal ones, in their order."""
    return tuple({each.text.casefold(): each for each in reversed(prompts)}.values())[::-1]


def _is_named(name: str, prompt: str) -> bool:
    """Return whether a prompt names an artifact: as in code, or by its words in a row."""
    words = _WORD.findall(name.rsplit(":", 1)[-1].rsplit("/", 1)[-1])
    if len(words) > 1 and re.search(
        r"\b" + r"\W+".join(map(re.escape, words)) + r"\b", prompt, re.I
    ):
        return True
    return name.casefold() in {each.casefold() for each in find_names(prompt)}
