"""Gaps: what people needed and did not find, why, and which edit would fix it.

Three kinds: an item was used that the answer did not offer; nothing was offered for a prompt that
has a task; and something was used that is not indexed. Prompts that share words are grouped. Gaps
that only one prompt shows are counted, and listed on request: they may be chance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irdaemon.contrib.usage.names import MISSED, Item, ItemNames, JoinedLog, JoinedUse, name_miss
from irdaemon.contrib.usage.offers import ConsideredItem
from irdaemon.contrib.usage.store import KeptTurn, Offer
from irdaemon.discovery.discover import NO_TASK
from irdaemon.ledger import Ledger
from irdaemon.text import tokenize
from irdaemon.text.tasks import has_task

# The candidates that an answer given now would consider for a prompt.
Ask = Callable[[str], Sequence[ConsideredItem]]

_WORD = re.compile(r"[^\W\d_][\w-]{2,40}")
LEAST = 2
_ALIKE = 0.3
_WORDS = 6
_EXAMPLES, _EXAMPLE_CHARS = 2, 120
# The number of prompts without a known answer that are asked again, the newest first.
_MOST_REPLAYED = 300
# Not abstentions: a corpus still being read, a filter, a session that had seen everything.
_NO_GAP = frozenset({NO_TASK, "building", "filtered_out", "nothing_indexed", "offered_before"})


@dataclass(frozen=True, slots=True)
class MissedPrompt:
    """A prompt that missed a used item or found nothing: items considered, and if replayed.

    `session` is the entry that the record comes from; if nothing was found, the session that asked.
    `state` is one of MISSED, or `nothing_found`.
    """

    text: str
    session: str
    state: str
    reason: str
    considered: ConsideredItem | None
    replayed: bool = False


class GapWorld:
    """The source of the texts of prompts and items, and of new answers to old prompts."""

    def __init__(self, ledger: Ledger, ask: Ask):
        self._ledger = ledger
        self._ask = ask
        self.replayed = 0

    def read_prompt(self, turn: KeptTurn) -> str:
        """Return the prompt of a turn, as it was indexed; "" if it no longer is."""
        return "\n\n".join(self._ledger.artifacts.list_prompts(turn.corpus, turn.turn_id))

    def list_words(self, item: Item) -> set[str]:
        """Return the indexed words of an item."""
        return {
            word
            for record in self._ledger.artifacts.list_records(*item)
            for word in tokenize(record["text"])
        }

    def replay(self, prompt: str, items: tuple[Item, ...]) -> tuple[str, ConsideredItem | None]:
        """Ask a prompt again; return the outcome for an item, "offered" or one of MISSED."""
        if self.replayed >= _MOST_REPLAYED:
            return "offered", None
        self.replayed += 1
        found = next((each for each in self._ask(prompt) if each[:2] in items), None)
        offered = found is not None and found.verdict == "offered"
        return "offered" if offered else name_miss(found), found


def find_gaps(
    log: JoinedLog, offers: Iterable[Offer], names: ItemNames, world: GapWorld
) -> list[dict[str, Any]]:
    """Return the gaps, those shown by most prompts first."""
    missed = _list_missed(log, world)
    found = [_describe_item(item, prompts, names, world) for item, prompts in missed.items()]
    found += [
        _describe_cluster(each) for each in _cluster_prompts(_list_unanswered(log, offers, world))
    ]
    found += _list_not_indexed(log)
    return sorted(found, key=lambda each: (-each["prompts"], each["kind"], each["reference"]))


def make_report(
    found: Sequence[dict[str, Any]], world: GapWorld, least: int = LEAST
) -> dict[str, Any]:
    """Return the gaps that at least `least` prompts show, and the number of prompts for others."""
    listed = [each for each in found if each["prompts"] >= least]
    return {
        "gaps": listed,
        "watching": sum(each["prompts"] for each in found if each["prompts"] < least),
        "replayed": world.replayed,
    }


def _list_not_indexed(log: JoinedLog) -> list[dict[str, Any]]:
    """Return the names that were used but that no indexed item has."""
    used: dict[str, list[JoinedUse]] = {}
    for use in log.list_uses():
        if use.state == "not_installed":
            used.setdefault(use.what, []).append(use)
    return [
        {
            "kind": "not_indexed",
            "reference": "",
            "name": name,
            **_count_prompts([]),
            "prompts": len(uses),
            "sessions": len({each.turn.entry for each in uses}),
            "states": {"not_installed": len(uses)},
            "words": [],
            "cure": f"nothing indexed is called {name}: irc add its directory, or install it",
        }
        for name, uses in used.items()
    ]


# -- items that were used and not offered --------------------------------------------------------


def _list_missed(log: JoinedLog, world: GapWorld) -> dict[Item, list[MissedPrompt]]:
    missed: dict[Item, list[MissedPrompt]] = {}
    for use in log.list_uses():
        if use.state in (*MISSED, "unjoined") and (prompt := _find_missed(use, world)):
            missed.setdefault(use.items[0], []).append(prompt)
    return missed


def _find_missed(use: JoinedUse, world: GapWorld) -> MissedPrompt | None:
    text = world.read_prompt(use.turn)
    if not text:
        return None
    if use.state != "unjoined":
        reason = use.offer.reason if use.offer else ""
        return MissedPrompt(text, use.turn.entry, use.state, reason, use.considered)
    state, considered = world.replay(text, use.items)
    if state == "offered":
        return None
    return MissedPrompt(text, use.turn.entry, state, "", considered, replayed=True)


def _describe_item(
    item: Item, prompts: Sequence[MissedPrompt], names: ItemNames, world: GapWorld
) -> dict[str, Any]:
    lacking = _list_lacking(prompts, world.list_words(item))
    named = names.by_item.get(item)
    return {
        "kind": "missed",
        "reference": "/".join(item),
        "name": named.name if named else item[1],
        **_count_prompts(prompts),
        "words": lacking,
        "cure": _suggest_cure("/".join(item), prompts, lacking),
    }


def _list_lacking(prompts: Sequence[MissedPrompt], known: set[str]) -> list[str]:
    """Return words of two prompts or more that an item lacks, the most frequent first."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for prompt in prompts:
        # The terms of the words that describe the topic of the prompt.
        words = (word.lower() for word in _WORD.findall(prompt.text) if has_task(word))
        forms = {term: word for word in words for term in tokenize(word)}
        spelt |= {term: word for term, word in forms.items() if term not in spelt}
        counts.update(term for term in forms if term not in known)
    shared = min(LEAST, len(prompts))
    return [spelt[term] for term, count in counts.most_common() if count >= shared][:_WORDS]


