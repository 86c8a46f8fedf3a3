"""The write path: what a source has becomes what the ledger holds.

`reconcile` scans, compares (diff), reads what changed (`read`: redacted and decomposed), and stores
it a few entries a transaction. It never stops for one artifact: what cannot be read is a failure in
the ledger. What is gone is forgotten only where the scan is authoritative; a root that is missing,
unreadable or suddenly empty keeps all that was known of it until it is back or a person insists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from irdaemon.config.corpus import Corpus
from irdaemon.embed import Embedder
from irdaemon.embed.learned import NOTHING_COMMON, TaughtText, embed_taught
from irdaemon.ingest.bulk import BulkReader, make_bulk_reader
from irdaemon.ingest.read import read_entry
from irdaemon.ingest.scan import OptOuts, ScanRequest, compare, list_present_roots, refuse
from irdaemon.ledger import Delta, Failure, KnownEntry, Ledger, Upsert
from irdaemon.ledger.index_rows import ALL_ROWS
from irdaemon.ledger.learned import unpack_prompts
from irdaemon.source.opening import is_within
from irdaemon.source.redact import Redactor
from irdaemon.types import Entry, Problem, Refused, SourceError

# The stale entries of a scan, read a few at a time, as far as they are to be taken in.

# Entries read and stored in one go: few enough that a change need not wait for the rest.
_AT_ONCE = 32
_AT_ONCE_S = 0.05


@dataclass(frozen=True, slots=True)
class OverLimit:
    """An entry that is not taken in because a limit is exceeded: which."""

    why: str


@dataclass(frozen=True, slots=True)
class Superseded:
    """An entry that a more urgent scan stored or forgot since this one compared it."""


# What reading an entry gave: what it holds, why it cannot be read, why it is not taken in, or None
# where it is gone.
Outcome = Upsert | SourceError | OverLimit | Superseded | None


@dataclass(frozen=True, slots=True)
class StaleEntries:
    """What a scan has to read: here, or by the processes of `bulk` where it is much.

    With `from_start` what was read of an entry before does not count.
    """

    ledger: Ledger
    corpus: Corpus
    delta: Delta
    from_start: bool = False
    bulk: BulkReader | None = None
    optouts: OptOuts = field(default_factory=OptOuts)

    def read(self, start: int, held: int) -> list[tuple[Entry, Outcome]]:
        """Read a few entries, those from `start` on, with `held` artifacts there already.

        Here at most so many, and for no longer than a moment; new ones while the limits allow.
        """
        outcomes: list[tuple[Entry, Outcome]] = []
        for entry, outcome in self._bulk() if self.bulk else self._here(start):
            known = self.delta.known.get(entry.key)
            if self.ledger.entries.find(self.corpus.name, entry.key) != known:
                outcomes.append((entry, Superseded()))
            elif known is None and (why := self.corpus.quota.exceeded(held)):
                outcomes.append((entry, OverLimit(why)))
            else:
                outcomes.append((entry, outcome()))
                held += known is None
        return outcomes

    def _bulk(self) -> Iterator[tuple[Entry, Callable[[], Outcome]]]:
        assert self.bulk is not None
        for entry, read in self.bulk.read():
            yield entry, partial(_as_it_is, read)

    def _here(self, start: int) -> Iterator[tuple[Entry, Callable[[], Outcome]]]:
        until = time.monotonic() + _AT_ONCE_S
        for entry in self.delta.stale[start : start + _AT_ONCE]:
            known = None if self.from_start else self.delta.known.get(entry.key)
            yield (
                entry,
                partial(read_entry, self.corpus, entry, known, self.optouts, self.ledger.synopses),
            )
            if time.monotonic() > until:
                return


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome


# An event should have reported a change of a file that is older than this.
_REPORTED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class ScanObserver:
    """What is told of a scan while it runs.

    `advance` is called with (entries done, entries to do) before each transaction; it may raise,
    and it may run another scan: an entry which that scan stored or forgot is left as it is then. It
    returns whether another scan of the corpus ran.
    `read` is given what was read before it is stored, `forgotten` the keys of entries that go.
    """

    advance: Callable[[int, int], bool] = lambda done, todo: False
    read: Callable[[Upsert], None] = lambda upsert: None
    forgotten: Callable[[Sequence[str]], None] = lambda keys: None


@dataclass(slots=True)
class Report:
    """What one reconcile did.

    `outdated`: something was stored by another recipe before. `refused` counts the new entries that
    a limit kept out, `refusal` names the limit. `missed_events` counts the changed entries that are
    old enough for an event to have reported them. `left_out` counts by reason what the source saw
    and left out. `new_failures` are those not known before. `no_change`: a whole scan that found
    all as the one before had left it.
    """

    written: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    refused: int = 0
    refusal: str = ""
    missed_events: int = 0
    problems: tuple[Problem, ...] = ()
    outdated: bool = False
    no_change: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    new_failures: list[Failure] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Return whether anything that is searched has changed."""
        return bool(self.written or self.removed)

    def __str__(self) -> str:
        return (
            f"{self.written} written, {self.removed} removed, {self.unchanged} unchanged,"
            f" {self.failed} failed"
        ) + (f", {self.refused} refused: {self.refusal}" if self.refused else "")


