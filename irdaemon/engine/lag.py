"""Lag: per corpus, watermarks of the newest change seen, indexed and embedded.

A heartbeat shows that a process lives; watermarks show whether it makes progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from irdaemon.ingest.reconcile import Report
from irdaemon.ingest.scan import ScanRequest


@dataclass(frozen=True, slots=True)
class FailedJob:
    """Why the last job of a kind failed, and when (Unix seconds)."""

    kind: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Watermarks:
    """How far a corpus has come; times are Unix seconds, None before the first.

    `changed_at` is when the newest change was seen, `indexed_at` when the newest was that the
    snapshot includes. `waiting_since` is when the oldest scan that waits or runs was requested.
    `refused` counts what the last scan kept out and `refusal` says why; `missed_events` counts the
    changes that the last routine scan found and no event had reported; `collapsed_at` is when so
    many changed paths waited that one scan had to stand for them; `left_out` counts by reason what
    the last whole scan saw and left out.
    """

    changed_at: float | None = None
    indexed_at: float | None = None
    waiting_since: float | None = None
    embedded_at: float | None = None
    failed_jobs: tuple[FailedJob, ...] = ()
    refused: int = 0
    refusal: str = ""
    missed_events: int = 0
    collapsed_at: float | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)


class Lag:
    """Keep the watermarks of each corpus. It has no lock: the queue that shares it does."""

    def __init__(self) -> None:
        self._known: dict[str, Watermarks] = {}

    def of(self, corpus: str) -> Watermarks:
        """Return the watermarks of a corpus."""
        return self._known.get(corpus, Watermarks())

    def changed(self, corpus: str, at: float) -> None:
        """Note that a change was seen."""
        marks = self.of(corpus)
        self._known[corpus] = replace(marks, changed_at=max(at, marks.changed_at or at))

    def collapsed(self, corpus: str, at: float) -> None:
        """Note that one scan stands for too many changed paths."""
        self._known[corpus] = replace(self.of(corpus), collapsed_at=at)

    def scanned(self, corpus: str, request: ScanRequest, report: Report) -> None:
        """Note how a scan ended."""
        marks = self.of(corpus)
        if report.refused or not request.under:
            marks = replace(marks, refused=report.refused, refusal=report.refusal)
        if not request.under:
            marks = replace(marks, left_out=report.left_out)
        if request.routine:
            marks = replace(marks, missed_events=report.missed_events)
        self._known[corpus] = marks

    def indexed(self, corpus: str, up_to: float) -> None:
        """Note that every change seen until then is in the snapshot."""
        marks = self.of(corpus)
        up_to = max(up_to, marks.indexed_at or up_to)
        self._known[corpus] = replace(marks, indexed_at=up_to)

    def embedded(self, corpus: str, at: float) -> None:
        """Note that every record has its vector."""
        marks = self.of(corpus)
        failed = tuple(each for each in marks.failed_jobs if each.kind != "embed")
        self._known[corpus] = replace(marks, embedded_at=at, failed_jobs=failed)

    def ended(self, corpus: str, job: FailedJob) -> None:
        """Note how the last job of a kind ended; without a reason it did not fail."""
        marks = self.of(corpus)
        others = tuple(each for each in marks.failed_jobs if each.kind != job.kind)
        new = (job,) if job.reason else ()
        self._known[corpus] = replace(marks, failed_jobs=others + new)

    def forget(self, corpus: str) -> None:
        """Forget a corpus that is no more."""
        self._known.pop(corpus, None)
