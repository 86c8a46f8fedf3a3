"""Upkeep: the jobs that nothing waits for, from graphs to compaction."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from irclient.counts import format_count
from irclient.errors import NotFound
from irdaemon import text
from irdaemon.config.corpus import Corpus
from irdaemon.engine.projects import AT, Tended, is_part_of
from irdaemon.engine.publish import JobContext, Publisher
from irdaemon.engine.queue import Job
from irdaemon.engine.recovery import renew_ledger
from irdaemon.engine.state import State
from irdaemon.index import build_graph
from irdaemon.ledger.backups import describe_corruption, find_first_problem
from irdaemon.ledger.files import UNDECODABLE, is_corrupt, is_transient, strip_text
from irdaemon.ledger.store import READ_ONLY, is_read_only
from irdaemon.runtime.memory import MB, measure_resident, trim
from irdaemon.runtime.tracebacks import describe_error

# Erasing: within a minute, no file contains forgotten text any more.
#
# `secure_delete` overwrites deleted rows in place. Text remains in the write-ahead log, which has
# old pages; in pages where SQLite has moved rows and left copies; in the vocabulary; and in images.
# So the log is folded into the ledger soon after each change, and the ledger is rewritten (VACUUM)
# after something was forgotten. Both wait for a quiet moment, but not for long; a rewrite gives way
# to a change, and gets no more than a hundredth of the time.

# Seconds to wait in a quiet moment, and at most.
_FOLDED_WITHIN_S = (5.0, 20.0)
_FORGOTTEN_WITHIN_S = (15.0, 40.0)
_REPLACED_WITHIN_S = (600.0, 900.0)  # agents edit all day
_SHARE_OF_TIME = 0.01
_TRIED_AGAIN_AFTER_S = 2.0
# The writer checks before each job, and nothing here is due within less than some seconds.
_ERASURE_CHECKED_EVERY_S = 1.0


@dataclass(slots=True)
class Deferred:
    """Work to do in a quiet moment `quiet_s` after it was first wanted, or after `latest_s` anyway.

    Times are Unix seconds.
    """

    quiet_s: float
    latest_s: float
    since: float | None = None

    def is_due(self, wanted: bool, quiet: bool, now: float) -> bool:
        """Return whether to do it now."""
        if not wanted:
            self.since = None
            return False
        if self.since is None or self.since > now:  # a later time means that the clock was set back
            self.since = now
        return now - self.since >= (self.quiet_s if quiet else self.latest_s)

    def is_overdue(self, now: float) -> bool:
        """Return whether it can wait no longer."""
        return self.since is not None and now - self.since >= self.latest_s


class Eraser:
    """Erase forgotten text from the files. Only the writer may use it."""

    def __init__(self, state: State):
        self._state = state
        self._fold = Deferred(*_FOLDED_WITHIN_S)
        self._forgotten = Deferred(*_FORGOTTEN_WITHIN_S)
        self._replaced = Deferred(*_REPLACED_WITHIN_S)
        self._erased_again_at = 0.0
        self._checked_at = float("-inf")

    def tick(self) -> None:
        """Fold the log, rewrite the ledger, or neither; what fails is tried again."""
        now, quiet, ledger = self._state.clock(), not self._state.work.waiting, self._state.ledger
        if 0 <= now - self._checked_at < _ERASURE_CHECKED_EVERY_S:
            return
        self._checked_at = now
        try:
            if self._fold.is_due(ledger.has_log_grown(), quiet, now):
                ledger.fold_log()
            if now >= self._erased_again_at and self._must_erase(quiet, now):
                self._erase(now)
        except (sqlite3.Error, OSError, *UNDECODABLE) as error:
            met = isinstance(error, UNDECODABLE) or is_corrupt(error)
            if met and not self._state.suspects_damage(error) and isinstance(error, UNDECODABLE):
                raise
            log.debug("not erased yet: %s", strip_text(error))
            self._erased_again_at = now + _TRIED_AGAIN_AFTER_S

    def _must_erase(self, quiet: bool, now: float) -> bool:
        forgotten, replaced = self._state.ledger.count_forgotten()
        due = [self._forgotten.is_due(forgotten > 0, quiet, now)]
        due += [self._replaced.is_due(replaced > 0, quiet, now)]
        return any(due)

    def _erase(self, now: float) -> None:
        started = time.monotonic()
        self._blank_images()
        self._state.ledger.forget_unused_terms()
        must = self._forgotten.is_overdue(now) or self._replaced.is_overdue(now)
        self._state.ledger.vacuum(None if must else lambda: self._state.work.change_waits)
        took_s = time.monotonic() - started
        self._erased_again_at = now + took_s / _SHARE_OF_TIME

    def _blank_images(self) -> None:
        """Overwrite deleted rows of the snapshot in images; no query reads them any more."""
        images = self._state.options.images
        if images is None:
            return
        for index in self._state.snapshot.list_indexes():
            name, last = index.corpus, index.rows.last_tombstone

            def gone(after: int, name: str = name, last: int = last) -> list[int]:
                return self._state.ledger.index_rows.list_tombstones(name, after, last)[0]

            images.blank(name, gone)


# Repair: a ledger that cannot be written, was lost, or is damaged while the engine runs.

# After this many tries, half a minute apart, an error counts as one that repeats.
_MOST_TRIES = 6

log = logging.getLogger(__name__)


class Repair:
    """Retry failed jobs, and keep the ledger intact. Only the writer may use it."""

    def __init__(self, state: State, publisher: Publisher):
        self._state = state
        self._publisher = publisher

    def request_due(self) -> None:
        """Request the retries that are due, and a repair if the ledger's file was moved."""
        state = self._state
        for job in state.retries.take_due(state.clock()):
            try:
                state.request(job)
            except NotFound:  # its corpus was removed meanwhile
                state.retries.forget(job.corpus)
                state.retries.settle(job, done=True)
        if state.ledger.was_moved() and not state.retries.holds("repair"):
            state.work.add(Job("repair"))

    def handles(self, job: Job, error: Exception) -> bool:
        """Handle the error that ended a job; return False if the process must not go on."""
        return self._recovers(job, error) or self._schedule_retry(job, error)

    def _schedule_retry(self, job: Job, error: Exception) -> bool:
        """Schedule a retry of a job; return whether the process may go on.

        A system error may go away later. Any other error is a bug: if it repeats it ends the
        process, so that a new one starts from the ledger; a job of a project has the project put
        aside instead. In a library call nothing would retry, so its caller gets the error.
        """
        if not self._state.host.writes:
            return False
        failed = self._state.retries.note(job, self._state.clock())
        log.error("the %s job of %r failed: %s", job.kind, job.corpus, describe_error(error))
        if isinstance(error, (OSError, MemoryError)) or failed.times < _MOST_TRIES:
            return True
        return self._puts_project_aside(job, error)

    def _puts_project_aside(self, job: Job, error: Exception) -> bool:
        """Put the project of a job aside; return whether the job concerns a project.

        A checkout is another person's text: nothing in it may end the process.
        """
        state = self._state
        if job.kind == "projects":  # requested again by itself
            return True
        if job.kind not in ("project", "forget") and AT not in job.corpus:
            return False
        state.retries.forget(job.corpus)
        known = (each.project.root for each in state.projects.list_known())
        for root in known:
            if job.corpus == root or is_part_of(job.corpus, root):
                self._publisher.put_aside(root)
                what = f"{type(error).__name__}, {_MOST_TRIES} times"
                note = f"put aside, it could not be read: {what}; the log says where"
                state.projects.note_tended(root, Tended(state.clock(), notes=(note,)))
                log.error("%s is put aside: %s", root, what)
        return True

    def _recovers(self, job: Job, error: Exception) -> bool:
        """Recover from an error of the ledger; return whether it was one."""
        if is_transient(error):
            # E.g. a full disk. Compaction is requested again by itself, and needs more space than
            # others.
            if job.kind != "compact":
                why = f"; {READ_ONLY}" if is_read_only(self._state.ledger.path) else ""
                self._state.retries.note_unwritable(job, f"{error}{why}", self._state.clock())
            return True
        why = describe_corruption(self._state.ledger.path, error) if self._state.host.writes else ""
        if why:
            replace_ledger(self._state, self._publisher, why)
        return bool(why)


