"""The jobs of expected prompts: taking them in, weighing them, and taking them back."""

from __future__ import annotations

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.observer import find_observer
from irdaemon.contrib.prompts.weighing import ROLLED_BACK, list_unweighed
from irdaemon.contrib.prompts.weighing import weigh_prompts as weigh
from irdaemon.engine.indexing import show_changed
from irdaemon.engine.publish import JobContext
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import STATED, Gate


def take_prompts(context: JobContext, corpus: Corpus) -> str:
    """Serve the prompts that were handed in of a corpus, and weigh them."""
    state, changed = context.state, 0
    waiting = find_observer(state).given
    for _ in range(len(waiting)):
        name, provenance, given = waiting.popleft()
        if name != corpus.name:
            waiting.append((name, provenance, given))
            continue
        contents = state.ledger.artifacts.list_contents(name, given)
        known: dict[str, Expected] = {id: given[id] for id in contents}
        changed += state.ledger.prompts.add(name, known, provenance, contents)
    show_changed(state, context.publisher, corpus, changed)
    return f"{format_count(changed, 'artifact')} changed; {_weigh_all(context, corpus)}"


def weigh_prompts(context: JobContext, corpus: Corpus) -> str:
    """Weigh the prompts of a corpus that were not weighed as they are now."""
    return _weigh_all(context, corpus)


def _weigh_all(context: JobContext, corpus: Corpus) -> str:
    state, told = context.state, []
    for provenance in list_unweighed(state, corpus):
        gate = weigh(state, corpus, provenance, context.pause)
        changed = state.ledger.prompts.set_gate(corpus.name, provenance, gate)
        show_changed(state, context.publisher, corpus, changed)
        told.append(f"{provenance}: {gate.report['outcome']}")
    return ", ".join(told) or "nothing was to be weighed"


def drop_prompts(context: JobContext, corpus: Corpus) -> str:
    """Forget prompts of a corpus, or serve those that were served before.

    What comes with an artifact is no longer counted instead.
    """
    state, changed = context.state, 0
    drops = find_observer(state).drops
    prompts = state.ledger.prompts
    for _ in range(len(drops)):
        drop = drops.popleft()
        if drop.corpus != corpus.name:
            drops.append(drop)
        elif drop.provenance in STATED:
            gate = Gate(False, {"outcome": ROLLED_BACK}, state.clock())
            changed += prompts.set_gate(corpus.name, drop.provenance, gate)
        elif drop.is_forgotten:
            changed += prompts.forget(corpus.name, drop.artifact_id, provenance=drop.provenance)
        else:
            changed += prompts.roll_back(corpus.name, drop.provenance)
    show_changed(state, context.publisher, corpus, changed)
    return f"{format_count(changed, 'artifact')} changed"
