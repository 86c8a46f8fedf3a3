"""The write path: bring the ledger up to date with a source.

`reconcile` scans, compares (diff), reads what changed (`read`: redacted and decomposed), and stores
it a few entries a transaction. A first scan of many entries reads their heads first, with names and
descriptions, and stores them under a stamp that equals no other: however that scan ends, the next
reads them whole. One artifact never stops it: an unreadable entry is a failure in the ledger.
Missing entries are forgotten only where the scan is authoritative; a root that is missing,
unreadable or suddenly empty keeps its entries until it is back or a person insists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace

from irdaemon.config.corpus import Corpus
from irdaemon.embed import Embedder
from irdaemon.embed.prompts import NOTHING_COMMON, PromptedText, embed_prompted
from irdaemon.ingest.bulk import BulkReader, Read, make_bulk_reader, make_head_corpus
from irdaemon.ingest.read import ReadRules, read_entry
from irdaemon.ingest.scan import OptOuts, ScanRequest, compare, list_present_roots, refuse
from irdaemon.ledger import Delta, Failure, KnownEntry, Ledger, Upsert
from irdaemon.ledger.index_rows import ALL_ROWS
from irdaemon.ledger.prompts import unpack_prompts
from irdaemon.source.opening import is_within
from irdaemon.source.redact import Redactor
from irdaemon.types import Entry, Problem, Refused, SourceError

# Entries stored in one transaction: few enough that a change need not wait for the rest.
_AT_ONCE = 32
_AT_ONCE_S = 0.05
# If a changed file is older than this, an event should have reported it.
_REPORTED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class ScanObserver:
    """The observer of a running scan.

    `advance` is called with (entries done, entries to do) before each transaction; it may raise,
    and it may run another scan: an entry stored or forgotten by that scan is then left alone. It
    returns whether another scan of the corpus ran.
    `read` gets each reading before it is stored, `forgotten` the keys of entries to be deleted.
    `show_heads` is called when every head is stored, before bodies are read; `pop_shown_heads`
    returns the keys of entries whose bodies are to be read next.
    """

    advance: Callable[[int, int], bool] = lambda done, todo: False
    read: Callable[[Upsert], None] = lambda upsert: None
    forgotten: Callable[[Sequence[str]], None] = lambda keys: None
    show_heads: Callable[[], None] = lambda: None
    pop_shown_heads: Callable[[], Collection[str]] = lambda: ()


@dataclass(slots=True)
class Report:
    """The results of one reconcile.

    `outdated`: some entry had been stored by another recipe. `refused` counts the new entries that
    a limit kept out, `refusal` names the limit. `missed_events` counts the changed entries that are
    old enough for an event to have reported them. `left_out` counts what the source left out, by
    reason. `new_failures` are those not known before. `no_change`: a whole scan that found
    everything as the last scan had left it.
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
        """Return whether anything searchable has changed."""
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
    """Bring the ledger up to date with a corpus' source."""
    run = _Reconciliation(ledger, corpus, request, clock, observer)
    reported_before = clock() - _REPORTED_WITHIN_S
    if not request.under:
        ledger.projects.mark_changed(corpus.name, run.optouts.covers)
    found, delta = compare(ledger, corpus, request, run.optouts)
    scan, report = found.scan, run.report
    if delta.gone:
        # First, so that a file under a new name can take over what the old name held; and before
        # `advance` lets another job in, which might bring back what is about to be forgotten.
        run.forget(*delta.gone)
        delta = ledger.entries.diff(corpus.name, scan, corpus.recipe, full=request.full)
    present = [entry.key for entry in (*scan.entries, *found.outside)]
    ledger.failures.drop_absent(corpus.name, present, scan)
    for entry in found.outside:
        # Without a stamp, so that it is read as soon as it is inside, changed or not.
        run.store(replace(entry, stamp=""), refuse(entry))
    report.outdated = any(entry.recipe != corpus.recipe for entry in delta.known.values())
    report.unchanged, report.problems = delta.unchanged, scan.problems
    report.left_out = scan.left_out
    new = tuple(entry for entry in delta.stale if entry.key not in delta.known)
    is_first = (
        request.heads and not request.under and ledger.corpora.read_state(corpus.name)[0] is None
    )
    if is_first and (heads := make_head_corpus(corpus, len(new), request.workers)):
        run.store_stale(replace(delta, stale=new), reported_before, heads)
        observer.show_heads()
        now = ledger.entries.diff(corpus.name, scan, corpus.recipe, full=request.full)
        delta = _leave_read(delta, now)
    run.store_stale(delta, reported_before, corpus)
    if not request.under:
        observer.pop_shown_heads()  # the last shown heads have bodies now
        roots = list_present_roots(ledger, corpus, request)
        ended_otherwise = ledger.corpora.record_scan(corpus.name, scan.problems, roots, clock())
        kept_out = report.failed or report.refused
        report.no_change = not (ended_otherwise or report.changed or kept_out)
    else:
        ledger.corpora.drop_mended(corpus.name, scan)
    return report


