"""A front end: it answers about corpora in backends, without a ledger and without files.

It stores nothing but the last state that each backend reported. Every query goes to the backends,
so if one is down the answer is `unavailable`, never an abstention.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Any

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.contrib.backends.making import rank_servers
from irdaemon.contrib.backends.observer import CopyFacts
from irdaemon.contrib.backends.remote import Vocabularies, make_remote_index
from irdaemon.contrib.backends.state import limit_scope
from irdaemon.discovery.disclose import (
    BODY_CHARS,
    add_passage,
    find_hidden,
    parse_reference,
    unknown_corpus,
)
from irdaemon.discovery.exact import ExactMatches
from irdaemon.discovery.expand import Expand, expand_record, find_symbol_passage, parse_expand
from irdaemon.discovery.merge import rank_scope
from irdaemon.discovery.query import ParsedQuery, check_level, find_indexes
from irdaemon.embed import EMBEDDERS, FAMILIES, Embedder
from irdaemon.embed.pool import ABSENT, Absent
from irdaemon.engine.health import CorpusHealth, Health, Level, UnwatchedRoot
from irdaemon.engine.host import ServingHost
from irdaemon.engine.reader import QueryEngine
from irdaemon.engine.state import EngineOptions, QueryState
from irdaemon.engine.status import describe_floor
from irdaemon.index import Card, CorpusIndex, Snapshot
from irdaemon.index.backend import IndexBackend, StoredText, Totals, Wanted
from irdaemon.index.lexical import K1, B
from irdaemon.index.rows import hash_name
from irdaemon.runtime.deadline import limit_time
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.runtime.profile import summarize_stages
from irdaemon.strategy.code import SYMBOL
from irdaemon.types import Disclosure, Hit, Selection

log = logging.getLogger(__name__)

_ANSWERS_WITHIN_S = 5.0
_NOT_ASKED = "it has not been asked yet"
_HINT = "it is retried every second; irc status says since when"


@dataclass(slots=True)
class FrontBackend:
    """A backend: `name` as shown to people, and the last state that it reported.

    `problem` is why it does not answer, "" if it does, and `since` when that began; `heard_at` is
    its last answer: Unix seconds, None before the first one.
    """

    name: str
    backend: IndexBackend
    totals: Mapping[str, Totals] = field(default_factory=dict)
    problem: str = _NOT_ASKED
    since: float = 0.0
    heard_at: float | None = None

    def ask(self, now: float) -> None:
        """Ask the backend for its state; if it does not answer, keep the last one."""
        try:
            with limit_time(_ANSWERS_WITHIN_S, self.name):
                totals = self.backend.read_totals()
        except Unavailable as error:
            self._note(error.message, now)
            return
        self._note("", now)
        self.totals, self.heard_at = totals, now

    def _note(self, problem: str, now: float) -> None:
        """Record whether the backend answers, and log a change."""
        if bool(problem) != bool(self.problem) or self.problem == _NOT_ASKED:
            self.since = now
            said = f"does not answer: {problem}" if problem else "answers"
            log.log(logging.WARNING if problem else logging.INFO, "%s %s", self.name, said)
        self.problem = problem


_POLL_S = 0.05
_MOST_NAMED = 3


class BackendStore:
    """The store of a front end: the corpora in its backends.

    A corpus that several backends have, such as one being moved, is read from the one that its name
    assigns it to. Any thread may read and refresh. `embedders` are names of embedders that corpora
    may use in addition to the bundled ones.
    """

    def __init__(
        self, state: QueryState, backends: Sequence[FrontBackend], embedders: Sequence[str]
    ):
        self._state = state
        self._backends = {each.name: each for each in backends}
        self._embedders = embedders
        self._vocabularies = Vocabularies()
        # Why queries cannot be embedded, by embedder id.
        self._missing: Mapping[str, str] = {}

    def refresh(self) -> None:
        """Read the current state of the backends, and make the embedders that it needs.

        Covers all corpora, even if a limited client's request triggers it.
        """
        for each in self._backends.values():
            Context().run(each.ask, self._state.clock())
        before, holders = self._state.snapshot.corpora, self._find_holders()
        indexes = {
            name: self._make_index(side, side.totals[name], before.get(name))
            for name, side in holders.items()
        }
        if [*map(id, indexes.values())] == [*map(id, before.values())]:
            return
        generations = [side.totals[name].generation for name, side in holders.items()]
        self._state.publish(Snapshot(max(generations, default=0), indexes))
        self._state.tiers.forget_answers()
        ids = {index.embedder for index in indexes.values()}
        self._missing = {each: why for each in ids if (why := self._find_missing(each))}

    def _make_index(
        self, side: FrontBackend, totals: Totals, before: CorpusIndex | None
    ) -> CorpusIndex:
        if before is not None and before.whole is not None and before.whole.totals == totals:
            return before
        return make_remote_index(side.backend, totals, self._vocabularies)

    def _find_holders(self) -> dict[str, FrontBackend]:
        """Return which backend has each corpus, by the corpus' name."""
        corpora = {corpus for side in self._backends.values() for corpus in side.totals}
        ranked = {corpus: rank_servers(corpus, self._backends) for corpus in sorted(corpora)}
        return {
            corpus: next(self._backends[n] for n in names if corpus in self._backends[n].totals)
            for corpus, names in ranked.items()
        }

    def _find_missing(self, embedder_id: str) -> str:
        """Make the embedder of an id; return why it cannot be used, "" if it can."""
        if not embedder_id or embedder_id.startswith(ABSENT):
            return "" if not embedder_id else "its writer has no embedder"
        families = (name for name in (*EMBEDDERS, *FAMILIES) if embedder_id.startswith(name))
        made: list[Embedder] = []
        for name in dict.fromkeys((*self._embedders, *families)):
            made.append(self._state.embedders.get_embedder(name))
            if made[-1].id == embedder_id:
                return ""
        absent = next((each.error.message for each in made if isinstance(each, Absent)), "")
        return absent or f"no embedder here is {embedder_id!r}"

    # -- queries ---------------------------------------------------------------------------------

    def check_query(self, query: ParsedQuery) -> None:
        """Raise Unavailable for a query that needs something only the writer has."""
        if query.related:
            raise self.make_refusal("what belongs to a hit")
        self._check_level(query.level)
        self.check_corpora(query.corpora)

    def find_exact(self, snapshot: Snapshot, query: ParsedQuery) -> ExactMatches:
        """Raise Unavailable: the texts are on the machine with the ledger."""
        raise self.make_refusal("what texts hold to the letter")

    def check_corpora(self, names: Sequence[str] = ()) -> None:
        """Raise Unavailable if a backend that never answered may have one of these corpora.

        Without any corpora: if any backend never answered.
        """
        if names and all(name in self._state.snapshot.corpora for name in names):
            return
        for each in self._backends.values():
            if each.heard_at is None:
                raise Unavailable(f"{each.name} does not answer: {each.problem}", _HINT)

    def catch_up(self, query: ParsedQuery) -> list[str]:
        """Wait until the newest generation is searchable; return the corpora where it may not be.

        The server that is written to knows the newest generation.
        """
        until = time.monotonic() + query.wait_ms / 1e3
        self.refresh()
        behind = []
        for index in find_indexes(self._state.snapshot, query.corpora):
            backend, name = self._find_holder(index.corpus).backend, index.corpus
            try:
                newest = backend.read_newest_generation(name)
                left_s = max(0.0, until - time.monotonic())
                reached = backend.wait(name, newest, left_s) >= newest
            except Unavailable:
                reached = False
            if not reached:
                behind.append(name)
        self.refresh()
        return behind

    def wait(self, generation: int, timeout: float) -> int:
        """Wait, at most `timeout` seconds, for a generation; return the one then served."""
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
        hits, expand = answer.results, query.expansion
        texts: dict[tuple[str, str], StoredText] = {}
        for corpus in dict.fromkeys(hit.corpus for hit in hits):
            ids = [hit.artifact_id for hit in hits if hit.corpus == corpus]
            found = self._find_holder(corpus).backend.read_texts(corpus, ids)
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
        """Return the payload, as stored, of artifacts named CORPUS/ID or CORPUS/NAME.

        Backends hold no project's part of a corpus, so the location of the client does not matter.
        """
        check_level(level)
        self._check_level(level)
        expansion = parse_expand(expand)
        found = [self._find_stored(reference) for reference in references]
        return [
            _expand(_disclose(corpus, stored, level), stored, None, expansion)
            for corpus, stored in found
        ]

    def records(self, reference: str, place: str | None = "") -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order."""
        _, stored = self._find_stored(reference)
        return [dict(record) for record in stored.records]

    def _find_stored(self, reference: str) -> tuple[str, StoredText]:
        self.check_corpora([reference.partition("/")[0]])
        corpus, wanted = parse_reference(reference, self._state.snapshot.corpora)
        backend = self._find_holder(corpus).backend
        stored = backend.read_texts(corpus, [wanted]).get(wanted)
        if stored is None:
            artifact_id = resolve_stored(self._state.snapshot.corpora[corpus], wanted)
            stored = backend.read_texts(corpus, [artifact_id]).get(artifact_id)
        if stored is None:
            raise NotFound(f"{reference} is gone", "ask discover again")
        return corpus, stored

    def _check_level(self, level: str) -> None:
        if level == "bundled":
            raise self.make_refusal("what lies beside an artifact's text")

    def _find_holder(self, corpus: str) -> FrontBackend:
        """Return the backend that has a corpus. Raises NotFound."""
        side = self._find_holders().get(corpus)
        if side is None:
            raise NotFound(f"the corpus {corpus!r} is gone", "irc ls shows those there are")
        return side

    # -- how it is -------------------------------------------------------------------------------

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return the status of the process, its backends and their corpora.

        A front end has no queue, no ledger and no watched files.
        """
        holders, process = self._find_holders(), self._state.host.describe_process()
        return {
            **({"profile": summarize_stages()} if profile else {}),
            **process,
            "backends": [
                {"backend": each.name, "problem": each.problem, "since": each.since}
                for each in self._backends.values()
            ],
            "generation": self._state.snapshot.generation,
            "queue": 0,
            "health": self._judge(holders, "refused" in process).to_dict(),
            "jobs": [],
            "corpora": [self._describe(side, side.totals[name]) for name, side in holders.items()],
        }

    def info(self, name: str) -> dict[str, Any]:
        """Return the status of a corpus and the fields to query it by. Raises NotFound."""
        self.check_corpora([name])
        index, side = self._state.snapshot.corpora.get(name), self._find_holders().get(name)
        if index is None or side is None:
            raise unknown_corpus(name, self._state.snapshot.corpora)
        totals = side.totals[name]
        return {
            **self._describe(side, totals),
            "embedder": totals.embedder,
            "served_by": totals.embedder,
            "floors": {mode: describe_floor(floor) for mode, floor in index.floors.items()},
            "recipe": totals.recipe,
            "fields": sorted(totals.fields),
            "surfaces": sorted(totals.kinds),
            "asset_types": dict(totals.asset_types),
        }

    def _describe(self, side: FrontBackend, totals: Totals) -> dict[str, Any]:
        """Describe a corpus from the last state that its backend reported."""
        missing = self._missing.get(totals.embedder, "")
        pending = totals.n_records - totals.n_embedded
        if totals.last_reconcile is None and not totals.by_hand:
            state = "building"
        elif missing or totals.degraded:
            state = "degraded"
        else:
            state = "embedding" if pending > 0 else "ready"
        copy = CopyFacts(
            backend=side.name,
            state="degraded" if side.problem else "level",
            generation=totals.generation,
            holder=totals.holder,
            reason=side.problem,
            since=side.since if side.problem else None,
        )
        behind_s = max(0.0, self._state.clock() - side.since) if side.problem else 0.0
        return {
            "name": totals.corpus,
            "kind": totals.kind,
            "roots": [],
            "artifacts": totals.n_artifacts,
            "records": totals.n_records,
            "vectors": totals.n_embedded,
            "failures": 0,
            "pending": pending,
            "last_reconcile": totals.last_reconcile,
            "state": state,
            "problems": [{"path": totals.embedder, "reason": missing}] if missing else [],
            "skipped": {},
            "writable": False,
            "reindex": "manual" if totals.by_hand else "change",
            "copy": {**copy.to_dict(), "behind_s": round(behind_s, 1)},
        }

    def _judge(self, holders: Mapping[str, FrontBackend], refused: bool) -> Health:
        """Judge the health of a front end: do its backends answer, can queries be embedded."""
        corpora = []
        for name, side in holders.items():
            missing = self._missing.get(side.totals[name].embedder, "")
            corpora.append(
                CorpusHealth(
                    name=name,
                    level="offline" if side.problem else "stale" if missing else "ok",
                    scanned_at=side.totals[name].last_reconcile,
                    offline=(UnwatchedRoot(side.name, side.problem),) if side.problem else (),
                    stale=(f"queries are not embedded: {missing}",) if missing else (),
                )
            )
        away = any(each.problem for each in self._backends.values())
        stale = refused or any(each.stale for each in corpora)
        level: Level = "offline" if away else "stale" if stale else "ok"
        return Health(level, tuple(corpora), (), ())

    def make_refusal(self, what: str) -> Unavailable:
        """Return the error for work that only the daemon writing a corpus can do, naming it."""
        holders = self._find_holders().items()
        writers = list(dict.fromkeys(side.totals[name].holder for name, side in holders))
        more = ", ..." if len(writers) > _MOST_NAMED else ""
        shown = ", ".join(writers[:_MOST_NAMED]) + more
        return Unavailable(
            f"this is a front end: {what} is with the daemon that writes the corpus",
            f"ask it there: {shown}" if writers else "no corpus has been written yet",
        )


