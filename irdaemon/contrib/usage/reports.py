"""What the log of use answers: reports on use, gaps and listings, and forgetting."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from irclient.errors import QueryError, Unavailable
from irdaemon.contrib.usage.adoption import report_adoption
from irdaemon.contrib.usage.gaps import LEAST, GapWorld, find_gaps, make_report
from irdaemon.contrib.usage.listings import make_listing
from irdaemon.contrib.usage.names import Item, ItemNames, JoinedLog
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
# As the prompt hook asks.
_MOST_OFFERED = 3


def _keep_own(offers: list[Offer]) -> list[Offer]:
    """Return the answers to the daemon's own user: sessions of other clients are not theirs."""
    return [offer for offer in offers if not offer.client]


class UseReports:
    """Report on use; any thread may. Raises Unavailable where use is not noted."""

    def __init__(self, engine: Engine):
        self._state = engine.state
        self._reader = engine.reader

    def usage(self, item: str = "") -> dict[str, Any]:
        """Return adoption by item, agent and wording, of one item on request (CORPUS/ID)."""
        with self._open() as (store, ledger):
            wanted = "/".join(resolve_reference(ledger, item, self._state.corpora)) if item else ""
            names, since = self._make_names(ledger), self._find_since()
            offers = _keep_own(store.offers(since))
            log = JoinedLog(store.turns(since), offers, names)
            found = report_adoption(log, offers, names, wanted)
        told = {"since": since, "until": self._state.clock(), "kept_days": KEPT_DAYS}
        return {**told, **found, "learned": self._list_learned()}

    def _list_learned(self) -> list[dict[str, Any]]:
        """Return what came of learning in each corpus, where anything was tried."""
        found = []
        with self._state.reading() as ledger:
            for name in self._state.corpora:
                if told := ledger.prompts.read_state(name):
                    told.pop("seen", None)
                    artifacts, prompts = ledger.prompts.count(name)
                    now = {"corpus": name, "artifacts": artifacts, "prompts": prompts}
                    found.append({**told, **now})
        return found

    def gaps(self, least: int = LEAST) -> dict[str, Any]:
        """Return what was used and not offered, or not found at all, and what would cure it.

        Gaps that at least `least` prompts show are listed. A prompt without a known answer is
        asked again.
        """
        with self._open() as (store, ledger):
            names, since = self._make_names(ledger), self._find_since()
            offers = _keep_own(store.offers(since))
            log = JoinedLog(store.turns(since), offers, names)
            world = GapWorld(ledger, self._list_considered)
            found = find_gaps(log, offers, names, world)
        return {"since": since, **make_report(found, world, least)}

    def listing(self, context_tokens: int = 0, agent: str = "claude") -> dict[str, Any]:
        """Return what an agent's own listing of skills has no room for."""
        with self._open() as (store, ledger):
            names = self._make_names(ledger)
            uses: Counter[Item] = Counter()
            for turn in store.turns(self._find_since(), only_used=True):
                uses.update(
                    {i for how, what in turn.uses for i in names.resolve_use(how, what)[:1]}
                )
            return make_listing(ledger, names, uses, context_tokens, agent)

    def of_corpus(self, corpus: str) -> list[Use]:
        """Return all uses known of a corpus' items, newest first, with their prompts."""
        with self._open() as (store, ledger):
            return list(list_uses(store, ledger, self._make_names(ledger), corpus))

    def forget(self, item: str = "", session: str = "", everything: bool = False) -> int:
        """Forget what is noted of an item, of a session (AGENT:ID) or at all; return how much.

        What was learned of it is forgotten by a job that this requests.
        """
        if bool(item) + bool(session) + everything != 1:
            raise QueryError("say what to forget", "one of --item, --session and --all")
        notes, now = self._get_notes(), self._state.clock()
        notes.drop_waiting()
        try:
            store = notes.changing()
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
        with self._state.reading() as ledger:
            found = resolve_reference(ledger, item, self._state.corpora)
            names = self._make_names(ledger)
            uses = {use for turn in store.turns(only_used=True) for use in turn.uses}
            meant = [use for use in uses if found in names.resolve_use(*use)[:1]]
        UsageObserver.find_in(self._state.addons).request_unlearning(*found, "")
        return store.forget_item(found, meant, now)

    def _list_considered(self, prompt: str) -> list[ConsideredItem]:
        """Return what an answer to the prompt hook would consider now; it is not noted."""
        traces = list[Trace]()
        wanted = Query(prompt, select=SelectSpec(max_k=_MOST_OFFERED))
        answer = self._reader.discover(wanted, traced=traces.append)
        asked = NotedAnswer(0.0, "discover", ClientSession("", ""), "", answer)
        return asked.add_trace(traces[-1]).items()

    @contextmanager
    def _open(self) -> Iterator[tuple[UsageStore, Ledger]]:
        with self._get_notes().reading() as store, self._state.reading() as ledger:
            yield store, ledger

    def _get_notes(self) -> UsageNotes:
        notes = UsageObserver.find_in(self._state.addons).notes
        if notes is None:
            raise Unavailable("use is not noted here", "enabled = true under [usage]")
        return notes

    def _make_names(self, ledger: Ledger) -> ItemNames:
        return ItemNames(ledger, {name: c.kind for name, c in self._state.corpora.items()})

    def _find_since(self) -> float:
        return self._state.clock() - KEPT_DAYS * _DAY