@dataclass(slots=True)
class _Reconciliation:
    """One reconcile: read what is stale, store it, and count it in the report."""

    ledger: Ledger
    corpus: Corpus
    request: ScanRequest
    clock: Callable[[], float]
    observer: ScanObserver
    optouts: OptOuts = field(default_factory=OptOuts)
    report: Report = field(default_factory=Report)

    def store_stale(self, delta: Delta, reported_before: float, corpus: Corpus) -> None:
        """Read and store the stale entries, a few a transaction.

        `corpus` is the corpus, or its variant that reads heads: such entries stay stale.
        """
        done, heads, held = 0, 0, self._count_held(delta)
        bulk = make_bulk_reader(corpus, delta, self.request.from_start, self.request.workers)
        with closing(bulk) if bulk else nullcontext():
            while done < len(delta.stale):
                others_ran = self.observer.advance(done - heads, len(delta.stale))
                if others_ran and bulk:
                    bulk.discard_read()
                reads_bodies = corpus is self.corpus
                if bulk and reads_bodies and (shown := self.observer.pop_shown_heads()):
                    bulk.put_first(shown)
                looked_at, outcomes = self._read(delta, bulk, done, held)
                done += looked_at
                heads += sum(isinstance(read, Upsert) and read.is_head for _, read in outcomes)
                if not outcomes:
                    continue
                with self.ledger.transaction():
                    for entry, outcome in outcomes:
                        known = delta.known.get(entry.key)
                        written = self.store(entry, outcome, known)
                        held += 0 if known else written
                        # One without a stamp was to be read again although it had not changed,
                        # and one of which there was only the head was counted with that.
                        self.report.missed_events += (
                            bool(written)
                            and (known is None or not (known.is_head or not known.stamp))
                            and 0 < entry.mtime_ns < reported_before * 1e9
                        )

    def _count_held(self, delta: Delta) -> int:
        """Count the artifacts of the corpus; 0 if the new entries stay far below its limit."""
        most, new = self.corpus.quota.artifacts, sum(e.key not in delta.known for e in delta.stale)
        # No corpus holds more than the ledger's highest row number, which is quick to read.
        if not new or not most or self.ledger.artifacts.find_last_row() + new < most:
            return 0
        return self.ledger.artifacts.count(self.corpus.name)

    def _read(
        self, delta: Delta, bulk: BulkReader | None, start: int, held: int
    ) -> tuple[int, list[tuple[Entry, Read]]]:
        """Read a few entries from `start` on; the corpus holds `held` artifacts.

        Without `bulk` they are read here, for a short time. Returns how many were considered, and
        the readings: new entries are read within the limits, and entries that a more urgent scan
        has stored or forgotten meanwhile are skipped.
        """
        here = [(entry, None) for entry in delta.stale[start : start + _AT_ONCE]]
        until, looked_at = time.monotonic() + _AT_ONCE_S, 0
        outcomes: list[tuple[Entry, Read]] = []
        for entry, outcome in bulk.read() if bulk else here:
            looked_at += 1
            known = delta.known.get(entry.key)
            if self.ledger.entries.find(self.corpus.name, entry.key) != known:
                self.report.unchanged += 1
            elif known is None and (why := self.corpus.quota.check(held)):
                self.report.refused += 1
                self.report.refusal = why
            else:
                held += known is None
                if not bulk:
                    before = None if self.request.from_start else known
                    rules = ReadRules(self.optouts, self.ledger.synopses)
                    outcome = read_entry(self.corpus, entry, before, rules)
                outcomes.append((entry, outcome))
            if not bulk and time.monotonic() > until:
                break
        return looked_at, outcomes

    def store(self, entry: Entry, outcome: Read, known: KnownEntry | None = None) -> int:
        """Store the reading of an entry; return how many artifacts were written."""
        if isinstance(outcome, Upsert):
            if not outcome.is_head:
                self.observer.read(outcome)
            written, removed = self.ledger.entries.put(self.corpus.name, outcome, self.clock())
            self.report.written += 0 if outcome.is_head else written
            self.report.removed += removed
            self.report.unchanged += not (written or removed)
            return written
        if isinstance(outcome, SourceError):
            self._fail(entry, outcome, known)
        elif not _is_root_lost(self.corpus, entry.path):
            self.forget(entry.key)
        return 0

    def forget(self, *keys: str) -> None:
        """Forget entries that are gone."""
        self.observer.forgotten(keys)
        self.report.removed += self.ledger.entries.forget(self.corpus.name, keys)

    def _fail(self, entry: Entry, error: SourceError, known: KnownEntry | None) -> None:
        self.report.failed += 1
        # Otherwise the head of an unreadable entry would stay as if it were complete.
        if isinstance(error, Refused) or (known and known.is_head):
            self.forget(entry.key)
        reason = f"{error.message} ({error.hint})" if error.hint else error.message
        reason = Redactor("all").redact_text(reason)  # it may quote the file
        path, now = entry.path or entry.key, self.clock()
        failure = Failure(self.corpus.name, path, entry.key, reason, entry.stamp, now)
        if self.ledger.failures.put(failure):
            self.report.new_failures.append(failure)


def _leave_read(before: Delta, now: Delta) -> Delta:
    """Return what is left to read once the heads of new entries are: these, and what was known.

    What a more urgent scan has read since, and what a limit keeps out, is not read again.
    """
    heads = {key for key, known in now.known.items() if known.is_head}
    stale = tuple(e for e in before.stale if e.key in heads or e.key in before.known)
    return replace(before, stale=stale, known={**now.known, **before.known})


def _is_root_lost(corpus: Corpus, path: str) -> bool:
    """Return whether a root above a path is missing or empty: its absence then proves nothing."""
    tops = set(corpus.resolve_roots().values())
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
            digest: PromptedText(text, *(unpack_prompts(prompts) if prompts else ()))
            for _, digest, text, prompts in waiting
        }
        taught = any(each.common for each in texts.values())
        common = ledger.prompts.find_common(corpus) if taught else NOTHING_COMMON
        rows = embed_prompted(embedder, list(texts.values()), common)
        ledger.vectors.put(embedder.id, list(texts), rows)
        yield len(waiting)