_UNOBSERVED = ScanObserver()


def reconcile(
    ledger: Ledger,
    corpus: Corpus,
    request: ScanRequest,
    clock: Callable[[], float],
    observer: ScanObserver = _UNOBSERVED,
) -> Report:
    """Bring the ledger level with what the corpus' source has now."""
    reported_before = clock() - _REPORTED_WITHIN_S
    optouts = OptOuts()
    if not request.under:
        ledger.projects.mark_changed(corpus.name, optouts.covers)
    found, delta = compare(ledger, corpus, request, optouts)
    scan, store = found.scan, _Store(ledger, corpus, clock, observer)
    report = store.report
    if delta.gone:
        # First, so that a file under a new name can take over what the old name held; and before
        # `advance` lets another job in, which might bring back what is about to be forgotten.
        store.forget(*delta.gone)
        delta = ledger.entries.diff(corpus.name, scan, corpus.recipe, full=request.full)
    present = [entry.key for entry in (*scan.entries, *found.outside)]
    ledger.failures.drop_absent(corpus.name, present, scan)
    for entry in found.outside:
        # Without a stamp: it is to be read as soon as it is inside, changed or not.
        store.put(replace(entry, stamp=""), refuse(entry))
    report.outdated = any(entry.recipe != corpus.recipe for entry in delta.known.values())
    report.unchanged, report.problems = delta.unchanged, scan.problems
    report.left_out = scan.left_out
    new = sum(entry.key not in delta.known for entry in delta.stale)
    bulk = make_bulk_reader(corpus, delta, request.from_start, request.workers)
    stale = StaleEntries(ledger, corpus, delta, request.from_start, bulk, optouts)
    with closing(bulk) if bulk else nullcontext():
        _store_stale(stale, store, _count_held(ledger, corpus, new), reported_before)
    if not request.under:
        roots = list_present_roots(ledger, corpus, request)
        ended_otherwise = ledger.corpora.record_scan(corpus.name, scan.problems, roots, clock())
        kept_out = report.failed or report.refused
        report.no_change = not (ended_otherwise or report.changed or kept_out)
    else:
        ledger.corpora.drop_mended(corpus.name, scan)
    return report


def _store_stale(stale: StaleEntries, store: _Store, held: int, reported_before: float) -> None:
    """Store what is stale; `held` artifacts are there already."""
    delta, done = stale.delta, 0
    while done < len(delta.stale):
        others_ran = store.observer.advance(done, len(delta.stale))
        if others_ran and stale.bulk:
            stale.bulk.discard_read()
        outcomes = stale.read(done, held)
        if not outcomes:
            continue
        with store.ledger.transaction():
            for entry, outcome in outcomes:
                written = store.put(entry, outcome)
                held += written if entry.key not in delta.known else 0
                store.report.missed_events += (
                    bool(written)
                    and not _was_marked(delta.known.get(entry.key))
                    and 0 < entry.mtime_ns < reported_before * 1e9
                )
        done += len(outcomes)


