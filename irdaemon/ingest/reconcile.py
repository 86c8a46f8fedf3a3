"""The write path: what a source has becomes what the ledger holds.

`reconcile` looks (scan), compares (diff), reads, cleans and decomposes what changed, and stores it
a few entries a transaction. It never stops for one artifact: what cannot be read is a failure in
the ledger. What is gone is forgotten only where the source vouches for it; a root that is missing,
unreadable or suddenly empty keeps all that was known of it until it is back or a person insists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from irdaemon.config.corpus import Corpus
from irdaemon.embed import Embedder
from irdaemon.ingest.admit import refusal
from irdaemon.ingest.optout import OptOuts
from irdaemon.ingest.redact import Clean, cleaned
from irdaemon.ingest.scan import NAMELESS, Look, compare, present_roots
from irdaemon.ledger import (
    Decomposed,
    Delta,
    Failure,
    KnownEntry,
    Ledger,
    Record,
    Upsert,
    content_hash,
    record_id,
    version_hash,
)
from irdaemon.ledger.rows import storable
from irdaemon.ledger.vectors import ALL_ROWS
from irdaemon.source import Source
from irdaemon.source.opening import at_or_under, resolved
from irdaemon.source.redact import Redactor
from irdaemon.strategy import is_named
from irdaemon.text import name_tokens, term_counts
from irdaemon.types import Artifact, Entry, Problem, Reading, Refused, SourceError

# Entries read and stored in one go: few enough that a change need not wait for the rest.
_AT_ONCE = 32
_AT_ONCE_S = 0.05
# A change of an older file than this should have been told of by an event.
_TOLD_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class NoRoom:
    """An entry that is not taken in, because a limit bites: which."""

    why: str


# What reading an entry came to: what it holds, why it cannot be read, why it is not taken in, or
# None where it is gone.
Outcome = Upsert | SourceError | NoRoom | None


@dataclass(slots=True)
class Report:
    """What one reconcile did; `progress` is called with (entries done, entries to do).

    `outdated` says that something was stored by another recipe before. `refused` counts the new
    entries that a limit kept out, `refusal` says which. `late` counts the entries with changes that
    are older than an event would have taken to tell of them.
    """

    written: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    refused: int = 0
    refusal: str = ""
    late: int = 0
    problems: tuple[Problem, ...] = ()
    outdated: bool = False
    progress: Callable[[int, int], None] = field(default=lambda done, todo: None)

    @property
    def changed(self) -> bool:
        """Say whether anything that is searched has changed."""
        return bool(self.written or self.removed)

    def __str__(self) -> str:
        return (
            f"{self.written} written, {self.removed} removed, {self.unchanged} unchanged,"
            f" {self.failed} failed"
        ) + (f", {self.refused} refused: {self.refusal}" if self.refused else "")


def reconcile(
    ledger: Ledger,
    corpus: Corpus,
    look: Look,
    clock: Callable[[], float],
    progress: Callable[[int, int], None] = lambda done, todo: None,
) -> Report:
    """Bring the ledger level with what the corpus' source has now."""
    report = Report(progress=progress)
    told_before = clock() - _TOLD_WITHIN_S
    optouts = OptOuts()
    if not look.under:
        ledger.projects.reread_changed(corpus.name, optouts.covers)
    found, delta = compare(ledger, corpus, look, optouts)
    scan = found.scan
    if delta.gone:
        # First, so that a file under a new name can take over what the old name held; and before
        # anyone is let in between, who might bring back what is about to be forgotten.
        report.removed += ledger.entries.forget(corpus.name, delta.gone)
        delta = ledger.entries.diff(corpus.name, scan, corpus.recipe, full=look.full)
    present = [entry.key for entry in (*scan.entries, *found.strays)]
    ledger.failures.drop_absent(corpus.name, present, scan)
    for stray in found.strays:
        _keep(ledger, corpus, stray, refusal(stray), report, clock())
    report.outdated = any(entry.recipe != corpus.recipe for entry in delta.known.values())
    report.unchanged, report.problems = delta.unchanged, scan.problems
    new = sum(entry.key not in delta.known for entry in delta.stale)
    held = _held(ledger, corpus, new)
    done = 0
    while done < len(delta.stale):
        progress(done, len(delta.stale))
        outcomes = _read_some(corpus, delta, done, held, optouts)
        with ledger.transaction():
            for entry, outcome in outcomes:
                before = report.written
                _keep(ledger, corpus, entry, outcome, report, clock())
                written = report.written - before
                held += written if entry.key not in delta.known else 0
                report.late += bool(written) and 0 < entry.mtime_ns < told_before * 1e9
        done += len(outcomes)
    if not look.under:
        ledger.corpora.reconciled(
            corpus.name, scan.problems, present_roots(ledger, corpus, look), clock()
        )
    return report


def _held(ledger: Ledger, corpus: Corpus, new: int) -> int:
    """Count the artifacts of a corpus; 0 where so many new ones leave its limit far off."""
    most = corpus.quota.artifacts
    # No corpus holds more than the highest number a ledger gave out, and that is quickly read.
    if not new or not most or ledger.artifacts.last_row() + new < most:
        return 0
    return ledger.artifacts.count(corpus.name)


