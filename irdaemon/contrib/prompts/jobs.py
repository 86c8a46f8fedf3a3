"""The jobs of expected prompts: taking them in, weighing them, and taking them back."""

from __future__ import annotations

from collections.abc import Mapping

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.observer import Drop, find_observer
from irdaemon.contrib.prompts.weighing import ROLLED_BACK, list_unweighed
from irdaemon.contrib.prompts.weighing import weigh_prompts as weigh
from irdaemon.engine.indexing import show_changed
from irdaemon.engine.publish import JobContext
from irdaemon.ledger import Expected, Ledger
from irdaemon.ledger.prompts import STATED, Gate


def take_prompts(context: JobContext, corpus: Corpus) -> str:
    """Serve the prompts that were handed in of a corpus, and weigh them.

    What is served already is no change: the state before it stays the one to go back to.
    """
    state, changed = context.state, 0
    waiting = find_observer(state).given
    by_provenance: dict[str, dict[str, Expected]] = {}
    for _ in range(len(waiting)):
        name, provenance, given = waiting.popleft()
        if name == corpus.name:
            by_provenance.setdefault(provenance, {}).update(given)
        else:
            waiting.append((name, provenance, given))
    for provenance, given in by_provenance.items():
        contents = state.ledger.artifacts.list_contents(corpus.name, given)
        changed += serve_new(state.ledger, corpus.name, provenance, given, contents)
    show_changed(state, context.publisher, corpus, changed)
    return f"{format_count(changed, 'artifact')} changed; {_weigh_all(context, corpus)}"


def serve_new(
    ledger: Ledger,
    corpus: str,
    provenance: str,
    given: Mapping[str, Expected],
    contents: Mapping[str, str],
) -> int:
    """Serve what is new of prompts, written for the contents by id; return how many changed."""
    held = {id: Expected(()) for id in contents} | ledger.prompts.list_all(corpus, provenance)
    written_for = ledger.prompts.list_written_for(corpus, provenance)
    fresh = {
        id: given[id]
        for id, content in contents.items()
        if held[id] != given[id] or (given[id].prompts and written_for.get(id) != content)
    }
    if not fresh:
        return 0
    return ledger.prompts.add(corpus, fresh, provenance, {id: contents[id] for id in fresh})


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

    What comes with an artifact counts no longer instead, or counts again.
    """
    state, changed = context.state, 0
    drops = find_observer(state).drops
    prompts = state.ledger.prompts
    for _ in range(len(drops)):
        drop = drops.popleft()
        if drop.corpus != corpus.name:
            drops.append(drop)
            continue
        if drop.provenance in STATED:
            changed += _turn_stated(context, drop)
        elif drop.is_forgotten:
            changed += prompts.forget(corpus.name, drop.artifact_id, provenance=drop.provenance)
        else:
            changed += prompts.roll_back(corpus.name, drop.provenance)
        if drop.provenance not in STATED and not corpus.project:
            _open_gate(context, drop)
    show_changed(state, context.publisher, corpus, changed)
    _weigh_all(context, corpus)
    return f"{format_count(changed, 'artifact')} changed"


def _turn_stated(context: JobContext, drop: Drop) -> int:
    """Have what comes with artifacts count no longer, or where it is to go back, count again."""
    state = context.state
    gate = state.ledger.prompts.read_gates(drop.corpus).get(drop.provenance, Gate())
    again = not drop.is_forgotten and gate.report.get("outcome") == ROLLED_BACK
    turned = Gate(again, {} if again else {"outcome": ROLLED_BACK}, state.clock())
    return state.ledger.prompts.set_gate(drop.corpus, drop.provenance, turned)


def _open_gate(context: JobContext, drop: Drop) -> None:
    """Forget how prompts were weighed of which none is left: others may come."""
    prompts = context.state.ledger.prompts
    is_empty = not any(prompts.count(drop.corpus, drop.provenance))
    if is_empty and drop.provenance in prompts.read_gates(drop.corpus):
        prompts.set_gate(drop.corpus, drop.provenance, Gate(at=context.state.clock()))
