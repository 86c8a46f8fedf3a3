"""A corpus: one source, one strategy, one embedder, under one name; and which ones there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from irclient.errors import IRError, QueryError
from irdaemon.config.config import (
    CORPUS_KEYS,
    KNOWN_KINDS,
    Config,
    ConfigError,
    CorpusConfig,
    LimitsConfig,
)
from irdaemon.config.quota import Room
from irdaemon.embed import check_embedder
from irdaemon.embed.rerankers import check_reranker
from irdaemon.runtime.memory import MB
from irdaemon.runtime.plugins import did_you_mean, load
from irdaemon.source import SOURCES, Source
from irdaemon.source.misconfigured import Misconfigured
from irdaemon.source.opening import resolved
from irdaemon.source.redact import recipe
from irdaemon.strategy import IndexingStrategy, recipe_of, strategy_from_spec
from irdaemon.types import LinkPolicy, Problem, Root

DEFAULT_STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "skills": {"name": "Skill"},
    "agents": {"name": "Skill"},
    "commands": {"name": "Skill"},
    "rules": {"name": "Rule"},
    "plugins": {"name": "Skill"},
    "packages": {"name": "Package"},
    "sessions": {"name": "ClaudeTurn"},
    "files": {"name": "Chunked", "params": {"headings": True}},
    "reports": {"name": "Chunked", "params": {"headings": True}},
    "mapping": {"name": "WholeText"},
    "records": {"name": "WholeText"},
    "mcp_tools": {"name": "Skill"},
}
# Transcripts hold what tools printed, live passwords among it. Everything else is written to be
# read: its passwords are samples, but a key or a token has no business there either.
_REDACTION: Mapping[str, str] = {"sessions": "all"}
# Installers link one skill into many agents' directories. Trees of documents have no such custom,
# and one that came with a checkout may link to anything.
_CONFINED_KINDS = ("files", "reports", "mcp_tools")


@dataclass(frozen=True)
class Corpus:
    """A named collection: where it comes from, how it is decomposed, who embeds it.

    `cases` is a file of labelled queries from which its floor is set, "" for none. `redact` is a
    level of redaction, "" that of the kind; `follow_links` says whether a link may lead out of the
    roots, None: as the kind has it. `room` is how much it may take in.
    """

    name: str
    kind: str
    source: Source
    strategy: IndexingStrategy
    embedder: str
    cases: str = ""
    redact: str = ""
    follow_links: bool | None = None
    room: Room = field(default_factory=Room)

    @cached_property
    def recipe(self) -> str:
        """Return the identity of this corpus' redaction and decomposition."""
        return f"{recipe_of(self.strategy)} {recipe(self.redaction)}"

    @property
    def redaction(self) -> str:
        """Return the level at which secrets are taken out of this corpus' texts."""
        return self.redact or _REDACTION.get(self.kind, "tokens")

    @property
    def may_leave_roots(self) -> bool:
        """Say whether a link may lead out of the roots."""
        if self.follow_links is None:
            return self.kind not in _CONFINED_KINDS
        return self.follow_links

    def real_roots(self) -> dict[str, str]:
        """Return the roots as they are given, each with its real path as it is now."""
        return {root.path: resolved(root.path) for root in self.source.roots()}


def corpora_of(config: Config, held: Collection[str] = ()) -> tuple[Corpus, ...]:
    """Return the corpora a configuration asks for, those of this machine's known places included.

    Raises ConfigError where a corpus cannot be made. See `wanted` for `held`.
    """
    try:
        check_reranker(config.reranker)
    except IRError as error:
        raise ConfigError(f"{config.path}: {error.message}", error.hint) from error
    return tuple(make_corpus(each, config) for each in wanted(config, held) if each.enabled)


def wanted(config: Config, held: Collection[str] = ()) -> tuple[CorpusConfig, ...]:
    """Return every corpus' configuration, found or written, sorted by name.

    A known kind whose places have all vanished is still wanted when its corpus is `held`: they may
    only be unmounted.
    """
    found = {kind: CorpusConfig(kind, kind) for kind in KNOWN_KINDS} if config.known else {}
    chosen = {**found, **{each.name: each for each in config.corpora}}
    every = [chosen[name] for name in sorted(chosen)]
    return tuple(
        each
        for each in every
        if each.name not in found or each.name in held or _exists(each, config)
    )


def make_corpus(wish: CorpusConfig, config: Config) -> Corpus:
    """Make one corpus. Raises ConfigError naming the file and what is wrong."""
    try:
        source = _source(wish, config)
        check_embedder(wish.embedder or config.embedder)
        strategy = strategy_from_spec(wish.strategy or DEFAULT_STRATEGIES.get(wish.kind))
        if strategy is None:
            raise QueryError("no strategy is given", 'add strategy = "WholeText"')
    except IRError as error:
        raise _misconfigured(wish, config, error) from error
    embedder = wish.embedder or config.embedder
    return Corpus(
        wish.name,
        wish.kind,
        source,
        strategy,
        embedder,
        wish.cases,
        wish.redact,
        wish.follow_links,
        Room(config.limits.artifacts, config.limits.memory_mb * MB),
    )


def _source(wish: CorpusConfig, config: Config) -> Source:
    if wish.fault:
        cure = f"leave that character out, or irc rm {wish.name}"
        return Misconfigured(Problem(config.path, f"{wish.fault}; {cure}"))
    roots = tuple(Root(path) for path in wish.roots) or known_roots(wish.kind)
    roots = tuple(replace(root, links=_link_policy(wish)) for root in roots)
    make: Callable[..., Source] = load("source", wish.kind, SOURCES)
    return make(roots, _options(wish, make, config.limits))


def _link_policy(wish: CorpusConfig) -> LinkPolicy:
    if wish.follow_links is None:
        return "none" if wish.kind in _CONFINED_KINDS else "direct"
    return "any" if wish.follow_links else "none"


def _options(
    wish: CorpusConfig, make_source: Callable[..., Source], limits: LimitsConfig
) -> Mapping[str, Any]:
    """Return a corpus' options; a limit that its source knows and it does not set is the common."""
    common = {"max_bytes": limits.file_bytes, "max_line_bytes": limits.line_bytes}
    known = getattr(make_source, "limits", ())
    return {**{name: common[name] for name in known if common[name]}, **wish.options}


def _misconfigured(wish: CorpusConfig, config: Config, error: IRError) -> ConfigError:
    named = next((key for key in wish.options if repr(key) in error.message), "")
    line = wish.lines.get(named, 0)
    place = f"{config.path}:{line}" if line else config.path
    # A slip in a key that every corpus has looks like an option only a source could know.
    near = did_you_mean(named, CORPUS_KEYS) if f"unknown option {named!r}" in error.message else ""
    return ConfigError(f"{place}: [corpora.{wish.name}]: {error.message}{near}", error.hint)


def _exists(wish: CorpusConfig, config: Config) -> bool:
    """Say whether a known kind has anything here, or was written down by the person."""
    written = any(each.name == wish.name for each in config.corpora)
    return written or bool(known_roots(wish.kind))


def known_roots(kind: str) -> tuple[Root, ...]:
    """Return the places of a known kind that exist on this machine; none for other kinds."""
    if kind not in KNOWN_KINDS:
        return ()
    module, _, _ = SOURCES[kind].partition(":")
    known: tuple[Root, ...] = load("source", f"{module}:known_roots", {})(
        os.path.expanduser("~"), os.environ
    )
    return known
