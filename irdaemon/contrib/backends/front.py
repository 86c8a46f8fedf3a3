"""A front end: it answers about corpora that lie in backends, without a ledger and without files.

It keeps nothing but what it was told last. A query asks the backends themselves, so where one is
away it is answered `unavailable`, and never that nothing applies.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Any

from irclient.errors import NotFound, Unavailable
from irdaemon.contrib.backends.making import ranked_servers
from irdaemon.contrib.backends.observer import CopyFacts
from irdaemon.contrib.backends.remote import Vocabularies, remote_index
from irdaemon.contrib.backends.state import seeing_only
from irdaemon.contrib.backends.stored import disclose_stored, disclose_stored_hit, resolve_stored
from irdaemon.discovery.disclose import check_level, parse_reference, unknown_corpus
from irdaemon.discovery.expand import parse_expand
from irdaemon.discovery.query import ParsedQuery, find_indexes
from irdaemon.embed import EMBEDDERS, FAMILIES, Embedder
from irdaemon.embed.pool import ABSENT, Absent
from irdaemon.engine.health import CorpusHealth, Health, Level, UnwatchedRoot
from irdaemon.engine.host import ServingHost
from irdaemon.engine.reader import QueryEngine
from irdaemon.engine.state import EngineOptions, QueryState
from irdaemon.engine.status import floor_facts
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.index.backend import IndexBackend, StoredText, Totals
from irdaemon.runtime.deadline import limit_time
from irdaemon.runtime.profile import summarize_stages
from irdaemon.types import Disclosure, Selection

# What a front end answers to `status` and `info`: what its backends said last, as plain data.

# The backends of a front end, and the corpora that they said they have.

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
            with limit_time(_ANSWERS_WITHIN_S, self.name):
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


@dataclass(frozen=True, slots=True)
class FrontFacts:
    """What is known of a front end: its backends, the process, and the time in Unix seconds.

    `missing` says by embedder id why queries cannot be embedded.
    """

    backends: FrontBackends
    missing: Mapping[str, str]
    process: Mapping[str, Any]
    now: float


def status(facts: FrontFacts, profile: bool) -> dict[str, Any]:
    """Return how a front end is; it has no queue, no ledger and nothing that it watches."""
    backends = facts.backends
    return {
        **({"profile": summarize_stages()} if profile else {}),
        **facts.process,
        "backends": [
            {"backend": each.name, "problem": each.problem, "since": each.since}
            for each in backends.every
        ],
        "generation": facts.backends.snapshot.generation,
        "queue": 0,
        "health": _health(facts).to_dict(),
        "jobs": [],
        "corpora": [
            _of_corpus(facts, side, side.totals[name]) for name, side in backends.holding().items()
        ],
    }


def info(facts: FrontFacts, name: str) -> dict[str, Any]:
    """Return the status of a corpus with what it can be queried for. Raises NotFound."""
    index, side = facts.backends.snapshot.corpora.get(name), facts.backends.holding().get(name)
    if index is None or side is None:
        raise unknown_corpus(name, facts.backends.snapshot.corpora)
    totals = side.totals[name]
    return {
        **_of_corpus(facts, side, totals),
        "embedder": totals.embedder,
        "served_by": totals.embedder,
        "floors": {mode: floor_facts(floor) for mode, floor in index.floors.items()},
        "recipe": totals.recipe,
        "fields": sorted(totals.fields),
        "surfaces": sorted(totals.kinds),
        "asset_types": dict(totals.asset_types),
    }


def _of_corpus(facts: FrontFacts, side: FrontBackend, totals: Totals) -> dict[str, Any]:
    missing = facts.missing.get(totals.embedder, "")
    return {
        "name": totals.corpus,
        "kind": totals.kind,
        "roots": [],
        "artifacts": totals.n_artifacts,
        "records": totals.n_records,
        "vectors": totals.n_embedded,
        "failures": 0,
        "pending": totals.n_records - totals.n_embedded,
        "last_reconcile": totals.last_reconcile,
        "state": _state(totals, bool(missing)),
        "problems": [{"path": totals.embedder, "reason": missing}] if missing else [],
        "skipped": {},
        "writable": False,
        "reindex": "manual" if totals.by_hand else "change",
        "copy": {**_copy(side, totals).to_dict(), "behind_s": _behind_s(facts, side)},
    }


def _state(totals: Totals, missing: bool) -> str:
    if totals.last_reconcile is None and not totals.by_hand:
        return "building"
    if missing or totals.degraded:
        return "degraded"
    return "embedding" if totals.n_embedded < totals.n_records else "ready"


def _copy(side: FrontBackend, totals: Totals) -> CopyFacts:
    return CopyFacts(
        backend=side.name,
        state="degraded" if side.problem else "level",
        generation=totals.generation,
        holder=totals.holder,
        reason=side.problem,
        since=side.since if side.problem else None,
    )


def _behind_s(facts: FrontFacts, side: FrontBackend) -> float:
    return round(max(0.0, facts.now - side.since), 1) if side.problem else 0.0


def _health(facts: FrontFacts) -> Health:
    """Judge a front end by whether its backends answer, and queries can be embedded."""
    corpora = tuple(
        _corpus_health(facts, side, side.totals[name])
        for name, side in facts.backends.holding().items()
    )
    away = any(each.problem for each in facts.backends.every)
    stale = any(each.stale for each in corpora) or "refused" in facts.process
    level: Level = "offline" if away else "stale" if stale else "ok"
    return Health(level, corpora, (), ())


def _corpus_health(facts: FrontFacts, side: FrontBackend, totals: Totals) -> CorpusHealth:
    missing = facts.missing.get(totals.embedder, "")
    return CorpusHealth(
        name=totals.corpus,
        level="offline" if side.problem else "stale" if missing else "ok",
        changed_at=None,
        indexed_at=None,
        scanned_at=totals.last_reconcile,
        embedded_at=None,
        waiting_s=0.0,
        offline=(UnwatchedRoot(side.name, side.problem),) if side.problem else (),
        polled=(),
        stale=(f"queries are not embedded: {missing}",) if missing else (),
        missed_events=0,
        quarantined=(),
    )


_POLL_S = 0.05
_NAMED = 3


class BackendStore:
    """The store of a front end: what its backends hold. `refresh` is called by one thread.

    `embedders` are names of embedders that corpora may have, beside those that come along.
    """

    def __init__(self, state: QueryState, backends: FrontBackends, embedders: Sequence[str]):
        self._state = state
        self._backends = backends
        self._embedders = tuple(dict.fromkeys(embedders))
        self._missing: Mapping[str, str] = {}

    def refresh(self) -> None:
        """Learn what the backends have now, and make the embedders of it."""
        if self._backends.refresh() or self._state.snapshot is not self._backends.snapshot:
            self._state.publish(self._backends.snapshot)
            self._state.forget_answers()
            ids = {index.embedder for index in self._backends.snapshot.corpora.values()}
            self._missing = {each: why for each in ids if (why := self._why_missing(each))}

    def _why_missing(self, embedder_id: str) -> str:
        """Make the embedder of an id; return why it cannot be used, "" where it can."""
        if not embedder_id or embedder_id.startswith(ABSENT):
            return "" if not embedder_id else "its writer has no embedder"
        families = (name for name in (*EMBEDDERS, *FAMILIES) if embedder_id.startswith(name))
        made: list[Embedder] = []
        for name in dict.fromkeys((*self._embedders, *families)):
            made.append(self._state.embedders.named(name))
            if made[-1].id == embedder_id:
                return ""
        absent = next((each.error.message for each in made if isinstance(each, Absent)), "")
        return absent or f"no embedder here is {embedder_id!r}"

    # -- queries ---------------------------------------------------------------------------------

    def check_query(self, query: ParsedQuery) -> None:
        """Raise Unavailable for a query that asks for what only the writer has."""
        if query.related:
            raise self.make_refusal("what belongs to a hit")
        self._check_level(query.level)
        self.check_corpora(query.corpora)

    def check_corpora(self, names: Sequence[str]) -> None:
        """Raise Unavailable where a backend that never answered may have one of these."""
        self._backends.check_heard(names)

    def catch_up(self, query: ParsedQuery) -> list[str]:
        """Wait until what was written last is searched; return the corpora of which it may not be.

        What was written last is known at the server that is written to.
        """
        until = time.monotonic() + query.wait_ms / 1e3
        self.refresh()
        behind = []
        for index in find_indexes(self._state.snapshot, query.corpora):
            backend, name = self._find_holder(index.corpus)[0].backend, index.corpus
            try:
                newest = backend.newest(name)
                left_s = max(0.0, until - time.monotonic())
                reached = backend.wait(name, newest, left_s) >= newest
            except Unavailable:
                reached = False
            if not reached:
                behind.append(name)
        self.refresh()
        return behind

    def wait(self, generation: int, timeout: float) -> int:
        """Wait, at most `timeout` seconds, for a generation; return the one there is then."""
        until = time.monotonic() + timeout
        while self._state.snapshot.generation < generation and time.monotonic() < until:
            time.sleep(min(_POLL_S, max(0.0, until - time.monotonic())))
            self.refresh()
        return self._state.snapshot.generation

    # -- texts -----------------------------------------------------------------------------------

    def complete(
        self, answer: Selection, query: ParsedQuery, visible: Collection[str] | None = None
    ) -> Selection:
        """Return an answer with the payloads that a query asks for, as they were stored."""
        if (query.level, query.expand) == ("metadata", "none"):
            return answer
        hits, expand = answer.results, query.expansion
        texts: dict[tuple[str, str], StoredText] = {}
        for corpus in dict.fromkeys(hit.corpus for hit in hits):
            ids = [hit.artifact_id for hit in hits if hit.corpus == corpus]
            found = self._find_holder(corpus)[0].backend.stored(corpus, ids)
            texts.update({(corpus, artifact_id): text for artifact_id, text in found.items()})
        disclosed = (
            disclose_stored_hit(hit, text, query.level, expand)
            if (text := texts.get((hit.corpus, hit.artifact_id)))
            else hit
            for hit in hits
        )
        return replace(answer, results=tuple(disclosed))

    def disclose(
        self,
        references: Sequence[str],
        level: str = "body",
        expand: str = "none",
        place: str | None = "",
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, or CORPUS/NAME, as it was stored.

        No project's part lies in a backend, so the place does not matter.
        """
        check_level(level)
        self._check_level(level)
        expansion = parse_expand(expand)
        found = [self._find_stored(reference) for reference in references]
        return [disclose_stored(corpus, stored, level, expansion) for corpus, stored in found]

    def records(self, reference: str, place: str | None = "") -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order."""
        _, stored = self._find_stored(reference)
        return [dict(record) for record in stored.records]

    def _find_stored(self, reference: str) -> tuple[str, StoredText]:
        self._backends.check_heard([reference.partition("/")[0]])
        corpus, wanted = parse_reference(reference, self._state.snapshot.corpora)
        side, _ = self._find_holder(corpus)
        stored = side.backend.stored(corpus, [wanted]).get(wanted)
        if stored is None:
            artifact_id = resolve_stored(self._state.snapshot.corpora[corpus], wanted)
            stored = side.backend.stored(corpus, [artifact_id]).get(artifact_id)
        if stored is None:
            raise NotFound(f"{reference} is gone", "ask discover again")
        return corpus, stored

    def _check_level(self, level: str) -> None:
        if level == "bundled":
            raise self.make_refusal("what lies beside an artifact's text")

    def _find_holder(self, corpus: str) -> tuple[FrontBackend, Totals]:
        """Return the backend that has a corpus, and what it said of it last. Raises NotFound."""
        side = self._backends.holding().get(corpus)
        if side is None:
            raise NotFound(f"the corpus {corpus!r} is gone", "irc ls shows those there are")
        return side, side.totals[corpus]

    # -- how it is -------------------------------------------------------------------------------

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return how the process, its backends and their corpora are."""
        return status(self._facts(), profile)

    def info(self, name: str) -> dict[str, Any]:
        """Return what is known of one corpus. Raises NotFound."""
        self._backends.check_heard([name])
        return info(self._facts(), name)

    def _facts(self) -> FrontFacts:
        state = self._state
        return FrontFacts(self._backends, self._missing, state.host.facts(), state.clock())

    def make_refusal(self, what: str) -> Unavailable:
        """Return the error of what only the daemon that writes a corpus can do, naming it."""
        every = (self._find_holder(name)[1].holder for name in self._state.snapshot.corpora)
        writers = list(dict.fromkeys(every))
        shown = ", ".join(writers[:_NAMED]) + (", ..." if len(writers) > _NAMED else "")
        return Unavailable(
            f"this is a front end: {what} is with the daemon that writes the corpus",
            f"ask it there: {shown}" if writers else "no corpus has been written yet",
        )


