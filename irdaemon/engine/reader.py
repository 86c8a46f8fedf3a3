"""The reader: it answers queries from the snapshot, read once, and never waits for the writer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from irclient.errors import QueryError
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.budget import Tiers
from irdaemon.discovery.decide import Selector
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.exact import ExactMatches, narrow_to
from irdaemon.discovery.explain import explain
from irdaemon.discovery.here import Here
from irdaemon.discovery.impressions import parse_session_id
from irdaemon.discovery.merge import SelectionOptions
from irdaemon.discovery.preferences import NO_PREFERENCES, Preferences
from irdaemon.discovery.query import ParsedQuery, parse_query, parse_search
from irdaemon.discovery.rounds import discover_in_rounds, judge_coverage
from irdaemon.engine.host import ServingHost
from irdaemon.engine.observer import AnswerHooks
from irdaemon.engine.scope import list_others, narrow_query
from irdaemon.engine.state import QueryState
from irdaemon.index import Snapshot
from irdaemon.types import Disclosure, Hit, Query, Selection


class ArtifactStore(Protocol):
    """What holds the artifacts that a snapshot is of: a ledger, or the backends of a front end."""

    def check_query(self, query: ParsedQuery) -> None:
        """Raise Unavailable for a query that asks for what is not here."""
        ...

    def check_corpora(self, names: Sequence[str]) -> None:
        """Raise Unavailable where it is not known whether there are such corpora."""
        ...

    def find_exact(self, snapshot: Snapshot, query: ParsedQuery) -> ExactMatches:
        """Return the records that hold the text of a query."""
        ...

    def catch_up(self, query: ParsedQuery) -> Sequence[str]:
        """Wait until a fresh answer can be given; return the roots of which it is not proved."""
        ...

    def complete(
        self, answer: Selection, query: ParsedQuery, visible: Collection[str] | None = None
    ) -> Selection:
        """Return an answer with the payloads, and what belongs to each hit, as a query asks."""
        ...

    def disclose(
        self,
        references: Sequence[str],
        level: str = "body",
        expand: str = "none",
        place: str | None = "",
    ) -> list[Disclosure]:
        """Return the payload of artifacts, as they are seen from a place.

        None is the place of a client that may not see projects. Raises NotFound, QueryError.
        """
        ...

    def records(self, reference: str, place: str | None = "") -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order; `place` as of disclose."""
        ...

    def wait(self, generation: int, timeout: float) -> int:
        """Wait, at most `timeout` seconds, for a generation; return the one there is then."""
        ...

    def info(self, name: str) -> dict[str, Any]:
        """Return what is known of one corpus."""
        ...

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return generation, queue, and the state of every corpus; on request, of every stage."""
        ...


Traced = Callable[[Trace], None]


def _ignore_trace(trace: Trace) -> None:
    """Look at no trace."""


def _refuse_exact(query: ParsedQuery) -> None:
    """Raise QueryError for a query that asks for a literal, which search finds."""
    if query.exact:
        raise QueryError("exact is for search: it decides nothing", "irc search --exact TEXT")


class Reader:
    """Answer queries from a state's snapshot and a store. Any thread may use it."""

    def __init__(self, state: QueryState, store: ArtifactStore):
        self._state = state
        self._store = store
        self.hooks = AnswerHooks(state.addons.values())

    def discover(
        self,
        query: Query | str,
        custom: Selector | None = None,
        visible: Collection[str] | None = None,
        *,
        traced: Traced = _ignore_trace,
        session: str = "",
    ) -> Selection:
        """Answer a query with few hits, or none and a typed reason; see `discovery.discover`.

        Related items come from the `visible` corpora only, None for all. `traced` is given the
        trace of an answer that is made again. No turn of the `session` that asks is in it.
        """
        state, valid = self._state, parse_query(query, custom)
        _refuse_exact(valid)
        made = (make(valid) for make in self.hooks.make_selector if not custom)
        by_model = next((selector for selector in made if selector), None)
        choosing = SelectionOptions(
            custom or by_model,
            session=parse_session_id(session),
            preferences=self._find_preferences(valid.place, bool(session)),
        )

        def run(query: ParsedQuery) -> Selection:
            snapshot, query = narrow_query(state, query, offering=True)
            answer = discovery.discover if query.rounds is None else discover_in_rounds
            trace = answer(snapshot, query, state.models, state.pending, choosing)
            traced(trace)
            return trace.selection

        # How long a model takes says nothing of a tier.
        return self._answer(valid, run, None if by_model else state.discover_tiers, visible)

    def may_ask_model(self, args: Mapping[str, Any]) -> bool:
        """Return whether a query with these arguments may wait for a model."""
        return any(may_wait(args) for may_wait in self.hooks.may_wait)

    def _find_preferences(self, place: str, to_session: bool) -> Preferences:
        found = (find(place, to_session) for find in self.hooks.find_preferences)
        return next((each for each in found if each), NO_PREFERENCES)

    def search(self, query: Query | str, *, traced: Traced = _ignore_trace) -> Selection:
        """Return the ranked candidates of a query, without selection; `traced` as of discover."""
        state = self._state

        def run(query: ParsedQuery) -> Selection:
            snapshot, query = narrow_query(state, query, offering=False)
            exact = self._store.find_exact(snapshot, query) if query.exact else None
            query = narrow_to(query, exact) if exact else query
            trace = discovery.search(snapshot, query, state.models, state.pending)
            traced(trace)
            preferences = self._find_preferences(query.place, to_session=False)
            results = tuple(map(preferences.mark, trace.selection.results))
            answer = replace(trace.selection, results=results)
            return exact.add_to(answer) if exact else answer

        valid = parse_search(query)
        # How long the texts take to be read says nothing of a tier.
        return self._answer(valid, run, None if valid.exact else state.search_tiers)

    def judge_hits(self, query: Query | str, hits: Sequence[Hit]) -> dict[str, Any]:
        """Return whether hits serve every part of a query; see `judge_coverage`."""
        models = self._state.models
        snapshot, asked = narrow_query(self._state, parse_query(query), offering=True)

        def ask(text: str) -> Trace:
            return discovery.discover(snapshot, replace(asked, text=text), models)

        return judge_coverage(ask, asked.text, hits)

    def _answer(
        self,
        query: ParsedQuery,
        run: Callable[[ParsedQuery], Selection],
        tiers: Tiers | None,
        visible: Collection[str] | None = None,
    ) -> Selection:
        """Run a valid query at the tier that its budget allows, and read its payloads.

        Where it asks for a fresh answer, wait first.
        """
        self._store.check_query(query)
        unproved = self._store.catch_up(query) if query.fresh else None
        answer = tiers.answer(query, run) if tiers else run(query)
        self._state.note_shown_heads(answer)
        if unproved is not None:
            freshness = {**answer.freshness, "unproved": list(unproved)}
            answer = replace(answer, freshness=freshness)
        if query.place:
            answer = self._tell_project(answer, query.place)
        return self._store.complete(answer, query, visible)

    def _tell_project(self, answer: Selection, place: str) -> Selection:
        """Return an answer that names the project it was asked from, and those of sessions."""
        projects = self._state.projects
        project = projects.find(place)
        if project is None:
            return answer
        here, freshness = Here(project, projects.resolve(place)), answer.freshness
        if projects.is_reading(project):
            freshness = {**freshness, "reading": project.name}
        results = tuple(map(here.name_other, answer.results))
        return replace(answer, project=project.name, freshness=freshness, results=results)

    def explain(
        self, query: Query | str, item: str = "", *, of_projects: bool = True
    ) -> dict[str, Any]:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID).

        `of_projects` is whether to say that it is another project's.
        """
        valid = parse_query(query)
        _refuse_exact(valid)
        self._store.check_corpora(valid.corpora)
        snapshot, valid = narrow_query(self._state, valid, offering=True)
        others = list_others(self._state, valid.place, item) if of_projects else ()
        explained = explain(snapshot, valid, self._state.models, item, others)
        # It is explained as without them: what would be offered is muted, or comes behind a pin.
        wishes = self._find_preferences(valid.place, to_session=False)
        muted = [
            f"{corpus['corpus']}/{each['artifact_id']}"
            for corpus in explained["corpora"]
            for each in corpus["candidates"]
            if (corpus["corpus"], each.get("artifact_id")) in wishes.muted
        ]
        return {**explained, "muted": muted} if muted else explained


class QueryEngine:
    """What answers queries: all of a front end, and of an engine the part that writes nothing.

    `remote` is whether the artifacts lie in backends, which a query waits for.
    """

    remote = False

    def __init__(self, state: QueryState, store: ArtifactStore):
        self.state = state
        reader = self.reader = Reader(state, store)
        self.discover, self.search, self.explain = reader.discover, reader.search, reader.explain
        self.judge_hits, self.may_ask_model = reader.judge_hits, reader.may_ask_model
        self.hooks = reader.hooks
        self.disclose, self.records = store.disclose, store.records
        self.status, self.info, self.wait = store.status, store.info, store.wait
        self.impressions, self.addons = state.impressions, state.addons
        self.unload_idle = state.embedders.release_idle

    @property
    def host(self) -> ServingHost:
        """Return the process around the engine."""
        return self.state.host

    @property
    def snapshot(self) -> Snapshot:
        """Return what queries see now."""
        return self.state.snapshot

    def check_operation(self, name: str, front: bool) -> None:
        """Raise Unavailable for an operation that is not here; `front`: a front end has it."""

    def limit_to(self, corpora: Collection[str] | None) -> AbstractContextManager[None]:
        """Have backends give nothing of other corpora to what runs inside, None: of all."""
        return contextlib.nullcontext()
