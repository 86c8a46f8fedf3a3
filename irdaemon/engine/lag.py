"""Watermarks: how far each corpus has come, told by what was seen and what was done.

A heartbeat says that a process lives; these times say whether it gets anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from irdaemon.ingest.reconcile import Report
from irdaemon.ingest.scan import ScanRequest


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the last job of a kind failed, and when (Unix seconds)."""

    kind: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Where a corpus stands; times are Unix seconds, None before the first.

    `changed_at` is when the newest change was seen, `indexed_at` when the newest was that the
    snapshot includes. `waiting_since` is when the oldest look that waits or runs was asked for.
    `refused` counts what the last look kept out and `refusal` says why; `late` counts the changes
    that the last routine look found and no event had told of; `crowded_at` is when so many changed
    paths waited that one look had to stand for them.
    """

    changed_at: float | None = None
    indexed_at: float | None = None
    waiting_since: float | None = None
    embedded_at: float | None = None
    faults: tuple[Fault, ...] = ()
    refused: int = 0
    refusal: str = ""
    late: int = 0
    crowded_at: float | None = None


class Lag:
    """Keep the standing of each corpus; whoever shares it between threads locks it."""

    def __init__(self) -> None:
        self._known: dict[str, Watermarks] = {}

    def of(self, corpus: str) -> Watermarks:
        """Return where a corpus stands."""
        return self._known.get(corpus, Watermarks())

    def changed(self, corpus: str, at: float) -> None:
        """Note that a change was seen."""
        standing = self.of(corpus)
        self._known[corpus] = replace(standing, changed_at=max(at, standing.changed_at or at))

    def crowded(self, corpus: str, at: float) -> None:
        """Note that one look stands for too many changed paths."""
        self._known[corpus] = replace(self.of(corpus), crowded_at=at)

    def looked(self, corpus: str, look: ScanRequest, report: Report) -> None:
        """Note what a look came to."""
        standing = self.of(corpus)
        if report.refused or not look.under:
            standing = replace(standing, refused=report.refused, refusal=report.refusal)
        if look.routine:
            standing = replace(standing, late=report.late)
        self._known[corpus] = standing

    def indexed(self, corpus: str, up_to: float) -> None:
        """Note that every change seen until then is in the snapshot."""
        standing = self.of(corpus)
        up_to = max(up_to, standing.indexed_at or up_to)
        self._known[corpus] = replace(standing, indexed_at=up_to)

    def embedded(self, corpus: str, at: float) -> None:
        """Note that every record has its vector."""
        standing = self.of(corpus)
        faults = tuple(fault for fault in standing.faults if fault.kind != "embed")
        self._known[corpus] = replace(standing, embedded_at=at, faults=faults)

    def ended(self, corpus: str, fault: Fault) -> None:
        """Note why a job of a kind failed; a fault without a reason says that it did not."""
        standing = self.of(corpus)
        others = tuple(each for each in standing.faults if each.kind != fault.kind)
        new = (fault,) if fault.reason else ()
        self._known[corpus] = replace(standing, faults=others + new)

    def forget(self, corpus: str) -> None:
        """Forget a corpus that is no more."""
        self._known.pop(corpus, None)
