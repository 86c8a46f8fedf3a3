"""Projects that are known: where each lies, how it became known, when it was last asked from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from irdaemon.ledger.rows import make_storable
from irdaemon.ledger.store import Store
from irdaemon.types import Project


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project that is known, and why; times are Unix seconds, 0 for never.

    `since` is when it became known, `asked_at` when something was last asked from it, `aside_at`
    when it was put aside because others were asked from more, and `gone_at` when it was first
    not found where it was.
    """

    project: Project
    why: str
    since: float
    asked_at: float = 0.0
    aside_at: float = 0.0
    gone_at: float = 0.0


class KnownProjects:
    """Keep a row for each project that is known, by its root."""

    def __init__(self, store: Store):
        self._store = store

    def list_all(self) -> list[KnownProject]:
        """Return the projects that are known, the one that was last asked from first."""
        rows = self._store.all(
            "SELECT root, name, marks, why, since, asked_at, aside_at, gone_at"
            " FROM known_projects ORDER BY asked_at DESC, root"
        )
        return [
            KnownProject(Project(root, name, tuple(json.loads(marks))), *rest)
            for root, name, marks, *rest in rows
        ]

    def put(self, known: KnownProject) -> bool:
        """Keep a project, in place of what was kept of it; return whether its root can be kept."""
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

    def note_asked(self, asked: Mapping[str, float]) -> None:
        """Note when something was last asked from projects, by their roots."""
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
