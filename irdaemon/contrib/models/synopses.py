"""Synopses in the daemon: a model writes them while the daemon is idle, and the writer stores them.

`ask` runs on a separate thread, since a reply takes seconds: it reads the index, and no file of a
source except the one that a skill's disclosure reads, and hands over the replies. Until then, and
if the model fails, artifacts are served as they are, with an older synopsis if any.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irclient.counts import format_count
from irclient.errors import IRError, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config
from irdaemon.contrib.models.observer import ModelObserver, NewSynopsis
from irdaemon.contrib.models.synopsis import PROMPT, SHOWN_CHARS, make_identity
from irdaemon.discovery.disclose import disclose_artifact
from irdaemon.engine import Engine
from irdaemon.engine.due import explain_delay
from irdaemon.engine.indexing import reconcile_corpus
from irdaemon.engine.observer import Background
from irdaemon.engine.publish import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ledger import ArtifactPage, Ledger
from irdaemon.source.redact import Redactor
from irdaemon.strategy.synopses import KIND, SynopsisNote
from irdaemon.types import SourceError

# The number of requests between two checks whether the daemon is still idle.
_AT_ONCE = 8
_PAGE = 200
_DAY_S = 86_400.0
# The time between two checks whether it is idle, and after a check that led to synopses.
_TICK_S, _GOES_ON_S = 15.0, 1.0
# No request waits for a synopsis, and its input is a long text.
_PATIENCE = 6
# Replies of other model calls, and lists of names, need no summary.
_NOT_SHOWN = (KIND, "deps")


@dataclass(frozen=True, slots=True)
class SynopsisBudget:
    """When to ask a model for synopses: how often a day, after how long without a request."""

    a_day: int = 200
    quiet_s: float = 600.0
    timeout_s: float = 60.0


class SynopsisWriter(Background):
    """Ask a state's model for synopses, within a budget, while nothing else is to be done.

    The process does not wait for a reply when it exits.
    """

    name, failure = "synopses", "no synopses were written"

    def __init__(self, state: State, budget: SynopsisBudget):
        self.state, self.budget = state, budget
        self._tick_s = self.first_in_s = min(_TICK_S, max(0.2, budget.quiet_s / 2))
        # Artifacts for whose text the model wrote nothing: corpus, id and digest.
        self._useless: set[tuple[str, str, str]] = set()
        # At this generation no artifact lacked a synopsis that it can have.
        self._complete_at = -1

    def tick(self) -> float:
        """Ask for a few synopses if the daemon is idle."""
        return min(_GOES_ON_S, self._tick_s) if self.write_some() else self._tick_s

    def write_some(self) -> int:
        """If the daemon is idle, ask for a few synopses and hand them over; return how many."""
        generation = self.state.snapshot.generation
        if generation == self._complete_at or not self._is_quiet():
            return 0
        found: list[NewSynopsis] = []
        # Without a reply the status names the model's problem; finished synopses are handed over.
        with contextlib.suppress(Unavailable), self.state.open_reading() as ledger:
            if self._ask(ledger, found):
                self._complete_at = generation
        ModelObserver.find_in(self.state.addons).synopses.extend(found)
        for name in dict.fromkeys(each.corpus for each in found):
            self.state.request(Job("synopsis", name))
        return len(found)

    def _ask(self, ledger: Ledger, found: list[NewSynopsis]) -> bool:
        """Add the model's replies to `found`; return whether nothing was left to ask."""
        left = self.budget.a_day - ledger.synopses.count_requests(count_days(self.state))
        if left <= 0:
            return False
        for each in self._list_wanted(ledger):
            if len(found) >= min(left, _AT_ONCE) or not self._is_quiet():
                return False
            found.append(self._ask_model(each))
        return not found

    def _is_quiet(self) -> bool:
        state, quiet_s = self.state, self.budget.quiet_s
        changes = (state.work.get_watermarks(name).changed_at or 0.0 for name in state.corpora)
        now = state.clock()
        unchanged_s = now - max(changes, default=0.0)
        if explain_delay(state, now):
            return False
        return not state.work.queued and min(state.host.measure_idle_s(), unchanged_s) >= quiet_s

    def _list_wanted(self, ledger: Ledger) -> Iterator[NewSynopsis]:
        """Yield the artifacts without a synopsis of their present text, with the text to send."""
        for corpus in self.state.corpora.values():
            if corpus.synopsis:
                yield from self._list_corpus(ledger, corpus)

    def _list_corpus(self, ledger: Ledger, corpus: Corpus) -> Iterator[NewSynopsis]:
        after = ("", "")
        while rows := ledger.artifacts.list_page(
            ArtifactPage(corpus.name, after=after, limit=_PAGE)
        ):
            after = rows[-1][0], rows[-1][1]
            for _, artifact_id, *_ in rows:
                text = read_text(ledger, corpus, artifact_id)
                note = self._make_note(text)
                key = (corpus.name, artifact_id, note.digest)
                held = ledger.synopses.find(corpus.name, artifact_id, KIND)
                if text and key not in self._useless and _read_digest(held) != note.digest:
                    yield NewSynopsis(corpus.name, artifact_id, text, note)

    def _make_note(self, text: str) -> SynopsisNote:
        model = self.state.options.model
        made_by = make_identity(model.model if model else "", PROMPT)
        digest = hashlib.sha256(f"{made_by}\0{text}".encode()).hexdigest()[:16]
        return SynopsisNote(made_by, digest=digest)

    def _ask_model(self, wanted: NewSynopsis) -> NewSynopsis:
        """Return the model's synopsis of a text. Raises Unavailable without a reply."""
        model = ModelObserver.find_in(self.state.addons).summarizer
        assert model is not None  # a writer exists only with a model
        text = model(PROMPT.replace("{text}", wanted.text), self.budget.timeout_s).strip()
        if not text:
            self._useless.add((wanted.corpus, wanted.artifact_id, wanted.note.digest))
        return NewSynopsis(wanted.corpus, wanted.artifact_id, text, wanted.note)


