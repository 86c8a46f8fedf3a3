"""The operations about projects: the one at a place, the known ones, and what is read for them.

They are this user's own: no other client may call them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from irclient.errors import NotFound, QueryError, Unavailable
from irclient.results import Here, ProjectRow, ReadDirectory
from irdaemon.engine import Engine
from irdaemon.engine.project_parts import PACKAGES
from irdaemon.engine.projects import ADDED, list_upward
from irdaemon.engine.queue import Job
from irdaemon.ledger import KnownProject, Ledger
from irdaemon.serve import access
from irdaemon.serve.operations import serves
from irdaemon.source.opening import is_within
from irdaemon.source.projects import clean_place
from irdaemon.types import Project

_LISTED_FOR_S = 90 * 86_400.0
# So long are directories of sessions looked at; the most recent ones come first.
_LOOKED_AT_S, _MOST_LOOKED_AT = 2.0, 200
_FORGOTTEN_WITHIN_S = 10.0
_SESSIONS = "sessions were held there"
_NONE_READ = "no project is read: [projects] enabled is false"


@serves("here", "slow", access.refuse_others)
def here(engine: Engine, place: str) -> Here:
    """Return the project that a place lies in, and how much of it is indexed."""
    projects = engine.state.projects
    place = clean_place(place)
    if projects.settings is None:
        return Here(reason=_NONE_READ)
    project = projects.locate(place)
    if project is None:
        return Here(reason=projects.explain(place) or "it lies in no project")
    parts, tended = projects.list_parts(project), projects.get_tended(project.root)
    with engine.state.open_reading() as ledger:
        ecosystems = ledger.artifacts.list_values(parts.get(PACKAGES, ""), "ecosystem")
    return Here(
        project=project.name,
        root=project.root,
        marks=project.marks,
        reading=projects.is_reading(project),
        ecosystems=ecosystems,
        corpora=list(_list_parts(engine, parts)),
        notes=[
            *(tended.notes if tended else ()),
            *_list_found_notes(engine, parts),
            *_list_problems(engine, parts),
        ],
        lately=projects.list_shown(project.root),
    )


def _list_parts(engine: Engine, parts: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    indexes = engine.snapshot.parts
    for corpus, name in parts.items():
        if (index := indexes.get(name)) is not None:
            yield {
                "corpus": corpus,
                "items": index.rows.n_artifacts,
                "indexed_at": index.last_reconcile,
                "reading": index.last_reconcile is None,
            }


def _list_found_notes(engine: Engine, parts: Mapping[str, str]) -> list[str]:
    """Return the notes on how the dependencies were found, as of the last scan."""
    part = engine.state.parts.get(parts.get(PACKAGES, ""))
    from irdaemon.source.dependencies import Dependencies  # only `irc here` needs its readers

    return list(part.source.notes) if part and isinstance(part.source, Dependencies) else []


def _list_problems(engine: Engine, parts: Mapping[str, str]) -> list[str]:
    """Return the entries that could not be read, and those that were refused."""
    told: list[str] = []
    with engine.state.open_reading() as ledger:
        for corpus, name in parts.items():
            _, problems = ledger.corpora.read_state(name)
            told += (f"{corpus}: {problem.path}: {problem.reason}" for problem in problems)
            if refusal := engine.state.work.get_watermarks(name).refusal:
                told.append(f"{corpus}: {refusal}")
    return told


@serves("projects", "slow", access.refuse_others)
def projects(engine: Engine, listed: bool) -> list[ProjectRow]:
    """Return the known projects; with `listed`, also those that sessions name."""
    known = engine.state.projects.list_known()
    with engine.state.open_reading() as ledger:
        rows = [_describe(engine, ledger, each) for each in known]
        since = engine.state.clock() - _LISTED_FOR_S
        places = _list_places(ledger, since) if listed else []
    return [*rows, *_list_unread(engine, places, {each.root for each in rows})]


def _describe(engine: Engine, ledger: Ledger, known: KnownProject) -> ProjectRow:
    state, project = engine.state.projects, known.project
    held = [
        name
        for name in ledger.corpora.list_names()
        if name in state.list_parts(project).values() or state.is_part(name, project)
    ]
    aside = state.get_tended(project.root) is None and (known.aside_at or known.gone_at)
    how = "put aside" if aside else "reading" if state.is_reading(project) else "read"
    return ProjectRow(
        project.root,
        project.name,
        how,
        sum(map(ledger.artifacts.count, held)),
        known.asked_at,
        f"{known.why}; not found there any more" if known.gone_at else known.why,
        sum(map(ledger.artifacts.measure, held)),
    )


def _list_places(ledger: Ledger, since: float) -> list[str]:
    """Return the directories that sessions since then were about, the last one first."""
    places: dict[str, float] = {}
    for path, stamp in ledger.projects.list_places():
        at = _read_time(stamp)
        if at >= since:
            places[path] = max(at, places.get(path, 0.0))
    return sorted(places, key=lambda path: -places[path])


def _read_time(stamp: str) -> float:
    """Return when a file was changed, by the stamp of its entry; 0 if the stamp does not tell."""
    parts = stamp.split("-")
    return int(parts[1]) / 1e9 if len(parts) > 1 and parts[1].isdigit() else 0.0


def _list_unread(engine: Engine, places: list[str], known: set[str]) -> Iterator[ProjectRow]:
    """Yield the projects of directories that are not known: nothing of them is read."""
    state, until = engine.state.projects, time.monotonic() + _LOOKED_AT_S
    if state.settings is None:
        return
    for place in places[:_MOST_LOOKED_AT]:
        if any(top in known for top in list_upward(place)) or time.monotonic() >= until:
            continue
        try:
            found = state.look(clean_place(place)).project
        except QueryError:  # it is gone
            continue
        if found and found.root not in known:
            known.add(found.root)
            yield ProjectRow(found.root, found.name, "listed", why=_SESSIONS)


@serves("add_project", "slow", access.refuse_others)
def add_project(engine: Engine, path: str) -> ProjectRow:
    """Start reading the project that a directory lies in."""
    state, place = engine.state.projects, clean_place(path)
    if state.settings is None:
        raise Unavailable(_NONE_READ, "set it to true, then irdaemon reload")
    found = state.look(place)
    if found.project is None:
        raise QueryError(
            f"{place!r:.200} lies in no project: {found.reason}",
            "add .git or a manifest there, or list a directory above it in [projects] roots",
        )
    known = state.register(found.project, ADDED)
    with engine.state.open_reading() as ledger:
        return _describe(engine, ledger, known)


@serves("forget_project", "slow", access.refuse_others)
def forget_project(engine: Engine, path: str) -> ProjectRow:
    """Forget all the data of a project; return a description of it."""
    state, place = engine.state, clean_place(path)
    found = (known for top in list_upward(place) if (known := state.projects.get(top)))
    if (known := next(found, None)) is None:
        raise NotFound(f"no project is known at {place!r:.200}", "irc projects lists them")
    with state.open_reading() as ledger:
        row = _describe(engine, ledger, known)
    job = state.request(Job("forget", known.project.root))
    if not state.host.writes:
        engine.drain()
    state.work.wait_until(lambda: state.work.progress(job).ended, _FORGOTTEN_WITHIN_S)
    return row


@serves("reads", "slow", access.refuse_others)
def reads(engine: Engine) -> list[ReadDirectory]:
    """Return every directory that is read, why, since when, and what ends it."""
    rows = [
        ReadDirectory(root.path, "", f"corpus {name}", 0.0, f"irc rm {name}")
        for name, corpus in engine.corpora.items()
        for root in corpus.source.roots()
    ]
    with engine.state.open_reading() as ledger:
        for known in engine.state.projects.list_known():
            rows += _list_read(engine, ledger, known)
    return list(dict.fromkeys(rows))


def _list_read(engine: Engine, ledger: Ledger, known: KnownProject) -> Iterator[ReadDirectory]:
    project, state = known.project, engine.state
    for corpus, name in state.projects.list_parts(project).items():
        if (part := state.parts.get(name)) is None:
            continue
        roots = [root.path for root in part.source.roots()]
        outside = _list_outside(ledger, name, project) if corpus == PACKAGES else ()
        how_to_end = f"irc projects forget {quote(project.root)}"
        for path in (*roots, *outside):
            why = f"{corpus} of {project.name}, {known.why}"
            yield ReadDirectory(path, project.name, why, known.since, how_to_end)


def _list_outside(ledger: Ledger, name: str, project: Project) -> list[str]:
    """Return the directories of installed packages that lie outside a project."""
    pointers = (pointer for *_, pointer, _ in ledger.artifacts.list_all([name]) if pointer)
    outside = [path for path in pointers if not is_within(path, project.root)]
    return sorted({os.path.dirname(path) for path in outside})
