"""Status, corpus info, and lists of artifacts and failures as plain data."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from irclient.errors import QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.discovery.decision import is_trusted
from irdaemon.engine.health import Facts, Health, judge_health
from irdaemon.engine.projects import AT
from irdaemon.engine.state import State, get_known
from irdaemon.index import CorpusIndex, Snapshot, lacks_graph
from irdaemon.ledger import ArtifactPage, Ledger
from irdaemon.ledger.files import list_set_aside
from irdaemon.runtime.profile import summarize_stages
from irdaemon.types import Floor

MOST_LISTED = 1_000
_QUARANTINED_SHOWN = 20


def describe_status(state: State, ledger: Ledger, profile: bool) -> dict[str, Any]:
    """Return generation, queue and the state of every corpus; with `profile`, of every stage."""
    # Read the queue first: jobs that ended before they were counted are in the snapshot read next.
    queued, oldest = state.work.queued, state.work.find_oldest()
    corpora, snapshot, _ = state.served
    added = dict(ChainMap(*(dict(each.describe()) for each in state.addons.values())))
    return {
        **({"profile": summarize_stages()} if profile else {}),
        **state.host.describe_process(),
        **({"model": added["model"]} if "model" in added else {}),
        "generation": snapshot.generation,
        "ledger": _describe_ledger(state, ledger),
        **{name: added[name] for name in ("usage", "prompts") if name in added},
        **({"projects": counts} if (counts := _count_projects(state)) else {}),
        "queue": queued,
        "queue_s": 0.0 if oldest is None else round(max(0.0, state.clock() - oldest), 1),
        "health": judge_state(state, ledger).to_dict(),
        **({"advice": advice} if (advice := _advise_graphs(state, snapshot)) else {}),
        "minutes": state.answered.to_dict(state.clock()),
        **({"mismatched": found} if (found := state.mismatched.list_recent()) else {}),
        "jobs": [
            p.to_dict()
            for p in state.work.list_running()
            if AT not in p.job.corpus and p.job.kind not in ("project", "forget")
        ],
        "corpora": [
            _describe_corpus(state, ledger, corpus, snapshot.corpora[name])
            for name, corpus in corpora.items()
        ],
    }


def _count_projects(state: State) -> dict[str, int]:
    """Return how many projects are known and active, and what they hold; {} without projects."""
    projects = state.projects
    known = [each.project for each in projects.list_known()]
    reading = [each for each in known if each.root in projects.tended and projects.is_reading(each)]
    if not known:
        return {}
    return {
        "known": len(known),
        "in_step": len(projects.tended),
        "reading": len(reading),
        "items": sum(each.n_artifacts for each in state.snapshot.parts.values()),
    }


def _advise_graphs(state: State, snapshot: Snapshot) -> dict[str, str]:
    """Return how answers can be made faster, and the command for it; {} if nothing is known."""
    above = state.options.hnsw_above
    large = [
        f"{name} ({index.n_embedded:,} vectors)"
        for name, index in snapshot.corpora.items()
        if lacks_graph(index.dense, above)
    ]
    if not large:
        return {}
    from irclient.installation import make_extra_command  # imports importlib.metadata

    return {
        "message": f"a graph would answer faster in {', '.join(large)}: the extra graph (hnswlib,"
        " for which a C++ compiler and Python's headers are needed) is not installed",
        "hint": make_extra_command("graph"),
    }


def judge_state(state: State, ledger: Ledger) -> Health:
    """Judge the health of every corpus by the observed changes and the finished jobs."""
    corpora, snapshot, _ = state.served
    facts = tuple(
        _gather_facts(state, ledger, corpus, snapshot.corpora[name])
        for name, corpus in corpora.items()
    )
    return judge_health(facts, state.host.judge_health(), state.options.policy, state.clock())


def describe_corpus_info(state: State, ledger: Ledger, name: str) -> dict[str, Any]:
    """Return the status of a corpus with the filters it supports. Raises NotFound."""
    corpora, snapshot, _ = state.served
    corpus, index = get_known(name, corpora), snapshot.corpora[name]
    return {
        **_describe_corpus(state, ledger, corpus, index),
        "embedder": corpus.embedder,
        "served_by": index.embedder,
        "floors": {mode: describe_floor(floor) for mode, floor in index.floors.items()},
        "recipe": corpus.recipe,
        "fields": sorted(index.columns.list_names()),
        "surfaces": sorted({index.rows.get_kind(at) for at in index.rows.list_positions()}),
        "asset_types": index.columns.count_asset_types(),
    }


def _describe_corpus(
    state: State, ledger: Ledger, corpus: Corpus, index: CorpusIndex
) -> dict[str, Any]:
    """Return how much of a corpus is indexed, how fresh it is, and the problems of its roots."""
    rows, unembedded = index.rows, index.unembedded
    reconciled = _find_scan_time(ledger.corpora.read_state(corpus.name)[0], index)
    problems = _list_problems(state, ledger, corpus)
    target, usable = (
        state.embedders.get_embedder(corpus.embedder),
        not state.explain_no_embedder(corpus),
    )
    switching = usable and target.id != index.embedder
    waiting = unembedded
    if switching:
        waiting = rows.n_records - ledger.artifacts.count_all(corpus.name, target.id).vectors
    embedding = _name_state(reconciled is None, bool(problems), waiting)
    if (
        reconciled is None
        and corpus.reindex.on == MANUAL
        and not state.work.list_scans(corpus.name)
    ):
        embedding = "unscanned"
    return {
        "name": corpus.name,
        "kind": corpus.kind,
        "roots": [root.path for root in corpus.source.roots()],
        "artifacts": rows.n_artifacts,
        "records": rows.n_records,
        "vectors": rows.n_records - unembedded,
        "failures": ledger.failures.count(corpus.name),
        # Records just read have yet to be embedded: a sum of both would not move for the whole
        # scan.
        "pending": _count_unread(state, corpus.name) or waiting,
        "last_reconcile": reconciled,
        "heads": index.heads,
        "state": "re-embedding" if switching else embedding,
        "problems": problems,
        "skipped": _count_skipped(state, ledger, corpus.name),
        "writable": bool(corpus.managed or corpus.writable),
        "reindex": corpus.reindex.on,
        **{
            key: part
            for each in state.addons.values()
            for key, part in each.describe_corpus(index).items()
        },
    }


def _find_scan_time(stored: float | None, index: CorpusIndex) -> float | None:
    """Return when the index's last scan ended; None while a new ledger is being filled."""
    return None if stored is None else index.last_reconcile


