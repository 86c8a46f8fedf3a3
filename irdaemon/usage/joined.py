"""Join what was used with what was offered: by session and by the digests of prompts.

Nothing is guessed from times alone. A use whose prompt matches no answer that was noted is shown as
unjoined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from irdaemon.source.sessions.item_uses import is_agents_own
from irdaemon.usage.names import Item, ItemNames
from irdaemon.usage.offers import ConsideredItem
from irdaemon.usage.rows import KeptTurn, Offer

UseState = Literal[
    "offered",  # offered in this turn, or before in its session
    "near_miss",  # considered among the first three of its corpus, and not offered
    "buried",  # considered further down
    "absent",  # not among what was considered
    "unjoined",  # no answer is known for the turn
    "not_installed",  # nothing that is indexed has this name
]
MISSED: tuple[UseState, ...] = ("near_miss", "buried", "absent")
_NEAR = 3
# The clock of an agent's transcript and ours may differ by so much.
_CLOCKS_S = 60.0
_AGENT_ASKED_WITHIN_S = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class JoinedUse:
    """A use, the items it means, and what is known of how that item was offered.

    `considered` is how the answer to its turn had it, None where it did not.
    """

    turn: KeptTurn
    how: str
    what: str
    items: tuple[Item, ...]
    state: UseState
    considered: ConsideredItem | None = None
    offer: Offer | None = None


class JoinedLog:
    """Turns with the answers that were given for them. Limited clients' answers join no turn."""

    def __init__(self, turns: Sequence[KeptTurn], offers: Iterable[Offer], names: ItemNames):
        self.turns = turns
        self._names = names
        self.of_session: dict[str, list[Offer]] = defaultdict(list)
        self._of_digest: dict[bytes, list[Offer]] = defaultdict(list)
        for offer in offers:
            if not offer.client and offer.op != "search":
                self._of_digest[offer.digest].append(offer)
                if offer.session:
                    self.of_session[offer.session].append(offer)

    def uses(self) -> Iterator[JoinedUse]:
        """Yield every use of an item, those of the newest turn first.

        A tool or command of the agent's own, which means no item, is none.
        """
        for turn in self.turns:
            offers = self.offers_of(turn)
            before = [each for each in self.of_session[turn.session] if each.at <= _end(turn)]
            for how, what in turn.uses:
                items = self._names.meant(how, what)
                if items or not is_agents_own(how, what):
                    yield _joined((turn, how, what), items, offers, before)

    def offers_of(self, turn: KeptTurn) -> list[Offer]:
        """Return the answers that a turn was given: to its prompts, and to its agent's queries."""
        own = [o for o in self.of_session[turn.session] if o.digest in turn.own]
        asked = [
            offer
            for digest in turn.asked
            for offer in self._of_digest[digest]
            if -_CLOCKS_S <= offer.at - turn.at <= _AGENT_ASKED_WITHIN_S
        ]
        return [*own, *(each for each in asked if each not in own)]


def _end(turn: KeptTurn) -> float:
    return turn.at + _CLOCKS_S


def _joined(
    use: tuple[KeptTurn, str, str],
    items: tuple[Item, ...],
    offers: Sequence[Offer],
    before: Sequence[Offer],
) -> JoinedUse:
    if not items:
        return JoinedUse(*use, items, "not_installed")
    for offer in (*offers, *before):
        if found := _considered(offer, items, lambda each: each.verdict in _OFFERED):
            return JoinedUse(*use, items, "offered", found, offer)
    if not offers:
        return JoinedUse(*use, items, "unjoined")
    for offer in offers:
        if found := _considered(offer, items, lambda each: True):
            return JoinedUse(*use, items, missed_by(found), found, offer)
    return JoinedUse(*use, items, "absent", None, offers[0])


_OFFERED = ("offered", "shown_before")


def missed_by(considered: ConsideredItem | None) -> UseState:
    """Return by how much an item that was not offered was missed."""
    if considered is None:
        return "absent"
    near = considered.verdict == "cut" or 0 < considered.rank <= _NEAR
    return "near_miss" if near else "buried"


def _considered(
    offer: Offer, items: tuple[Item, ...], wanted: Callable[[ConsideredItem], bool]
) -> ConsideredItem | None:
    return next((each for each in offer.items if each[:2] in items and wanted(each)), None)
