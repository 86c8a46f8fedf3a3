"""What `status`, `info`, `artifacts` and `failures` say: the ledger's rows, told as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from irclient.errors import QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.engine.health import Facts
from irdaemon.engine.lag import Standing
from irdaemon.engine.retry import Trouble
from irdaemon.index import CorpusIndex
from irdaemon.ledger import ArtifactPage, Ledger
from irdaemon.ledger.corruption import Corruption
from irdaemon.ledger.files import kept_aside
from irdaemon.selection.floor import trusted
from irdaemon.source.opening import resolved
from irdaemon.types import Floor

MOST_LISTED = 1_000
_QUARANTINED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Seen:
    """What a corpus' queries see now, and how many entries are still to be read.

    `embedder` is the id of the configured embedder, `missing` why it cannot be used, `unwritten`
    why what was read of the corpus cannot be stored.
    """

    index: CorpusIndex
    unread: int
    embedder: str
    missing: str = ""
    unwritten: Trouble | None = None


def status(ledger: Ledger, corpus: Corpus, seen: Seen) -> dict[str, Any]:
    """Return how much of a corpus is held, how fresh it is, and what is wrong with its roots."""
    rows = seen.index.rows
    reconciled, problems = ledger.corpora.state_of(corpus.name)
    switching = seen.embedder != seen.index.embedder and not seen.missing
    waiting = seen.index.unembedded
    if switching:
        waiting = rows.n_records - ledger.artifacts.counts(corpus.name, seen.embedder).vectors
    said = [{"path": p.path, "reason": p.reason} for p in problems]
    if seen.missing:
        said.append({"path": corpus.embedder, "reason": seen.missing})
    if seen.unwritten:
        said.append({"path": ledger.path, "reason": seen.unwritten.error})
    return {
        "name": corpus.name,
        "kind": corpus.kind,
        "roots": [root.path for root in corpus.source.roots()],
        "artifacts": rows.n_artifacts,
        "records": rows.n_records,
        "vectors": rows.n_records - seen.index.unembedded,
        "failures": ledger.failures.count(corpus.name),
        "pending": waiting + seen.unread,
        "last_reconcile": reconciled,
        "state": "re-embedding" if switching else _state(reconciled is None, bool(said), waiting),
        "problems": said,
    }


def of_ledger(ledger: Ledger, trouble: Trouble | None, loss: Corruption | None) -> dict[str, Any]:
    """Return where the ledger lies, why it cannot be written, and what became of a damaged one."""
    return {
        "path": ledger.path,
        "format": ledger.format,
        "trouble": asdict(trouble) if trouble else None,
        "rebuilt": asdict(loss) if loss else None,
        "set_aside": kept_aside(ledger.path),
    }


def facts(ledger: Ledger, corpus: Corpus, standing: Standing, missing: str) -> Facts:
    """Return what a corpus' health is judged by; `missing` is why it has no embedder."""
    looked_at, problems = ledger.corpora.state_of(corpus.name)
    return Facts(
        name=corpus.name,
        roots={resolved(root.path): root.path for root in corpus.source.roots()},
        standing=standing,
        looked_at=looked_at,
        problems=problems,
        failures=tuple(ledger.failures.all(corpus.name, _QUARANTINED_SHOWN)),
        missing=missing,
        overlong=_overlong(ledger, corpus),
    )


def _overlong(ledger: Ledger, corpus: Corpus) -> int:
    """Count the lines that a source which reads by lines passed over."""
    reads_lines = "max_line_bytes" in getattr(corpus.source, "limits", ())
    return ledger.entries.skipped(corpus.name).get("oversized_line", 0) if reads_lines else 0


def info(ledger: Ledger, corpus: Corpus, seen: Seen) -> dict[str, Any]:
    """Return the status of a corpus with what can be asked of it."""
    rows = seen.index.rows
    return {
        **status(ledger, corpus, seen),
        "embedder": corpus.embedder,
        "served_by": seen.index.embedder,
        "floors": {mode: _floor(floor) for mode, floor in seen.index.floors.items()},
        "recipe": corpus.recipe,
        "fields": sorted(seen.index.columns.names()),
        "surfaces": sorted({rows.kind_of(at) for at in rows.positions()}),
        "skipped": ledger.entries.skipped(corpus.name),
    }


def _floor(floor: Floor) -> dict[str, Any]:
    names = ("at_least", "j", "n_inside", "n_outside", "labelled", "calibrated_at")
    return {**{name: getattr(floor, name) for name in names}, "applied": trusted(floor)}


def artifacts(ledger: Ledger, wanted: ArtifactPage) -> list[dict[str, Any]]:
    """Return a page of what is held: where each artifact is, and since when it is indexed so."""
    if not 1 <= wanted.limit <= MOST_LISTED:
        raise QueryError(
            f"limit must be 1 to {MOST_LISTED:,}, not {wanted.limit}",
            "ask for the next page with `after`",
        )
    names = ("corpus", "artifact_id", "name", "pointer", "indexed_at")
    return [dict(zip(names, row, strict=True)) for row in ledger.artifacts.page(wanted)]


def failures(ledger: Ledger, corpus: str | None) -> list[dict[str, Any]]:
    """Return what could not be read, of one corpus or of all, oldest first."""
    return [
        {
            "corpus": failure.corpus,
            "path": failure.path,
            "reason": failure.reason,
            "since": failure.since,
            "tries": failure.tries,
        }
        for failure in ledger.failures.all(corpus)
    ]


def secrets(ledger: Ledger, corpus: str | None) -> list[dict[str, Any]]:
    """Return where secrets lie, in one corpus or in all: corpus, path, line and kind."""
    return [
        {"corpus": each.corpus, "path": each.path, "line": each.line, "kind": each.kind}
        for each in ledger.secrets.all(corpus)
    ]


def _state(building: bool, degraded: bool, waiting: int) -> str:
    if building:
        return "building"
    if degraded:
        return "degraded"
    return "embedding" if waiting else "ready"
