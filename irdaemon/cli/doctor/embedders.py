"""Check that the configured embedders can be loaded."""

from __future__ import annotations

from collections.abc import Iterable

from irclient.errors import Unavailable
from irdaemon.cli.doctor.finding import Finding, ok, wrong
from irdaemon.config.config import Config
from irdaemon.config.corpus import corpora_of
from irdaemon.embed import make_embedder


def check(config: Config) -> Iterable[Finding]:
    """Yield for each configured embedder whether its model is here."""
    names = {config.embedder, *(corpus.embedder for corpus in corpora_of(config))}
    return (_made(name) for name in sorted(names))


def _made(name: str) -> Finding:
    try:
        embedder = make_embedder(name)
    except Unavailable as error:
        return wrong(f"the embedder {name} cannot be used: {error.message}", fix=error.hint)
    return ok(f"the embedder {name} is here: {embedder.id}, {embedder.dim} dimensions")
