"""What a ledger adds to answers: freshness, payloads, and accounts of what is held."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from irclient.results import CorpusCoverage
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.discovery.audit import audit, make_pin
from irdaemon.discovery.disclose import (
    check_level,
    disclose_artifact,
    disclose_hit,
    resolve_reference,
)
from irdaemon.discovery.expand import parse_expand
from irdaemon.discovery.links import LinkScope, add_related
from irdaemon.discovery.query import ParsedQuery, find_indexes
from irdaemon.engine import status as overview
from irdaemon.engine.coverage import coverage
from irdaemon.engine.health import Health
from irdaemon.engine.queue import Job, Work
from irdaemon.engine.state import State
from irdaemon.ledger import ArtifactPage
from irdaemon.types import Disclosure, Hit, Selection

# Freshness one can prove: wait until the snapshot includes every change made up to now.
#
# A root is proved by its events, where the kernel's order shows that all of them were read, and
# otherwise by a whole scan of its corpus, at an interval or not. One that is indexed by hand only
# is
# not scanned, and nothing is shown of it. Either way the scans that are requested must have
# ended.

Wait = Callable[[Callable[[], bool], float], object]


def catch_up(
    corpora: Iterable[Corpus],
    work: Work,
    caught_up: Callable[[float], Collection[str]],
    wait: Wait,
    timeout: float,
) -> tuple[str, ...]:
    """Wait until every change so far is in the snapshot; return the roots not shown to be.

    `caught_up` gives the roots of which all events so far were handed over, `wait` waits until jobs
    have ended; both get what is left of `timeout` seconds.
    """
    until = time.monotonic() + timeout
    reported = frozenset(caught_up(timeout))
    corpora = tuple(corpora)
    roots = {corpus.name: set(corpus.real_roots().values()) for corpus in corpora}
    by_hand = {corpus.name for corpus in corpora if corpus.reindex.on == MANUAL}
    followed = {corpus.name for corpus in corpora if corpus.reindex.follows_changes}
    for name, paths in roots.items():
        proved = name in followed and paths and paths <= reported
        if not proved and name not in by_hand:
            work.add(Job("reconcile", name))
    scans = {name: work.scans(name) for name in roots}
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

    `drain` runs all waiting jobs; it is called, before an answer that is to be fresh, where no
    writer thread does that.
    """

    def __init__(self, state: State, drain: Callable[[], None]):
        self._state = state
        self._drain = drain

    def check_query(self, query: ParsedQuery) -> None:
        """Accept every query: all that one can ask for is here."""

    def check_corpora(self, names: Sequence[str]) -> None:
        """Accept all names; who reads the snapshot finds out which there are."""

    def catch_up(self, query: ParsedQuery) -> tuple[str, ...]:
        """Wait until a fresh answer can be given; return the roots of which it is not proved."""
        state, host = self._state, self._state.host
        names = [index.corpus for index in find_indexes(state.snapshot, query.corpora)]
        corpora = [corpus for name in names if (corpus := state.corpora.get(name))]
        wait = state.work.wait_until if host.writes else self._drained
        return catch_up(corpora, state.work, host.caught_up, wait, query.wait_ms / 1e3)

    def _drained(self, happened: Callable[[], bool], timeout: float) -> None:
        self._drain()

    def wait(self, generation: int, timeout: float) -> int:
        """Wait, at most `timeout` seconds, for a generation; return the one there is then."""
        state = self._state
        if not state.host.writes:
            self._drain()
        state.work.wait_until(lambda: state.snapshot.generation >= generation, timeout)
        return state.snapshot.generation

    def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, or CORPUS/NAME where that is unique.

        `expand` is as on a Query, around the artifact's first record. Raises NotFound naming what
        there is, QueryError for an ambiguous name.
        """
        check_level(level)
        expansion, corpora = parse_expand(expand), self._state.corpora
        with self._state.reading() as ledger:
            found = [resolve_reference(ledger, each, corpora) for each in references]
            disclosed = [
                disclose_artifact(ledger, corpora[corpus], artifact_id, level, expansion)
                for corpus, artifact_id in found
            ]
        self._note_disclosed(disclosed)
        return disclosed

    def _note_disclosed(self, disclosed: Iterable[Disclosure]) -> None:
        """Have the writer keep what was disclosed, without waiting for it."""
        pins = [pin for each in disclosed if (pin := make_pin(each, self._state.clock()))]
        if pins and not self._state.ledger.read_only:
            self._state.disclosed.extend(pins)
            self._state.request(Job("pin"))

    def add_payloads(self, hits: Iterable[Hit], query: ParsedQuery) -> tuple[Hit, ...]:
        """Return hits with the payloads that a valid query asks for.

        Those of corpora that are gone are left out.
        """
        corpora, expand = self._state.corpora, query.expansion
        with self._state.reading() as ledger:
            disclosed = tuple(
                disclose_hit(ledger, corpora[hit.corpus], hit, query.level, expand)
                for hit in hits
                if hit.corpus in corpora
            )
        self._note_disclosed(hit.disclosure for hit in disclosed if hit.disclosure)
        return disclosed

    def complete(
        self, answer: Selection, query: ParsedQuery, visible: Collection[str] | None = None
    ) -> Selection:
        """Return an answer with the payloads, and what belongs to each hit, as a query asks."""
        if (query.level, query.expand) != ("metadata", "none") and answer.results:
            answer = replace(answer, results=self.add_payloads(answer.results, query))
        if not query.related or not answer.results:
            return answer
        names = [each for each in self._state.corpora if visible is None or each in visible]
        with self._state.reading() as ledger:
            shelves = [LinkScope(ledger.links, names)]
            return replace(answer, results=add_related(answer.results, shelves))

    def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order."""
        with self._state.reading() as ledger:
            corpus, artifact_id = resolve_reference(ledger, reference, self._state.corpora)
            return ledger.artifacts.list_records(corpus, artifact_id)

    def artifacts(self, wanted: ArtifactPage) -> list[dict[str, Any]]:
        """Return a page of the artifacts that are held, in the order of their references."""
        self._state.check_known(wanted.corpus or None)
        with self._state.reading() as ledger:
            return overview.artifacts(ledger, wanted)

    def failures(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return what could not be read: corpus, path, reason, and since when."""
        self._state.check_known(corpus)
        with self._state.reading() as ledger:
            return overview.failures(ledger, corpus)

    def secrets(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return where secrets lie in what was indexed: corpus, path, line and kind."""
        self._state.check_known(corpus)
        with self._state.reading() as ledger:
            return overview.secrets(ledger, corpus)

    def audit(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        self._state.check_known(corpus)
        with self._state.reading() as ledger:
            return audit(ledger, self._state.corpora, corpus)

    def coverage(self, corpus: str | None = None) -> list[CorpusCoverage]:
        """Walk the roots of a corpus, or of all, and return how much of what is there is indexed.

        Raises Unavailable where the request's time is up.
        """
        self._state.check_known(corpus)
        names = [corpus] if corpus is not None else list(self._state.corpora)
        return [coverage(self._state, name) for name in names]

    def info(self, name: str) -> dict[str, Any]:
        """Return what is known of one corpus."""
        self._state.check_known(name)
        with self._state.reading() as ledger:
            return overview.info(self._state, ledger, name)

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return generation, queue, and the state of every corpus; on request, of every stage."""
        with self._state.reading() as ledger:
            return overview.status(self._state, ledger, profile)

    def health(self) -> Health:
        """Judge how every corpus is by what was seen and what was done."""
        with self._state.reading() as ledger:
            return overview.health_of(self._state, ledger)