def _read_some(
    corpus: Corpus, delta: Delta, start: int, held: int, optouts: OptOuts
) -> list[tuple[Entry, Outcome]]:
    """Read a few stale entries: at most so many, and for no longer than a moment.

    New ones are read while there is room beside the `held` artifacts.
    """
    until = time.monotonic() + _AT_ONCE_S
    outcomes: list[tuple[Entry, Outcome]] = []
    for entry in delta.stale[start : start + _AT_ONCE]:
        known = delta.known.get(entry.key)
        why = corpus.quota.exceeded(held) if known is None else ""
        outcome = NoRoom(why) if why else _read_one(corpus, entry, known, optouts)
        outcomes.append((entry, outcome))
        held += known is None and not why
        if time.monotonic() > until:
            break
    return outcomes


def _read_one(corpus: Corpus, entry: Entry, known: KnownEntry | None, optouts: OptOuts) -> Outcome:
    """Return what an entry holds, or why it cannot be read; None where it is gone."""
    same_recipe = known is not None and known.recipe == corpus.recipe
    try:
        reading = _read(corpus.source, entry, known.cursor if known and same_recipe else None)
        return _decomposed(corpus, entry, cleaned(reading, entry, corpus.redaction, optouts))
    except FileNotFoundError:
        return None
    except SourceError as error:
        return error


def _keep(
    ledger: Ledger,
    corpus: Corpus,
    entry: Entry,
    outcome: Outcome,
    report: Report,
    now: float,
) -> None:
    if outcome is None:
        if not _root_is_lost(corpus.source, entry.path):
            report.removed += ledger.entries.forget(corpus.name, [entry.key])
    elif isinstance(outcome, NoRoom):
        report.refused += 1
        report.refusal = outcome.why
    elif isinstance(outcome, SourceError):
        report.failed += 1
        if isinstance(outcome, Refused):
            report.removed += ledger.entries.forget(corpus.name, [entry.key])
        reason = f"{outcome.message} ({outcome.hint})" if outcome.hint else outcome.message
        reason = Redactor("all").text(reason)  # it may quote what could not be read
        ledger.failures.put(
            Failure(corpus.name, entry.path or entry.key, entry.key, reason, entry.stamp, now)
        )
    else:
        written, removed = ledger.entries.put(corpus.name, outcome, now)
        report.written += written
        report.removed += removed
        report.unchanged += not (written or removed)


def _read(source: Source, entry: Entry, cursor: bytes | None) -> Reading:
    try:
        return source.read(entry, cursor)
    except (FileNotFoundError, SourceError):
        raise
    except Exception as error:  # a source of the person's own may raise anything
        raise SourceError(f"{entry.path or entry.key}: reading failed: {error!r}") from error


def _root_is_lost(source: Source, path: str) -> bool:
    """Say whether a root above a path is missing or empty now: then the path proves nothing."""
    tops = {resolved(root.path) for root in source.roots()}
    return any(at_or_under(path, top) and not _has_anything(top) for top in tops)


def _has_anything(top: str) -> bool:
    try:
        return bool(os.listdir(top))
    except NotADirectoryError:
        return True
    except OSError:
        return False


def _decomposed(corpus: Corpus, entry: Entry, clean: Clean) -> Upsert:
    reading = clean.reading
    return Upsert(
        entry,
        corpus.recipe,
        tuple(_decompose(corpus, artifact) for artifact in reading.artifacts),
        reading.cursor,
        reading.partial,
        reading.skipped,
        clean.secrets,
        clean.projects,
    )


def _decompose(corpus: Corpus, artifact: Artifact) -> Decomposed:
    try:
        if storable(artifact.artifact_id) != artifact.artifact_id:
            raise ValueError(NAMELESS)
        return _planned(corpus, artifact)
    except Exception as error:  # a strategy of the person's own may raise or return anything
        shown = storable(artifact.artifact_id)
        raise SourceError(f"{shown}: it could not be decomposed: {error!r}") from error


def _planned(corpus: Corpus, artifact: Artifact) -> Decomposed:
    plan = corpus.strategy.decompose(artifact.artifact_id, artifact.raw, artifact.metadata)
    records = tuple(
        Record(
            record_id(artifact.artifact_id, surface.kind, index),
            surface.kind,
            surface.granularity,
            index,
            surface.text,
            surface.metadata,
            term_counts(surface.text, surface.lexical),
        )
        for index, surface in enumerate(plan.surfaces)
    )
    return Decomposed(
        artifact,
        plan.filter_fields,
        records,
        content_hash(plan.surfaces),
        version_hash(artifact, plan.filter_fields, corpus.recipe),
        tuple(name_tokens(artifact.name)) if is_named(corpus.strategy) else (),
    )


def embed(
    ledger: Ledger, corpus: str, embedder: Embedder, batch: int, above: int = 0
) -> Iterator[int]:
    """Embed the texts of a corpus that have no vector yet, newest first.

    Only records beyond the row `above` are looked at. Yields after each batch how many records it
    was for; whoever iterates may stop at any.
    """
    below = ALL_ROWS[1]
    while waiting := ledger.vectors.missing(corpus, embedder.id, batch, (above, below)):
        below = waiting[-1][0]
        texts = {digest: text for _, digest, text in waiting}
        ledger.vectors.put(embedder.id, list(texts), embedder.embed(list(texts.values())))
        yield len(waiting)
