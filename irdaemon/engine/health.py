"""Health: whether the index keeps up, judged by progress and not by a heartbeat.

A corpus is `offline` if a root cannot be seen, `stale` if changes are not indexed in time, else
`ok`. One pure function judges from facts; `status` gathers the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from irclient.counts import format_count, format_largest_unit
from irclient.types import Plain
from irdaemon.config.reindex import INTERVAL, MANUAL, Reindex
from irdaemon.engine.queue import Watermarks
from irdaemon.ledger import Failure
from irdaemon.source.opening import is_within
from irdaemon.types import Problem, RootWatch

Level = Literal["ok", "stale", "offline"]
# From best to worst.
LEVELS: tuple[Level, ...] = ("ok", "stale", "offline")
# The supervisor checks for new roots once a second; a large tree takes longer.
_WATCHED_WITHIN_S = 60.0
# A scan that replaced too many changed paths is reported this long.
_COLLAPSED_FOR_S = 3600.0
_KINDS = {"reconcile": "scan", "embed": "embedding", "calibrate": "calibration"}


@dataclass(frozen=True, slots=True)
class Policy:
    """How many seconds a change may wait, and how often whole scans are due (0: never).

    A scan at an interval may wait `put_off_s` longer, for the quiet hours.
    """

    stale_s: float = 600.0
    scan_every_s: float = 0.0
    put_off_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about one corpus: its watermarks, and its state in the ledger.

    `roots` are its roots by their real paths. `scanned_at` is when the last whole scan ended,
    `missing` why its embedder cannot be used, and `overlong` how many lines were skipped as too
    long. `reindex` is what triggers its scans: only a corpus that follows changes must be watched.
    """

    name: str
    roots: Mapping[str, str]
    watermarks: Watermarks
    scanned_at: float | None = None
    problems: tuple[Problem, ...] = ()
    failures: tuple[Failure, ...] = ()
    missing: str = ""
    overlong: int = 0
    reindex: Reindex = field(default_factory=Reindex)


@dataclass(frozen=True, slots=True)
class ProcessHealth:
    """The health of the process, with its watches (None without a watcher).

    `stuck` names the threads that make no progress, `limits` the exceeded limits; `refused` is
    whether the configuration file cannot be used, so that the previous one stays in effect.
    """

    watched: tuple[RootWatch, ...] | None = None
    stuck: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True)
