"""The parts of projects: made, updated, put aside and forgotten, all by the writer.

When a query comes from a project, the project is updated: its places are looked for, each kind
becomes a part, and unread parts are scanned, those that agents need first. At most `max_projects`
are active; the rows of a project that is put aside stay for a month.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from irclient.counts import format_count
from irdaemon.config.corpus import Corpus, make_part
from irdaemon.config.sections import Config, CorpusConfig, ProjectsConfig
from irdaemon.engine.due import request_calibration
from irdaemon.engine.projects import Tended, is_part_of, name_part
from irdaemon.engine.publish import JobContext, Publisher
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.ingest.scan import MARKER, OptOuts, ScanRequest
from irdaemon.ledger import KnownProject
from irdaemon.source import projects
from irdaemon.source.locate_project import find_remote, read_mounts, resolve_place
from irdaemon.source.opening import is_within
from irdaemon.source.projects import find_agent_roots, locate_project
from irdaemon.source.tree import find_inside, resolve_root
from irdaemon.types import Project, Root

# They are read in this order.
AGENT_KINDS = ("skills", "agents", "commands", "rules")
PACKAGES, DOCS = "packages", "docs"
_MONTH_S = 30 * 86_400.0
# A part that was scanned longer ago than this is scanned again at the next query.
_SCANNED_EVERY_S = 300.0
_FLUSHED_EVERY_S, _SWEPT_EVERY_S = 60.0, 900.0
_MOST_WATCHED = 300
_MOST_FILES = 50
# The files in which dependencies are declared and locked.
_MANIFESTS = frozenset(
    """package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml
    yarn.lock pyproject.toml setup.py setup.cfg uv.lock poetry.lock pdm.lock Pipfile Pipfile.lock
    Cargo.toml Cargo.lock go.mod go.sum go.work""".split()
)
# The files that an installation writes last.
_INSTALLED = ("node_modules/.package-lock.json", "node_modules/.modules.yaml", ".venv/pyvenv.cfg")


def tend_project(context: JobContext) -> str:
    """Update the parts of a project from its places, and request their scans."""
    state, root = context.state, context.job.corpus
    projects = state.projects
    projects.look_again(root)
    known, config = projects.get(root), projects.config
    if known is None:
        return "it is not known"
    if config is None or projects.settings is None:
        context.publisher.put_aside(root)
        return "no project is read"
    config = replace(config, projects=_resolve_ignored(config.projects))
    if _is_left_out(root, config.projects):
        forget_project(state, context.publisher, root)
        return "it is not to be read: what was held of it is forgotten"
    located = locate_project(root, projects.make_rules())
    found = located.project
    if found is not None and found.root == root:
        known = replace(known, project=found)
    elif not _is_there(known.project):
        context.publisher.put_aside(root)
        _keep(state, replace(known, gone_at=known.gone_at or state.clock()))
        return "it is not there any more"
    elif found or (located.reason and not located.failed):  # e.g. others may write there by now
        forget_project(state, context.publisher, root)
        return f"no longer a project: {located.reason or 'it belongs to another'}"
    _make_room(context, root, config.projects.max_projects)
    _keep(state, replace(known, aside_at=0.0, gone_at=0.0))
    return _bring_in_step(context, known.project, config)


def _resolve_ignored(settings: ProjectsConfig) -> ProjectsConfig:
    """Return settings that also ignore the local targets of links in `ignore`."""
    mounts = read_mounts() or ()
    found = list(settings.ignore)
    for path in settings.ignore:
        with contextlib.suppress(OSError):
            found.append(resolve_place(path, lambda here: bool(find_remote(here, mounts)))[0])
    return replace(settings, ignore=tuple(dict.fromkeys(found)))


def _is_left_out(root: str, settings: ProjectsConfig) -> bool:
    return OptOuts().covers(root) or any(is_within(root, top) for top in settings.ignore)


def _is_there(project: Project) -> bool:
    """Return whether a project's marks still exist, even if a hurried look missed them."""
    return any(os.path.lexists(os.path.join(project.root, mark)) for mark in project.marks)


def _keep(state: State, known: KnownProject) -> None:
    held = {each.project.root: each for each in state.ledger.known_projects.list_all()}
    before = held.get(known.project.root)
    # The time of the last query is stored once a minute.
    if before is None or replace(before, asked_at=known.asked_at) != known:
        state.ledger.known_projects.put(known)
    state.projects.keep(known)


def _make_room(context: JobContext, root: str, most: int) -> None:
    """Put aside the least recently queried projects, so that one more can be active."""
    state, projects = context.state, context.state.projects
    others = [each for each in projects.list_known() if each.project.root != root]
    in_step = [each for each in others if projects.get_tended(each.project.root)]
    for each in in_step[max(0, most - 1) :]:
        context.publisher.put_aside(each.project.root)
        _keep(state, replace(each, aside_at=state.clock()))