class FrontEngine(QueryEngine):
    """Answer queries about corpora in backends. Any thread may use it; one thread calls `refresh`.

    `backends` are by the names shown to people; for `embedders` see BackendStore.
    """

    remote = True
    store: BackendStore

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
        sides = [FrontBackend(*each) for each in backends]
        super().__init__(state, BackendStore(state, sides, embedders))
        self.refresh = self.store.refresh

    def narrow_query(self, query: ParsedQuery, offering: bool) -> tuple[Snapshot, ParsedQuery]:
        """Return the state that answers a query. Raises Unavailable for writer-only requests."""
        self.store.check_query(query)
        return super().narrow_query(query, offering)

    @contextlib.contextmanager
    def open_scope(
        self, operation: str, front: bool, corpora: Collection[str] | None
    ) -> Iterator[None]:
        """Limit what backends return, for the block, to these corpora; None: no limit.

        Raises Unavailable, naming the writer, for an operation that a front end lacks, and for a
        corpus that may be in a backend that was never reached.
        """
        if not front:
            raise self.store.make_refusal(operation)
        with contextlib.nullcontext() if corpora is None else limit_scope(corpora):
            try:
                yield
            except NotFound:
                self.store.check_corpora()
                raise


# Disclose artifacts stored in a backend, without access to the ledger or the files of a corpus.
#
# A body is the text as it was indexed, and is marked so; no file is read. Files that come with an
# artifact exist only where its files are.

