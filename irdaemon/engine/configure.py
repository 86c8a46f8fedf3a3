"""Apply a new configuration: replace the corpora and describe what changed.

The descriptions say how to undo it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.config.sections import KNOWN_KINDS
from irdaemon.engine.publish import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State

Corpora = Mapping[str, Corpus]


def configure(context: JobContext) -> str:
    """Replace the engine's corpora by the next ones, and request a scan of each that changed."""
    state, before = context.state, context.state.corpora
    indexes = state.snapshot.corpora
    held = {name: index.rows.n_artifacts for name, index in indexes.items()}
    context.publisher.set_corpora(state.next_corpora)
    _forget_removed(state)
    for name, corpus in state.corpora.items():
        if corpus is not before.get(name) and corpus.reindex.on != MANUAL:
            state.request(Job("reconcile", name))
    state.notify("generation", {"generation": state.snapshot.generation, "corpus": ""})
    return describe_changes(before, state.corpora, held)


def _forget_removed(state: State) -> None:
    """Forget the prompts given for corpora that the person removed."""
    removed = {state.removed.pop() for _ in range(len(state.removed))}
    gone = removed.difference(state.corpora)
    if gone:
        state.ledger.prompts.forget_corpora(gone.__contains__)


def describe_changes(before: Corpora, after: Corpora, held: Mapping[str, int]) -> str:
    """Describe the changes of the corpora; `held` are the numbers of artifacts they had before."""
    own = {name: each for name, each in before.items() if not each.example}
    return "; ".join(
        [
            f"{format_count(len(after), 'corpus')}",
            *_describe_examples(before, after),
            *(_describe_gone(own[name], held.get(name, 0)) for name in own if name not in after),
            *_describe_replaced(own, after, held),
            *(f"{name} is new" for name in after if name not in own and not after[name].example),
        ]
    )


def _describe_examples(before: Corpora, after: Corpora) -> Iterator[str]:
    """Yield a note that the examples are no longer shown, if they were until now."""
    gone = [name for name, each in before.items() if each.example]
    if gone and not any(each.example for each in after.values()):
        yield f"your own corpora replace the examples ({', '.join(gone)})"


def _describe_gone(corpus: Corpus, held: int) -> str:
    name = corpus.name
    if name not in KNOWN_KINDS:
        return f"{name} is removed with its {format_count(held, 'artifact')}"
    return (
        f"{name} is switched off; {format_count(held, 'artifact', 'is')} removed;"
        f" irc add {name} brings back what is found in the usual places"
    )


def _describe_replaced(before: Corpora, after: Corpora, held: Mapping[str, int]) -> Iterator[str]:
    for name in before.keys() & after.keys():
        was, now = before[name], after[name]
        if was.found and not now.found:
            places = ", ".join(root.path for root in was.found)
            roots = ", ".join(root.path for root in now.source.roots()) or "no root"
            yield (
                f"{name}, found in {places} ({format_count(held.get(name, 0), 'artifact')}), is"
                f" replaced by {now.kind} in {roots};"
                f" irc rm {name}, then irc add {name} brings it back"
            )
