"""Changes: which corpora a changed path concerns, and the scans that follow from it.

A change comes from the watcher, or as a hint from a client. It is never taken as a fact: the path
only decides where to scan, and only below indexed roots.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.engine.projects import Projects
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import MARKER, ScanRequest
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.tree import is_editor_file


def list_hint_jobs(path: str, corpora: Iterable[Corpus]) -> list[Job]:
    """Return a scan of one path for each corpus that has it as a root, or has a root above it.

    Corpora scanned at intervals take hints, those indexed by hand do not. Raises QueryError for a
    relative path, and if only corpora indexed by hand have it; NotFound for a path that is neither
    a root nor below one.
    """
    if not os.path.isabs(path) or "\0" in path:
        raise QueryError(
            f"not an absolute path: {path!r:.100}", "give the absolute path of the file"
        )
    real = resolve_path(path)
    inside = [
        corpus
        for corpus in corpora
        if any(is_within(real, top) for top in corpus.resolve_roots().values())
    ]
    if not inside:
        raise NotFound(
            f"{path!r:.200} is not a root, nor below one", "irc status --json names the roots"
        )
    hinted = [corpus for corpus in inside if corpus.reindex.on != MANUAL]
    if not hinted:
        name = inside[0].name
        raise QueryError(f"the corpus {name!r} is indexed by hand only", f"irc build {name}")
    return list_change_jobs((real,), hinted, {})


def list_change_jobs(
    paths: Sequence[str], corpora: Iterable[Corpus], links: Mapping[str, str] | None
) -> list[Job]:
    """Return the scans that possibly changed real paths require, at most one per corpus.

    A path concerns a corpus if it lies in or above one of its roots, or if one of the followed
    `links` (link -> real target) leads from its roots to the path. A path that concerns no corpus
    by these rules, or any path if `links` are unknown (None), concerns every corpus that follows
    links; an editor's own files concern none. A root, or a directory above one, that appears or
    vanishes requires a whole scan; a root that is still a file has only changed.
    """
    corpora = tuple(corpora)
    tops = {corpus.name: tuple(corpus.resolve_roots().values()) for corpus in corpora}
    followers = {
        corpus.name
        for corpus in corpora
        if any(root.links != "none" for root in corpus.source.roots())
    }
    every = [top for each in tops.values() for top in each]
    paths = [path for path in paths if not _is_editors_file(path, every)]
    find_names = _Links(links or {}).find_names
    under: dict[str, list[str]] = {name: [] for name in tops}
    for path in paths:
        names = find_names(path)
        concerned = {
            name
            for name, own in tops.items()
            if any(_touches(each, top) for top in own for each in names)
        }
        if links is None or not concerned:
            concerned |= followers
        for name in concerned:
            under[name].append(path)
    return [_make_job(name, tops[name], tuple(mine)) for name, mine in under.items() if mine]


def list_project_jobs(
    paths: Sequence[str], projects: Projects, parts: Mapping[str, Corpus]
) -> list[Job]:
    """Return the jobs that changed paths require in the active projects around them.

    A changed manifest or lock file requires a scan of the packages, a marker a new look at the
    project.
    """
    jobs: list[Job] = []
    inside: dict[str, list[str]] = {}
    for path in paths:
        for root in projects.find_around(path):
            inside.setdefault(root, []).append(path)
    for root, changed in inside.items():
        if (tended := projects.get_tended(root)) is None:
            continue
        if any(path in (root, os.path.join(root, MARKER)) for path in changed):
            jobs.append(Job("project", root))
        watched = {each.path for each in tended.watched}
        mine = [part for part in parts.values() if part.project and part.project.root == root]
        for part in mine:
            if part.kind != "dependencies":
                jobs += list_change_jobs(changed, (part,), {})
            elif watched.intersection(changed):
                jobs.append(Job("reconcile", part.name))
    return jobs


def _is_editors_file(path: str, tops: Iterable[str]) -> bool:
    named_so = is_editor_file(os.path.basename(path)) and not os.path.isdir(path)
    return named_so and not any(is_within(top, path) for top in tops)


def _make_job(corpus: str, tops: Sequence[str], paths: tuple[str, ...]) -> Job:
    uprooted = [path for path in paths if any(is_within(top, path) for top in tops)]
    whole = any(not os.path.isfile(path) for path in uprooted)
    return Job("reconcile", corpus, ScanRequest() if whole else ScanRequest(under=paths))


def _touches(path: str, top: str) -> bool:
    """Return whether a path lies at, below or above a root, or is a log of a SQLite root."""
    return is_within(path, top) or is_within(top, path) or path.startswith(f"{top}-")


class _Links:
    """Index links by their targets."""

    def __init__(self, links: Mapping[str, str]):
        self._to: dict[str, list[str]] = {}
        for link, target in links.items():
            self._to.setdefault(target, []).append(link)
        self._targets = sorted(self._to)

    def find_names(self, path: str) -> set[str]:
        """Return the path, and every link that leads to it, above it, or to something below it."""
        names = {path}
        pending = [path, *self._list_targets(path)]
        while pending:
            for top in _list_ancestors(pending.pop()):
                new = [link for link in self._to.get(top, ()) if link not in names]
                names.update(new)
                pending += new
        return names

    def _list_targets(self, path: str) -> Iterator[str]:
        prefix = f"{path}/"
        for target in self._targets[bisect_left(self._targets, prefix) :]:
            if not target.startswith(prefix):
                return
            yield target


def _list_ancestors(path: str) -> Iterator[str]:
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above
