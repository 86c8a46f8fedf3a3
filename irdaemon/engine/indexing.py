"""Indexing: the jobs that update the ledger from a source, embed records, and find floors."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from irclient.counts import format_count
from irclient.errors import QueryError, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.calibrate import Labelled, add_labels, make_floors, run_trial
from irdaemon.discovery.cases import load_cases
from irdaemon.embed import QueryVector
from irdaemon.embed.pool import Absent
from irdaemon.engine.due import (
    EMBEDDED_AT_ONCE,
    hash_file,
    request_calibration,
    request_followups,
    see_corpus,
)
from irdaemon.engine.observer import Observer
from irdaemon.engine.project_parts import (
    PACKAGES,
    limit_part,
    list_held_elsewhere,
    note_watched,
)
from irdaemon.engine.publish import JobContext, Publisher
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.read import redact_kept
from irdaemon.ingest.reconcile import ScanObserver, embed, reconcile
from irdaemon.ledger import Upsert

# A change this small gets its vectors before it is published.
_EMBEDDED_WITH_CHANGE = 64
# A trial reads most of a corpus, and small parts of it repeatedly.
_RELEASED_EVERY_S = 0.5


def reconcile_corpus(context: JobContext, corpus: Corpus) -> str:
    """Scan a corpus' source, store what changed, and publish it."""
    state, job = context.state, context.job
    # The content of a checkout must not influence what is served elsewhere.
    addons = () if corpus.project else tuple(state.addons.values())
    above = state.ledger.index_rows.find_last_record()
    scan, limited = job.scan, limit_part(state, corpus)
    if corpus.project and os.path.isdir(corpus.project.root):
        # On another branch a root may exist and be empty.
        scan = replace(scan, prune=True)
    if not scan.under and any(each.must_read_all(corpus) for each in addons):
        scan = replace(scan, full=True, from_start=True)
    held = list_held_elsewhere(state, corpus)
    request = replace(scan, workers=state.options.workers, without=held)
    # Heads would replace the complete entries that are served from memory.
    request = replace(request, heads=not context.publisher.keeps_former(corpus.name))
    observer = _make_observer(context, corpus, addons)
    brief = _make_brief(state, limited) if job.early else None
    report = reconcile(state.ledger, brief or limited, request, state.clock, observer)
    if request.from_start:
        for addon in addons:
            addon.note_all_read(corpus)
    state.work.note_scan(job, report)
    context.progress.done = context.progress.todo
    _embed_few(state, corpus, above)
    context.progress.no_change = report.no_change
    if report.no_change:
        context.publisher.note_scan(corpus)
    elif report.changed or not job.scan.under:
        context.publisher.publish(corpus)
    request_followups(state, corpus)
    if brief:
        state.request(Job("reconcile", corpus.name))
    if corpus.project and corpus.part_of == PACKAGES:
        note_watched(state, corpus.project)
    for addon in addons:
        addon.note_scan(corpus, report)
    if report.outdated:
        state.ledger.pins.rewrite(corpus.name, lambda text: redact_kept(text, corpus.redaction))
        # Text that an earlier version stored differently must not linger in free pages.
        state.request(Job("compact"))
    for failure in report.new_failures:
        data = {"corpus": corpus.name, "path": failure.path, "reason": failure.reason}
        state.notify("failure", data)
    return str(report)


def _make_brief(state: State, corpus: Corpus) -> Corpus | None:
    """Return a two-step corpus reduced to its first step, before its first scan, or None."""
    make = getattr(corpus.source, "brief", None)
    if make is None or state.snapshot.get_index(corpus.name).last_reconcile is not None:
        return None
    return replace(corpus, source=make())


def _make_observer(context: JobContext, corpus: Corpus, addons: Sequence[Observer]) -> ScanObserver:
    """Return an observer that lets urgent jobs run during a scan and informs add-ons."""

    def advance(done: int, todo: int) -> bool:
        context.progress.done, context.progress.todo = done, todo
        return context.publish_and_pause(corpus)

    def note_read(upsert: Upsert) -> None:
        for addon in addons:
            addon.note_read(corpus, upsert)

    def note_gone(keys: Sequence[str]) -> None:
        for addon in addons:
            addon.note_gone(corpus, keys)

    def show_heads() -> None:
        context.publisher.publish(corpus)  # searchable by words before the vectors exist
        _embed_heads(context, corpus)

    def pop_shown_heads() -> Collection[str]:
        return context.state.pop_shown_heads(corpus.name)

    return ScanObserver(advance, note_read, note_gone, show_heads, pop_shown_heads)