AS_INDEXED = "as_indexed"


def resolve_stored(index: CorpusIndex, wanted: str) -> str:
    """Return the id of the artifact, in a corpus in a backend, that an id or a name means.

    Raises NotFound, QueryError for a name that means several, Unavailable.
    """
    cards = _list_cards(index, wanted)
    if any(card.artifact_id == wanted for card in cards):
        return wanted
    name = wanted.casefold()
    found = [c for c in cards if c.name.casefold() == name or c.artifact_id.endswith(f"/{wanted}")]
    if len({card.content for card in found}) == 1:
        return min(found, key=lambda card: rank_scope(card.fields.get("scope"))).artifact_id
    if found:
        references = ", ".join(f"{index.corpus}/{card.artifact_id}" for card in found)
        raise QueryError(
            f"{index.corpus}/{wanted!r} is not one artifact but {len(found)}",
            f"one of: {references}",
        )
    raise NotFound(
        f"no artifact {wanted!r} in corpus {index.corpus!r}"
        f"{did_you_mean(wanted, {card.name for card in cards})}",
        f"irc search {wanted!r} -c {index.corpus} lists similar items",
    )


def _list_cards(index: CorpusIndex, wanted: str) -> list[Card]:
    names = (hash_name(wanted.rpartition("/")[2]), hash_name(wanted))
    if index.elsewhere is not None:
        asked = Wanted((), (), None, 0, K1, B, names=names, including=(wanted,))
        index = index.elsewhere.fetch_part(asked)
    return [index.rows.cards[owner] for owner in index.rows.list_owners()]


