"""The engine's observer of moments: preferences for its answers, and changes to be stored."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.moments.tasks import Tasks
from irdaemon.discovery.preferences import NO_PREFERENCES, Item, Preferences
from irdaemon.engine.observer import Observer
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.reconcile import Report
from irdaemon.ledger import Fading, Preference
from irdaemon.ledger.preferences import MUTE, PIN, Counted
from irdaemon.source.opening import is_within

log = logging.getLogger(__name__)

# The hook's names.
AGENTS = ("claude", "codex", "gemini", "cursor", "copilot")
_MOST_COUNTED, _COUNTS_KEPT_EVERY_S = 10_000, 10.0
# A faded item comes back if its odds are this much better than in any offer in vain.
_BETTER = 1.5


class Change(NamedTuple):
    """A preference that the person set or removed."""

    preference: Preference
    is_taken_back: bool


class MomentsObserver(Observer):
    """Tell answers what to leave out and what to offer first; jobs store waiting changes."""

    def __init__(self, state: State):
        self._state = state
        self.waiting: deque[Change] = deque()
        self.tasks = Tasks()
        # (agent, moment, outcome), in order.
        self.counted: deque[Counted] = deque(maxlen=_MOST_COUNTED)
        self._counts_kept_at = state.clock()
        self.held: tuple[Preference, ...] = ()
        self.fading: tuple[Fading, ...] = ()
        # By the root where they apply, "" for everywhere.
        self._by_root: Mapping[str, Preferences] = {}
        if not state.ledger.read_only:
            self.load()

    def load(self) -> None:
        """Load the preferences from the ledger."""
        ledger = self._state.ledger
        self.held = tuple(ledger.preferences.list_all())
        self.fading = tuple(ledger.preferences.list_fading())
        faded = {
            (each.corpus, each.artifact_id): _improve(each.best_score)
            for each in self.fading
            if each.sessions
        }
        roots = ("", *(each.root for each in self.held if each.root))
        found = {root: _combine(self.held, root, faded) for root in roots}
        self._by_root = found if found[""] != NO_PREFERENCES or len(found) > 1 else {}
        self._state.tiers.forget_answers()

    def request(self, change: Change) -> int:
        """Request a change; return the job's number."""
        self.waiting.append(change)
        return self._state.request(Job("prefer"))

    def count_answer(self, session: str, moment: str, is_told: bool) -> None:
        """Count an answer to the hook of a session (AGENT:ID); it is stored later."""
        agent = session.partition(":")[0]
        counted = agent if agent in AGENTS else "other", moment, "told" if is_told else "silent"
        self.counted.append(counted)

    # -- answers ---------------------------------------------------------------------------------

    def find_preferences(self, place: str, to_session: bool) -> Preferences | None:
        """Return the preferences at a place; faded items count only in answers to sessions."""
        if not self._by_root:
            return None
        found = self._by_root[find_root(self._state, place, self._by_root)]
        return found if to_session else found.without_faded()

    def explain_item(self, query: str, reference: str, place: str | None = "") -> Mapping[str, Any]:
        """Return an item's preference, and whether its offers have faded."""
        if place is None:
            return {}
        corpus, _, artifact_id = reference.partition("/")
        root = find_root(self._state, place, (each.root for each in self.held))
        told: dict[str, Any] = {}
        for each in self.held:
            meant = (each.corpus, each.artifact_id) == (corpus, artifact_id)
            if meant and (each.root == root or not (each.root or told)):
                told = {"verdict": each.verdict, "root": each.root, "at": each.at}
        for fading in self.fading:
            if (fading.corpus, fading.artifact_id) == (corpus, artifact_id) and fading.sessions:
                told |= {"faded": fading.sessions}
        return {"offers": told} if told else {}

    def describe_use(self) -> Mapping[str, Any]:
        """Return the addition to the report on use: counts of moments, and preferences."""
        with self._state.open_reading() as ledger:
            counts = Counter(ledger.preferences.sum_counts())
        counts.update(list(self.counted))
        return {
            "moments": [
                {"agent": agent, "moment": moment, "outcome": outcome, "n": n}
                for (agent, moment, outcome), n in sorted(counts.items())
            ],
            "muted": _list_references(self.held, MUTE),
            "pinned": _list_references(self.held, PIN),
            "faded": [
                {"reference": f"{each.corpus}/{each.artifact_id}", "sessions": each.sessions}
                for each in self.fading
                if each.sessions
            ],
        }

    # -- by the writer ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Store the counts from time to time."""
        now = self._state.clock()
        if self.counted and not 0 <= now - self._counts_kept_at < _COUNTS_KEPT_EVERY_S:
            self._counts_kept_at = now
            self._keep_counts()

    def close(self) -> None:
        """Store the counts."""
        if self.counted and not self._state.ledger.read_only:
            self._keep_counts()

    def _keep_counts(self) -> None:
        taken = [self.counted.popleft() for _ in range(len(self.counted))]
        try:
            self._state.ledger.preferences.add_counts(Counter(taken), self._state.clock())
        except (
            sqlite3.Error
        ) as error:  # counts are not worth a repair, and must cause no other failure
            log.warning("counts of moments were lost: %s", error)

    def note_scan(self, corpus: Corpus, report: Report) -> None:
        """Re-examine faded items whose text has changed."""
        name = corpus.part_of or corpus.name
        held = {each.artifact_id: each.content for each in self.fading if each.corpus == name}
        if report.written and held:
            contents = find_contents(self._state, name, held)
            if any(held[id] != content for id, content in contents.items()):
                self._state.request(Job("fade"))

    def find_due_jobs(self, at_start: bool) -> list[Job]:
        """Return the check for fading offers, if due."""
        return [] if at_start or self._state.options.on_battery() else [Job("fade")]


def find_root(state: State, place: str, roots: Iterable[str]) -> str:
    """Return the longest of the roots that contain a place, "" if none does."""
    if not place:
        return ""
    real = state.projects.resolve(place)
    held = (root for root in roots if root and is_within(real, root))
    return max(held, key=len, default="")


def find_contents(state: State, corpus: str, ids: Iterable[str]) -> dict[str, str]:
    """Return the hashes of the texts of items by id, including those of every project's part."""
    wanted, found = list(ids), dict[str, str]()
    for name in _list_parts(state, corpus):
        found |= state.ledger.artifacts.list_contents(name, wanted)
    return found


def _list_parts(state: State, corpus: str) -> Iterator[str]:
    yield from (name for name, part in state.parts.items() if part.part_of == corpus)
    if corpus in state.corpora:
        yield corpus


def _improve(probability: float) -> float:
    """Return the probability with clearly better odds than the given one."""
    return _BETTER * probability / (1.0 + (_BETTER - 1.0) * probability)


def _combine(held: Iterable[Preference], root: str, faded: Mapping[Item, float]) -> Preferences:
    """Return the preferences at a root: for each item the one set for the longest root."""
    verdicts: dict[Item, str] = {}
    for each in sorted(held, key=lambda each: len(each.root)):
        if not each.root or is_within(root, each.root):
            verdicts[each.corpus, each.artifact_id] = each.verdict
    chosen = {
        verdict: frozenset(item for item, said in verdicts.items() if said == verdict)
        for verdict in (MUTE, PIN)
    }
    return Preferences(chosen[MUTE], chosen[PIN], faded)


def _list_references(held: Iterable[Preference], verdict: str) -> list[str]:
    found = (f"{each.corpus}/{each.artifact_id}" for each in held if each.verdict == verdict)
    return sorted(set(found))
