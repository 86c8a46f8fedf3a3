"""Health: whether the index gets anywhere, judged by progress and not by a heartbeat.

A corpus is `dark` where a root cannot be seen, `stale` where what was seen is not indexed in time,
else `ok`. One pure function from facts to a judgement; who gathers the facts is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from irclient.types import Plain
from irdaemon.engine.lag import Standing
from irdaemon.ledger import Failure
from irdaemon.source.tree import at_or_under
from irdaemon.types import Problem, RootWatch

Level = Literal["ok", "stale", "dark"]
# From best to worst.
LEVELS: tuple[Level, ...] = ("ok", "stale", "dark")
# The supervisor watches new roots once a second; a large tree takes longer.
_WATCHED_WITHIN_S = 60.0
# How long a crowd of changes is worth a line.
_CROWDED_FOR_S = 3600.0
_KINDS = {"reconcile": "look", "embed": "embedding", "calibrate": "calibration"}


@dataclass(frozen=True, slots=True)
class Policy:
    """How many seconds a change may wait, and how often whole looks are due (0: never)."""

    stale_s: float = 600.0
    look_every_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one corpus: where it stands, and what the ledger says of it.

    `roots` are its roots by their real paths. `looked_at` is when the last whole look ended,
    `missing` why its embedder cannot be used, and `overlong` how many lines were passed over.
    """

    name: str
    roots: Mapping[str, str]
    standing: Standing
    looked_at: float | None = None
    problems: tuple[Problem, ...] = ()
    failures: tuple[Failure, ...] = ()
    missing: str = ""
    overlong: int = 0


@dataclass(frozen=True, slots=True)
class Vitals:
    """What a process knows of itself: its watches, None where nobody watches.

    `stuck` says which threads get nowhere, `limits` which limits bite.
    """

    watched: tuple[RootWatch, ...] | None = None
    stuck: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place(Plain):
    """A root, and why it is not seen or only now and then."""

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
    """How one corpus is; times are Unix seconds, None before the first.

    `changed_at` against `indexed_at` says whether every change that was seen is served;
    `waiting_s` is the age of the oldest look that waits or runs. `dark` are the roots that nobody
    sees, `polled` those without events, `stale` why it is behind, `late` the changes that the last
    routine look found and no event had told of, `quarantined` the entries that failed longest ago.
    """

    name: str
    level: Level
    changed_at: float | None
    indexed_at: float | None
    looked_at: float | None
    embedded_at: float | None
    waiting_s: float
    dark: tuple[Place, ...]
    polled: tuple[Place, ...]
    stale: tuple[str, ...]
    late: int
    quarantined: tuple[Quarantined, ...]


@dataclass(frozen=True, slots=True)
class Health(Plain):
    """How everything is: the worst level of all, the corpora, and what troubles the process."""

    level: Level
    corpora: tuple[CorpusHealth, ...]
    stuck: tuple[str, ...]
    limits: tuple[str, ...]

    def sentence(self) -> str:
        """Return a line that says how it is, and the first reason where that is not well."""
        reasons = [
            *self.stuck,
            *(f"{c.name}: {place.path}: {place.reason}" for c in self.corpora for place in c.dark),
            *(f"{c.name}: {reason}" for c in self.corpora for reason in c.stale),
        ]
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"{self.level}: {reasons[0]}{more}" if reasons else self.level


def health(corpora: tuple[Facts, ...], vitals: Vitals, policy: Policy, now: float) -> Health:
    """Judge by the facts how every corpus is, at a time in Unix seconds."""
    judged = tuple(_of_corpus(facts, vitals, policy, now) for facts in corpora)
    limits = (*vitals.limits, *(said for facts in corpora for said in _limits(facts, now)))
    worst = max([0, int(bool(vitals.stuck)), *(LEVELS.index(each.level) for each in judged)])
    return Health(LEVELS[worst], judged, vitals.stuck, limits)


def _of_corpus(facts: Facts, vitals: Vitals, policy: Policy, now: float) -> CorpusHealth:
    standing = facts.standing
    dark = tuple(_dark(facts, vitals, now))
    stale = tuple(_stale(facts, policy, now))
    waiting_s = now - standing.waiting_since if standing.waiting_since is not None else 0.0
    return CorpusHealth(
        name=facts.name,
        level="dark" if dark else "stale" if stale else "ok",
        changed_at=standing.changed_at,
        indexed_at=standing.indexed_at,
        looked_at=facts.looked_at,
        embedded_at=standing.embedded_at,
        waiting_s=round(max(0.0, waiting_s), 1),
        dark=dark,
        polled=tuple(
            Place(watch.path, watch.reason)
            for watch in _watches(facts, vitals)
            if watch.mode == "polling"
        ),
        stale=stale,
        late=standing.late,
        quarantined=tuple(Quarantined(f.path, f.reason, f.since, f.tries) for f in facts.failures),
    )


def _watches(facts: Facts, vitals: Vitals) -> Iterator[RootWatch]:
    for watch in vitals.watched or ():
        if any(at_or_under(watch.path, root) for root in facts.roots):
            yield watch


def _dark(facts: Facts, vitals: Vitals, now: float) -> Iterator[Place]:
    """Yield the roots that nobody sees: they cannot be looked at, or nobody watches them."""
    roots = facts.roots
    unseen = {
        roots.get(problem.path, problem.path): problem.reason
        for problem in facts.problems
        if not roots or problem.path in roots or problem.path in roots.values()
    }
    for watch in _watches(facts, vitals):
        if watch.mode == "missing":
            unseen.setdefault(roots.get(watch.path, watch.path), watch.reason)
    settled = facts.looked_at is not None and now - facts.looked_at > _WATCHED_WITHIN_S
    if vitals.watched is not None and settled:
        watched = {watch.path for watch in vitals.watched}
        for path in roots.keys() - watched:
            unseen.setdefault(roots[path], "nobody watches it")
    yield from (Place(path, reason) for path, reason in sorted(unseen.items()))


def _stale(facts: Facts, policy: Policy, now: float) -> Iterator[str]:
    """Yield why a corpus is behind what its source has."""
    standing = facts.standing
    if standing.waiting_since is not None and now - standing.waiting_since > policy.stale_s:
        yield f"changes wait to be indexed since {lasting(now - standing.waiting_since)}"
    for fault in standing.faults:
        yield f"the last {_KINDS.get(fault.kind, fault.kind)} failed: {fault.reason}"
    if facts.missing:
        yield f"nothing is embedded: {facts.missing}"
    due = policy.look_every_s and 2 * policy.look_every_s + policy.stale_s
    if due and facts.looked_at is not None and now - facts.looked_at > due:
        yield f"the last whole look ended {lasting(now - facts.looked_at)} ago"
    if standing.refused:
        yield f"{standing.refused:,} new entries are not taken in: {standing.refusal}"
    if standing.late:
        yield (
            f"{standing.late:,} changes were found that no event had told of;"
            " the watches were set anew"
        )


def _limits(facts: Facts, now: float) -> Iterator[str]:
    """Yield which limits bite a corpus."""
    standing = facts.standing
    if standing.refused:
        yield f"{facts.name}: {standing.refusal}"
    if standing.crowded_at is not None and now - standing.crowded_at < _CROWDED_FOR_S:
        yield f"{facts.name}: one look stood for more changed paths than may wait (queued_paths)"
    if facts.overlong:
        yield f"{facts.name}: {facts.overlong:,} lines were too long to be read (line_bytes)"


def lasting(seconds: float) -> str:
    """Return a duration in the words of its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
