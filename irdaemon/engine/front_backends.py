"""The backends of a front end, and the corpora that they said they have."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field

from irclient.errors import Unavailable
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.index.backend import IndexBackend, Totals
from irdaemon.index.backends.placement import ranked_servers
from irdaemon.index.remote import Vocabularies, remote_index
from irdaemon.runtime.deadline import answering_within

log = logging.getLogger(__name__)

_ANSWERS_WITHIN_S = 5.0
_NOT_ASKED = "it was not asked yet"
_HINT = "it is tried again every second; irc status says since when"


@dataclass(slots=True)
class FrontBackend:
    """A backend: `name` as a person is shown it, and what was heard of it last.

    `problem` is why it does not answer, "" where it does, and `since` since when that is so;
    `heard_at` is when it answered last: Unix seconds, None before the first time.
    """

    name: str
    backend: IndexBackend
    totals: Mapping[str, Totals] = field(default_factory=dict)
    problem: str = _NOT_ASKED
    since: float = 0.0
    heard_at: float | None = None

    def ask(self, now: float) -> None:
        """Ask it what it has; where it does not answer keep what it said before."""
        try:
            with answering_within(_ANSWERS_WITHIN_S, self.name):
                totals = self.backend.totals()
        except Unavailable as error:
            self._note(error.message, now)
            return
        self._note("", now)
        self.totals, self.heard_at = totals, now

    def _note(self, problem: str, now: float) -> None:
        """Note how it is, and log it where that is another thing than before."""
        if bool(problem) != bool(self.problem) or self.problem == _NOT_ASKED:
            self.since = now
            said = f"does not answer: {problem}" if problem else "answers"
            log.log(logging.WARNING if problem else logging.INFO, "%s %s", self.name, said)
        self.problem = problem

    def unavailable(self) -> Unavailable:
        """Return the error of what needs it while it does not answer."""
        return Unavailable(f"{self.name} does not answer: {self.problem}", _HINT)


class FrontBackends:
    """What a front end knows: the snapshot of all corpora that its backends have.

    A corpus that several have, as one that is being moved, is read where it belongs by its name.
    Any thread may read and refresh.
    """

    def __init__(self, every: Sequence[FrontBackend], clock: Callable[[], float]):
        self.every = tuple(every)
        self.snapshot = Snapshot()
        self._clock = clock
        self._vocabularies = Vocabularies()

    def refresh(self) -> bool:
        """Ask every backend what it has; return whether that is other than before.

        That is of all corpora, whatever the client may see whose request it is asked in.
        """
        for each in self.every:
            Context().run(each.ask, self._clock())
        before, holding = self.snapshot.corpora, self.holding()
        indexes = {
            name: self._index(side, side.totals[name], before.get(name))
            for name, side in holding.items()
        }
        if [*map(id, indexes.values())] == [*map(id, before.values())]:
            return False
        generations = [side.totals[name].generation for name, side in holding.items()]
        self.snapshot = Snapshot(max(generations, default=0), indexes)
        return True

    def holding(self) -> dict[str, FrontBackend]:
        """Return which backend has each corpus, by its name."""
        by_name = {side.name: side for side in self.every}
        corpora = {corpus for side in self.every for corpus in side.totals}
        return {corpus: self._place(corpus, by_name) for corpus in sorted(corpora)}

    def _place(self, corpus: str, by_name: Mapping[str, FrontBackend]) -> FrontBackend:
        ranked = (by_name[name] for name in ranked_servers(corpus, by_name))
        return next(side for side in ranked if corpus in side.totals)

    def _index(self, side: FrontBackend, totals: Totals, before: CorpusIndex | None) -> CorpusIndex:
        if before is not None and before.whole is not None and before.whole.totals == totals:
            return before
        return remote_index(side.backend, totals, self._vocabularies)

    def check_heard(self, corpora: Sequence[str] = ()) -> None:
        """Raise Unavailable where a backend that never answered may have one of some corpora.

        Without any: of all that there are.
        """
        if corpora and all(name in self.snapshot.corpora for name in corpora):
            return
        for each in self.every:
            if each.heard_at is None:
                raise each.unavailable()
