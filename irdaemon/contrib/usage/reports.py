"""Reports from the log of use: on use, gaps and listings; and forgetting."""

from __future__ import annotations

import math
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from irclient.errors import QueryError, Unavailable
from irdaemon.contrib.usage.gaps import LEAST, GapWorld, find_gaps, make_report
from irdaemon.contrib.usage.names import (
    MISSED,
    USED_KINDS,
    Item,
    ItemNames,
    JoinedLog,
    JoinedUse,
    NamedItem,
)
from irdaemon.contrib.usage.notes import UsageNotes
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.offers import ConsideredItem, NotedAnswer
from irdaemon.contrib.usage.store import KEPT_DAYS, Offer, UsageStore
from irdaemon.contrib.usage.taught import list_uses
from irdaemon.discovery.disclose import resolve_reference
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.impressions import ClientSession
from irdaemon.engine import Engine
from irdaemon.ledger import Ledger
from irdaemon.types import Query, SelectSpec, Use

_DAY = 24 * 60 * 60
# The parameters of the prompt hook.
_MOST_OFFERED = 3


class UseReports:
    """Report on use, from any thread. Raises Unavailable if use is not recorded."""

    def __init__(self, engine: Engine):
        self._state = engine.state
        self._engine = engine
        self._since = engine.state.clock() - KEPT_DAYS * _DAY

    def report_usage(self, item: str = "") -> dict[str, Any]:
        """Return adoption by item, agent and wording, of one item on request (CORPUS/ID)."""
        with self._open() as (store, ledger):
            wanted = "/".join(resolve_reference(ledger, item, self._state.corpora)) if item else ""
            names, offers = self._make_names(ledger), self._list_offers(store)
            log = JoinedLog(store.list_turns(self._since), offers, names)
            found = report_adoption(log, offers, names, wanted)
        told = {"since": self._since, "until": self._state.clock(), "kept_days": KEPT_DAYS}
        return {**told, **found, "learned": self._list_learned()}

    def _list_learned(self) -> list[dict[str, Any]]:
        """Return the outcome of learning in each corpus where it was tried."""
        found = []
        with self._state.open_reading() as ledger:
            for name in self._state.corpora:
                if told := ledger.prompts.read_state(name):
                    told.pop("seen", None)
                    artifacts, prompts = ledger.prompts.count(name)
                    now = {"corpus": name, "artifacts": artifacts, "prompts": prompts}
                    found.append({**told, **now})
        return found

    def report_gaps(self, least: int = LEAST) -> dict[str, Any]:
        """Return the items that were used but not offered, or not found at all, with remedies.

        Gaps shown by at least `least` prompts are listed. A prompt without a recorded answer is
        asked again.
        """
        with self._open() as (store, ledger):
            names, offers = self._make_names(ledger), self._list_offers(store)
            log = JoinedLog(store.list_turns(self._since), offers, names)
            world = GapWorld(ledger, self._list_considered)
            found = find_gaps(log, offers, names, world)
        return {"since": self._since, **make_report(found, world, least)}

    def report_listing(self, context_tokens: int = 0, agent: str = "claude") -> dict[str, Any]:
        """Return the skills that an agent's own listing has no room for."""
        with self._open() as (store, ledger):
            names = self._make_names(ledger)
            uses: Counter[Item] = Counter()
            for turn in store.list_turns(self._since, only_used=True):
                uses.update(
                    {i for how, what in turn.uses for i in names.resolve_use(how, what)[:1]}
                )
            return make_listing(ledger, names, uses, context_tokens, agent)

    def list_uses(self, corpus: str) -> list[Use]:
        """Return all known uses of a corpus' items, newest first, with their prompts."""
        with self._open() as (store, ledger):
            return list(list_uses(store, ledger, self._make_names(ledger), corpus))

    def forget(self, item: str = "", session: str = "", everything: bool = False) -> int:
        """Forget records of an item, of a session (AGENT:ID) or all; return how many.

        This also requests a job that forgets anything learned from them.
        """
        if bool(item) + bool(session) + everything != 1:
            raise QueryError("say what to forget", "one of --item, --session and --all")
        notes, now = self._get_notes(), self._state.clock()
        notes.drop_waiting()
        try:
            store = notes.open_changing()
            try:
                if item:
                    return self._forget_item(store, item, now)
                forgotten = store.forget_session(session, now) if session else store.forget_all(now)
                UsageObserver.find_in(self._state.addons).request_unlearning("", "", session)
                return forgotten
            finally:
                store.close()
        except (sqlite3.Error, OSError) as error:
            raise Unavailable(f"the log of use cannot be changed: {error}", "try again") from error

    def _forget_item(self, store: UsageStore, item: str, now: float) -> int:
        with self._state.open_reading() as ledger:
            found = resolve_reference(ledger, item, self._state.corpora)
            names = self._make_names(ledger)
            uses = {use for turn in store.list_turns(only_used=True) for use in turn.uses}
            meant = [use for use in uses if found in names.resolve_use(*use)[:1]]
        UsageObserver.find_in(self._state.addons).request_unlearning(*found, "")
        return store.forget_item(found, meant, now)

    def _list_considered(self, prompt: str) -> list[ConsideredItem]:
        """Return the items that the prompt hook's answer would consider now; do not record it."""
        traces = list[Trace]()
        wanted = Query(prompt, select=SelectSpec(max_k=_MOST_OFFERED))
        answer = self._engine.discover(wanted, note_trace=traces.append)
        asked = NotedAnswer(0.0, "discover", ClientSession("", ""), "", answer)
        return asked.add_trace(traces[-1]).list_items()

    @contextmanager
    def _open(self) -> Iterator[tuple[UsageStore, Ledger]]:
        with self._get_notes().open_reading() as store, self._state.open_reading() as ledger:
            yield store, ledger

    def _get_notes(self) -> UsageNotes:
        notes = UsageObserver.find_in(self._state.addons).notes
        if notes is None:
            raise Unavailable("use is not recorded here", "enabled = true under [usage]")
        return notes

    def _make_names(self, ledger: Ledger) -> ItemNames:
        return ItemNames(ledger, {name: c.kind for name, c in self._state.corpora.items()})

    def _list_offers(self, store: UsageStore) -> list[Offer]:
        """Return the answers to the daemon's own user, without other clients' sessions."""
        return [offer for offer in store.list_offers(self._since) if not offer.client]


