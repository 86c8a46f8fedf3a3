"""Indexing: the jobs that bring the ledger level with a source, records to vectors, and floors."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial

from irclient.counts import counted
from irclient.errors import QueryError, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.calibrate import Labelled, add_labels, make_floors, run_trial
from irdaemon.discovery.cases import load_cases
from irdaemon.embed import QueryVector
from irdaemon.embed.pool import Absent
from irdaemon.engine.due import EMBEDDED_AT_ONCE, hash_file, request_calibration, request_followups
from irdaemon.engine.publish import JobContext
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.read import redacted_again
from irdaemon.ingest.reconcile import ScanObserver, embed, reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.sessions import Sessions

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
    request_followups(state, corpus)
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
    for batch in embed(state.ledger, corpus.name, embedder, EMBEDDED_AT_ONCE):
        progress.done += batch
        progress.todo = max(progress.todo, progress.done)
        context.publish_and_pause(corpus)
    if not isinstance(embedder, Absent):
        state.ledger.corpora.serve(corpus.name, corpus.embedder, embedder.id)
    context.publisher.publish(corpus)
    request_calibration(state, corpus)
    return f"{counted(progress.done, 'record')} embedded"


def calibrate_corpus(context: JobContext, corpus: Corpus) -> str:
    """Find and keep the floors of a corpus, by labelled queries or by made-up ones."""
    state = context.state
    index = state.snapshot.corpora[corpus.name]

    def vector(text: str) -> QueryVector | None:
        return state.embedders.embed_fresh(text, index.embedder)

    rereading = state.models.rereading if state.models.rereading.key else None
    trial = run_trial(state.snapshot, corpus.name, vector, context.pause, rereading)
    if trial is None:
        return "too small to calibrate"
    # Noted even where it cannot be used, so that it is tried again only once it has changed.
    trial = replace(trial, labels=hash_file(corpus.cases))
    if labelled := _load_labels(state, corpus):
        trial = add_labels(trial, labelled, vector)
    made = make_floors(trial, index, corpus.recipe, state.clock())
    state.ledger.corpora.put_floors(corpus.name, made)
    context.publisher.publish(corpus)
    return ", ".join(f"{mode} J {floor.j:.2f}" for mode, floor in made.items())


def _load_labels(state: State, corpus: Corpus) -> Labelled | None:
    """Return the labelled queries given for a corpus, or else those the configuration names."""
    given = state.labels.pop(corpus.name, None)
    if given is None and not corpus.cases:
        return None
    try:
        cases = list(given) if given is not None else load_cases(corpus.cases)
    except QueryError as error:
        data = {"corpus": corpus.name, "path": corpus.cases, "reason": str(error)}
        state.notify("failure", data)
        return None
    return Labelled(
        state.snapshot,
        corpus.name,
        tuple(case.query for case in cases if case.gold),
        tuple(case.query for case in cases if not case.gold),
    )
