"""Handlers that write documents, and reply when the change is served.

They write into the managed directory, and into roots that the configuration marks as writable. A
path is claimed until the reply: of two requests for one document the second gets a Conflict.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from irclient.errors import NotFound, QueryError, Unavailable
from irclient.results import IndexedDirectory, WrittenDocument
from irdaemon.config.config import documents_dir
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.documents.files import (
    Claims,
    DocumentFiles,
    Draft,
    Place,
    encode_checked,
    find_trash,
    hash_content,
    keep_front_matter,
)
from irdaemon.discovery.query import check_wait
from irdaemon.engine import Engine
from irdaemon.engine.changes import list_change_jobs
from irdaemon.ledger import ArtifactPage
from irdaemon.serve import access
from irdaemon.serve.access import VISIBLE, Args
from irdaemon.serve.operations import serves
from irdaemon.source.asset_types import get_suffix
from irdaemon.source.files import Files
from irdaemon.source.files.document import MARKDOWN
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.tree import PRUNED
from irdaemon.types import Root

# Handlers for directories that are not indexed yet: add one, or report its contents.
#
# `roots` under [documents] lists the directories below which clients may add others, but never
# within an indexed one.

_DOCUMENT_KINDS = ("files", "reports")
_SHOWN = 20
_NAME_CHARS = 60


@serves("doc_index", "slow", access.refuse_configuration)
def doc_index(
    engine: Engine, directory: str, recursive: bool, pattern: str, dry_run: bool
) -> IndexedDirectory:
    """Add a corpus of a directory's documents; with `dry_run` only report what it would contain."""
    directory = _check_directory(directory, engine.host.document_roots)
    _check_new(directory, engine.corpora.values())
    options = _make_options(recursive, pattern)
    scan = Files((Root(directory),), options).scan()
    name = _choose_name(directory, engine.corpora)
    jobs = [] if dry_run else engine.host.add(name, "files", [directory], options)
    return IndexedDirectory(
        directory,
        name,
        len(scan.entries),
        [entry.key for entry in islice(scan.entries, _SHOWN)],
        dict(scan.left_out),
        jobs,
    )


def _check_directory(given: str, roots: Collection[str]) -> str:
    """Return the real path of a directory that clients may add. Raises QueryError, NotFound."""
    if not os.path.isabs(given) or "\0" in given:
        raise QueryError(
            f"not an absolute path: {given!r:.100}", "give the directory's absolute path"
        )
    directory = resolve_path(given)
    top = next((t for t in map(resolve_path, roots) if is_within(directory, t)), None)
    if top is None:
        raise NotFound(
            f"{given!r:.200} is not in the library, nor below a root that clients may add from",
            f"its owner can add it: irc add NAME files {given:.200}; or list a directory above it"
            " as roots under [documents]",
        )
    for part in directory[len(top) :].split("/"):
        if part.startswith(".") or part in PRUNED or not part.isprintable():
            raise QueryError(f"{given!r:.200} has a part that is not indexed ({part!r:.60})")
    if not os.path.isdir(directory):
        raise NotFound(f"{given!r:.200} is not a directory", "name an existing one")
    return directory


def _check_new(directory: str, corpora: Collection[Corpus]) -> None:
    for corpus in (each for each in corpora if each.kind in _DOCUMENT_KINDS):
        if any(is_within(directory, top) for top in corpus.resolve_roots().values()):
            raise QueryError(
                f"{directory} is in the corpus {corpus.name} already",
                f"its changes are followed; irc build {corpus.name} scans all of it",
            )


def _make_options(recursive: bool, pattern: str) -> Mapping[str, Any]:
    """Return the options of the corpus' source."""
    if not pattern.isprintable():
        raise QueryError(f"no pattern: {pattern!r:.100}", "give a glob such as **/*.md")
    chosen: dict[str, Any] = {"pattern": [pattern]} if pattern.strip() else {}
    return chosen if recursive else {**chosen, "exclude": ["*/"]}


