"""Maintenance: which upkeep is due now, and why. Schedule, start and `irc maintain` ask here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irclient.counts import counted
from irclient.results import MaintenanceTask
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import INTERVAL, MANUAL
from irdaemon.engine.calibrate import calibration_is_due
from irdaemon.engine.health import lasting
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex
from irdaemon.ledger import Ledger

_KINDS = {"scan": "reconcile"}


def scan_is_due(state: State, corpus: Corpus) -> bool:
    """Return whether a corpus is to be scanned now without being asked.

    What is scanned at intervals waits for the quiet hours, but for its first scan.
    """
    index = state.snapshot.corpora.get(corpus.name)
    return index is not None and _scan(state, corpus, index).due


def maintain(state: State, name: str | None = None, dry_run: bool = False) -> list[MaintenanceTask]:
    """Return the upkeep of a corpus, or of all and of the ledger; request what of it is due.

    With `dry_run` nothing is requested.
    """
    state.check_known(name)
    corpora, snapshot = state.served
    wanted = [corpus for corpus in corpora.values() if name in (None, corpus.name)]
    with state.reading() as ledger:
        found = [
            task
            for corpus in wanted
            for task in _of_corpus(state, corpus, snapshot.corpora[corpus.name])
        ]
        if name is None:
            found.append(_compaction(state, ledger))
    return found if dry_run else [_requested(state, task) for task in found]


def put_off(state: State) -> str:
    """Return until when upkeep waits that no request waits for, "" where it may be done now."""
    options = state.options
    if options.on_battery():
        return "put off while the machine is on its battery"
    if not options.quiet.hold(state.clock()):
        return f"put off until the quiet hours, {options.quiet}"
    return ""


def _requested(state: State, task: MaintenanceTask) -> MaintenanceTask:
    if not task.due:
        return task
    kind = _KINDS.get(task.work, task.work)
    return replace(task, job=state.request(Job(kind, task.corpus)))


def _of_corpus(state: State, corpus: Corpus, index: CorpusIndex) -> Iterator[MaintenanceTask]:
    yield _scan(state, corpus, index)
    if reason := _unembedded(state, corpus, index):
        why = state.why_no_embedder(corpus)
        yield MaintenanceTask(corpus.name, "embed", not why, why or reason)
    if calibration_is_due(state, corpus, index):
        reason = "it has no floors of its own, or has changed since they were found"
        yield MaintenanceTask(corpus.name, "calibrate", True, reason)
    if corpus.synopsis and state.synopsis_model:
        yield _synopses(state, corpus)


def _scan(state: State, corpus: Corpus, index: CorpusIndex) -> MaintenanceTask:
    scanned_at, now = index.last_reconcile, state.clock()
    due = corpus.reindex.is_due(scanned_at, now)
    if corpus.reindex.on == MANUAL:
        reason = f"only by hand: irc build {corpus.name}"
    elif scanned_at is None:
        reason = "it was never scanned"
    elif corpus.reindex.follows_changes:
        reason = "a change that no event reported would be found"
    else:
        every = lasting(corpus.reindex.every_s)
        reason = f"scanned {lasting(max(0.0, now - scanned_at))} ago, due every {every}"
    if due and corpus.reindex.on == INTERVAL and scanned_at is not None and (why := put_off(state)):
        due, reason = False, f"{reason}; {why}"
    return MaintenanceTask(corpus.name, "scan", due, reason)


def _synopses(state: State, corpus: Corpus) -> MaintenanceTask:
    """Return when a model is asked, which is never done on request: a reply takes seconds."""
    reason = "asked for while nothing else is to be done"
    if why := put_off(state):
        reason = f"{reason}; {why}"
    return MaintenanceTask(corpus.name, "synopsis", False, reason)


def _unembedded(state: State, corpus: Corpus, index: CorpusIndex) -> str:
    """Return what of a corpus waits for vectors, "" for nothing."""
    if index.unembedded:
        return f"{counted(index.unembedded, 'record', 'has')} no vector"
    if index.rows.n_records and state.embedders.named(corpus.embedder).id != index.embedder:
        return f"its vectors are of another embedder than {corpus.embedder}"
    return ""


def _compaction(state: State, ledger: Ledger) -> MaintenanceTask:
    every_s, now = state.options.compact_every_s, state.clock()
    last = ledger.last_job("compact")
    ago = f"done {lasting(max(0.0, now - last))} ago" if last is not None else "not yet done"
    if not every_s:
        return MaintenanceTask("", "compact", False, f"{ago}; switched off (compact_minutes = 0)")
    due = last is None or now - last >= every_s
    reason = f"{ago}, due every {lasting(every_s)}"
    if due and (why := put_off(state)):
        due, reason = False, f"{reason}; {why}"
    return MaintenanceTask("", "compact", due, reason)
