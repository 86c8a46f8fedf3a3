"""The interface between add-ons and an engine: see `irdaemon.config.addons`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from irclient.results import MaintenanceTask
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.decide import Selector
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.impressions import ClientSession
from irdaemon.discovery.preferences import Preferences
from irdaemon.engine.queue import Job
from irdaemon.index import CorpusIndex
from irdaemon.ingest.reconcile import Report
from irdaemon.ledger import Upsert
from irdaemon.types import Disclosure, Hit, Query, Selection


class GivenAnswer(NamedTuple):
    """An answer given to a client, in a `variant` of wording; `trace` is None for a kept one."""

    op: str
    session: ClientSession
    variant: str
    selection: Selection
    trace: Trace | None


class Observer:
    """An add-on's part in one engine. Methods here do nothing; an add-on overrides some."""

    @classmethod
    def find_in(cls, addons: Mapping[str, Observer]) -> Self:
        """Return this add-on's observer among those of an engine."""
        return next(each for each in addons.values() if isinstance(each, cls))

    # -- by any thread ---------------------------------------------------------------------------

    def note_answer(self, given: GivenAnswer) -> None:
        """Note an answer. The client is waiting: this must not touch files."""

    def find_preferences(self, place: str, to_session: bool) -> Preferences | None:
        """Return which items an answer omits and prefers for a query from a place, or None.

        `to_session` is whether it goes to an agent's session that did not ask for it itself.
        """
        return None

    def describe_use(self) -> Mapping[str, Any]:
        """Return what the usage report adds."""
        return {}

    def judge_hits(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits of an answer with verdicts. The client waits: some milliseconds at most.

        Only the daemon's own user sees them.
        """
        return hits

    def judge_disclosed(self, disclosed: Sequence[Disclosure]) -> Sequence[Disclosure]:
        """Return disclosures with verdicts, as for hits."""
        return disclosed

    def explain_item(self, query: str, reference: str, place: str | None = "") -> Mapping[str, Any]:
        """Return what a query's explanation adds about an item (CORPUS/ID) seen from a place.

        The place is None for a client that may not see projects.
        """
        return {}

    def describe(self) -> Mapping[str, Any]:
        """Return what the status adds."""
        return {}

    def describe_corpus(self, index: CorpusIndex) -> Mapping[str, Any]:
        """Return what the status adds about one corpus."""
        return {}

    def find_tasks(self, corpus: Corpus) -> Iterable[MaintenanceTask]:
        """Return the upkeep tasks of a corpus that `irc maintain` shows."""
        return ()

    def make_selector(self, query: Query) -> Selector | None:
        """Return a selector to use for a query instead of the heuristic, or None."""
        return None

    def may_wait(self, args: Mapping[str, Any]) -> bool:
        """Return whether the selector of a query with these arguments may take seconds."""
        return False

    def find_due_jobs(self, at_start: bool) -> list[Job]:
        """Return the jobs that are due every `learn_minutes`, or those due at the start."""
        return []

    # -- by the writer ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Do small work that is due; called between jobs and in the pauses of long ones."""

    def close(self) -> None:
        """Store pending data: the engine ends."""

    def forget_corpus(self, name: str) -> None:
        """Forget a corpus that was removed."""

    def must_read_all(self, corpus: Corpus) -> bool:
        """Return whether a whole scan must read all entries of a corpus from their start."""
        return False

    def note_read(self, corpus: Corpus, upsert: Upsert) -> None:
        """Note an entry's reading before it is stored."""

    def note_gone(self, corpus: Corpus, keys: Sequence[str]) -> None:
        """Note the keys of deleted entries."""

    def note_all_read(self, corpus: Corpus) -> None:
        """Note that all entries of a corpus were read from their start, published or not."""

    def note_scan(self, corpus: Corpus, report: Report) -> None:
        """Note that a scan ended."""


class AnswerHooks:
    """The observer methods called for each answer, as far as add-ons override them."""

    def __init__(self, observers: Iterable[Observer] = ()):
        added = tuple(observers)

        def find(name: str) -> tuple[Any, ...]:
            own = (o for o in added if getattr(type(o), name) is not getattr(Observer, name))
            return tuple(getattr(each, name) for each in own)

        self.note_answer: tuple[Callable[[GivenAnswer], None], ...] = find("note_answer")
        self.judge_hits: tuple[Callable[[Sequence[Hit]], Sequence[Hit]], ...] = find("judge_hits")
        self.make_selector: tuple[Callable[[Query], Selector | None], ...] = find("make_selector")
        self.may_wait: tuple[Callable[[Mapping[str, Any]], bool], ...] = find("may_wait")
        self.find_preferences: tuple[Callable[[str, bool], Preferences | None], ...] = find(
            "find_preferences"
        )


class Background:
    """Work of an add-on concurrent with the writer, a tick at a time, in a thread of the daemon.

    `first_in_s` is when the first tick comes, `stops_within_s` how long a stop waits for the
    current one; `follows_generations` whether a new generation triggers the next one at once.
    `failure` is what the log says of a tick that raised.
    """

    name = ""
    failure = ""
    first_in_s = 0.0
    stops_within_s = 0.0
    follows_generations = False

    def is_needed(self) -> bool:
        """Return whether there is anything to do; otherwise no thread is started."""
        return True

    def tick(self) -> float:
        """Do a little work; return the seconds until the next tick."""
        raise NotImplementedError

    def close(self) -> None:
        """Release resources, after the last tick."""