# Adoption: the share of offers that were used; and items that were never offered or never used.

# Shares with their confidence intervals.

_Z = 1.959964


def compute_interval(part: int, whole: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; (0.0, 1.0) without counts."""
    if not whole:
        return 0.0, 1.0
    share, z2 = part / whole, _Z * _Z
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = (
        _Z * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole)) / (1 + z2 / whole)
    )
    return max(0.0, middle - spread), min(1.0, middle + spread)


def describe_share(part: int, whole: int) -> dict[str, float | None]:
    """Return a share with its interval, rounded; None without counts."""
    low, high = compute_interval(part, whole)
    share = round(part / whole, 4) if whole else None
    return {"share": share, "low": round(low, 4), "high": round(high, 4)}


_CHARS_PER_TOKEN = 4
# Long lists are truncated to this length, and sent with their full lengths.
_MOST_LISTED = 50
# Packages are installed by the thousand, so it means nothing that most were never offered.
_FEW_KINDS = frozenset(USED_KINDS) - {"packages"}
_NO_WORDING = "plain"


@dataclass(slots=True)
class _Tally:
    """How often something was offered and then used; for an item also other outcomes.

    A session counts once, however often it got the same offer.
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
    """Return the report of use: adoption by item, agent, wording and week, and notable items.

    `item` (CORPUS/ID) limits the rows of items to one.
    """
    uses = list(log.list_uses())
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
            # Whatever sessions the lines of an entry name, it counts for the newest.
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
    """Yield each session's offers, each item once; offers without a session join nothing."""
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
    """Return names used in transcripts that no indexed item has, the most frequent first."""
    counts = Counter((each.how, each.what) for each in uses if each.state == "not_installed")
    return [
        {"how": how, "name": what, "uses": count}
        for (how, what), count in counts.most_common(_MOST_LISTED)
    ]


def _list_unused(
    names: ItemNames, items: Mapping[Item, _Tally], offers: Iterable[Offer]
) -> dict[str, Any]:
    """Return the items never offered or used, and those offered but never used."""
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
    """Return about how much of agents' context the offers took, in total and as shown."""
    shown = [each for offer in offers for each in offer.items if each.verdict == "offered"]
    chars = sum(each.chars for each in shown)
    return {"items": len(shown), "chars": chars, "tokens": chars // _CHARS_PER_TOKEN}


# Agents' own listings of skills: estimates of which descriptions they have no room for.
#
# An agent never uses what it does not show its model. Others read both rules from the programs'
# code; other versions may differ.
#
# Claude Code uses a hundredth of its context: floor(tokens * 4 * 0.01) characters (SOTA-skills,
# pull request 349). A description is cut at 1,536 characters; skills whose description has no room
# left appear as bare names. Here the most used come first, then alphabetical order.
#
# Codex uses a fiftieth, at four bytes a token (openai/codex, core-skills/src/render.rs), and writes
# the path of each skill as well. A description is cut at 1,024 characters; if not all fit, each is
# limited to the same number of characters, so that short ones stay whole; if not even the names
# fit, the alphabetically last ones are left out. Codex shortens paths first; the estimate ignores
# that.

_BYTES_PER_TOKEN = 4
_KIND = "capability"


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill that an agent would list: the characters of its description, and of the rest."""

    item: NamedItem
    described: int
    name_chars: int
    uses: int

    @property
    def chars(self) -> int:
        """Return the length of its whole line."""
        return self.described + self.name_chars


# Takes skills in order, and the budget; returns how much of each skill's description is shown, -1
# if the skill is left out.
Fit = Callable[[Sequence[ListedSkill], int], list[int]]


@dataclass(frozen=True, slots=True)
class ListingRule:
    """How an agent lists skills: from which directories, in what share of its context."""

    folders: tuple[str, ...]
    context_tokens: int
    share: float
    most_described: int
    around: int
    with_path: bool
    fit: Fit
    source: str


def _drop_last(skills: Sequence[ListedSkill], budget: int) -> list[int]:
    """Keep whole descriptions, in order, while they fit."""
    left, shown = budget - sum(each.name_chars for each in skills), list[int]()
    for each in skills:
        fits = each.described <= left
        left -= each.described if fits else 0
        shown.append(each.described if fits else 0)
    return shown


def _cut_evenly(skills: Sequence[ListedSkill], budget: int) -> list[int]:
    """Cut descriptions to the same length; leave out skills whose names do not fit."""
    kept, used = 0, 0
    while kept < len(skills) and used + skills[kept].name_chars <= budget:
        used += skills[kept].name_chars
        kept += 1
    left, shown = budget - used, [0] * kept + [-1] * (len(skills) - kept)
    if kept < len(skills):
        return shown
    order = sorted(range(kept), key=lambda at: skills[at].described)
    for number, at in enumerate(order):
        shown[at] = min(skills[at].described, left // (kept - number))
        left -= shown[at]
    return shown


RULES: Mapping[str, ListingRule] = {
    "claude": ListingRule(
        folders=("/.claude/",),
        context_tokens=200_000,
        share=0.01,
        most_described=1_536,
        around=len("- : \n"),
        with_path=False,
        fit=_drop_last,
        source="estimate: floor(context tokens * 4 * 0.01) characters, as read from Claude Code's"
        " program in martinholovsky/SOTA-skills, pull request 349; other versions may differ",
    ),
    "codex": ListingRule(
        folders=("/.agents/skills/", "/.codex/skills/"),
        context_tokens=272_000,
        share=0.02,
        most_described=1_024,
        around=len("- :  (file: )\n"),
        with_path=True,
        fit=_cut_evenly,
        source="estimate: 2% of the context at four bytes a token, as in openai/codex,"
        " core-skills/src/render.rs, without its shorter paths; other versions may differ",
    ),
}


def make_listing(
    ledger: Ledger,
    names: ItemNames,
    uses: Mapping[Item, int],
    context_tokens: int = 0,
    agent: str = "claude",
) -> dict[str, Any]:
    """Return which skills an agent's listing shows whole; 0 tokens means its usual context.

    Raises QueryError for an agent without a known rule.
    """
    if agent not in RULES:
        raise QueryError(f"unknown agent {agent!r:.40}", f"listings: {', '.join(RULES)}")
    rule = RULES[agent]
    tokens = context_tokens or rule.context_tokens
    budget = math.floor(tokens * _BYTES_PER_TOKEN * rule.share)
    listed = _list_skills(names, rule)
    corpora = {each.corpus for each in listed}
    texts = {corpus: ledger.artifacts.list_texts(corpus, _KIND) for corpus in corpora}
    skills = [
        _measure(item, texts[item.corpus].get(item.artifact_id, ""), uses, rule) for item in listed
    ]
    by_use = agent == "claude"
    skills.sort(key=lambda e: (-e.uses if by_use else 0, e.item.name, e.item.artifact_id))
    shown = rule.fit(skills, budget)
    return {
        "agent": agent,
        "source": rule.source,
        "context_tokens": tokens,
        "budget_chars": budget,
        "wanted_chars": sum(each.chars for each in skills),
        "skills": len(skills),
        "cut": sum(n < each.described for each, n in zip(skills, shown, strict=True)),
        "items": [_make_row(each, n) for each, n in zip(skills, shown, strict=True)],
    }


def _list_skills(names: ItemNames, rule: ListingRule) -> list[NamedItem]:
    """Return the skills that an agent lists: those below its own directories, once by name."""
    found: dict[str, NamedItem] = {}
    for item in names.items:
        is_its_own = any(folder in item.pointer for folder in rule.folders)
        if item.kind == "skills" and is_its_own and not item.fields.get("hidden"):
            found.setdefault(item.name, item)
    return list(found.values())


def _measure(
    item: NamedItem, text: str, uses: Mapping[Item, int], rule: ListingRule
) -> ListedSkill:
    described = min(len(text.removeprefix(item.name).strip()), rule.most_described)
    name = len(item.name) + rule.around + (len(item.pointer) if rule.with_path else 0)
    return ListedSkill(item, described, name, uses.get((item.corpus, item.artifact_id), 0))


def _make_row(skill: ListedSkill, shown: int) -> dict[str, Any]:
    """Return a skill as in a report: `shown` characters of its description, -1 if left out."""
    return {
        "reference": skill.item.reference,
        "name": skill.item.name,
        "chars": skill.chars,
        "tokens": skill.chars // _BYTES_PER_TOKEN,
        "uses": skill.uses,
        "whole": shown >= skill.described,
        "shown": shown,
    }
