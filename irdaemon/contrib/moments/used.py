"""Find the items that a session has probably not finished with, to name them after a compaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from irclient.errors import Unavailable
from irdaemon.contrib.usage.names import ItemNames
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.store import KeptTurn
from irdaemon.discovery.preferences import Item
from irdaemon.engine.state import State
from irdaemon.ledger import Ledger
from irdaemon.source.sessions.item_uses import is_built_in

# An item that this many turns did not use is finished with.
TURNS = 10
MOST = 5
# The factor by which each later turn reduces the weight of a use.
_DECAY = 0.7
# Packages stay installed; for the other kinds an agent must know that they exist.
_KINDS = ("skills", "agents", "commands", "mcp_tools")


class UsedItem(NamedTuple):
    """An item that a session used: its reference, its name, the kind of its corpus, and where."""

    reference: str
    name: str
    kind: str
    pointer: str


def find_used(
    state: State, session: str, transcript: str, muted: Collection[Item] = ()
) -> list[UsedItem]:
    """Return what the last ten turns of a session used, the likeliest to be used again first.

    If the id does not find the session, its transcript's file does.
    """
    usage = state.addons.get("usage")
    if not isinstance(usage, UsageObserver) or usage.notes is None:
        return []
    try:
        with usage.notes.open_reading() as store:
            turns = store.list_session(session, transcript, TURNS)
        with state.open_reading() as ledger:
            return _resolve(state, ledger, rank_uses(turns), muted)
    except Unavailable:
        return []


def rank_uses(turns: Sequence[KeptTurn]) -> list[tuple[str, str]]:
    """Return the uses (how, what) of turns, newest first: recent and frequent ones come first."""
    weights = defaultdict[tuple[str, str], float](float)
    for age, turn in enumerate(turns[:TURNS]):
        for use in turn.uses:
            weights[use] += _DECAY**age
    return sorted(weights, key=lambda use: -weights[use])


def _resolve(
    state: State, ledger: Ledger, uses: Iterable[tuple[str, str]], muted: Collection[Item]
) -> list[UsedItem]:
    uses = list(uses)
    if not uses:
        return []
    stored = {**state.corpora, **state.parts}
    # References work for every corpus, names only for these kinds.
    kinds = {name: c.kind if c.kind in _KINDS else "" for name, c in stored.items()}
    names, found = ItemNames(ledger, kinds), dict[Item, UsedItem]()
    for use in uses:
        # The agent's own command or sub-agent may have the same name as an item.
        is_own = use[0] in ("command", "agent") and is_built_in(*use)
        for name, artifact_id in () if is_own else names.resolve_use(*use)[:1]:
            held = stored[name]
            item = held.part_of or name, artifact_id
            artifact = ledger.artifacts.get(name, artifact_id)
            if artifact is not None and item not in muted:
                reference = "/".join(item)
                used = UsedItem(reference, artifact.name, held.kind, artifact.pointer)
                found.setdefault(item, used)
    return _join_copies(found)[:MOST]


def _join_copies(found: Mapping[Item, UsedItem]) -> list[UsedItem]:
    """Return the items, one per kind and name."""
    first: dict[tuple[str, str], UsedItem] = {}
    for each in found.values():
        first.setdefault((each.kind, each.name), each)
    return list(first.values())
