"""Hints: somebody says that a path has changed, and the corpora with a root around it look there.

A hint is never a fact. The path decides only where to look, and only below what is indexed anyway;
what is read there is what the corpus' source itself finds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.opening import at_or_under, resolved


def looks_at(path: str, corpora: Iterable[Corpus]) -> list[Job]:
    """Return the looks at one path, of each corpus with a root above it.

    Raises QueryError for what is no absolute path, NotFound where it lies below no root.
    """
    if not os.path.isabs(path) or "\0" in path:
        raise QueryError(f"not an absolute path: {path!r:.100}", "say where the file is, in full")
    real = resolved(path)
    jobs = [
        Job("reconcile", corpus.name, ScanRequest(under=(real,)))
        for corpus in corpora
        if any(_below(real, resolved(root.path)) for root in corpus.source.roots())
    ]
    if not jobs:
        raise NotFound(f"{path!r:.200} lies below no root", "irc status shows what is watched")
    return jobs


def _below(path: str, top: str) -> bool:
    return path != top and at_or_under(path, top)