def _bring_in_step(context: JobContext, project: Project, config: Config) -> str:
    state, projects, root = context.state, context.state.projects, project.root
    is_first = projects.get_tended(root) is None
    before = {name: state.parts[name] for name in projects.list_parts(project).values()}
    corpora = list(_make_parts(project, projects.find_last_place(root), config, before))
    if is_first or {each.name: each for each in corpora} != before:
        context.publisher.set_parts(root, corpora)
    note_watched(state, project)
    if is_first:
        _rescan_found(state, root)
    for corpus in corpora:
        scanned_at = state.snapshot.get_index(corpus.name).last_reconcile
        old = scanned_at is None or not 0 <= state.clock() - scanned_at < _SCANNED_EVERY_S
        if old or is_first or before.get(corpus.name) is not corpus:
            state.request(Job("reconcile", corpus.name, early=True))
        request_calibration(state, corpus)  # the person's own corpora may have changed
    return f"{project.name}: {format_count(len(corpora), 'part')}"


def _make_parts(
    project: Project, place: str, config: Config, before: dict[str, Corpus]
) -> Iterator[Corpus]:
    """Make the parts of a project; a part whose places are unchanged is the same object."""
    own = {each.name: each for each in config.corpora}
    agents = [each for each in before.values() if each.part_of in AGENT_KINDS]
    found = [root.path for each in agents for root in each.source.roots()]
    ignored = tuple(top for top in config.projects.ignore if is_within(top, project.root))
    for part_of, kind, roots in _list_places(project, place, config.projects, found):
        table = own.get(part_of)
        if not roots or (table and not table.enabled):
            continue
        given = CorpusConfig(
            name_part(part_of, project.root), kind, options=_make_options(kind, config)
        )
        if table:
            strategy = table.strategy if table.kind == kind else None
            given = replace(given, embedder=table.embedder, strategy=strategy)
        made = replace(make_part(given, roots, part_of, project, config), ignored=ignored)
        kept = before.get(made.name)
        yield kept if kept and _is_same(kept, made) else made


def _list_places(
    project: Project, place: str, settings: ProjectsConfig, before: Iterable[str]
) -> Iterator[tuple[str, str, tuple[Root, ...]]]:
    """Yield the corpora that a project has parts of: their names, kinds and roots.

    The roots are sorted, so that they do not depend on the place of a query.
    """
    agents = find_agent_roots(project, place, settings.ignore, before)
    for kind in AGENT_KINDS:
        roots = sorted(agents.get(kind, ()), key=lambda root: root.path)
        yield kind, kind, _drop_ignored(roots, settings)
    yield PACKAGES, "dependencies", (_make_root(project, project.root),)
    yield DOCS, "files", _drop_ignored(projects.find_doc_roots(project), settings)


def _make_root(project: Project, path: str) -> Root:
    return Root(path, "project", "none", project.root)


def _drop_ignored(roots: Iterable[Root], settings: ProjectsConfig) -> tuple[Root, ...]:
    def is_ignored(root: Root) -> bool:
        return any(is_within(root.path, top) for top in settings.ignore)

    return tuple(root for root in roots if not is_ignored(root))


def _make_options(kind: str, config: Config) -> dict[str, object]:
    settings = config.projects
    if kind == "files":
        return dict(projects.DOC_OPTIONS)
    if kind != "dependencies":
        return {}
    environment = {"environment": settings.environment} if settings.environment else {}
    return {**environment, "max": settings.max_artifacts}


def _is_same(one: Corpus, other: Corpus) -> bool:
    return (
        one.source.roots() == other.source.roots()
        and one.recipe == other.recipe
        and (one.embedder, one.quota, one.project) == (other.embedder, other.quota, other.project)
        and one.ignored == other.ignored
    )


def limit_part(state: State, corpus: Corpus) -> Corpus:
    """Return a part limited to what the other parts of its project leave of `max_artifacts`.

    Documents are also limited to `MOST_DOCS`. Any other corpus is returned unchanged.
    """
    config = state.projects.config
    if corpus.project is None or config is None:
        return corpus
    names = state.projects.list_parts(corpus.project).values()
    others = (state.snapshot.parts[name] for name in names if name != corpus.name)
    left = config.projects.max_artifacts - sum(each.rows.n_artifacts for each in others)
    if corpus.part_of == DOCS:
        left = min(left, projects.MOST_DOCS)
    return replace(corpus, quota=replace(corpus.quota, artifacts=max(1, left)))


# Packages found in the trees of projects: a project that is read has its own part for them.


def list_held_elsewhere(state: State, corpus: Corpus) -> tuple[str, ...]:
    """Return the roots of the projects whose packages a corpus leaves to them."""
    projects = state.projects
    return leave_to_projects(corpus, projects.list_known() if projects.settings else ())