def repair_ledger(context: JobContext) -> str:
    """Restore a lost file, and repair or replace a damaged one; return the findings."""
    state, ledger = context.state, context.state.ledger
    if ledger.was_moved():
        ledger.put_back()
        log.error("%s was missing; it is written again, nothing is lost", ledger.path)
        return "the ledger's file was missing and is written again"
    why = find_first_problem(ledger.path) if state.host.writes else ""
    if why:
        replace_ledger(state, context.publisher, why)
    else:
        state.clear_suspects(sound=True)
    return why or "the ledger is sound"


def replace_ledger(state: State, publisher: Publisher, why: str) -> None:
    """Go on with a sound ledger, serving each corpus from memory until that contains all of it."""
    state.ledger, lost = renew_ledger(state.ledger, state.snapshot, why, state.clock())
    state.corruption = lost or state.corruption
    state.clear_suspects(sound=False)
    publisher.keep_until_reread()
    publisher.set_corpora(state.corpora.values())
    for name in (*state.corpora, *state.parts):
        state.request(Job("reconcile", name))


# Unneeded memory is released: after long work, and while no requests come.
#
# After work: the analysed words, the vocabulary's own dict, SQLite's pages, and the allocator's
# free memory. Without requests: the pages of images and models; the system keeps them in its cache
# while it has room, so the next answer takes at most a few milliseconds more.

