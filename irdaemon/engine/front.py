"""A front end: it answers about corpora that lie in backends, without a ledger and without files.

It keeps nothing but what it was told last. A query asks the backends themselves, so where one is
away it is answered `unavailable`, and never that nothing applies.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from irclient.errors import NotFound, Unavailable
from irclient.types import as_query
from irdaemon.disclosure.disclose import check_level
from irdaemon.disclosure.expand import Expand, parse_expand
from irdaemon.disclosure.references import check_form
from irdaemon.disclosure.stored import disclose_stored, disclose_stored_hit, named
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.budget import Tiers, TierTimes
from irdaemon.discovery.explain import explain
from irdaemon.discovery.impressions import Impressions
from irdaemon.discovery.query import asked, ranking_only, validated
from irdaemon.discovery.rounds import in_rounds
from irdaemon.embed import EMBEDDERS, FAMILIES, Embedder
from irdaemon.embed.absent import ABSENT, Absent
from irdaemon.embed.pool import Embedders
from irdaemon.engine import front_status as overview
from irdaemon.engine.front_backends import FrontBackend, FrontBackends
from irdaemon.engine.state import EngineOptions, reranker_named
from irdaemon.index import Snapshot
from irdaemon.index.backend import IndexBackend, StoredText, Totals
from irdaemon.index.backends.scope import seeing_only
from irdaemon.retrieve.rerank import Rereading
from irdaemon.types import Disclosure, Hit, Query, Selection

_POLL_S = 0.05
_NAMED = 3


class FrontHost(Protocol):
    """What a front end needs of the process it runs in."""

    def facts(self) -> Mapping[str, Any]:
        """Return what the status reports of the process."""
        ...

    def reload(self) -> None:
        """Read again who may ask for what."""
        ...


class FrontEngine:
    """Answer queries about what backends hold. Any thread may use it; `refresh` is called by one.

    `backends` are by the names that a person is shown; `embedders` are names of embedders that
    corpora may have, beside those that come along.
    """

    usage = None

    def __init__(
        self,
        backends: Sequence[tuple[str, IndexBackend]],
        embedders: Sequence[str],
        options: EngineOptions,
        host: FrontHost,
        clock: Callable[[], float] = time.time,
    ):
        self.host, self.clock = host, clock
        self.backends = FrontBackends([FrontBackend(*each) for each in backends], clock)
        self.impressions = Impressions(clock)
        self.embedders = Embedders(options.embedder_idle_s, options.embedders)
        self.models = discovery.Models(
            self.embedders.vector, Rereading.by(reranker_named(options.reranker)), options.tuning
        )
        self.missing: Mapping[str, str] = {}
        self._embedders = tuple(dict.fromkeys(embedders))
        self._times = TierTimes()
        self._forget_answers()

    @property
    def snapshot(self) -> Snapshot:
        """Return what queries see now."""
        return self.backends.snapshot

    def refresh(self) -> None:
        """Learn what the backends have now, and make the embedders of it."""
        if self.backends.refresh():
            self._forget_answers()
            ids = {index.embedder for index in self.snapshot.corpora.values()}
            self.missing = {each: why for each in ids if (why := self._why_missing(each))}

    def _forget_answers(self) -> None:
        self._discover_tiers, self._search_tiers = Tiers(self._times), Tiers(self._times)

    def embedder(self, embedder_id: str) -> Embedder | None:
        """Return the embedder of an id, None where there is none here."""
        made = self.embedders.by_id(embedder_id)
        return None if isinstance(made, Absent) else made

    def _why_missing(self, embedder_id: str) -> str:
        """Make the embedder of an id; return why it cannot be used, "" where it can."""
        if not embedder_id or embedder_id.startswith(ABSENT):
            return "" if not embedder_id else "its writer has no embedder"
        families = (name for name in (*EMBEDDERS, *FAMILIES) if embedder_id.startswith(name))
        made: list[Embedder] = []
        for name in dict.fromkeys((*self._embedders, *families)):
            made.append(self.embedders.named(name))
            if made[-1].id == embedder_id:
                return ""
        absent = next((each.error.message for each in made if isinstance(each, Absent)), "")
        return absent or f"none of the embedders here is {embedder_id!r}"

    # -- queries ---------------------------------------------------------------------------------

    def discover(self, query: Query | str) -> Selection:
        """Answer a query with few hits, or none and a typed reason; see `discovery.discover`."""
        valid = validated(as_query(query))

        def run(query: Query) -> Selection:
            return in_rounds(self.snapshot, query, self.models).selection

        return self._answered(valid, run, self._discover_tiers)

    def search(self, query: Query | str) -> Selection:
        """Return the ranked candidates of a query, without selection."""
        valid = validated(ranking_only(as_query(query)))

        def run(query: Query) -> Selection:
            return discovery.search(self.snapshot, query, self.models).selection

        return self._answered(valid, run, self._search_tiers)

    def explain(self, query: Query | str, item: str = "") -> dict[str, Any]:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        valid = validated(as_query(query))
        self.backends.check_heard(valid.corpora)
        return explain(self.snapshot, valid, self.models, item)

    def _answered(self, query: Query, run: Callable[[Query], Selection], tiers: Tiers) -> Selection:
        if query.related:
            raise self.elsewhere("what belongs to a hit")
        self._check_level(query.level)
        self.backends.check_heard(query.corpora)
        unproved = self._catch_up(query) if query.fresh else None
        answer = tiers.answer(query, run)
        if unproved is not None:
            freshness = {**answer.freshness, "unproved": unproved}
            answer = replace(answer, freshness=freshness)
        if (query.level, query.expand) == ("metadata", "none"):
            return answer
        hits = self._with_payloads(answer.results, query.level, parse_expand(query.expand))
        return replace(answer, results=hits)

    def _catch_up(self, query: Query) -> list[str]:
        """Wait until what was written last is searched; return the corpora of which it may not be.

        What was written last is known at the server that is written to.
        """
        until = time.monotonic() + query.wait_ms / 1e3
        self.refresh()
        behind = []
        for index in asked(self.snapshot, query.corpora):
            backend, name = self._held(index.corpus)[0].backend, index.corpus
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
        while self.snapshot.generation < generation and time.monotonic() < until:
            time.sleep(min(_POLL_S, max(0.0, until - time.monotonic())))
            self.refresh()
        return self.snapshot.generation

    # -- texts -----------------------------------------------------------------------------------

    def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, or CORPUS/NAME, as it was stored."""
        check_level(level)
        self._check_level(level)
        expansion = parse_expand(expand)
        found = [self._found(reference) for reference in references]
        return [disclose_stored(corpus, stored, level, expansion) for corpus, stored in found]

    def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order."""
        _, stored = self._found(reference)
        return [dict(record) for record in stored.records]

    def _found(self, reference: str) -> tuple[str, StoredText]:
        self.backends.check_heard([reference.partition("/")[0]])
        corpus, wanted = check_form(reference, self.snapshot.corpora)
        side, _ = self._held(corpus)
        stored = side.backend.stored(corpus, [wanted]).get(wanted)
        if stored is None:
            artifact_id = named(self.snapshot.corpora[corpus], wanted)
            stored = side.backend.stored(corpus, [artifact_id]).get(artifact_id)
        if stored is None:
            raise NotFound(f"{reference} is gone", "ask discover again")
        return corpus, stored

    def _with_payloads(
        self, hits: Sequence[Hit], level: str, expand: Expand | None
    ) -> tuple[Hit, ...]:
        texts: dict[tuple[str, str], StoredText] = {}
        for corpus in dict.fromkeys(hit.corpus for hit in hits):
            ids = [hit.artifact_id for hit in hits if hit.corpus == corpus]
            found = self._held(corpus)[0].backend.stored(corpus, ids)
            texts.update({(corpus, artifact_id): text for artifact_id, text in found.items()})
        return tuple(
            disclose_stored_hit(hit, text, level, expand)
            if (text := texts.get((hit.corpus, hit.artifact_id)))
            else hit
            for hit in hits
        )

    def _check_level(self, level: str) -> None:
        if level == "bundled":
            raise self.elsewhere("what lies beside an artifact's text")

    def _held(self, corpus: str) -> tuple[FrontBackend, Totals]:
        """Return the backend that has a corpus, and what it said of it last. Raises NotFound."""
        side = self.backends.holding().get(corpus)
        if side is None:
            raise NotFound(f"the corpus {corpus!r} is gone", "irc ls shows those there are")
        return side, side.totals[corpus]

    # -- how it is -------------------------------------------------------------------------------

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return how the process, its backends and their corpora are."""
        return overview.status(self._facts(), profile)

    def info(self, name: str) -> dict[str, Any]:
        """Return what is known of one corpus. Raises NotFound."""
        self.backends.check_heard([name])
        return overview.info(self._facts(), name)

    def _facts(self) -> overview.FrontFacts:
        return overview.FrontFacts(self.backends, self.missing, self.host.facts(), self.clock())

    def limited_to(self, corpora: Collection[str] | None) -> AbstractContextManager[None]:
        """Have backends give nothing of other corpora to what runs inside, None: of all."""
        return contextlib.nullcontext() if corpora is None else seeing_only(corpora)

    def elsewhere(self, what: str, corpora: Collection[str] = ()) -> Unavailable:
        """Return the error of what only the daemon that writes a corpus can do, naming it."""
        every = (self._held(name)[1].holder for name in corpora or self.snapshot.corpora)
        writers = list(dict.fromkeys(every))
        shown = ", ".join(writers[:_NAMED]) + (", ..." if len(writers) > _NAMED else "")
        return Unavailable(
            f"this is a front end: {what} is with the daemon that writes the corpus",
            f"ask it there: {shown}" if writers else "no corpus has been written yet",
        )
