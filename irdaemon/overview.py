"""What `status`, `info` and `failures` say: the ledger's rows, told as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irdaemon.corpus import Corpus
from irdaemon.index import CorpusIndex
from irdaemon.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Seen:
    """What a corpus' queries see now, and how many entries a running look has still to read."""

    index: CorpusIndex
    unread: int


def status(ledger: Ledger, corpus: Corpus, seen: Seen) -> dict[str, Any]:
    """Return how much of a corpus is held, how fresh it is, and what is wrong with its roots."""
    counts = ledger.counts(corpus.name, seen.index.embedder)
    reconciled, problems = ledger.state_of(corpus.name)
    waiting = counts.records - counts.vectors
    return {
        "name": corpus.name,
        "kind": corpus.kind,
        "roots": [root.path for root in corpus.source.roots()],
        "artifacts": counts.artifacts,
        "records": counts.records,
        "vectors": counts.vectors,
        "failures": counts.failures,
        "pending": waiting + seen.unread,
        "last_reconcile": reconciled,
        "state": _state(reconciled is None, bool(problems), waiting),
        "problems": [{"path": p.path, "reason": p.reason} for p in problems],
    }


def info(ledger: Ledger, corpus: Corpus, seen: Seen) -> dict[str, Any]:
    """Return the status of a corpus with what can be asked of it."""
    return {
        **status(ledger, corpus, seen),
        "embedder": seen.index.embedder,
        "recipe": corpus.recipe,
        "fields": sorted(seen.index.columns.names()),
        "surfaces": sorted({shown.kind for shown in seen.index.rows.shown}),
        "skipped": ledger.entries.skipped(corpus.name),
    }


def failures(ledger: Ledger, corpus: str | None) -> list[dict[str, Any]]:
    """Return what could not be read, of one corpus or of all, oldest first."""
    return [
        {
            "corpus": failure.corpus,
            "path": failure.path,
            "reason": failure.reason,
            "since": failure.since,
        }
        for failure in ledger.failures.all(corpus)
    ]


def _state(building: bool, degraded: bool, waiting: int) -> str:
    if building:
        return "building"
    if degraded:
        return "degraded"
    return "embedding" if waiting else "ready"