def _was_marked(known: KnownEntry | None) -> bool:
    """Return whether an entry was to be read again although it had not changed."""
    return known is not None and not known.stamp


def _count_held(ledger: Ledger, corpus: Corpus, new: int) -> int:
    """Count the artifacts of a corpus; 0 where so many new ones leave its limit far off."""
    most = corpus.quota.artifacts
    # No corpus holds more than the highest number a ledger gave out, and that is quickly read.
    if not new or not most or ledger.artifacts.find_last_row() + new < most:
        return 0
    return ledger.artifacts.count(corpus.name)


@dataclass(slots=True)
class _Store:
    """Store what was read of a corpus, and count it in the report."""

    ledger: Ledger
    corpus: Corpus
    clock: Callable[[], float]
    observer: ScanObserver = _UNOBSERVED
    report: Report = field(default_factory=Report)

    def put(self, entry: Entry, outcome: Outcome) -> int:
        """Store what reading an entry gave; return how many artifacts were written."""
        if outcome is None:
            if not _is_root_lost(self.corpus, entry.path):
                self.forget(entry.key)
        elif isinstance(outcome, OverLimit):
            self.report.refused += 1
            self.report.refusal = outcome.why
        elif isinstance(outcome, Superseded):
            self.report.unchanged += 1
        elif isinstance(outcome, SourceError):
            self._fail(entry, outcome)
        else:
            return self._put_upsert(outcome)
        return 0

    def forget(self, *keys: str) -> None:
        """Forget entries that are gone."""
        self.observer.forgotten(keys)
        self.report.removed += self.ledger.entries.forget(self.corpus.name, keys)

    def _put_upsert(self, upsert: Upsert) -> int:
        self.observer.read(upsert)
        written, removed = self.ledger.entries.put(self.corpus.name, upsert, self.clock())
        self.report.written += written
        self.report.removed += removed
        self.report.unchanged += not (written or removed)
        return written

    def _fail(self, entry: Entry, error: SourceError) -> None:
        self.report.failed += 1
        if isinstance(error, Refused):
            self.forget(entry.key)
        reason = f"{error.message} ({error.hint})" if error.hint else error.message
        reason = Redactor("all").text(reason)  # it may quote what could not be read
        path, now = entry.path or entry.key, self.clock()
        failure = Failure(self.corpus.name, path, entry.key, reason, entry.stamp, now)
        if self.ledger.failures.put(failure):
            self.report.new_failures.append(failure)


def _is_root_lost(corpus: Corpus, path: str) -> bool:
    """Return whether a root above a path is missing or empty: then its absence proves nothing."""
    tops = set(corpus.real_roots().values())
    return any(is_within(path, top) and not _has_anything(top) for top in tops)


def _has_anything(top: str) -> bool:
    try:
        return bool(os.listdir(top))
    except NotADirectoryError:
        return True
    except OSError:
        return False


def embed(
    ledger: Ledger, corpus: str, embedder: Embedder, batch: int, above: int = 0
) -> Iterator[int]:
    """Embed the texts of a corpus that have no vector yet, newest first.

    Only records beyond the row `above` count. Yields after each batch how many records it was for;
    the caller may stop at any.
    """
    below = ALL_ROWS[1]
    while waiting := ledger.vectors.list_missing(corpus, embedder.id, batch, (above, below)):
        below = waiting[-1][0]
        texts = {
            digest: TaughtText(text, *(unpack_prompts(learned) if learned else ()))
            for _, digest, text, learned in waiting
        }
        taught = any(each.prompts for each in texts.values())
        common = ledger.learned.find_common(corpus) if taught else NOTHING_COMMON
        rows = embed_taught(embedder, list(texts.values()), common)
        ledger.vectors.put(embedder.id, list(texts), rows)
        yield len(waiting)
