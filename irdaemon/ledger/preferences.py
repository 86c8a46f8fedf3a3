"""Muted and pinned items, faded items, and the counts of moments."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from irdaemon.ledger.rows import make_storable
from irdaemon.ledger.store import Store
from irdaemon.types import Project

MUTE, PIN = "mute", "pin"
KEPT_DAYS = 90
_DAY_S = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class Preference:
    """A person's wish never to see an item (`mute`) or to see it first (`pin`), and since when.

    `corpus` is the one in references, also for a project's part of it. It applies at and below
    `root`, "" for everywhere. `name` is what the item was called then.
    """

    corpus: str
    artifact_id: str
    root: str
    name: str
    verdict: str
    at: float


@dataclass(frozen=True, slots=True)
class Fading:
    """The results of offering an item since a time (Unix seconds), with its present content.

    `sessions` counts those that were offered it in vain, 0 if it has not faded; `best_score` is its
    best score in those offers.
    """

    corpus: str
    artifact_id: str
    content: str
    since: float
    sessions: int = 0
    best_score: float = 0.0


# (agent, moment, what came of it)
Counted = tuple[str, str, str]


class Preferences:
    """Keep preferences, fading and counts; they outlive their corpus."""

    def __init__(self, store: Store):
        self._store = store

    def list_all(self) -> list[Preference]:
        """Return every preference, the newest first."""
        rows = self._store.fetch_all(
            "SELECT corpus, artifact_id, root, name, verdict, at FROM preferences"
            " ORDER BY at DESC, corpus, artifact_id, root"
        )
        return [Preference(*row) for row in rows]

    def put(self, preference: Preference) -> None:
        """Store a preference in place of another for the same item and root."""
        self._store.write(
            "INSERT OR REPLACE INTO preferences VALUES (?, ?, ?, ?, ?, ?)",
            (
                preference.corpus,
                make_storable(preference.artifact_id),
                make_storable(preference.root),
                make_storable(preference.name),
                preference.verdict,
                preference.at,
            ),
        )

    def forget(self, preference: Preference) -> None:
        """Drop the preference for an item and root."""
        with self._store.transaction():
            self._store.note_forgotten()
            self._store.run(
                "DELETE FROM preferences WHERE corpus = ? AND artifact_id = ? AND root = ?",
                (preference.corpus, preference.artifact_id, preference.root),
            )

    def list_fading(self) -> list[Fading]:
        """Return the offer results of every item that has ever faded."""
        rows = self._store.fetch_all(
            "SELECT corpus, artifact_id, content, since, sessions, evidence FROM fading"
            " ORDER BY sessions DESC, corpus, artifact_id"
        )
        return [Fading(*row) for row in rows]

    def put_fading(self, changed: Iterable[Fading]) -> None:
        """Store offer results in place of earlier ones of the same items."""
        self._store.write_many(
            "INSERT OR REPLACE INTO fading VALUES (?, ?, ?, ?, ?, ?)",
            [
                (f.corpus, f.artifact_id, f.content, f.since, f.sessions, f.best_score)
                for f in changed
            ],
        )

    def forget_fading(self, items: Iterable[tuple[str, str]]) -> None:
        """Forget that items faded."""
        self._store.write_many(
            "DELETE FROM fading WHERE corpus = ? AND artifact_id = ?", list(items)
        )

    def add_counts(self, counts: Mapping[Counted, int], at: float) -> None:
        """Add to the counts of a day (UTC), and drop those older than 90 days."""
        day, oldest = (
            time.strftime("%Y-%m-%d", time.gmtime(each)) for each in (at, at - KEPT_DAYS * _DAY_S)
        )
        with self._store.transaction():
            self._store.run("DELETE FROM moment_counts WHERE day < ?", (oldest,))
            self._store.run_many(
                "INSERT INTO moment_counts VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET n = n + excluded.n",
                [(day, *counted, n) for counted, n in counts.items()],
            )

    def sum_counts(self) -> dict[Counted, int]:
        """Return the counts of all days that are kept."""
        rows = self._store.fetch_all(
            "SELECT agent, moment, outcome, sum(n) FROM moment_counts"
            " GROUP BY agent, moment, outcome ORDER BY moment, agent, outcome"
        )
        return {(agent, moment, outcome): n for agent, moment, outcome, n in rows}


# Known projects: the root of each, how it became known, when it last sent a query.


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A known project, and why it is known; times are Unix seconds, 0 for never.

    `since` is when it became known, `asked_at` when it last sent a query, `aside_at` when it was
    put aside in favour of busier projects, and `gone_at` when it was first missing.
    """

    project: Project
    why: str
    since: float
    asked_at: float = 0.0
    aside_at: float = 0.0
    gone_at: float = 0.0


class KnownProjects:
    """Keep a row for each known project, by its root."""

    def __init__(self, store: Store):
        self._store = store

    def list_all(self) -> list[KnownProject]:
        """Return the known projects, the most recently active first."""
        rows = self._store.fetch_all(
            "SELECT root, name, marks, why, since, asked_at, aside_at, gone_at"
            " FROM known_projects ORDER BY asked_at DESC, root"
        )
        return [
            KnownProject(Project(root, name, tuple(json.loads(marks))), *rest)
            for root, name, marks, *rest in rows
        ]

    def put(self, known: KnownProject) -> bool:
        """Store a project in place of its old row; return whether its root can be stored."""
        project = known.project
        if make_storable(project.root) != project.root:
            return False
        self._store.write(
            "INSERT OR REPLACE INTO known_projects VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                project.root,
                make_storable(project.name),
                json.dumps([make_storable(mark) for mark in project.marks]),
                known.why,
                known.since,
                known.asked_at,
                known.aside_at,
                known.gone_at,
            ),
        )
        return True

    def record_queries(self, asked: Mapping[str, float]) -> None:
        """Record when projects last sent a query, by their roots."""
        if asked:
            self._store.write_many(
                "UPDATE known_projects SET asked_at = max(asked_at, ?) WHERE root = ?",
                [(at, root) for root, at in asked.items()],
            )

    def forget(self, root: str) -> None:
        """Drop the row of the project at a root."""
        with self._store.transaction():
            self._store.note_forgotten()
            self._store.run("DELETE FROM known_projects WHERE root = ?", (root,))
