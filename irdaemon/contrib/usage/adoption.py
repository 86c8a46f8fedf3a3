"""Adoption: of what was offered, how much was used; and what was never offered, or never used."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from irdaemon.contrib.usage.names import (
    MISSED,
    USED_KINDS,
    Item,
    ItemNames,
    JoinedLog,
    JoinedUse,
)
from irdaemon.contrib.usage.store import Offer

# Shares with their uncertainty.

_Z = 1.959964


def compute_interval(part: int, whole: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; (0.0, 1.0) where nothing was counted."""
    if not whole:
        return 0.0, 1.0
    share, z2 = part / whole, _Z * _Z
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = (
        _Z * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole)) / (1 + z2 / whole)
    )
    return max(0.0, middle - spread), min(1.0, middle + spread)


def describe_share(part: int, whole: int) -> dict[str, float | None]:
    """Return a share with its interval, rounded; None where nothing was counted."""
    low, high = compute_interval(part, whole)
    share = round(part / whole, 4) if whole else None
    return {"share": share, "low": round(low, 4), "high": round(high, 4)}


_CHARS_PER_TOKEN = 4
# Long lists are cut to this many, and sent with their lengths.
_MOST_LISTED = 50
# Packages are installed by the thousand: that most were never offered says nothing.
_FEW_KINDS = frozenset(USED_KINDS) - {"packages"}
_NO_WORDING = "plain"


@dataclass(slots=True)
class _Tally:
    """How often something was offered and then used; for an item also what else became of it.

    A session counts once, however often it was offered the same.
    """

    offered: int = 0
    adopted: int = 0
    uses: int = 0
    last_used: float = 0.0
    chars: int = 0
    states: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        return {
            "offered": self.offered,
            "adopted": self.adopted,
            **describe_share(self.adopted, self.offered),
        }


def report_adoption(
    log: JoinedLog, offers: list[Offer], names: ItemNames, item: str = ""
) -> dict[str, Any]:
    """Return the report of use: adoption by item, agent, wording and week, and what stands out.

    `item` (CORPUS/ID) narrows the rows of items to one.
    """
    uses = list(log.uses())
    items, by = _tally(log, offers, uses)
    rows = [_describe_tally(names, key, tally) for key, tally in _sort_by_use(items)]
    return {
        "answers": len(offers),
        "abstained": sum(each.abstained for each in offers),
        "without_session": sum(not each.session for each in offers),
        "turns": len(log.turns),
        "uses": len(uses),
        "states": dict(Counter(each.state for each in uses).most_common()),
        "items": [row for row in rows if item in ("", row["reference"])],
        "adoption": [
            {"by": kind, "name": name, **tally.to_dict()} for (kind, name), tally in by.items()
        ],
        "not_installed": _list_not_installed(uses),
        **_list_unused(names, items, offers),
        "context": _measure_context(offers),
    }


def _tally(
    log: JoinedLog, offers: Iterable[Offer], uses: Iterable[JoinedUse]
) -> tuple[dict[Item, _Tally], dict[tuple[str, str], _Tally]]:
    items: dict[Item, _Tally] = defaultdict(_Tally)
    by: dict[tuple[str, str], _Tally] = defaultdict(_Tally)
    used: dict[tuple[str, Item], float] = {}
    told: dict[tuple[str, Item], str] = {}
    for use in uses:
        for item in use.items:
            # Whatever sessions the lines of an entry say they are of, it counts for the newest.
            if told.setdefault((use.turn.entry, item), use.turn.session) == use.turn.session:
                key = use.turn.session, item
                used[key] = max(use.turn.at, used.get(key, 0.0))
        if use.items:
            tally = items[use.items[0]]
            tally.uses += 1
            tally.states[use.state] += 1
            tally.last_used = max(tally.last_used, use.turn.at)
    for offer, item in _list_first_offers(offers):
        later = used.get((offer.session, item), 0.0)
        adopted = later >= offer.at - 60
        agent = offer.session.partition(":")[0]
        wording = offer.variant or _NO_WORDING
        week = time.strftime("%G-W%V", time.gmtime(offer.at))
        for tally in (items[item], by["agent", agent], by["wording", wording], by["week", week]):
            tally.offered += 1
            tally.adopted += adopted
    for offer in offers:
        for each in offer.items:
            items[each.corpus, each.artifact_id].chars += each.chars
    return items, by


def _list_first_offers(offers: Iterable[Offer]) -> Iterator[tuple[Offer, Item]]:
    """Yield what was offered to each session, each item once; without a session none joins."""
    known: set[tuple[str, Item]] = set()
    for offer in offers:
        for each in offer.items:
            key = offer.session, (each.corpus, each.artifact_id)
            if each.verdict == "offered" and offer.session and key not in known:
                known.add(key)
                yield offer, key[1]


def _sort_by_use(items: Mapping[Item, _Tally]) -> list[tuple[Item, _Tally]]:
    return sorted(
        ((item, tally) for item, tally in items.items() if tally.uses or tally.offered),
        key=lambda each: (-each[1].uses, -each[1].offered, each[0]),
    )


def _describe_tally(names: ItemNames, item: Item, tally: _Tally) -> dict[str, Any]:
    named = names.by_item.get(item)
    return {
        "reference": "/".join(item),
        "name": named.name if named else item[1].rpartition("/")[2],
        "uses": tally.uses,
        **tally.to_dict(),
        "missed": {state: tally.states[state] for state in MISSED},
        "unjoined": tally.states["unjoined"],
        "chars": tally.chars,
        "last_used": tally.last_used or None,
    }


def _list_not_installed(uses: Iterable[JoinedUse]) -> list[dict[str, Any]]:
    """Return what transcripts use by names that nothing indexed has, the most frequent first."""
    counts = Counter((each.how, each.what) for each in uses if each.state == "not_installed")
    return [
        {"how": how, "name": what, "uses": count}
        for (how, what), count in counts.most_common(_MOST_LISTED)
    ]


def _list_unused(
    names: ItemNames, items: Mapping[Item, _Tally], offers: Iterable[Offer]
) -> dict[str, Any]:
    """Return which items were never offered nor used, and which were offered and never used."""
    held = [(each.corpus, each.artifact_id) for each in names.items if each.kind in _FEW_KINDS]
    used = {item for item, tally in items.items() if tally.uses}
    offered = {each[:2] for o in offers for each in o.items if each.verdict == "offered"}
    never = ["/".join(item) for item in held if item not in offered | used]
    in_vain = ["/".join(item) for item in held if item in offered - used]
    return {
        "never_offered": {"count": len(never), "references": never[:_MOST_LISTED]},
        "offered_never_used": {"count": len(in_vain), "references": in_vain[:_MOST_LISTED]},
    }


def _measure_context(offers: Iterable[Offer]) -> dict[str, int]:
    """Return about how much of agents' context the offers took, in all and of what was shown."""
    shown = [each for offer in offers for each in offer.items if each.verdict == "offered"]
    chars = sum(each.chars for each in shown)
    return {"items": len(shown), "chars": chars, "tokens": chars // _CHARS_PER_TOKEN}
