"""The ledger's contribution to answers: freshness, payloads, and reports on what is indexed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from irclient.errors import NotFound
from irclient.results import CorpusCoverage
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.discovery.audit import audit, make_pin
from irdaemon.discovery.disclose import (
    disclose_artifact,
    disclose_hit,
    unknown_corpus,
)
from irdaemon.discovery.exact import ExactMatches, find_exact
from irdaemon.discovery.expand import parse_expand
from irdaemon.discovery.links import LinkScope, add_related
from irdaemon.discovery.query import ParsedQuery, check_level
from irdaemon.engine import status as overview
from irdaemon.engine.coverage import measure_coverage
from irdaemon.engine.health import Health
from irdaemon.engine.projects import AT
from irdaemon.engine.queue import Job, Work
from irdaemon.engine.scope import PlaceScope, find_owner, find_scope, tell_owner
from irdaemon.engine.state import State
from irdaemon.index import Snapshot
from irdaemon.ledger import ArtifactPage, Ledger
from irdaemon.source.projects import clean_place
from irdaemon.types import Disclosure, Hit, Selection

# Provable freshness: wait until the snapshot includes every change made up to now.
#
# A root is proved fresh by its events, if the kernel's order shows that all of them were read, and
# otherwise by a whole scan of its corpus, even one that is scanned at intervals. A corpus indexed
# by hand is not scanned, and its roots stay unproved. In either case the requested scans must have
# ended.

Wait = Callable[[Callable[[], bool], float], object]


def catch_up(
    corpora: Iterable[Corpus],
    work: Work,
    caught_up: Callable[[float], Collection[str]],
    wait: Wait,
    timeout: float,
) -> tuple[str, ...]:
    """Wait until every change so far is in the snapshot; return the roots not proved fresh.

    `caught_up` returns the roots whose events so far were all handed over, `wait` waits until jobs
    have ended; both get the remaining part of `timeout` seconds.
    """
    until = time.monotonic() + timeout
    reported = frozenset(caught_up(timeout))
    corpora = tuple(corpora)
    roots = {corpus.name: set(corpus.resolve_roots().values()) for corpus in corpora}
    by_hand = {corpus.name for corpus in corpora if corpus.reindex.on == MANUAL}
    followed = {corpus.name for corpus in corpora if corpus.reindex.follows_changes}
    for name, paths in roots.items():
        proved = name in followed and paths and paths <= reported
        if not proved and name not in by_hand:
            work.add(Job("reconcile", name))
    scans = {name: work.list_scans(name) for name in roots}
    wait(lambda: all(scan.ended for of in scans.values() for scan in of), until - time.monotonic())
    done = {name for name, of in scans.items() if all(scan.state == "done" for scan in of)}
    unproved = {
        path
        for name, paths in roots.items()
        for path in paths
        if name not in done - by_hand or not os.path.exists(path)
    }
    return tuple(sorted(unproved))


class LedgerStore:
    """The store of an engine with a ledger. Any thread may use it.

    `drain` runs all waiting jobs; it is called before a fresh answer if there is no writer thread.
    """

    def __init__(self, state: State, drain: Callable[[], None]):
        self._state = state
        self._drain = drain

    def find_exact(self, snapshot: Snapshot, query: ParsedQuery) -> ExactMatches:
        """Return the records that contain the text of a query."""
        with self._state.open_reading() as ledger:
            return find_exact(snapshot, query, ledger.index_rows.find_literal)

    def catch_up(self, query: ParsedQuery) -> tuple[str, ...]:
        """Wait until a fresh answer can be given; return the roots not proved fresh."""
        state, host = self._state, self._state.host
        wait = state.work.wait_until if host.writes else self._drain_all
        until = time.monotonic() + query.wait_ms / 1e3
        if query.place and (project := state.projects.find(query.place)):
            # New places are not roots yet.
            job = state.request(Job("project", project.root))
            wait(lambda: state.work.progress(job).ended, query.wait_ms / 1e3)
        scope = find_scope(state, query.place)
        for name in query.corpora:
            if name not in scope.names:
                raise unknown_corpus(name, scope.names)
        corpora = [c for name in query.corpora or scope.names for c in scope.list_stored(name)]
        left_s = max(0.0, until - time.monotonic())
        return catch_up(corpora, state.work, host.caught_up, wait, left_s)

    def _drain_all(self, happened: Callable[[], bool], timeout: float) -> None:
        self._drain()

    def wait(self, generation: int, timeout: float) -> int:
        """Wait at most `timeout` seconds for a generation; return the current one."""
        state = self._state
        if not state.host.writes:
            self._drain()
        state.work.wait_until(lambda: state.snapshot.generation >= generation, timeout)
        return state.snapshot.generation

    def disclose(
        self,
        references: Sequence[str],
        level: str = "body",
        expand: str = "none",
        place: str | None = "",
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, or CORPUS/NAME if that is unique.

        `expand` is as on a Query, around the artifact's first record, and so is `place`; None if
        the client may not see projects. Raises NotFound naming what exists, QueryError for an
        ambiguous name.
        """
        check_level(level)
        expansion, scope = parse_expand(expand), self._find_scope(place)
        with self._state.open_reading() as ledger:
            found = [self._resolve(ledger, scope, each, place) for each in references]
            disclosed = [
                disclose_artifact(ledger, corpus, artifact_id, level, expansion)
                for corpus, artifact_id in found
            ]
        self._note_disclosed(disclosed)
        return [_name_corpus(each) for each in disclosed]

    def _find_scope(self, place: str | None) -> PlaceScope:
        return find_scope(self._state, clean_place(place) if place else "")

    def _resolve(
        self, ledger: Ledger, scope: PlaceScope, reference: str, place: str | None
    ) -> tuple[Corpus, str]:
        """Return the part of a corpus and the id of the artifact that a reference means."""
        try:
            return scope.resolve(ledger, reference)
        except NotFound as missed:
            owner = find_owner(ledger, scope, reference) if place is not None else None
            raise (tell_owner(reference, owner) if owner else missed) from None

    def _note_disclosed(self, disclosed: Iterable[Disclosure]) -> None:
        """Let the writer store what was disclosed, without waiting for it."""
        pins = [pin for each in disclosed if (pin := make_pin(each, self._state.clock()))]
        if pins and not self._state.ledger.read_only:
            self._state.disclosed.extend(pins)
            self._state.request(Job("pin"))

    def add_payloads(self, hits: Iterable[Hit], query: ParsedQuery) -> tuple[Hit, ...]:
        """Return hits with the payloads that a valid query asks for.

        Hits of removed corpora are left out.
        """
        scope, expand = find_scope(self._state, query.place), query.expansion
        with self._state.open_reading() as ledger:
            held = ((hit, _choose_corpus(ledger, scope, hit)) for hit in hits)
            disclosed = tuple(
                disclose_hit(ledger, corpus, hit, query.level, expand)
                for hit, corpus in held
                if corpus
            )
        self._note_disclosed(hit.disclosure for hit in disclosed if hit.disclosure)
        return tuple(
            replace(hit, disclosure=_name_corpus(hit.disclosure)) if hit.disclosure else hit
            for hit in disclosed
        )

    def complete(
        self, answer: Selection, query: ParsedQuery, visible: Collection[str] | None = None
    ) -> Selection:
        """Return an answer with the payloads and details of its hits, as the query asks."""
        if (query.level, query.expand) != ("metadata", "none") and answer.results:
            answer = replace(answer, results=self.add_payloads(answer.results, query))
        if not query.related or not answer.results:
            return answer
        scope = find_scope(self._state, query.place)
        names = [each for each in scope.names if visible is None or each in visible]
        stored = [corpus for name in names for corpus in scope.list_stored(name)]
        with self._state.open_reading() as ledger:
            shown = {corpus.name: corpus.part_of for corpus in stored if corpus.part_of}
            shelves = [LinkScope(ledger.links, [corpus.name for corpus in stored], shown)]
            return replace(answer, results=add_related(answer.results, shelves))

    def records(self, reference: str, place: str | None = "") -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order; `place` as for `disclose`."""
        scope = self._find_scope(place)
        with self._state.open_reading() as ledger:
            corpus, artifact_id = self._resolve(ledger, scope, reference, place)
            return ledger.artifacts.list_records(corpus.name, artifact_id)

    def artifacts(self, wanted: ArtifactPage, place: str = "") -> list[dict[str, Any]]:
        """Return a page of the artifacts visible from a place, by their references."""
        scope = self._find_scope(place)
        if wanted.corpus and wanted.corpus not in scope.names:
            raise unknown_corpus(wanted.corpus, scope.names)
        with self._state.open_reading() as ledger:
            rows = overview.list_artifacts(ledger, wanted)
            for corpus, part in scope.parts.items():
                if corpus >= wanted.after[0] and wanted.corpus in ("", corpus):
                    after = (part.name, wanted.after[1] if corpus == wanted.after[0] else "")
                    page = replace(wanted, corpus=part.name, after=after)
                    more = ledger.artifacts.list_page(page)
                    rows += overview.name_artifacts((corpus, *row[1:]) for row in more)
        return sorted(rows, key=_refer)[: wanted.limit]

    def failures(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return the entries that could not be read: corpus, path, reason, and since when."""
        self._state.check_known(corpus)
        with self._state.open_reading() as ledger:
            return overview.list_failures(ledger, corpus)

    def secrets(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return where secrets were found in indexed files: corpus, path, line and kind."""
        self._state.check_known(corpus)
        with self._state.open_reading() as ledger:
            return overview.list_secrets(ledger, corpus)

    def audit(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        self._state.check_known(corpus)
        with self._state.open_reading() as ledger:
            return audit(ledger, self._state.corpora, corpus)

    def coverage(self, corpus: str | None = None) -> list[CorpusCoverage]:
        """Walk the roots of a corpus, or of all, and return how much of the files is indexed.

        Raises Unavailable if the request's time is up.
        """
        self._state.check_known(corpus)
        names = [corpus] if corpus is not None else list(self._state.corpora)
        return [measure_coverage(self._state, name) for name in names]

    def info(self, name: str) -> dict[str, Any]:
        """Return the details of one corpus."""
        self._state.check_known(name)
        with self._state.open_reading() as ledger:
            return overview.describe_corpus_info(self._state, ledger, name)

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return generation, queue, and the state of every corpus; on request, of every stage."""
        with self._state.open_reading() as ledger:
            return overview.describe_status(self._state, ledger, profile)

    def judge_health(self) -> Health:
        """Judge the health of every corpus by the observed changes and the finished jobs."""
        with self._state.open_reading() as ledger:
            return overview.judge_state(self._state, ledger)


def _refer(row: dict[str, Any]) -> tuple[str, str]:
    return row["corpus"], row["artifact_id"]


def _choose_corpus(ledger: Ledger, scope: PlaceScope, hit: Hit) -> Corpus | None:
    """Return the part of a corpus that holds a hit, or held it before it was deleted."""
    if hit.corpus in scope.parts:
        return scope.find_stored(ledger, hit.corpus, hit.artifact_id) or scope.parts[hit.corpus]
    return scope.served.corpora.get(hit.corpus)


def _name_corpus(disclosed: Disclosure) -> Disclosure:
    """Return a disclosure with the corpus name that people know."""
    return replace(disclosed, corpus=disclosed.corpus.partition(AT)[0])