def _choose_name(directory: str, taken: Collection[str]) -> str:
    """Return an unused name for a directory's corpus."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(directory)).strip("-").lower()
    stem = stem[:_NAME_CHARS].rstrip("-") or "directory"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


# A scan that saw a document before its removal may bring it back once.
_TRIES = 2
_CLAIMS = Claims()


@serves("doc_add", "waiting", access.allow_writing)
def doc_add(engine: Engine, args: Args) -> WrittenDocument:
    """Write a new document; return its path and reference."""
    wanted = args["directory"]
    target = _find_target(_list_targets(engine, args), wanted)
    corpus, files = target.corpus, target.files
    draft = Draft(args["title"], args["content"], args["source"], _read_tags(args))
    directory = files.split_path(wanted)
    data = encode_checked(
        draft.format_text(engine.state.clock()), corpus.document_bytes, corpus.redaction
    )
    place = files.add(directory, draft.title, data)
    with _CLAIMS.hold_path(files.make_path(place)):
        if not target.is_indexed(place):
            files.withdraw(place)
            raise _make_left_out(target, place)
        return _index(engine, corpus, files.make_path(place), data, args)


@serves("doc_update", "waiting", access.allow_writing)
def doc_update(engine: Engine, args: Args) -> WrittenDocument:
    """Replace a document; a Markdown document keeps front matter that the content lacks."""
    target, place = _find_document(engine, args)
    corpus, files = target.corpus, target.files
    content = args["content"]

    def renewed(held: bytes) -> bytes:
        whole = keep_front_matter(content, held) if get_suffix(place.name) in MARKDOWN else content
        return encode_checked(whole, corpus.document_bytes, corpus.redaction)

    with _CLAIMS.hold_path(files.make_path(place)):
        data = files.replace(place, renewed, args["if_digest"])
        return _index(engine, corpus, files.make_path(place), data, args)


@serves("doc_remove", "waiting", access.allow_writing)
def doc_remove(engine: Engine, args: Args) -> WrittenDocument:
    """Remove a document from the index and, if requested, its file."""
    target, place = _find_document(engine, args)
    corpus, files = target.corpus, target.files
    now, path, trash = engine.state.clock(), files.make_path(place), ""
    files.empty_trash(now)
    with _CLAIMS.hold_path(path):
        if args["delete_file"]:
            trash = files.move_to_trash(place, now)
        else:
            files.leave_out(place)
        status = _await_removal(engine, corpus, (path, *files.paths_to_leave_out), args)
        return WrittenDocument(path, "", status, engine.snapshot.generation, "", trash)


@dataclass(frozen=True, slots=True)
class Target:
    """A directory to write documents into, and the corpus that indexes it."""

    corpus: Corpus
    files: DocumentFiles

    def is_indexed(self, place: Place) -> bool:
        """Return whether the corpus indexes the file there.

        The managed directory may contain documents that were left out on request.
        """
        path = self.files.make_path(place)
        return bool(self.corpus.managed) or any(
            entry.path == path for entry in self.corpus.source.scan(path).entries
        )


def _list_targets(engine: Engine, args: Args) -> list[Target]:
    """Return the client's writable targets: the managed directory, then inner before outer."""
    check_wait(args["wait_ms"])
    corpora = [each for each in engine.corpora.values() if each.managed or each.writable]
    if not corpora:
        raise Unavailable(
            "writing documents is switched off",
            "write = true under [documents] in the configuration, then irdaemon restart",
        )
    visible = engine.corpora if args[VISIBLE] is None else args[VISIBLE]
    targets = [
        each for corpus in corpora if corpus.name in visible for each in _open_directories(corpus)
    ]
    if not targets:
        raise NotFound("this client may not write to any directory", "its owner names them")
    return sorted(targets, key=lambda each: (not each.corpus.managed, -len(each.files.top)))


def _open_directories(corpus: Corpus) -> Iterator[Target]:
    if corpus.managed:
        yield Target(corpus, DocumentFiles(corpus.managed))
    trash = find_trash(resolve_path(documents_dir()))
    for root in corpus.writable:
        yield Target(corpus, DocumentFiles(root, trash))


