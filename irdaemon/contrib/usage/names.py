"""Names: the artifacts that a use refers to, by the name, path or reference in the transcript.

Uses are resolved when requested, not when read, so an item installed or renamed later is found as
soon as it is indexed, and a missing item is seen to be missing.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from irdaemon.contrib.usage.offers import ConsideredItem
from irdaemon.contrib.usage.store import KeptTurn, Offer
from irdaemon.ledger import Ledger
from irdaemon.source.sessions.item_uses import is_built_in

Item = tuple[str, str]

# The kinds of corpora whose items can meaningfully be used or unused.
USED_KINDS = ("skills", "agents", "commands", "mcp_tools", "packages")
# The kinds in which an item is looked up, by how it was used.
_MEANT: Mapping[str, tuple[str, ...]] = {
    "skill": ("skills", "commands"),
    "command": ("commands", "skills"),
    "read": ("skills",),
    "shell": ("skills",),
    "agent": ("agents",),
    "tool": ("mcp_tools",),
    "package": ("packages",),
}
_BY_PATH = ("read", "shell")
# Of an item that is in several places, the nearest is meant.
_SCOPES = ("project", "user", "plugin", "other")
_APART = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class NamedItem:
    """An artifact that can be used: its kind, pointer, name, and other names."""

    corpus: str
    artifact_id: str
    kind: str
    name: str
    pointer: str
    fields: Mapping[str, Any]

    @property
    def reference(self) -> str:
        """Return CORPUS/ID."""
        return f"{self.corpus}/{self.artifact_id}"

    def list_names(self) -> set[str]:
        """Return the names that a transcript may use for it."""
        if self.kind == "packages":
            ecosystem = self.fields.get("ecosystem", "")
            return {_normalize_package(f"{ecosystem}:{self.name}")}
        if self.kind == "mcp_tools":
            return _list_tool_names(self.artifact_id, self.name, str(self.fields.get("server", "")))
        names = {self.name}
        if self.kind == "skills":
            names.add(os.path.basename(os.path.dirname(self.pointer)))
        plugin = str(self.fields.get("plugin") or "").partition("@")[0]
        return names | ({f"{plugin}:{name}" for name in names} if plugin else set())


class ItemNames:
    """The items of a ledger's corpora (name: kind), by every name a transcript may use."""

    def __init__(self, ledger: Ledger, kinds: Mapping[str, str]):
        self._ledger = ledger
        self._corpora = tuple(kinds)
        wanted = [name for name, kind in kinds.items() if kind in USED_KINDS]
        self.items = [
            NamedItem(corpus, id, kinds[corpus], name, pointer, fields)
            for corpus, id, name, pointer, fields in ledger.artifacts.list_all(wanted)
        ]
        self.by_item = {(each.corpus, each.artifact_id): each for each in self.items}
        self._named: dict[tuple[str, str], list[NamedItem]] = {}
        for item in sorted(self.items, key=_rank_nearness):
            for name in item.list_names():
                self._named.setdefault((item.kind, name), []).append(item)
        self._by_pointer = {each.pointer: each for each in self.items if each.pointer}

    def resolve_use(self, how: str, what: str) -> tuple[Item, ...]:
        """Return the items that a use refers to, the nearest first; none if the name is unknown."""
        if how == "disclosed":
            return self._find_referenced(what)
        if how in _BY_PATH:
            found = self._find_at(what)
            return ((found.corpus, found.artifact_id),) if found else ()
        name = _normalize_package(what) if how == "package" else what
        for kind in _MEANT.get(how, ()):
            if named := self._named.get((kind, name)) or self._drop_prefix(kind, name):
                return tuple((each.corpus, each.artifact_id) for each in named)
        return ()

    def _drop_prefix(self, kind: str, name: str) -> list[NamedItem]:
        """Return the only item whose name follows a prefix that is not a plugin's."""
        prefix, colon, rest = name.partition(":")
        if not colon or kind not in ("skills", "commands"):
            return []
        named = self._named.get((kind, rest), [])
        fits = [each for each in named if prefix in each.artifact_id.split("/")]
        return fits or (named if len(named) == 1 else [])

    def _find_at(self, path: str) -> NamedItem | None:
        """Return the item at a path; for a relative path, the only item whose path ends with it."""
        whole = os.path.expanduser(path)
        if os.path.isabs(whole):
            return self._by_pointer.get(whole) or self._by_pointer.get(os.path.realpath(whole))
        end = "/" + os.path.normpath(whole).removeprefix("../")
        ends = [each for pointer, each in self._by_pointer.items() if pointer.endswith(end)]
        return ends[0] if len(ends) == 1 and end.count("/") > 1 else None

    def _find_referenced(self, reference: str) -> tuple[Item, ...]:
        corpus, _, rest = reference.removeprefix("skill://").partition("/")
        if corpus not in self._corpora or not rest:
            return ()
        if self._ledger.artifacts.get(corpus, rest):
            return ((corpus, rest),)
        named = self._ledger.artifacts.find_named(corpus, rest)
        return tuple((corpus, each.artifact_id) for each in named)


