"""The reader: it answers queries from the snapshot, read once, and never waits for the writer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date
from typing import Any, Protocol

from irdaemon.discovery import discover as discovery
from irdaemon.discovery.decide import Selector
from irdaemon.discovery.discover import Trace
from irdaemon.discovery.exact import ExactMatches, keep_matches
from irdaemon.discovery.explain import explain
from irdaemon.discovery.here import Here
from irdaemon.discovery.impressions import parse_session_id
from irdaemon.discovery.merge import SelectionOptions
from irdaemon.discovery.preferences import NO_PREFERENCES, Preferences
from irdaemon.discovery.query import ParsedQuery, add_window, parse_query, parse_search
from irdaemon.discovery.rounds import discover_in_rounds, judge_coverage
from irdaemon.engine.host import ServingHost
from irdaemon.engine.observer import AnswerHooks
from irdaemon.engine.scope import list_others, narrow_to_project
from irdaemon.engine.state import QueryState
from irdaemon.index import Snapshot
from irdaemon.types import Disclosure, Hit, Query, Selection


class ArtifactStore(Protocol):
    """The store of a snapshot's artifacts: a ledger, or the backends of a front end."""

    def find_exact(self, snapshot: Snapshot, query: ParsedQuery) -> ExactMatches:
        """Return the records that contain the text of a query."""
        ...

    def catch_up(self, query: ParsedQuery) -> Sequence[str]:
        """Wait until a fresh answer can be given; return the roots not proved fresh."""
        ...

    def complete(
        self, answer: Selection, query: ParsedQuery, visible: Collection[str] | None = None
    ) -> Selection:
        """Return an answer with the payloads and details of its hits, as the query asks."""
        ...

    def disclose(
        self,
        references: Sequence[str],
        level: str = "body",
        expand: str = "none",
        place: str | None = "",
    ) -> list[Disclosure]:
        """Return the payload of artifacts, as seen from a place.

        The place is None for a client that may not see projects. Raises NotFound, QueryError.
        """
        ...

    def records(self, reference: str, place: str | None = "") -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order; `place` as for `disclose`."""
        ...

    def wait(self, generation: int, timeout: float) -> int:
        """Wait at most `timeout` seconds for a generation; return the current one."""
        ...

    def info(self, name: str) -> dict[str, Any]:
        """Return the details of one corpus."""
        ...

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return generation, queue, and the state of every corpus; on request, of every stage."""
        ...


NoteTrace = Callable[[Trace], None]


def _ignore_trace(trace: Trace) -> None:
    """Ignore a trace."""