def leave_to_projects(corpus: Corpus, known: Iterable[KnownProject]) -> tuple[str, ...]:
    """Return the roots of those known projects whose packages a corpus leaves to them.

    A corpus with configured roots leaves them nothing.
    """
    if corpus.kind != PACKAGES or not corpus.found:
        return ()
    return tuple(each.project.root for each in known if not each.gone_at)


def _rescan_found(state: State, root: str) -> None:
    """Request scans of found packages after a project was added or removed."""
    for name, corpus in state.corpora.items():
        if corpus.kind == PACKAGES and corpus.found:
            around = (top for top in corpus.resolve_roots().values() if is_within(root, top))
            if any(around):
                state.request(Job("reconcile", name, ScanRequest(under=(root,))))


# Watches: agent directories and docs if they are few, and the manifests.


def note_watched(state: State, project: Project) -> None:
    """Note which parts of a project are watched, if that changed, and what is left out."""
    projects, names = state.projects, state.projects.list_parts(project).values()
    parts = [part for name in names if (part := state.parts.get(name))]
    left = _MOST_WATCHED
    watched = [_make_root(project, os.path.join(project.root, MARKER))]
    notes: list[str] = []
    for part in parts:
        if part.part_of == PACKAGES:
            files = _list_manifests(state, part)
            watched += (_make_root(project, path) for path in files)
            left -= len(files)
            continue
        for root in part.source.roots():
            held = _count_directories(resolve_root(root), left)
            if held < left:
                watched.append(root)
                left -= held
            else:
                notes.append(f"{root.path} is not watched, it is too large: asking looks at it")
    tended = projects.get_tended(project.root)
    new = Tended(state.clock(), tuple(watched), tuple(notes))
    if tended is None or (tended.watched, tended.notes) != (new.watched, new.notes):
        projects.note_tended(project.root, new)


def _list_manifests(state: State, part: Corpus) -> list[str]:
    """Return the manifests and locks of a project, up to a limit."""
    assert part.project is not None
    root = part.project.root
    found = state.ledger.entries.list_paths(part.name)
    directories = [root, *sorted({os.path.dirname(path) for path in found})]
    files = [os.path.join(root, name) for name in _INSTALLED]
    for directory in dict.fromkeys(directories):
        try:
            names = _MANIFESTS.intersection(os.listdir(directory))
        except OSError:
            continue
        files += (os.path.join(directory, name) for name in sorted(names))
    inside = (path for path in files if find_inside(path, root))
    return [path for path in inside if os.path.isfile(path)][:_MOST_FILES]


def _count_directories(path: str, most: int) -> int:
    """Count the directories at and below a path, up to `most`; a file counts as one."""
    count = 1
    for _, names, _ in os.walk(path):
        count += len(names)
        if count >= most:
            break
    return count


# Putting projects aside and forgetting them.


def forget_project(state: State, publisher: Publisher, root: str) -> None:
    """Forget a project and all its data, with the prompts that its items were given."""
    publisher.set_parts(root, ())
    state.ledger.prompts.forget_corpora(lambda name: is_part_of(name, root))
    state.ledger.known_projects.forget(root)
    state.projects.forget(root)
    state.tiers.forget_answers()
    _rescan_found(state, root)


def forget_known(context: JobContext) -> str:
    """Forget the project of a job: see `forget_project`."""
    forget_project(context.state, context.publisher, context.job.corpus)
    return "forgotten"


def tend_projects(context: JobContext) -> str:
    """Forget projects put aside or gone for a month; update the others."""
    state, projects, now = context.state, context.state.projects, context.state.clock()
    forgotten = 0
    for known in projects.list_known():
        root = known.project.root
        context.pause()
        if known.aside_at and known.aside_at < known.asked_at:
            continue  # queried again, and about to be updated
        since = known.gone_at or known.aside_at
        if since and not 0 <= now - since < _MONTH_S:
            forget_project(state, context.publisher, root)
            forgotten += 1
        elif projects.get_tended(root) and (OptOuts().covers(root) or not _is_there(known.project)):
            state.request(Job("project", root))
    return f"{format_count(forgotten, 'project')} forgotten"


class ProjectUpkeep:
    """Store when projects were queried, and check them now and then. Only the writer may use it."""

    def __init__(self, state: State):
        self._state = state
        self._flushed_at = self._swept_at = state.clock()

    def tick(self) -> None:
        """Do what is due, if anything."""
        state, now = self._state, self._state.clock()
        if not 0 <= now - self._flushed_at < _FLUSHED_EVERY_S:
            self._flushed_at = now
            if asked := state.projects.take_questions():
                state.ledger.known_projects.record_queries(asked)
        if not 0 <= now - self._swept_at < _SWEPT_EVERY_S:
            self._swept_at = now
            if state.projects.list_known():
                state.request(Job("projects"))