def _rank_nearness(item: NamedItem) -> tuple[int, str]:
    scope = str(item.fields.get("scope", "other"))
    return _SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES), item.artifact_id


def _normalize_package(what: str) -> str:
    """Return ECOSYSTEM:NAME normalised: Python ignores case and the kind of separators."""
    ecosystem, _, name = what.partition(":")
    return f"{ecosystem}:{_APART.sub('-', name).lower()}" if ecosystem == "pypi" else what


def _list_tool_names(id: str, name: str, server: str) -> set[str]:
    """Return a tool's names: without its server only if the name is not a common word."""
    joined = {f"{server}{sign}{name}" for sign in ("/", "_", "-", "__")} if server else set[str]()
    alone = {name} if _APART.search(name) else set[str]()
    return {id.partition("#")[0], *joined, *alone}


# Join uses with offers: by session and by the digests of prompts.
#
# Times alone join nothing. A use whose prompt matches no recorded answer is shown as unjoined.

UseState = Literal[
    "offered",  # offered in this turn, or earlier in its session
    "near_miss",  # considered among the first three of its corpus, and not offered
    "buried",  # considered at a lower rank
    "absent",  # not among the considered items
    "unjoined",  # no answer is known for the turn
    "not_installed",  # nothing indexed has this name
]
MISSED: tuple[UseState, ...] = ("near_miss", "buried", "absent")
_NEAR = 3
# The tolerated difference between the clocks of an agent's transcript and the daemon.
_CLOCKS_S = 60.0
_AGENT_ASKED_WITHIN_S = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class JoinedUse:
    """A use, the items it refers to, and the known facts about the offer.

    `considered` is the item as the turn's answer had it, None if it did not.
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

    def list_uses(self) -> Iterator[JoinedUse]:
        """Yield every use of an item, from the newest turn on.

        An agent's own tool or command, which refers to no item, does not count.
        """
        for turn in self.turns:
            offers = self.list_offers(turn)
            before = [
                each for each in self.of_session[turn.session] if each.at <= turn.at + _CLOCKS_S
            ]
            for how, what in turn.uses:
                items = self._names.resolve_use(how, what)
                if items or not is_built_in(how, what):
                    yield _join((turn, how, what), items, offers, before)

    def list_offers(self, turn: KeptTurn) -> list[Offer]:
        """Return the answers that a turn got: to its prompts, and to its agent's queries."""
        own = [o for o in self.of_session[turn.session] if o.digest in turn.own]
        asked = [
            offer
            for digest in turn.asked
            for offer in self._of_digest[digest]
            if -_CLOCKS_S <= offer.at - turn.at <= _AGENT_ASKED_WITHIN_S
        ]
        return [*own, *(each for each in asked if each not in own)]


def _join(
    use: tuple[KeptTurn, str, str],
    items: tuple[Item, ...],
    offers: Sequence[Offer],
    before: Sequence[Offer],
) -> JoinedUse:
    if not items:
        return JoinedUse(*use, items, "not_installed")
    for offer in (*offers, *before):
        if found := _find_considered(offer, items, lambda each: each.verdict in _OFFERED):
            return JoinedUse(*use, items, "offered", found, offer)
    if not offers:
        return JoinedUse(*use, items, "unjoined")
    for offer in offers:
        if found := _find_considered(offer, items, lambda each: True):
            return JoinedUse(*use, items, name_miss(found), found, offer)
    return JoinedUse(*use, items, "absent", None, offers[0])


_OFFERED = ("offered", "shown_before")


def name_miss(considered: ConsideredItem | None) -> UseState:
    """Return how narrowly an item missed being offered."""
    if considered is None:
        return "absent"
    near = considered.verdict == "cut" or 0 < considered.rank <= _NEAR
    return "near_miss" if near else "buried"


def _find_considered(
    offer: Offer, items: tuple[Item, ...], wanted: Callable[[ConsideredItem], bool]
) -> ConsideredItem | None:
    return next((each for each in offer.items if each[:2] in items and wanted(each)), None)