class UnwatchedRoot(Plain):
    """A root without events, and why it is offline or only polled."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Quarantined(Plain):
    """An entry that could not be read: why, since when, and how often it was tried."""

    path: str
    reason: str
    since: float
    tries: int


@dataclass(frozen=True, slots=True)
class CorpusHealth(Plain):
    """The health of one corpus; times are Unix seconds, None before the first.

    `changed_at` against `indexed_at` shows whether every observed change is served; `waiting_s` is
    the age of the oldest waiting or running scan. `offline` are the roots that cannot be seen,
    `polled` those without events, `stale` why it is behind, `missed_events` the number of changes
    that the last routine scan found without an event, `quarantined` the entries that have failed
    for the longest time.
    """

    name: str
    level: Level
    changed_at: float | None = None
    indexed_at: float | None = None
    scanned_at: float | None = None
    embedded_at: float | None = None
    waiting_s: float = 0.0
    offline: tuple[UnwatchedRoot, ...] = ()
    polled: tuple[UnwatchedRoot, ...] = ()
    stale: tuple[str, ...] = ()
    missed_events: int = 0
    quarantined: tuple[Quarantined, ...] = ()


@dataclass(frozen=True, slots=True)
class Health(Plain):
    """The overall health: the worst level of all, the corpora, and the problems of the process."""

    level: Level
    corpora: tuple[CorpusHealth, ...]
    stuck: tuple[str, ...]
    limits: tuple[str, ...]

    def format_line(self) -> str:
        """Return one line: the level, and the first reason if it is not ok."""
        reasons = [
            *self.stuck,
            *(f"{c.name}: {root.path}: {root.reason}" for c in self.corpora for root in c.offline),
            *(f"{c.name}: {reason}" for c in self.corpora for reason in c.stale),
        ]
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"{self.level}: {reasons[0]}{more}" if reasons else self.level


def judge_health(
    corpora: tuple[Facts, ...], process: ProcessHealth, policy: Policy, now: float
) -> Health:
    """Judge the health of every corpus from facts, at a time in Unix seconds."""
    judged = tuple(_judge_corpus(facts, process, policy, now) for facts in corpora)
    limits = (*process.limits, *(line for facts in corpora for line in _list_limits(facts, now)))
    behind = bool(process.stuck) or process.refused
    worst = max([0, int(behind), *(LEVELS.index(each.level) for each in judged)])
    return Health(LEVELS[worst], judged, process.stuck, limits)


def _judge_corpus(facts: Facts, process: ProcessHealth, policy: Policy, now: float) -> CorpusHealth:
    marks = facts.watermarks
    offline = tuple(_find_offline(facts, process, now))
    stale = tuple(_explain_stale(facts, policy, now))
    waiting_s = now - marks.waiting_since if marks.waiting_since is not None else 0.0
    return CorpusHealth(
        name=facts.name,
        level="offline" if offline else "stale" if stale else "ok",
        changed_at=marks.changed_at,
        indexed_at=marks.indexed_at,
        scanned_at=facts.scanned_at,
        embedded_at=marks.embedded_at,
        waiting_s=round(max(0.0, waiting_s), 1),
        offline=offline,
        polled=tuple(
            UnwatchedRoot(watch.path, watch.reason)
            for watch in _find_unwatched(facts, process)
            if watch.mode == "polling"
        ),
        stale=stale,
        missed_events=marks.missed_events,
        quarantined=tuple(Quarantined(f.path, f.reason, f.since, f.tries) for f in facts.failures),
    )


def _find_unwatched(facts: Facts, process: ProcessHealth) -> Iterator[RootWatch]:
    for watch in process.watched or ():
        if any(is_within(watch.path, root) for root in facts.roots):
            yield watch


def _find_offline(facts: Facts, process: ProcessHealth, now: float) -> Iterator[UnwatchedRoot]:
    """Yield the roots whose changes are not seen: they cannot be scanned, or are not watched."""
    roots = facts.roots
    unseen = {
        roots.get(problem.path, problem.path): problem.reason
        for problem in facts.problems
        if not roots or problem.path in roots or problem.path in roots.values()
    }
    for watch in _find_unwatched(facts, process):
        # The watches of a project that lies in a root may come and go.
        of_corpus = watch.path in roots and facts.reindex.follows_changes
        if watch.mode == "missing" and of_corpus:
            unseen.setdefault(roots.get(watch.path, watch.path), watch.reason)
    settled = facts.scanned_at is not None and now - facts.scanned_at > _WATCHED_WITHIN_S
    if process.watched is not None and settled and facts.reindex.follows_changes:
        watched = {watch.path for watch in process.watched}
        for path in roots.keys() - watched:
            unseen.setdefault(roots[path], "it is not watched")
    yield from (UnwatchedRoot(path, reason) for path, reason in sorted(unseen.items()))


def _explain_stale(facts: Facts, policy: Policy, now: float) -> Iterator[str]:
    """Yield why a corpus is behind its source."""
    marks = facts.watermarks
    if marks.waiting_since is not None and now - marks.waiting_since > policy.stale_s:
        yield f"changes wait to be indexed since {format_largest_unit(now - marks.waiting_since)}"
    for job in marks.failed_jobs:
        yield f"the last {_KINDS.get(job.kind, job.kind)} failed: {job.reason}"
    if facts.missing:
        yield f"nothing is embedded: {facts.missing}"
    due = _find_overdue(facts.reindex, policy)
    if due and facts.scanned_at is not None and now - facts.scanned_at > due:
        yield f"the last whole scan ended {format_largest_unit(now - facts.scanned_at)} ago"
    if marks.refused:
        yield f"{format_count(marks.refused, 'new entry', 'is')} not taken in: {marks.refusal}"
    if marks.missed_events:
        yield (
            f"{format_count(marks.missed_events, 'change', 'was')} found that no event had"
            " reported; the watches were set again"
        )


def _find_overdue(reindex: Reindex, policy: Policy) -> float:
    """Return after how many seconds the next whole scan is overdue; 0 for never."""
    if reindex.on == MANUAL:
        return 0.0
    if reindex.on == INTERVAL:
        return 2 * reindex.every_s + policy.put_off_s + policy.stale_s
    return policy.scan_every_s and 2 * policy.scan_every_s + policy.stale_s


def _list_limits(facts: Facts, now: float) -> Iterator[str]:
    """Yield which limits a corpus exceeds."""
    marks = facts.watermarks
    if marks.refused:
        yield f"{facts.name}: {marks.refusal}"
    if marks.collapsed_at is not None and now - marks.collapsed_at < _COLLAPSED_FOR_S:
        yield f"{facts.name}: one scan stood for more changed paths than may wait (queued_paths)"
    if facts.overlong:
        long = format_count(facts.overlong, "line", "was")
        yield f"{facts.name}: {long} too long to be read (line_bytes)"
