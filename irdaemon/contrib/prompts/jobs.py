"""The jobs of expected prompts: taking them in, weighing them, and taking them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.prompts.observer import Drop, Given, PromptsObserver
from irdaemon.contrib.prompts.weighing import ROLLED_BACK, list_unweighed
from irdaemon.contrib.prompts.weighing import weigh_prompts as weigh
from irdaemon.engine.indexing import show_changed
from irdaemon.engine.publish import JobContext
from irdaemon.ledger import Expected, Ledger
from irdaemon.ledger.prompts import PERSON, STATED, Gate


def take_prompts(context: JobContext, corpus: Corpus) -> str:
    """Make the changes that wait for a corpus, in their order, and weigh what is held then.

    Each import is a state by itself: one roll-back undoes the last one.
    """
    state, changed = context.state, Counter[str]()
    observer = PromptsObserver.find_in(state.addons)
    waiting = observer.waiting.get(corpus.name)
    while waiting:
        change = waiting.popleft()
        n = _make_change(context, corpus, change)
        show_changed(state, context.publisher, corpus, n)
        changed[change.provenance] += n
    told = _weigh(context, corpus, observer.list_due(corpus, changed, always=PERSON))
    return f"{format_count(changed.total(), 'artifact')} changed; {told}"


def _make_change(context: JobContext, corpus: Corpus, change: Given | Drop) -> int:
    """Serve or take back prompts; return how many artifacts change.

    What is served already is no change: the state before it stays the one to go back to.
    """
    ledger = context.state.ledger
    if isinstance(change, Drop):
        return _take_back(context, corpus, change)
    contents = ledger.artifacts.list_contents(corpus.name, change.expected)
    return serve_new(ledger, corpus.name, change.provenance, change.expected, contents)


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
    return _weigh(context, corpus, list_unweighed(context.state, context.state.ledger, corpus))


def _weigh(context: JobContext, corpus: Corpus, provenances: Iterable[str]) -> str:
    state, told = context.state, []
    for provenance in provenances:
        gate = weigh(state, corpus, provenance, context.pause)
        changed = _set_gate(context, corpus.name, provenance, gate)
        show_changed(state, context.publisher, corpus, changed)
        told.append(f"{provenance}: {gate.report.get('outcome', 'none is left')}")
    return ", ".join(told) or "nothing was to be weighed"


def _take_back(context: JobContext, corpus: Corpus, drop: Drop) -> int:
    """Forget prompts of a corpus, or serve those that were served before.

    What comes with an artifact counts no longer instead, or counts again.
    """
    if drop.provenance in STATED:
        return _turn_stated(context, drop)
    prompts = context.state.ledger.prompts
    if drop.is_forgotten:
        return prompts.forget(corpus.name, drop.artifact_id, provenance=drop.provenance)
    return prompts.roll_back(corpus.name, drop.provenance)


def _turn_stated(context: JobContext, drop: Drop) -> int:
    """Switch off what comes with artifacts, or on a roll-back switch it on again."""
    state = context.state
    gate = state.ledger.prompts.read_gates(drop.corpus).get(drop.provenance, Gate())
    again = not drop.is_forgotten and gate.report.get("outcome") == ROLLED_BACK
    turned = Gate(again, {} if again else {"outcome": ROLLED_BACK}, state.clock())
    return _set_gate(context, drop.corpus, drop.provenance, turned)


def _set_gate(context: JobContext, corpus: str, provenance: str, gate: Gate) -> int:
    """Set whether prompts count in a corpus and its parts, and publish the parts that change.

    Returns how many artifacts of the corpus itself change.
    """
    state = context.state
    changed = state.ledger.prompts.set_gate(corpus, provenance, gate)
    for name, part in state.parts.items():
        show_changed(state, context.publisher, part, changed.get(name, 0))
    return changed.get(corpus, 0)
