"""What a front end answers to `status` and `info`: what its backends said last, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irdaemon.disclosure.references import unknown_corpus
from irdaemon.engine.front_backends import FrontBackend, FrontBackends
from irdaemon.engine.health import CorpusHealth, Health, Level, UnwatchedRoot
from irdaemon.engine.replication import CopyFacts
from irdaemon.engine.status import floor_facts
from irdaemon.index.backend import Totals
from irdaemon.runtime.profile import summary


@dataclass(frozen=True, slots=True)
class FrontFacts:
    """What is known of a front end: its backends, the process, and the time in Unix seconds.

    `missing` says by embedder id why queries cannot be embedded.
    """

    backends: FrontBackends
    missing: Mapping[str, str]
    process: Mapping[str, Any]
    now: float


def status(facts: FrontFacts, profile: bool) -> dict[str, Any]:
    """Return how a front end is; it has no queue, no ledger and nothing that it watches."""
    backends = facts.backends
    return {
        **({"profile": summary()} if profile else {}),
        **facts.process,
        "backends": [
            {"backend": each.name, "problem": each.problem, "since": each.since}
            for each in backends.every
        ],
        "generation": facts.backends.snapshot.generation,
        "queue": 0,
        "health": _health(facts).to_dict(),
        "jobs": [],
        "corpora": [
            _of_corpus(facts, side, side.totals[name]) for name, side in backends.holding().items()
        ],
    }


def info(facts: FrontFacts, name: str) -> dict[str, Any]:
    """Return the status of a corpus with what it can be queried for. Raises NotFound."""
    index, side = facts.backends.snapshot.corpora.get(name), facts.backends.holding().get(name)
    if index is None or side is None:
        raise unknown_corpus(name, facts.backends.snapshot.corpora)
    totals = side.totals[name]
    return {
        **_of_corpus(facts, side, totals),
        "embedder": totals.embedder,
        "served_by": totals.embedder,
        "floors": {mode: floor_facts(floor) for mode, floor in index.floors.items()},
        "recipe": totals.recipe,
        "fields": sorted(totals.fields),
        "surfaces": sorted(totals.kinds),
        "asset_types": dict(totals.asset_types),
    }


def _of_corpus(facts: FrontFacts, side: FrontBackend, totals: Totals) -> dict[str, Any]:
    missing = facts.missing.get(totals.embedder, "")
    return {
        "name": totals.corpus,
        "kind": totals.kind,
        "roots": [],
        "artifacts": totals.n_artifacts,
        "records": totals.n_records,
        "vectors": totals.n_embedded,
        "failures": 0,
        "pending": totals.n_records - totals.n_embedded,
        "last_reconcile": totals.last_reconcile,
        "state": _state(totals, bool(missing)),
        "problems": [{"path": totals.embedder, "reason": missing}] if missing else [],
        "skipped": {},
        "writable": False,
        "reindex": "manual" if totals.by_hand else "change",
        "copy": {**_copy(side, totals).to_dict(), "behind_s": _behind_s(facts, side)},
    }


def _state(totals: Totals, missing: bool) -> str:
    if totals.last_reconcile is None and not totals.by_hand:
        return "building"
    if missing or totals.degraded:
        return "degraded"
    return "embedding" if totals.n_embedded < totals.n_records else "ready"


def _copy(side: FrontBackend, totals: Totals) -> CopyFacts:
    return CopyFacts(
        backend=side.name,
        state="degraded" if side.problem else "level",
        generation=totals.generation,
        holder=totals.holder,
        reason=side.problem,
        since=side.since if side.problem else None,
    )


def _behind_s(facts: FrontFacts, side: FrontBackend) -> float:
    return round(max(0.0, facts.now - side.since), 1) if side.problem else 0.0


def _health(facts: FrontFacts) -> Health:
    """Judge a front end by whether its backends answer, and queries can be embedded."""
    corpora = tuple(
        _corpus_health(facts, side, side.totals[name])
        for name, side in facts.backends.holding().items()
    )
    away = any(each.problem for each in facts.backends.every)
    stale = any(each.stale for each in corpora)
    level: Level = "offline" if away else "stale" if stale else "ok"
    return Health(level, corpora, (), ())


def _corpus_health(facts: FrontFacts, side: FrontBackend, totals: Totals) -> CorpusHealth:
    missing = facts.missing.get(totals.embedder, "")
    return CorpusHealth(
        name=totals.corpus,
        level="offline" if side.problem else "stale" if missing else "ok",
        changed_at=None,
        indexed_at=None,
        scanned_at=totals.last_reconcile,
        embedded_at=None,
        waiting_s=0.0,
        offline=(UnwatchedRoot(side.name, side.problem),) if side.problem else (),
        polled=(),
        stale=(f"queries are not embedded: {missing}",) if missing else (),
        missed_events=0,
        quarantined=(),
    )