def read_text(ledger: Ledger, corpus: Corpus, artifact_id: str) -> str:
    """Return the text of an artifact to send to a model: its indexed texts, without secrets.

    If only a description is embedded, as for a skill, its body is included.
    """
    records = ledger.artifacts.list_records(corpus.name, artifact_id)
    kept = [record for record in records if record["kind"] not in _NOT_SHOWN]
    texts = [record["text"] for record in kept]
    try:
        if all(record["granularity"] == "field" for record in kept):
            texts.append(disclose_artifact(ledger, corpus, artifact_id, "body", None).body or "")
        return Redactor("all").redact_text("\n\n".join(texts))[:SHOWN_CHARS].strip()
    except (IRError, SourceError):
        return ""  # deleted meanwhile, or cannot be redacted


def make_background(engine: Engine, config: Config) -> SynopsisWriter | None:
    """Return the background work that asks for synopses; None without a configured model."""
    models = config.models
    if ModelObserver.find_in(engine.addons).summarizer is None or not models.synopses_a_day:
        return None
    timeout_s = _PATIENCE * models.timeout_s
    budget = SynopsisBudget(models.synopses_a_day, 60 * models.quiet_minutes, timeout_s)
    return SynopsisWriter(engine.state, budget)


def take_in(context: JobContext, corpus: Corpus) -> str:
    """Store the synopses handed over for a corpus, by reading their artifacts again."""
    state, waiting = context.state, ModelObserver.find_in(context.state.addons).synopses
    given = [waiting.popleft() for _ in range(len(waiting))]
    mine = [each for each in given if each.corpus == corpus.name]
    waiting.extend(each for each in given if each.corpus != corpus.name)
    synopses = state.ledger.synopses
    synopses.add_requests(count_days(state), len(mine))
    for each in mine:
        if each.text:
            synopses.hand_in(corpus.name, each.artifact_id, each.text, each.note.metadata())
    try:
        return f"{format_count(len(mine), 'synopsis')}: {reconcile_corpus(context, corpus)}"
    finally:
        synopses.settle(corpus.name)


def count_days(state: State) -> int:
    """Return the number of the day since 1970."""
    return int(state.clock() // _DAY_S)


def _read_digest(held: tuple[str, Mapping[str, Any]] | None) -> str:
    return str(held[1].get("synopsis_of", "")) if held else ""