# Jobs that took less in all leave too little for a garbage collection, which stops queries.
_WORTH_S = 1.0
_QUIET_S = 15.0
_UNASKED_S = 60.0
_CHECKED_EVERY_S = 1.0


class Release:
    """Release memory in quiet moments. Only the writer may use it."""

    def __init__(self, state: State, clock: Callable[[], float] = time.monotonic):
        self._state = state
        self._clock = clock
        self._checked_at = self._worked_at = float("-inf")
        self._worked_s = 0.0
        self._pages_used = True

    def note_work(self, seconds: float) -> None:
        """Note that a job has ended, and how long it took."""
        self._worked_s += seconds
        self._worked_at = self._clock()
        self._pages_used = True

    def tick(self) -> None:
        """Release the memory that is due, if any."""
        now, state = self._clock(), self._state
        if now - self._checked_at < _CHECKED_EVERY_S or not state.host.writes:
            return
        self._checked_at = now
        quiet = now - self._worked_at >= _QUIET_S and not state.work.queued
        if quiet and self._worked_s >= _WORTH_S:
            self._worked_s = 0.0
            self._release_work()
        unasked = state.host.measure_idle_s() >= _UNASKED_S
        if not unasked:
            self._pages_used = True
        elif quiet and self._pages_used:
            self._pages_used = False
            self._release_pages()

    def _release_work(self) -> None:
        text.forget_words()
        self._state.ledger.release_memory()
        trim()

    def _release_pages(self) -> None:
        if self._state.options.images is not None:
            self._state.options.images.release()
        self._state.embedders.release_pages()


def build_corpus_graph(context: JobContext, corpus: Corpus) -> str:
    """Build a graph of the current vectors, letting changes through meanwhile."""
    state = context.state
    index = state.snapshot.get_index(corpus.name)
    if not context.publisher.needs_graph(index):
        return "the graph there is will do"

    def pause(done: int, todo: int) -> None:
        context.progress.done, context.progress.todo = done, todo
        context.pause()

    graph = build_graph(index.rows, pause)
    if state.snapshot.get_index(corpus.name).embedder == index.embedder:
        context.publisher.publish(corpus, graph)
    return f"a graph of {format_count(len(graph.keys), 'vector')}"


def save_image(context: JobContext, corpus: Corpus) -> str:
    """Save a large corpus as an image."""
    return context.publisher.save_image(corpus.name)


def retry_failures(context: JobContext) -> str:
    """Request a scan of each corpus that has failures, or whose embedder was missing.

    In a corpus that does not follow changes, failed entries are read at its next scan.
    """
    state = context.state
    state.embedders.retry_absent()
    retried = state.ledger.failures.retry()
    corpora = (*state.corpora.values(), *state.parts.values())
    following = [each.name for each in corpora if each.reindex.follows_changes]
    for corpus in corpora:
        embedder = state.embedders.get_embedder(corpus.embedder)
        if state.snapshot.get_index(corpus.name).embedder != embedder.id:
            state.request(Job("reconcile" if corpus.name in following else "embed", corpus.name))
    for name in {failure.corpus for failure in state.ledger.failures.list_all()}.intersection(
        following
    ):
        state.request(Job("reconcile", name))
    return f"{format_count(retried, 'failure')} to be tried again"


def note_disclosures(context: JobContext) -> str:
    """Store the disclosed texts, to compare them later."""
    waiting = context.state.disclosed
    pins = [waiting.popleft() for _ in range(len(waiting))]
    context.state.ledger.pins.put(pins)
    return f"{format_count(len(pins), 'disclosure')} noted"


def compact(context: JobContext) -> str:
    """Drop unreferenced rows, and rewrite the ledger's file."""
    state = context.state
    state.compaction_waits = False
    for index in state.snapshot.list_indexes():
        context.publisher.drop_tombstones(index)
    dropped = state.ledger.vectors.drop_unused()
    state.ledger.forget_unused_terms()
    state.ledger.vacuum()
    state.work.add(Job("repair"))  # damage in pages that nothing reads is found once a day
    return f"{format_count(dropped, 'unused vector')} dropped"


def shed(context: JobContext) -> str:
    """Release the memory that only makes things faster: models, answers, graphs."""
    before, state = measure_resident(), context.state
    state.embedders.release_all()
    state.tiers.forget_answers()
    context.publisher.drop_graphs()
    trim()
    return f"{before // MB:,} MB before, {measure_resident() // MB:,} MB after"