class FrontEngine(QueryEngine):
    """Answer queries about what backends hold. Any thread may use it; `refresh` is called by one.

    `backends` are by the names that a person is shown; for `embedders` see BackendStore.
    """

    remote = True

    def __init__(
        self,
        backends: Sequence[tuple[str, IndexBackend]],
        embedders: Sequence[str],
        options: EngineOptions,
        host: ServingHost,
        clock: Callable[[], float] = time.time,
    ):
        state = QueryState(options, clock)
        state.host = host
        self.backends = FrontBackends([FrontBackend(*each) for each in backends], clock)
        self._store = BackendStore(state, self.backends, embedders)
        super().__init__(state, self._store)
        self.refresh = self._store.refresh

    def check_operation(self, name: str, front: bool) -> None:
        """Raise Unavailable, naming who writes, for an operation that a front end has not."""
        if not front:
            raise self._store.make_refusal(name)

    @contextlib.contextmanager
    def limit_to(self, corpora: Collection[str] | None) -> Iterator[None]:
        """Have backends give nothing of other corpora to what runs inside, None: of all.

        Raises Unavailable for a corpus that may be in a backend which was never reached.
        """
        with contextlib.nullcontext() if corpora is None else seeing_only(corpora):
            try:
                yield
            except NotFound:
                self.backends.check_heard()
                raise
