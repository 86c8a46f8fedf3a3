"""The jobs that are due, and why: it decides on scans, embedding, calibration and compaction.

The schedule and a start request the jobs of `find_due_jobs`, `irc maintain` shows and requests
those of `maintain`; a job that has changed a corpus calls `request_followups`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from irclient.counts import format_count, format_largest_unit
from irclient.results import MaintenanceTask
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import INTERVAL, MANUAL
from irdaemon.discovery.decide import keep_current_floors, name_reranked_mode
from irdaemon.discovery.decision import FEWEST_ARTIFACTS
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex, Snapshot, are_floors_due
from irdaemon.ledger import Ledger

# Texts embedded in one batch: few enough that a change need not wait for the rest.
EMBEDDED_AT_ONCE = 512
# Projects queried within this time are active from the start on.
_LATELY_S = 7 * 86_400.0
_KINDS = {"scan": "reconcile"}


def find_due_jobs(state: State, now: float, at_start: bool = False) -> list[Job]:
    """Return the jobs due by time: scans at intervals, and a compaction that was put off.

    At a start every corpus may be scanned, the small ones first: they wait for no large one.
    """
    corpora, snapshot, _ = state.served
    jobs = list(_find_projects(state, now)) if at_start else []
    jobs += [
        Job("reconcile", index.corpus)
        for index in sorted(snapshot.corpora.values(), key=lambda index: index.rows.n_artifacts)
        if at_start or corpora[index.corpus].reindex.on == INTERVAL
        if _find_scan(state, corpora[index.corpus], index, now).due
    ]
    if state.compaction_waits and not explain_delay(state, now):
        jobs.append(Job("compact"))
    return jobs


def _find_projects(state: State, now: float) -> Iterator[Job]:
    """Yield the jobs that activate the recently queried projects."""
    settings = state.projects.settings
    for known in state.projects.list_known()[: settings.max_projects if settings else 0]:
        if now - known.asked_at < _LATELY_S and not known.gone_at:
            yield Job("project", known.project.root)


def maintain(state: State, name: str | None = None, dry_run: bool = False) -> list[MaintenanceTask]:
    """Return the upkeep tasks of a corpus, or of all and the ledger; request those that are due.

    With `dry_run` nothing is requested.
    """
    state.check_known(name)
    corpora, snapshot, _ = state.served
    with state.open_reading() as ledger:
        tasks = [
            task
            for corpus in corpora.values()
            if name in (None, corpus.name)
            for task in _find_tasks(state, corpus, snapshot.corpora[corpus.name])
        ]
        if name is None:
            tasks.append(_find_compaction(state, ledger))
    return tasks if dry_run else [_request_task(state, task) for task in tasks]


def request_followups(state: State, corpus: Corpus) -> None:
    """Request what a newly published corpus lacks: vectors, and floors once it has them."""
    index = state.snapshot.get_index(corpus.name)
    switching = index.embedder != state.embedders.get_embedder(corpus.embedder).id
    if index.unembedded or switching:
        few = index.unembedded <= EMBEDDED_AT_ONCE and not switching
        state.request(Job("embed", corpus.name, short=few))
    else:
        state.work.note_embedded(corpus.name)
    request_calibration(state, corpus)


def request_calibration(state: State, corpus: Corpus) -> None:
    """Request new floors if they are due."""
    snapshot, name = see_corpus(state, corpus)
    index = snapshot.find_index(name)
    if index is not None and _needs_calibration(state, corpus, index):
        state.request(Job("calibrate", corpus.name))


def see_corpus(state: State, corpus: Corpus) -> tuple[Snapshot, str]:
    """Return the snapshot in which a corpus is searched, and the corpus' name in it.

    A project's part is searched together with the person's corpus: its floors are those of both.
    """
    if corpus.project is None:
        return state.snapshot, corpus.name
    parts = state.projects.list_parts(corpus.project)
    return state.scopes.scope_snapshot(state.snapshot, parts), corpus.part_of


def explain_delay(state: State, now: float) -> str:
    """Return why background upkeep must wait, or "" if it may run now."""
    options = state.options
    if options.on_battery():
        return "put off while the machine is on its battery"
    if not options.quiet.hold(now):
        return f"put off until the quiet hours, {options.quiet}"
    return ""


def hash_file(path: str) -> str:
    """Return the digest of a file's content, "" for no path or an unreadable file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] if path else ""
    except OSError:
        return ""


