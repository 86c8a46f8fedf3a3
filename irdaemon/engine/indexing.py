"""Indexing: the jobs that bring the ledger level with a source, and every record to its vector."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

from irclient.counts import counted
from irclient.errors import Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.embed.pool import Absent
from irdaemon.engine.calibrate import calibrate_if_due
from irdaemon.engine.model_selection import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.read import redacted_again
from irdaemon.ingest.reconcile import ScanObserver, embed, reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.sessions import Sessions

# Texts embedded in one go: short enough that a change need not wait for the rest.
_EMBEDDED_AT_ONCE = 512
# A change this small gets its vectors before it is published.
_EMBEDDED_WITH_CHANGE = 64


def reconcile_corpus(context: JobContext, corpus: Corpus) -> str:
    """Scan a corpus' source, store what changed, and publish it."""
    state, job = context.state, context.job
    above = state.ledger.index_rows.last_record()
    request = replace(_with_use(state, corpus, job.scan), workers=state.options.workers)
    report = reconcile(state.ledger, corpus, request, state.clock, _observer(context, corpus))
    if request.from_start and state.usage is not None:
        state.usage.all_read(corpus.name)
    state.work.scanned(job, report)
    context.progress.done = context.progress.todo
    _embed_few(state, corpus, above)
    context.progress.uneventful = report.uneventful
    if report.uneventful:
        context.publisher.note_scan(corpus)
    elif report.changed or not job.scan.under:
        context.publisher.publish(corpus)
    index = state.snapshot.corpora[corpus.name]
    if index.unembedded or index.embedder != _id_of(state, corpus):
        few = index.unembedded <= _EMBEDDED_AT_ONCE and index.embedder == _id_of(state, corpus)
        state.request(Job("embed", corpus.name, short=few))
    else:
        state.work.embedded(corpus.name)
    calibrate_if_due(state, corpus)
    if report.removed and _has_sessions(corpus):
        # What was learned from a session goes with it.
        for name in state.ledger.learned.corpora():
            state.request(Job("learn", name))
    if report.outdated:
        state.ledger.pins.rewrite(corpus.name, lambda text: redacted_again(text, corpus.redaction))
        # What an earlier version stored otherwise is not to linger in free pages.
        state.request(Job("compact"))
    for failure in report.new_failures:
        data = {"corpus": corpus.name, "path": failure.path, "reason": failure.reason}
        state.notify("failure", data)
    return str(report)


def _observer(context: JobContext, corpus: Corpus) -> ScanObserver:
    """Return what lets changes through while a scan runs, and notes what its sessions used."""

    def advance(done: int, todo: int) -> bool:
        context.progress.done, context.progress.todo = done, todo
        return context.publish_and_pause(corpus)

    usage = context.state.usage
    if usage is None or not _has_sessions(corpus):
        return ScanObserver(advance)
    return ScanObserver(
        advance, partial(usage.read, corpus.name), partial(usage.forgotten, corpus.name)
    )


def _with_use(state: State, corpus: Corpus, scan: ScanRequest) -> ScanRequest:
    """Return a whole scan so that it reads all transcripts, where the log of use lacks some."""
    if state.usage is None or scan.under or not _has_sessions(corpus):
        return scan
    if not state.usage.must_read_all(corpus.name):
        return scan
    return replace(scan, full=True, from_start=True)


def _has_sessions(corpus: Corpus) -> bool:
    return isinstance(corpus.source, Sessions)


def _id_of(state: State, corpus: Corpus) -> str:
    return state.embedders.named(corpus.embedder).id


def _embed_few(state: State, corpus: Corpus, above: int) -> None:
    """Embed what a small change brought, so that it is published with its vectors."""
    for embedder in {state.serving(corpus), state.embedders.named(corpus.embedder)}:
        # One that cannot embed now fails in the embed job, and holds up no change.
        with contextlib.suppress(Unavailable):
            next(embed(state.ledger, corpus.name, embedder, _EMBEDDED_WITH_CHANGE, above), 0)


def embed_corpus(context: JobContext, corpus: Corpus) -> str:
    """Embed what has no vector yet, and serve by those vectors from then on."""
    state, progress = context.state, context.progress
    embedder = state.embedders.named(corpus.embedder)
    index = state.snapshot.corpora[corpus.name]
    switching = index.embedder != embedder.id
    progress.todo = index.rows.n_records if switching else index.unembedded
    for batch in embed(state.ledger, corpus.name, embedder, _EMBEDDED_AT_ONCE):
        progress.done += batch
        progress.todo = max(progress.todo, progress.done)
        context.publish_and_pause(corpus)
    if not isinstance(embedder, Absent):
        state.ledger.corpora.serve(corpus.name, corpus.embedder, embedder.id)
    context.publisher.publish(corpus)
    calibrate_if_due(state, corpus)
    return f"{counted(progress.done, 'record')} embedded"
