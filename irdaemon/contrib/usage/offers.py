"""Offers: the items that an answer offered and considered, recorded in memory with the answer.

Recording appends to a bounded queue; the writer does everything else later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from irdaemon.discovery.discover import Trace
from irdaemon.discovery.impressions import ClientSession
from irdaemon.discovery.retrieve import Candidate
from irdaemon.source.redact.private import has_private
from irdaemon.types import Hit, Selection

Item = tuple[str, str]
MOST_ITEMS = 20
# The number of answers that may wait to be written: the writer takes them every second or so.
_MOST_WAITING = 500
# The characters around an item's name and summary in an agent's context.
_AROUND = 20

Verdict = Literal[
    "offered",
    "shown_before",  # it would have been offered if its session had not been shown it before
    "cut",  # above its corpus' floor, and not selected
    "below_floor",
    "ranked",  # in a search, which selects nothing
]


class ConsideredItem(NamedTuple):
    """An item that an answer offered or passed over: `rank` is its rank in its corpus, from 1.

    The rank is 0 if unknown. `chars` is about how much an offered item took in an agent's context.
    """

    corpus: str
    artifact_id: str
    score: float
    verdict: Verdict
    rank: int = 0
    chars: int = 0


class RankedCorpus(NamedTuple):
    """The first candidates of a corpus, and whether they were above its floor."""

    corpus: str
    above_floor: bool
    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class NotedAnswer:
    """An answer as it was given: its time, operation, recipient and wording.

    `selected` and `ranked` come from its trace; they are empty for a cached answer.
    """

    at: float
    op: str
    session: ClientSession
    variant: str
    answer: Selection
    selected: tuple[Hit, ...] = field(default=(), repr=False)
    ranked: tuple[RankedCorpus, ...] = field(default=(), repr=False)

    def add_trace(self, trace: Trace) -> NotedAnswer:
        """Return the answer with the relevant parts of its trace, which is too large to keep."""
        rankings = trace.merged.rankings
        each_of = -(-MOST_ITEMS // max(1, len(rankings)))
        ranked = tuple(
            RankedCorpus(r.index.corpus, r.above_floor, r.retrieved.candidates[:each_of])
            for r in rankings
        )
        return replace(self, selected=trace.selection.results, ranked=ranked)

    def list_items(self) -> list[ConsideredItem]:
        """Return the first twenty items considered, offered ones first."""
        found = {(item.corpus, item.artifact_id): item for item in reversed([*self._build_items()])}
        return list(reversed(found.values()))[:MOST_ITEMS]

    def list_floors(self) -> dict[str, Any]:
        """Return for each corpus whether it was above its floor, the floor and the best score."""
        return {
            corpus: {
                "above": signals.get("above_floor", False),
                "at_least": signals.get("floor", {}).get("at_least", 0.0),
                "kind": signals.get("floor", {}).get("kind", ""),
                "confidence": signals.get("confidence"),
                "top": signals.get("top_score", 0.0),
            }
            for corpus, signals in self.answer.signals.get("per_source", {}).items()
        }

    def _build_items(self) -> Iterator[ConsideredItem]:
        ranks = dict(self._number_ranks())
        verdict: Verdict = "ranked" if self.op == "search" else "offered"
        for hit in self.answer.results:
            yield _make_item(hit, verdict, ranks)
        if self.op != "search":
            for hit in self.selected:
                yield _make_item(hit, "shown_before", ranks)
        yield from _list_passed_over(self.ranked)

    def _number_ranks(self) -> Iterator[tuple[Item, int]]:
        for corpus, _, candidates in self.ranked:
            for rank, each in enumerate(candidates, start=1):
                yield (corpus, each.card.artifact_id), rank


def _make_item(hit: Hit, verdict: Verdict, ranks: dict[Item, int]) -> ConsideredItem:
    chars = len(hit.name) + len(hit.summary) + len(hit.pointer) + len(hit.artifact_id) + _AROUND
    rank = ranks.get((hit.corpus, hit.artifact_id), 0)
    return ConsideredItem(hit.corpus, hit.artifact_id, round(hit.score, 4), verdict, rank, chars)


def _list_passed_over(ranked: Sequence[RankedCorpus]) -> Iterator[ConsideredItem]:
    """Yield the items not committed, the first of every corpus before the second of any."""
    for at in range(MOST_ITEMS):
        for corpus, above_floor, candidates in ranked:
            if at < len(candidates):
                verdict: Verdict = "cut" if above_floor else "below_floor"
                id, score = candidates[at].card.artifact_id, round(candidates[at].score, 4)
                yield ConsideredItem(corpus, id, score, verdict, at + 1)


class Offers:
    """Answers that wait to be stored; any thread may add one, the writer takes them."""

    def __init__(self) -> None:
        self._waiting: deque[NotedAnswer] = deque(maxlen=_MOST_WAITING)

    def __len__(self) -> int:
        return len(self._waiting)

    def note(self, answer: NotedAnswer) -> None:
        """Add an answer, unless its query has private text; of too many the oldest is dropped."""
        if not has_private(answer.answer.query):
            self._waiting.append(answer)

    def take_all(self) -> list[NotedAnswer]:
        """Return the waiting answers, oldest first, and empty the queue."""
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def put_back(self, answers: list[NotedAnswer]) -> None:
        """Put back answers that could not be stored, ahead of newer ones."""
        room = _MOST_WAITING - len(self._waiting)
        self._waiting.extendleft(reversed(answers[-room:] if room else []))