def _suggest_cure(reference: str, prompts: Sequence[MissedPrompt], lacking: Sequence[str]) -> str:
    worst = Counter(each.state for each in prompts).most_common(1)[0][0]
    if lacking:
        return f"add to the description of {reference}: {', '.join(lacking)}"
    if worst == "near_miss":
        return f"label these prompts as cases of {reference}, so that the floor is set by them"
    return f"say in the description of {reference} when to use it: its words are those of others"


# -- prompts that nothing was offered for --------------------------------------------------------


def _list_unanswered(
    log: JoinedLog, offers: Iterable[Offer], world: GapWorld
) -> Iterator[MissedPrompt]:
    """Yield the prompts with a task but without any offer or use."""
    turns = {digest: turn for turn in log.turns for digest in (*turn.own, *turn.asked)}
    for offer in {each.digest: each for each in offers if each.abstained}.values():
        turn = turns.get(offer.digest)
        text = offer.text or (world.read_prompt(turn) if turn else "")
        used = turn is not None and bool(turn.uses)
        if text and not used and offer.reason not in _NO_GAP and has_task(text):
            best = max(offer.items, key=lambda each: each.score, default=None)
            yield MissedPrompt(text, offer.session, "nothing_found", offer.reason, best)


def _cluster_prompts(prompts: Iterable[MissedPrompt]) -> list[list[MissedPrompt]]:
    """Group prompts that share words with the first prompt of a cluster."""
    clusters: list[tuple[set[str], list[MissedPrompt]]] = []
    for prompt in prompts:
        terms = set(tokenize(prompt.text))
        for known, members in clusters:
            if terms and len(terms & known) >= _ALIKE * len(terms | known):
                members.append(prompt)
                break
        else:
            clusters.append((terms, [prompt]))
    return [members for _, members in clusters]


def _describe_cluster(prompts: Sequence[MissedPrompt]) -> dict[str, Any]:
    words = _list_lacking(prompts, set())
    best = Counter(
        f"{p.considered.corpus}/{p.considered.artifact_id}" for p in prompts if p.considered
    )
    nearest = best.most_common(1)[0][0] if best else ""
    about = ", ".join(words) or "this"
    cure = f"nothing indexed is about {about}: write or install it"
    if nearest:
        cure += f"; if {nearest} is meant, add these words to its description"
    return {
        "kind": "nothing_found",
        "reference": nearest,
        "name": "",
        **_count_prompts(prompts),
        "words": words,
        "cure": cure,
    }


def _count_prompts(prompts: Sequence[MissedPrompt]) -> dict[str, Any]:
    """Return the number of prompts and sessions, why they were missed, and examples."""
    scores = [each.considered.score for each in prompts if each.considered]
    return {
        "prompts": len(prompts),
        "sessions": len({each.session for each in prompts}),
        "states": dict(Counter(each.state for each in prompts)),
        "reasons": dict(Counter(each.reason for each in prompts if each.reason)),
        "verdicts": dict(Counter(each.considered.verdict for each in prompts if each.considered)),
        "evidence": max(scores, default=0.0),
        "replayed": sum(each.replayed for each in prompts),
        "examples": [_shorten(each.text) for each in prompts[:_EXAMPLES]],
    }


def _shorten(text: str) -> str:
    line = " ".join(text[: 2 * _EXAMPLE_CHARS].split())
    return line if len(line) <= _EXAMPLE_CHARS else line[: _EXAMPLE_CHARS - 1] + "…"