class QueryEngine:
    """Answer queries from a state's snapshot and a store. Any thread may use it.

    It is the whole of a front end, and the part of an engine that writes nothing. `remote` is
    whether the artifacts are in backends, which a query waits for.
    """

    remote = False

    def __init__(self, state: QueryState, store: ArtifactStore):
        self.state = state
        self.hooks = AnswerHooks(state.addons.values())
        self.store = store
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
        """Return the snapshot that queries use now."""
        return self.state.served.snapshot

    def open_scope(
        self, operation: str, front: bool, corpora: Collection[str] | None
    ) -> AbstractContextManager[None]:
        """Limit backends to these corpora (None: all) inside the block.

        Raises Unavailable for an operation that is not available here; `front`: a front end has it.
        """
        return contextlib.nullcontext()

    def discover(
        self,
        query: Query | str,
        custom: Selector | None = None,
        visible: Collection[str] | None = None,
        *,
        note_trace: NoteTrace = _ignore_trace,
        session: str = "",
    ) -> Selection:
        """Answer a query with few hits, or none and a typed reason; see `discovery.discover`.

        Related items come from the `visible` corpora only, None for all. `note_trace` gets the
        trace of a newly computed answer. Turns of the querying `session` are left out.
        """
        valid = parse_query(query, custom)
        discovery.check_offering(valid)  # before it waits for a fresh answer
        made = (make(valid) for make in self.hooks.make_selector if not custom)
        by_model = next((selector for selector in made if selector), None)
        options = SelectionOptions(
            custom or by_model,
            session=parse_session_id(session),
            preferences=self._find_preferences(valid.place, bool(session)),
        )
        answer = discovery.discover if valid.rounds is None else discover_in_rounds

        def run(query: ParsedQuery) -> Selection:
            snapshot, query = self.narrow_query(query, offering=True)
            trace = answer(snapshot, query, self.state.models, self.state.pending, options)
            note_trace(trace)
            return trace.selection

        # The time a model takes says nothing about a tier.
        return self._answer(valid, run, "" if by_model else "discover", visible)

    def search(self, query: Query | str, *, note_trace: NoteTrace = _ignore_trace) -> Selection:
        """Return the ranked candidates of a query, without selection; see `discover`."""
        state = self.state

        def run(query: ParsedQuery) -> Selection:
            snapshot, query = self.narrow_query(query, offering=False)
            exact = self.store.find_exact(snapshot, query) if query.exact else None
            query = keep_matches(query, exact) if exact else query
            trace = discovery.search(snapshot, query, state.models, state.pending)
            note_trace(trace)
            preferences = self._find_preferences(query.place, to_session=False)
            results = tuple(map(preferences.mark, trace.selection.results))
            answer = replace(trace.selection, results=results)
            return exact.add_to(answer) if exact else answer

        valid = parse_search(query)
        # The time to read the texts says nothing about a tier.
        return self._answer(valid, run, "" if valid.exact else "search")

    def explain(
        self, query: Query | str, item: str = "", *, of_projects: bool = True
    ) -> dict[str, Any]:
        """Return what each stage of a query did, and what happened to one artifact (CORPUS/ID).

        `of_projects` is whether to say that the artifact belongs to another project.
        """
        snapshot, valid = self.narrow_query(parse_query(query), offering=True)
        others = list_others(self.state, valid.place, item) if of_projects else ()
        explained = explain(snapshot, valid, self.state.models, item, others)
        # The stages are explained without preferences: items are shown even if muted or moved by a
        # pin.
        preferences = self._find_preferences(valid.place, to_session=False)
        muted = [
            f"{corpus['corpus']}/{each['artifact_id']}"
            for corpus in explained["corpora"]
            for each in corpus["candidates"]
            if (corpus["corpus"], each.get("artifact_id")) in preferences.muted
        ]
        return {**explained, "muted": muted} if muted else explained

    def judge_hits(self, query: Query | str, hits: Sequence[Hit]) -> dict[str, Any]:
        """Return whether hits serve every part of a query; see `judge_coverage`."""
        snapshot, asked = self.narrow_query(parse_query(query), offering=True)

        def ask(text: str) -> Trace:
            return discovery.discover(snapshot, replace(asked, text=text), self.state.models)

        return judge_coverage(ask, asked.text, hits)

    def narrow_query(self, query: ParsedQuery, offering: bool) -> tuple[Snapshot, ParsedQuery]:
        """Return the snapshot for a query, and the query with its project and its time.

        `offering`: the results are offered, so dependencies and docs are left out unless the query
        names corpora.
        """
        snapshot = self.state.served.snapshot
        if query.place:
            snapshot, query = narrow_to_project(self.state, query, offering)
        return snapshot, add_window(query, snapshot, date.fromtimestamp(self.state.clock()))

    def _find_preferences(self, place: str, to_session: bool) -> Preferences:
        found = (find(place, to_session) for find in self.hooks.find_preferences)
        return next((each for each in found if each), NO_PREFERENCES)

    def _answer(
        self,
        query: ParsedQuery,
        run: Callable[[ParsedQuery], Selection],
        timed_as: str,
        visible: Collection[str] | None = None,
    ) -> Selection:
        """Run a valid query at the tier that its budget allows, and read its payloads.

        If the query asks for a fresh answer, wait first. With an empty `timed_as` it runs without a
        tier.
        """
        unproved = self.store.catch_up(query) if query.fresh else None
        answer = self.state.tiers.answer(query, run, timed_as) if timed_as else run(query)
        self.state.note_shown_heads(answer)
        if unproved is not None:
            freshness = {**answer.freshness, "unproved": list(unproved)}
            answer = replace(answer, freshness=freshness)
        if query.place:
            answer = self._tell_project(answer, query.place)
        if query.related or (query.level, query.expand) != ("metadata", "none"):
            answer = self.store.complete(answer, query, visible)
        return answer

    def _tell_project(self, answer: Selection, place: str) -> Selection:
        """Return an answer that names the project of its query and those of its sessions."""
        projects = self.state.projects
        project = projects.find(place)
        if project is None:
            return answer
        here, freshness = Here(project, projects.resolve(place)), answer.freshness
        if projects.is_reading(project):
            freshness = {**freshness, "reading": project.name}
        results = tuple(map(here.name_other, answer.results))
        return replace(answer, project=project.name, freshness=freshness, results=results)
