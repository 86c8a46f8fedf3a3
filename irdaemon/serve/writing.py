"""Handlers that write documents into the managed directory, and answer once that is served.

A path is claimed until then, so of two requests for one document the second is told (Conflict).
"""

from __future__ import annotations

import time

from irclient.errors import NotFound, QueryError, Unavailable
from irclient.results import WrittenDocument
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.query import check_wait
from irdaemon.engine import Engine
from irdaemon.engine.changes import jobs_for_changes
from irdaemon.ledger import ArtifactPage
from irdaemon.serve.document_files import Claims, DocumentFiles, Place, digest
from irdaemon.serve.draft import Draft, checked
from irdaemon.serve.rules import VISIBLE, Args

_WAIT_MS = 5_000.0
# A document may come back once, by a scan that had seen it before it was removed.
_TRIES = 2
_CLAIMS = Claims()


def doc_add(engine: Engine, args: Args) -> WrittenDocument:
    """Write a new document; return where it is and how it is found."""
    corpus, files = _managed(engine, args)
    draft = Draft(
        args.get("title", ""), args.get("content", ""), args.get("source", ""), _tags(args)
    )
    directory = files.parts(args.get("directory", ""))
    data = checked(draft.text(engine.state.clock()), corpus.document_bytes, corpus.redaction)
    place = files.add(directory, draft.title, data)
    with _CLAIMS.of(files.path(place)):
        return _stored(engine, corpus, files.path(place), data, args)


def doc_update(engine: Engine, args: Args) -> WrittenDocument:
    """Write a document anew, as a whole."""
    corpus, files = _managed(engine, args)
    place = _place(corpus, files, args)
    data = checked(args.get("content", ""), corpus.document_bytes, corpus.redaction)
    with _CLAIMS.of(files.path(place)):
        files.replace(place, data, args.get("if_digest", ""))
        return _stored(engine, corpus, files.path(place), data, args)


def doc_remove(engine: Engine, args: Args) -> WrittenDocument:
    """Take a document out of the index, and where that is wanted its file away."""
    corpus, files = _managed(engine, args)
    place, now = _place(corpus, files, args), engine.state.clock()
    path, trash = files.path(place), ""
    files.empty_trash(now)
    with _CLAIMS.of(path):
        if args.get("delete_file", False):
            trash = files.throw_away(place, now)
        else:
            files.leave_out(place)
        status = _removed(engine, corpus, (path, files.ignore_file), args)
        return WrittenDocument(path, "", status, engine.snapshot.generation, "", trash)


def _managed(engine: Engine, args: Args) -> tuple[Corpus, DocumentFiles]:
    """Return the corpus that documents are written into, and its files."""
    check_wait(args.get("wait_ms", _WAIT_MS))
    corpora = [corpus for corpus in engine.corpora.values() if corpus.managed]
    if not corpora:
        raise Unavailable(
            "writing documents is switched off",
            "write = true under [documents] in the configuration, then irdaemon restart",
        )
    visible = args.get(VISIBLE, engine.corpora)
    for corpus in corpora:
        if corpus.name in visible:
            return corpus, DocumentFiles(corpus.managed)
    raise NotFound("there is no managed directory that this client may see", "its owner names them")


def _tags(args: Args) -> tuple[str, ...]:
    tags = args.get("tags", [])
    if not all(isinstance(tag, str) for tag in tags):
        raise QueryError("tags must be texts", "a list of them")
    return tuple(tags)


def _place(corpus: Corpus, files: DocumentFiles, args: Args) -> Place:
    """Return the place of the document that a path, or a reference (CORPUS/ID), names."""
    return files.place(args.get("path", "").removeprefix(f"{corpus.name}/"))


def _stored(engine: Engine, corpus: Corpus, path: str, data: bytes, args: Args) -> WrittenDocument:
    done = _scan(engine, corpus, (path,), _wait_s(args))
    reference = _reference(engine, corpus, path) if done else ""
    snapshot = engine.snapshot
    whole = "stored_partial" if snapshot.corpora[corpus.name].unembedded else "stored"
    status = whole if reference else "pending"
    return WrittenDocument(path, reference, status, snapshot.generation, digest(data))


def _removed(engine: Engine, corpus: Corpus, paths: tuple[str, str], args: Args) -> str:
    """Have a path that is left out now scanned until the index has no document there."""
    until = time.monotonic() + _wait_s(args)
    for _ in range(_TRIES):
        _scan(engine, corpus, paths, until - time.monotonic())
        if not _reference(engine, corpus, paths[0]):
            return "removed"
    return "pending"


def _scan(engine: Engine, corpus: Corpus, paths: tuple[str, ...], wait_s: float) -> bool:
    """Have paths scanned, and wait for it; return whether that was done in time.

    Waits for the scans before it as well: one that was interrupted by this one may store what it
    saw before it.
    """
    jobs = [engine.request(job) for job in jobs_for_changes(paths, (corpus,), {})]
    scans = engine.state.work.scans(corpus.name)
    if not engine.host.writes:
        engine.drain()
    engine.state.work.wait_until(lambda: all(scan.ended for scan in scans), max(0.0, wait_s))
    return all(engine.progress(job).state == "done" for job in jobs)


def _wait_s(args: Args) -> float:
    return float(args.get("wait_ms", _WAIT_MS)) / 1e3


def _reference(engine: Engine, corpus: Corpus, path: str) -> str:
    """Return the reference of the document at a path; "" where the index has none."""
    held = engine.artifacts(ArtifactPage(corpus.name, path, limit=1))
    return "/".join((corpus.name, held[0]["artifact_id"])) if held else ""