def _embed_heads(context: JobContext, corpus: Corpus) -> None:
    """Embed names and descriptions before the bodies are read, if that takes only a moment."""
    state = context.state
    embedder = state.embedders.get_embedder(corpus.embedder)
    if embedder.instant and state.choose_embedder(corpus).id == embedder.id:
        batches = embed(state.ledger, corpus.name, embedder, EMBEDDED_AT_ONCE)
        for _ in _end_at_failure(batches):
            context.publish_and_pause(corpus)
        context.publisher.publish(corpus)


def _end_at_failure(batches: Iterator[int]) -> Iterator[int]:
    """Yield from batches until the embedder fails; the embed job will report the failure."""
    with contextlib.suppress(Unavailable):
        yield from batches


def _embed_few(state: State, corpus: Corpus, above: int) -> None:
    """Embed the records of a small change, so that it is published with its vectors."""
    for embedder in {state.choose_embedder(corpus), state.embedders.get_embedder(corpus.embedder)}:
        # An embedder that is unavailable now fails in the embed job, and delays no change.
        with contextlib.suppress(Unavailable):
            next(embed(state.ledger, corpus.name, embedder, _EMBEDDED_WITH_CHANGE, above), 0)


def embed_corpus(context: JobContext, corpus: Corpus) -> str:
    """Embed the records that lack a vector, and serve by those vectors from then on."""
    state, progress = context.state, context.progress
    embedder = state.embedders.get_embedder(corpus.embedder)
    index = state.snapshot.get_index(corpus.name)
    switching = index.embedder != embedder.id
    progress.todo = index.rows.n_records if switching else index.unembedded
    for batch in embed(state.ledger, corpus.name, embedder, EMBEDDED_AT_ONCE):
        progress.done += batch
        progress.todo = max(progress.todo, progress.done)
        context.publish_and_pause(corpus)
    if not isinstance(embedder, Absent):
        state.ledger.corpora.put_served(corpus.name, corpus.embedder, embedder.id)
    context.publisher.publish(corpus)
    request_calibration(state, corpus)
    return f"{format_count(progress.done, 'record')} embedded"


def calibrate_corpus(context: JobContext, corpus: Corpus) -> str:
    """Find and store the floors of a corpus, by labelled or generated queries."""
    state = context.state
    snapshot, name = see_corpus(state, corpus)
    index = snapshot.get_index(name)

    def vector(text: str) -> QueryVector | None:
        return state.embedders.embed_fresh(text, index.embedder)

    rereading = state.models.rereading if state.models.rereading.key else None
    trial = run_trial(snapshot, name, vector, _release_pages(context), rereading)
    if trial is None:
        return "too small to calibrate"
    # Noted even if the file cannot be used, so that it is tried again only after a change.
    trial = replace(trial, labels=hash_file(corpus.cases))
    if labelled := _load_labels(state, corpus):
        trial = add_labels(trial, labelled, vector)
    made = make_floors(trial, index, corpus.recipe, state.clock())
    state.ledger.corpora.put_floors(corpus.name, made)
    context.publisher.publish(corpus)
    return ", ".join(f"{mode} J {floor.j:.2f}" for mode, floor in made.items())


def _release_pages(context: JobContext) -> Callable[[], bool]:
    """Return the job's `pause`, which also releases image pages now and then during a trial."""
    images, due = context.state.options.images, time.monotonic()

    def pause() -> bool:
        nonlocal due
        if images and time.monotonic() >= due:
            images.release()
            due = time.monotonic() + _RELEASED_EVERY_S
        return context.pause()

    return pause


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


def show_changed(state: State, publisher: Publisher, corpus: Corpus, changed: int) -> None:
    """Publish a corpus after `changed` of its artifacts were rewritten, with vectors if few."""
    if not changed:
        return
    next(embed(state.ledger, corpus.name, state.choose_embedder(corpus), EMBEDDED_AT_ONCE), 0)
    publisher.publish(corpus)
    request_followups(state, corpus)
