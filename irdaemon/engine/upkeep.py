"""Upkeep: the jobs that nothing waits for, from graphs to compaction."""

from __future__ import annotations

from irclient.counts import counted
from irdaemon.config.corpus import Corpus
from irdaemon.engine.context import JobContext
from irdaemon.engine.queue import Job
from irdaemon.index import build_graph
from irdaemon.runtime.memory import MB, resident, trim


def build_corpus_graph(context: JobContext, corpus: Corpus) -> str:
    """Build a graph of what there is now, letting changes through meanwhile."""
    state = context.state
    index = state.snapshot.corpora[corpus.name]
    if not context.publisher.graph_is_due(index):
        return "the graph there is will do"

    def pause(done: int, todo: int) -> None:
        context.progress.done, context.progress.todo = done, todo
        context.pause()

    graph = build_graph(index.rows, pause)
    if state.snapshot.corpora[corpus.name].embedder == index.embedder:
        context.publisher.publish(corpus, graph)
    return f"a graph of {counted(len(graph.keys), 'vector')}"


def save_image(context: JobContext, corpus: Corpus) -> str:
    """Lay a large corpus out in files."""
    return context.publisher.save_image(corpus.name)


def retry_failures(context: JobContext) -> str:
    """Request a scan of each corpus that has failures, or whose embedder was missing.

    What failed in a corpus that does not follow changes is read at its next scan.
    """
    state = context.state
    state.embedders.try_absent_again()
    retried = state.ledger.failures.retry()
    following = [each.name for each in state.corpora.values() if each.reindex.follows_changes]
    for corpus in state.corpora.values():
        embedder = state.embedders.named(corpus.embedder)
        if state.snapshot.corpora[corpus.name].embedder != embedder.id:
            state.request(Job("reconcile" if corpus.name in following else "embed", corpus.name))
    for name in {failure.corpus for failure in state.ledger.failures.all()}.intersection(following):
        state.request(Job("reconcile", name))
    return f"{counted(retried, 'failure')} to be tried again"


def note_disclosures(context: JobContext) -> str:
    """Keep the texts that were disclosed, to compare them later."""
    waiting = context.state.disclosed
    pins = [waiting.popleft() for _ in range(len(waiting))]
    context.state.ledger.pins.put(pins)
    return f"{counted(len(pins), 'disclosure')} noted"


def compact(context: JobContext) -> str:
    """Drop what nothing refers to any more, and write the ledger's file anew."""
    state = context.state
    for index in state.snapshot.corpora.values():
        context.publisher.drop_tombstones(index)
    dropped = state.ledger.vectors.drop_unused()
    state.ledger.forget_unused_terms()
    state.ledger.vacuum()
    state.work.add(Job("repair"))  # damage in pages that nothing reads is found once a day
    return f"{counted(dropped, 'unused vector')} dropped"


def shed(context: JobContext) -> str:
    """Release the memory that only makes things faster: models, answers, graphs."""
    before, state = resident(), context.state
    state.embedders.release_all()
    state.forget_answers()
    context.publisher.drop_graphs()
    trim()
    return f"{before // MB:,} MB before, {resident() // MB:,} MB after"