def _find_target(targets: Sequence[Target], path: str) -> Target:
    """Return where a path leads: an absolute path by its prefix, else the managed directory."""
    for each in targets:
        inside = each.files.contains(path) if os.path.isabs(path) else each.corpus.managed
        if inside:
            return each
    tops = ", ".join(each.files.top for each in targets)
    raise QueryError(
        f"{path!r:.200} is not in the managed directory nor in a writable root",
        f"there are: {tops}",
    )


def _make_left_out(target: Target, place: Place) -> QueryError:
    name, path = target.corpus.name, target.files.make_path(place)
    return QueryError(
        f"the corpus {name} does not index {path}",
        f"its pattern, exclude or an ignore file leaves it out; irc info {name} counts those",
    )


def _read_tags(args: Args) -> tuple[str, ...]:
    tags = args["tags"]
    if not all(isinstance(tag, str) for tag in tags):
        raise QueryError("tags must be texts", "a list of them")
    return tuple(tags)


def _find_document(engine: Engine, args: Args) -> tuple[Target, Place]:
    """Return the document that a path, or a reference (CORPUS/ID), names. Raises QueryError."""
    targets = _list_targets(engine, args)
    path = _find_path(engine, targets, args["path"])
    target = _find_target(targets, path)
    place = target.files.place(path)
    if os.path.lexists(target.files.make_path(place)) and not target.is_indexed(place):
        raise _make_left_out(target, place)
    return target, place


def _find_path(engine: Engine, targets: Sequence[Target], given: str) -> str:
    """Return the path of a reference; any other path unchanged."""
    name, _, artifact_id = given.partition("/")
    corpus = next((each.corpus for each in targets if each.corpus.name == name), None)
    if corpus is None:
        return given
    if corpus.managed:
        return artifact_id
    with engine.state.open_reading() as ledger:
        held = ledger.artifacts.get(name, artifact_id)
    return held.pointer if held else given


def _index(engine: Engine, corpus: Corpus, path: str, data: bytes, args: Args) -> WrittenDocument:
    done = _scan(engine, corpus, (path,), _read_wait(args))
    reference = _find_reference(engine, corpus, path) if done else ""
    snapshot = engine.snapshot
    whole = "stored_partial" if snapshot.corpora[corpus.name].unembedded else "stored"
    status = whole if reference else "pending"
    return WrittenDocument(path, reference, status, snapshot.generation, hash_content(data))


def _await_removal(engine: Engine, corpus: Corpus, paths: tuple[str, ...], args: Args) -> str:
    """Scan a removed path until the index has no document there."""
    until = time.monotonic() + _read_wait(args)
    for _ in range(_TRIES):
        _scan(engine, corpus, paths, until - time.monotonic())
        if not _find_reference(engine, corpus, paths[0]):
            return "removed"
    return "pending"


def _scan(engine: Engine, corpus: Corpus, paths: tuple[str, ...], wait_s: float) -> bool:
    """Request a scan of paths and wait for it; return whether it finished in time.

    Waits for earlier scans too: one that was interrupted may store what it saw before.
    """
    jobs = [engine.request(job) for job in list_change_jobs(paths, (corpus,), {})]
    scans = engine.state.work.list_scans(corpus.name)
    if not engine.host.writes:
        engine.drain()
    engine.state.work.wait_until(lambda: all(scan.ended for scan in scans), max(0.0, wait_s))
    return all(engine.progress(job).state == "done" for job in jobs)


def _read_wait(args: Args) -> float:
    return float(args["wait_ms"]) / 1e3


def _find_reference(engine: Engine, corpus: Corpus, path: str) -> str:
    """Return the reference of the document at a path; "" if the index has none."""
    held = engine.artifacts(ArtifactPage(corpus.name, path, limit=1))
    return "/".join((corpus.name, held[0]["artifact_id"])) if held else ""
