"""Handlers about what is not indexed yet: take a new directory in, or say what one would hold.

Which directories a person lets clients add is `roots` under [documents]: below these, and nowhere
else, and never within what is indexed already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from itertools import count, islice
from typing import Any

from irclient.errors import NotFound, QueryError
from irclient.results import CorpusPreview, IndexedDirectory
from irdaemon.config.corpus import Corpus
from irdaemon.engine import Engine
from irdaemon.serve.rules import Args
from irdaemon.source.files import Files
from irdaemon.source.opening import at_or_under, resolved
from irdaemon.source.tree import PRUNED
from irdaemon.types import Root

_DOCUMENT_KINDS = ("files", "reports")
_SHOWN = 20
_NAME_CHARS = 60


def doc_index(engine: Engine, args: Args) -> IndexedDirectory:
    """Add a corpus of a directory's documents; with `dry_run` only say what would be in it."""
    directory = _allowed(args.get("directory", ""), engine.host.document_roots)
    _check_new(directory, engine.corpora.values())
    options = _options(args.get("recursive", True), args.get("pattern", ""))
    scan = Files((Root(directory),), options).scan()
    name = _name(directory, engine.corpora)
    dry_run = args.get("dry_run", False)
    jobs = [] if dry_run else engine.host.add(name, "files", [directory], options)
    return IndexedDirectory(
        directory,
        name,
        len(scan.entries),
        [entry.key for entry in islice(scan.entries, _SHOWN)],
        dict(scan.left_out),
        jobs,
    )


def preview(engine: Engine, args: Args) -> CorpusPreview:
    """Say what a corpus would hold if it were added; nothing is written and nothing is indexed."""
    roots = [str(root) for root in args.get("roots", ())]
    corpus = engine.host.preview(args.get("name", ""), args.get("kind", ""), roots)
    scan = corpus.source.scan()
    return CorpusPreview(
        corpus.name,
        corpus.kind,
        [root.path for root in corpus.source.roots()],
        len(scan.entries),
        [entry.key for entry in islice(scan.entries, _SHOWN)],
        dict(scan.left_out),
        [f"{problem.path}: {problem.reason}" for problem in scan.problems[:_SHOWN]],
    )


def _allowed(given: str, roots: Collection[str]) -> str:
    """Return the real path of a directory that clients may add. Raises QueryError, NotFound."""
    if not os.path.isabs(given) or "\0" in given:
        raise QueryError(f"not an absolute path: {given!r:.100}", "give that of the directory")
    directory = resolved(given)
    top = next((t for t in map(resolved, roots) if at_or_under(directory, t)), None)
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
        raise NotFound(f"{given!r:.200} is no directory", "name one that is there")
    return directory


def _check_new(directory: str, corpora: Collection[Corpus]) -> None:
    for corpus in (each for each in corpora if each.kind in _DOCUMENT_KINDS):
        if any(at_or_under(directory, top) for top in corpus.real_roots().values()):
            raise QueryError(
                f"{directory} is in the corpus {corpus.name} already",
                f"its changes are followed; irc build {corpus.name} looks at all of it",
            )


def _options(recursive: bool, pattern: str) -> Mapping[str, Any]:
    """Return the options of the corpus' source."""
    if not pattern.isprintable():
        raise QueryError(f"no pattern: {pattern!r:.100}", "a glob, as **/*.md")
    chosen: dict[str, Any] = {"pattern": [pattern]} if pattern.strip() else {}
    return chosen if recursive else {**chosen, "exclude": ["*/"]}


def _name(directory: str, taken: Collection[str]) -> str:
    """Return a name for a directory's corpus that no other has."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", os.path.basename(directory)).strip("-").lower()
    stem = stem[:_NAME_CHARS].rstrip("-") or "directory"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)
