"""The jobs of use: learning from it, going back, and forgetting what was learned."""

from __future__ import annotations

import hashlib

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.usage.learning import NOT_LEARNED, RULE, Learning
from irdaemon.contrib.usage.names import ItemNames
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.taught import list_uses
from irdaemon.engine.publish import JobContext
from irdaemon.engine.state import State
from irdaemon.types import Use


def learn_corpus(context: JobContext, corpus: Corpus) -> str:
    """Take in uses from elsewhere, forget what was taught by what is gone, and learn again."""
    state, name = context.state, corpus.name
    ledger = state.ledger
    if not corpus.learns:
        UsageObserver.find_in(state.addons).imported.pop(name, None)
        return (
            "nothing is learned about a corpus that is copied elsewhere, unless it has share = true"
        )
    ledger.prompts.import_uses(name, UsageObserver.find_in(state.addons).imported.pop(name, ()))
    if _is_incomplete(state):
        return "not all transcripts were searched for uses"
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
    """Serve what was served before the last time that something was learned."""
    changed = Learning(context.state, context.publisher, corpus, context.pause).roll_back()
    return f"{format_count(changed, 'artifact', 'is')} as before"


def forget_learned(context: JobContext) -> str:
    """Forget what is to be forgotten of use, in what was learned and in what was imported."""
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
    """Return whether transcripts are still to be read again: what lacks now has not gone."""
    corpora = state.corpora.values()
    sessions = [each.name for each in corpora if each.kind in NOT_LEARNED]
    notes = UsageObserver.find_in(state.addons).notes
    return notes is not None and any(map(notes.must_read_all, sessions))


def _list_known_uses(state: State, corpus: Corpus) -> list[Use]:
    """Return the uses that transcripts tell of and those brought from elsewhere."""
    imported = state.ledger.prompts.list_imported(corpus.name)
    if (notes := UsageObserver.find_in(state.addons).notes) is None:
        return imported
    with notes.reading() as store:
        names = ItemNames(state.ledger, {name: c.kind for name, c in state.corpora.items()})
        return [*list_uses(store, state.ledger, names, corpus.name), *imported]