def _request_task(state: State, task: MaintenanceTask) -> MaintenanceTask:
    if not task.due:
        return task
    kind = _KINDS.get(task.work, task.work)
    return replace(task, job=state.request(Job(kind, task.corpus)))


def _find_tasks(state: State, corpus: Corpus, index: CorpusIndex) -> Iterator[MaintenanceTask]:
    now = state.clock()
    yield _find_scan(state, corpus, index, now)
    if reason := _explain_embedding(state, corpus, index):
        why = state.explain_no_embedder(corpus)
        yield MaintenanceTask(corpus.name, "embed", not why, why or reason)
    if _needs_calibration(state, corpus, index):
        reason = "it has no floors of its own, or has changed since they were found"
        yield MaintenanceTask(corpus.name, "calibrate", True, reason)
    for addon in state.addons.values():
        yield from addon.find_tasks(corpus)


def _find_scan(state: State, corpus: Corpus, index: CorpusIndex, now: float) -> MaintenanceTask:
    """Return the task of a corpus' scheduled scan, with whether it is due.

    Scans at intervals wait for the quiet hours, except the first.
    """
    scanned_at, reindex = index.last_reconcile, corpus.reindex
    if reindex.on == MANUAL:
        reason = f"only by hand: irc build {corpus.name}"
    elif scanned_at is None:
        reason = "it was never scanned"
    elif reindex.follows_changes:
        reason = "in case an event was missed"
    else:
        ago = format_largest_unit(max(0.0, now - scanned_at))
        reason = f"scanned {ago} ago, due every {format_largest_unit(reindex.every_s)}"
    due = reindex.is_due(scanned_at, now)
    if reindex.on == INTERVAL and scanned_at is not None:
        return _make_deferrable(state, MaintenanceTask(corpus.name, "scan", due, reason), now)
    return MaintenanceTask(corpus.name, "scan", due, reason)


def _find_compaction(state: State, ledger: Ledger) -> MaintenanceTask:
    every_s, now = state.options.compact_every_s, state.clock()
    last, ago = ledger.find_last_job("compact"), "not yet done"
    if last is not None:
        ago = f"done {format_largest_unit(max(0.0, now - last))} ago"
    if not every_s:
        return MaintenanceTask("", "compact", False, f"{ago}; switched off (compact_minutes = 0)")
    due = last is None or now - last >= every_s
    task = MaintenanceTask("", "compact", due, f"{ago}, due every {format_largest_unit(every_s)}")
    return _make_deferrable(state, task, now)


def _make_deferrable(state: State, task: MaintenanceTask, now: float) -> MaintenanceTask:
    """Return the task, not due while upkeep is put off."""
    if not task.due or not (why := explain_delay(state, now)):
        return task
    return replace(task, due=False, reason=f"{task.reason}; {why}")


def _explain_embedding(state: State, corpus: Corpus, index: CorpusIndex) -> str:
    """Return why a corpus needs embedding, or ""."""
    if index.unembedded:
        return f"{format_count(index.unembedded, 'record', 'has')} no vector"
    if index.rows.n_records and state.embedders.get_embedder(corpus.embedder).id != index.embedder:
        return f"its vectors are of another embedder than {corpus.embedder}"
    return ""


def _needs_calibration(state: State, corpus: Corpus, index: CorpusIndex) -> bool:
    """Return whether a complete corpus lacks floors, or has drifted from them."""
    whole = index.last_reconcile is not None and not index.unembedded
    if not state.options.calibrating or not whole or index.rows.n_artifacts < FEWEST_ARTIFACTS:
        return False
    usable = len(keep_current_floors(index.floors)) == len(index.floors)
    key = state.models.rereading.key
    lacking = bool(key) and name_reranked_mode("hybrid", key) not in index.floors
    return not usable or lacking or are_floors_due(index, hash_file(corpus.cases))