def _count_skipped(state: State, ledger: Ledger, name: str) -> dict[str, int]:
    """Count what was skipped while reading, and what the last whole scan left out, by reason.

    The most frequent comes first.
    """
    counts = Counter(ledger.entries.count_skipped(name))
    counts.update(state.work.get_watermarks(name).left_out)
    return dict(counts.most_common())


def _list_problems(state: State, ledger: Ledger, corpus: Corpus) -> list[dict[str, str]]:
    """Return the parts of a corpus that could not be scanned, embedded or stored."""
    found = [
        (problem.path, problem.reason) for problem in ledger.corpora.read_state(corpus.name)[1]
    ]
    if missing := state.explain_no_embedder(corpus):
        found.append((corpus.embedder, missing))
    problem = state.retries.problem
    if problem and state.retries.count_paths(corpus.name, by_ledger=True):
        found.append((ledger.path, problem.error))
    return [{"path": path, "reason": reason} for path, reason in found]


def _count_unread(state: State, name: str) -> int:
    """Count the entries of a corpus still to be read, and the paths of scans to be retried."""
    scans = (p for p in state.work.list_running() if p.job.is_scan_of(name))
    return sum(scan.todo - scan.done for scan in scans) + state.retries.count_paths(name)


def _describe_ledger(state: State, ledger: Ledger) -> dict[str, Any]:
    """Return the ledger's path, why it cannot be written, and what was done with a damaged one."""
    problem, corruption = state.retries.problem, state.corruption
    return {
        "path": ledger.path,
        "format": ledger.format,
        "problem": asdict(problem) if problem else None,
        "rebuilt": asdict(corruption) if corruption else None,
        "set_aside": list_set_aside(ledger.path),
    }


def _gather_facts(state: State, ledger: Ledger, corpus: Corpus, index: CorpusIndex) -> Facts:
    """Return the facts by which the health of a corpus is judged."""
    stored, problems = ledger.corpora.read_state(corpus.name)
    return Facts(
        name=corpus.name,
        roots={real: path for path, real in corpus.resolve_roots().items()},
        watermarks=state.work.get_watermarks(corpus.name),
        scanned_at=_find_scan_time(stored, index),
        problems=problems,
        failures=tuple(ledger.failures.list_all(corpus.name, _QUARANTINED_SHOWN)),
        missing=state.explain_no_embedder(corpus),
        overlong=_count_overlong(ledger, corpus),
        reindex=corpus.reindex,
    )


def _count_overlong(ledger: Ledger, corpus: Corpus) -> int:
    """Count the overlong lines that a source which reads lines has skipped."""
    reads_lines = "max_line_bytes" in getattr(corpus.source, "limits", ())
    return ledger.entries.count_skipped(corpus.name).get("oversized_line", 0) if reads_lines else 0


def describe_floor(floor: Floor) -> dict[str, Any]:
    """Return a floor as plain data."""
    names = ("at_least", "j", "n_inside", "n_outside", "labelled", "calibrated_at")
    return {**{name: getattr(floor, name) for name in names}, "applied": is_trusted(floor)}


def list_artifacts(ledger: Ledger, wanted: ArtifactPage) -> list[dict[str, Any]]:
    """Return a page of the artifacts: where each is, and since when its version is indexed."""
    if not 1 <= wanted.limit <= MOST_LISTED:
        raise QueryError(
            f"limit must be 1 to {MOST_LISTED:,}, not {wanted.limit}",
            "ask for the next page with `after`",
        )
    if any(wanted.after) and not all(wanted.after):
        given = "/".join(filter(None, wanted.after))
        raise QueryError(
            f"after must be CORPUS/ID, not {given!r}", "give the last reference of the page before"
        )
    return name_artifacts(ledger.artifacts.list_page(wanted))


def name_artifacts(rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return rows of artifacts as dicts with column names."""
    names = ("corpus", "artifact_id", "name", "pointer", "indexed_at", "asset_type")
    return [dict(zip(names, row, strict=True)) for row in rows]


def list_failures(ledger: Ledger, corpus: str | None) -> list[dict[str, Any]]:
    """Return the entries that could not be read, of one corpus or of all, oldest first."""
    return [
        {
            "corpus": failure.corpus,
            "path": failure.path,
            "reason": failure.reason,
            "since": failure.since,
            "tries": failure.tries,
        }
        for failure in ledger.failures.list_all(corpus)
        if corpus or AT not in failure.corpus
    ]


def list_secrets(ledger: Ledger, corpus: str | None) -> list[dict[str, Any]]:
    """Return where secrets were found, in one corpus or in all: corpus, path, line and kind."""
    found = ledger.secrets.list_all(corpus)
    return [each.to_dict() for each in found if corpus or AT not in each.corpus]


def _name_state(building: bool, degraded: bool, waiting: int) -> str:
    if building:
        return "building"
    if degraded:
        return "degraded"
    return "embedding" if waiting else "ready"