def disclose_stored_hit(hit: Hit, stored: StoredText, level: str, expand: Expand | None) -> Hit:
    """Return a hit with its disclosure, expanded around the record that matched."""
    disclosed = _disclose(hit.corpus, stored, level)
    if expand is None and hit.kind == SYMBOL and level != "metadata":
        passage = find_symbol_passage(stored.records, hit.surface_index, 0)
        return replace(hit, disclosure=add_passage(disclosed, passage) if passage else disclosed)
    return replace(hit, disclosure=_expand(disclosed, stored, hit.surface_index, expand))


def _disclose(corpus: str, stored: StoredText, level: str) -> Disclosure:
    plain = Disclosure(
        corpus,
        stored.artifact_id,
        level,
        stored.name,
        stored.pointer,
        indexed_at=stored.indexed_at,
    )
    if level == "metadata":
        return plain
    body = stored.body
    return replace(
        plain,
        body=body[:BODY_CHARS],
        truncated=len(body) >= BODY_CHARS,
        note=AS_INDEXED,
        indexed_digest=stored.digest,
        hidden=find_hidden(body, names=(stored.name,)),
    )


def _expand(
    disclosed: Disclosure, stored: StoredText, around: int | None, expand: Expand | None
) -> Disclosure:
    if expand is None:
        return disclosed
    return add_passage(disclosed, expand_record(stored.records, around, expand))
