"""The engine's observer of use: it records answers and transcripts, and learns from them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config
from irdaemon.contrib.usage.learning import (
    NOT_LEARNED,
    RULE,
    Learning,
    explain_learned,
    find_learnable,
    find_outdated,
)
from irdaemon.contrib.usage.names import ItemNames
from irdaemon.contrib.usage.notes import UsageNotes, UsageOptions
from irdaemon.contrib.usage.offers import NotedAnswer
from irdaemon.contrib.usage.session_log import SessionObserver, has_sessions
from irdaemon.contrib.usage.taught import list_uses
from irdaemon.engine.observer import GivenAnswer
from irdaemon.engine.publish import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.reconcile import Report
from irdaemon.ledger import Upsert
from irdaemon.types import Use

_VARIANT_CHARS = 40


def make_options(config: Config) -> UsageOptions | None:
    """Return where use is recorded, None if the configuration switches it off."""
    if not config.usage.enabled:
        return None
    return UsageOptions(config.usage_path, config.usage_key_path, config.usage.text)


class UsageObserver(SessionObserver):
    """Record use, if `notes` is not None, and queue what jobs are to learn and to forget.

    `imported` are uses from elsewhere for a job to learn, by corpus; `unlearned` lists what a job
    is to forget: corpus and artifact, session, or "" for all.
    """

    notes: UsageNotes | None

    def __init__(self, state: State):
        self._state = state
        options = state.options.addons.get("usage")
        self.notes = (
            UsageNotes(options, state.clock) if options and not state.ledger.read_only else None
        )
        self.imported: dict[str, tuple[Use, ...]] = {}
        self.unlearned: deque[tuple[str, str, str]] = deque()

    def request_learning(self, corpus: str, uses: Iterable[Use]) -> int:
        """Request learning from imported uses; return the job's number."""
        self._state.check_known(corpus)
        self.imported[corpus] = (*self.imported.get(corpus, ()), *uses)
        return self._state.request(Job("learn", corpus))

    def request_unlearning(self, corpus: str, artifact_id: str, session: str) -> int:
        """Request to forget what use taught about an artifact, from a session, or entirely."""
        self.unlearned.append((corpus, artifact_id, session))
        return self._state.request(Job("unlearn"))

    # -- answers ---------------------------------------------------------------------------------

    def note_answer(self, given: GivenAnswer) -> None:
        """Record an answer; the writer stores it within a second or two."""
        if self.notes is None:
            return
        variant = given.variant[:_VARIANT_CHARS]
        noted = NotedAnswer(self._state.clock(), given.op, given.session, variant, given.selection)
        self.notes.note(noted.add_trace(given.trace) if given.trace else noted)

    def explain_item(self, query: str, reference: str, place: str | None = "") -> Mapping[str, Any]:
        """Return an item's learned prompts, and its scores without them."""
        learned = explain_learned(self._state, query, reference)
        return {"learned": learned} if learned else {}

    def describe(self) -> Mapping[str, Any]:
        """Return where use is recorded, and how much."""
        return {"usage": self.notes.describe_log()} if self.notes else {}

    # -- by the writer ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Store waiting records."""
        if self.notes is not None:
            self.notes.tick(self._state.corpora)

    def note_read(self, corpus: Corpus, upsert: Upsert) -> None:
        """Store the turns of a session that was read."""
        if log := self.find_log(corpus):
            log.read(corpus.name, upsert)

    def note_scan(self, corpus: Corpus, report: Report) -> None:
        """Request that what deleted sessions taught be forgotten."""
        if report.removed and has_sessions(corpus):
            for name in self._state.ledger.prompts.list_corpora():
                self._state.request(Job("learn", name))

    def find_due_jobs(self, at_start: bool) -> list[Job]:
        """Return the corpora to learn about; at a start, those taught under another rule."""
        if at_start:
            return [Job("learn", name) for name in find_outdated(self._state)]
        if self.notes is None or self._state.options.on_battery():
            return []
        return [Job("learn", name) for name in find_learnable(self._state)]


# The jobs of use: learn from it, roll back, and forget learned prompts.


def learn_corpus(context: JobContext, corpus: Corpus) -> str:
    """Import uses, forget what deleted sessions taught, and learn again."""
    state, name = context.state, corpus.name
    ledger = state.ledger
    if not corpus.learns:
        UsageObserver.find_in(state.addons).imported.pop(name, None)
        return "a corpus that is copied to a backend learns only with share = true"
    ledger.prompts.import_uses(name, UsageObserver.find_in(state.addons).imported.pop(name, ()))
    if _is_incomplete(state):
        return "not all transcripts have been searched for uses"
    learning = Learning(state, context.publisher, corpus, context.pause)
    uses = _list_known_uses(state, corpus)
    learning.keep_attested(uses)
    seen = RULE + hashlib.blake2b(repr(uses).encode("utf-8", "replace"), digest_size=8).hexdigest()
    noted = ledger.prompts.read_state(name)
    if noted.get("seen") == seen:
        return "no new uses"
    report = learning.learn(uses)
    ledger.prompts.put_state(name, {**ledger.prompts.read_state(name), "seen": seen})
    return str(report)


def roll_back_corpus(context: JobContext, corpus: Corpus) -> str:
    """Serve the state before the last learning."""
    changed = Learning(context.state, context.publisher, corpus, context.pause).roll_back()
    return f"{format_count(changed, 'artifact', 'is')} as before"


def forget_learned(context: JobContext) -> str:
    """Forget waiting items in what was learned and in what was imported."""
    state, forgotten = context.state, 0
    while UsageObserver.find_in(state.addons).unlearned:
        corpus, artifact_id, session = UsageObserver.find_in(state.addons).unlearned.popleft()
        for each in state.corpora.values():
            if corpus in ("", each.name):
                changed = state.ledger.prompts.forget(each.name, artifact_id, session)
                Learning(state, context.publisher, each, context.pause).show(changed)
                forgotten += changed
    return f"{format_count(forgotten, 'artifact')} changed"


def _is_incomplete(state: State) -> bool:
    """Return whether transcripts must still be reread: a missing session may then still exist."""
    corpora = state.corpora.values()
    sessions = [each.name for each in corpora if each.kind in NOT_LEARNED]
    notes = UsageObserver.find_in(state.addons).notes
    return notes is not None and any(map(notes.must_read_all, sessions))


def _list_known_uses(state: State, corpus: Corpus) -> list[Use]:
    """Return the uses found in transcripts and the imported ones."""
    imported = state.ledger.prompts.list_imported(corpus.name)
    if (notes := UsageObserver.find_in(state.addons).notes) is None:
        return imported
    with notes.open_reading() as store:
        names = ItemNames(state.ledger, {name: c.kind for name, c in state.corpora.items()})
        return [*list_uses(store, state.ledger, names, corpus.name), *imported]
