"""Corpora: one source, one strategy and one embedder under one name; and the list of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

from irclient.errors import IRError, QueryError
from irdaemon.config.backends import LOCAL, BackendAddress, is_shared
from irdaemon.config.checking import ConfigError
from irdaemon.config.config import load_config, state_dir
from irdaemon.config.reindex import Reindex
from irdaemon.config.sections import CORPUS_KEYS, KNOWN_KINDS, Config, CorpusConfig, LimitsConfig
from irdaemon.embed import check_embedder
from irdaemon.embed.rerankers import check_reranker
from irdaemon.runtime.memory import MB, measure_resident
from irdaemon.runtime.plugins import did_you_mean, load
from irdaemon.source import SOURCES, Source
from irdaemon.source.opening import resolve_path
from irdaemon.source.pack import PACKED, read_digest
from irdaemon.source.places import is_place, keep_existing
from irdaemon.source.redact import make_recipe
from irdaemon.source.tree import resolve_root
from irdaemon.strategy import IndexingStrategy, build_recipe, strategy_from_spec
from irdaemon.strategy.edges import EdgeExtractor
from irdaemon.types import Entry, LinkPolicy, Problem, Project, Reading, Root, Scan


@dataclass(frozen=True, slots=True)
class KindDefaults:
    """The defaults for the corpora of a kind.

    `strategy` is the spec for corpora that name none, and `redact` the level of redaction:
    published texts are meant to be read, and their passwords are samples, but keys and tokens do
    not belong in them; everything else is personal, and so is a kind that is not listed. Installers
    link one skill into many agents' directories; trees of documents have no such custom, and a tree
    that came with a checkout may link to anything: the links of these kinds are `confined`. With
    `links_files` a pointer may be an installer's link to a file of the same name, a SKILL.md or a
    README; all others are real paths. `prompted` kinds have authors who may state prompts. Some
    known places of kinds that `reads_files` are files; for other kinds a file is no place.
    """

    strategy: Mapping[str, Any] | None = None
    redact: str = "all"
    confined: bool = False
    links_files: bool = False
    prompted: bool = False
    reads_files: bool = False


_SKILL, _WHOLE = {"name": "Skill"}, {"name": "WholeText"}
_CHUNKED = {"name": "Chunked", "params": {"headings": True}}
KINDS: Mapping[str, KindDefaults] = {
    "skills": KindDefaults(_SKILL, "tokens", links_files=True, prompted=True),
    "agents": KindDefaults(_SKILL, "tokens", prompted=True),
    "commands": KindDefaults(_SKILL, "tokens", prompted=True),
    "rules": KindDefaults({"name": "Rule"}, prompted=True, reads_files=True),
    "plugins": KindDefaults(_SKILL, "tokens"),
    "packages": KindDefaults({"name": "Package"}, "tokens", links_files=True),
    "dependencies": KindDefaults({"name": "Dependency"}, confined=True),
    "sessions": KindDefaults({"name": "ClaudeTurn"}, reads_files=True),
    "files": KindDefaults(_CHUNKED, confined=True),
    "code": KindDefaults({"name": "Code"}, confined=True),
    "reports": KindDefaults(_CHUNKED, confined=True),
    "mapping": KindDefaults(_WHOLE),
    "records": KindDefaults(_WHOLE),
    "mcp_tools": KindDefaults(_SKILL, "tokens", confined=True),
}
_OTHER = KindDefaults()
# The corpus of the managed directory, and the largest document in it if no limit is set.
_MANAGED = "documents"
_DOCUMENT_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Quota:
    """The most artifacts of a corpus, and the most bytes of the process; 0 for no limit."""

    artifacts: int = 0
    memory: int = 0

    def check(self, held: int) -> str:
        """Return why a corpus with this number of artifacts accepts no more, or ""."""
        if self.artifacts and held >= self.artifacts:
            return f"it holds {held:,} artifacts, its limit is {self.artifacts:,} (artifacts)"
        if self.memory and (used := measure_resident()) > self.memory:
            return (
                f"the daemon uses {used // MB:,} MB of memory,"
                f" its limit is {self.memory // MB:,} (memory_mb)"
            )
        return ""


@dataclass(frozen=True)
class Corpus:
    """A named collection: its source, its strategy and its embedder.

    `cases` is a file of labelled queries from which its floor is set, or "". `redact` is a level of
    redaction, "" for the kind's; `follow_links` is whether a link may lead out of the roots, None
    for the kind's rule. `quota` limits its size. `found` are its roots if they are this machine's
    known places of the kind instead of configured ones. `managed` is the managed directory, and
    `writable` are the person's own roots in which clients may write documents, of `document_bytes`
    at most. `reindex` is what triggers its scans. `selector` is "llm" if a model chooses among its
    hits; `synopsis` is whether a model's synopsis of an artifact is put before its surfaces.
    `edge_extractor` finds the links of an artifact, None: as `irdaemon.strategy.edges` does.
    `backend` is the engine that gets a copy of it, or None; `learns` is whether use may teach its
    artifacts, whose words a copy contains. `example` marks a corpus of the fallback, which is
    replaced by the person's own. `project` is set on a project's part of a corpus, `part_of` is
    then the name of that corpus. `packed` is whether the knowledge pack's prompts count for its
    artifacts. Paths at or below `ignored`, which are real paths, are skipped.
    """

    name: str
    kind: str
    source: Source
    strategy: IndexingStrategy
    embedder: str
    cases: str = ""
    redact: str = ""
    follow_links: bool | None = None
    quota: Quota = field(default_factory=Quota)
    found: tuple[Root, ...] = ()
    managed: str = ""
    writable: tuple[str, ...] = ()
    document_bytes: int = 0
    reindex: Reindex = field(default_factory=Reindex)
    selector: str = ""
    synopsis: bool = False
    edge_extractor: EdgeExtractor | None = None
    backend: BackendAddress | None = None
    learns: bool = True
    example: bool = False
    project: Project | None = None
    part_of: str = ""
    packed: bool = False
    ignored: tuple[str, ...] = ()

    @cached_property
    def recipe(self) -> str:
        """Return the identity of this corpus' redaction and decomposition."""
        synopsis = " synopsis" if self.synopsis else ""
        prompts = " prompts" if self._defaults.prompted else ""
        pack = f" pack {read_digest()}" if self.packed else ""
        redaction = make_recipe(self.redaction)
        return f"{build_recipe(self.strategy)} {redaction}{synopsis}{prompts}{pack}"

    @property
    def _defaults(self) -> KindDefaults:
        return KINDS.get(self.kind, _OTHER)

    @property
    def redaction(self) -> str:
        """Return the level at which secrets are removed from this corpus' texts."""
        return self.redact or self._defaults.redact

    @property
    def may_leave_roots(self) -> bool:
        """Return whether a link may lead out of the roots; never out of a project's."""
        if self.project is not None:
            return False
        return not self._defaults.confined if self.follow_links is None else self.follow_links

    @property
    def has_linked_files(self) -> bool:
        """Return whether a payload may be a link to a file of the same name outside the roots."""
        return self._defaults.links_files and self.project is None

    @property
    def has_bundles(self) -> bool:
        """Return whether files belong to an artifact; a project's package is part of its code."""
        return self.kind != "dependencies"

    def resolve_roots(self) -> dict[str, str]:
        """Return the roots as configured, each with its current real path."""
        real = {root.path: resolve_root(root) for root in self.source.roots()}
        return {path: top for path, top in real.items() if top}


_NONE: Mapping[str, Corpus] = MappingProxyType({})


def make_corpora(
    config: Config, held: Collection[str] = (), now: Mapping[str, Corpus] = _NONE
) -> tuple[Corpus, ...]:
    """Return the corpora of a configuration, including this machine's known places.

    Raises ConfigError for a corpus that cannot be made. See `list_wanted` for `held`. The known
    places of the corpora of `now` are kept even if they have vanished: they may only be unmounted.
    """
    for key, check in (("reranker", check_reranker), ("embedder", check_embedder)):
        try:
            check(getattr(config, key))
        except IRError as error:
            raise config.make_error(key, error.message, error.hint) from error
    return tuple(
        make_corpus(each, config, now[each.name].found if each.name in now else ())
        for each in list_wanted(config, held)
        if each.enabled
    )


def find_new_corpora(config: Config, now: Mapping[str, Corpus]) -> tuple[Corpus, ...] | None:
    """Return the corpora including newly appeared known places, or None if there are no new ones.

    A corpus that gained none is the same object as in `now`.
    """
    corpora = tuple(
        now[each.name] if each.name in now and _is_same_place(each, now[each.name]) else each
        for each in make_corpora(config, now, now)
    )
    return None if corpora == tuple(now.values()) else corpora


def _is_same_place(one: Corpus, other: Corpus) -> bool:
    return {root.path for root in one.found} == {root.path for root in other.found}


def list_absent_places(config: Config) -> list[tuple[str, str]]:
    """Return the known places that do not exist yet, each with the corpus it would belong to."""
    every = {**_list_defaults(config), **{each.name: each for each in config.corpora}}
    return [
        (name, root.path)
        for name, each in sorted(every.items())
        if each.enabled and not each.roots and each.kind in KNOWN_KINDS
        for root in _list_places(each.kind)
        if not is_place(root.path, KINDS[each.kind].reads_files)
    ]


def list_wanted(config: Config, held: Collection[str] = ()) -> tuple[CorpusConfig, ...]:
    """Return every corpus' configuration, found or written, sorted by name.

    A known kind whose places have all vanished is still wanted if its corpus is `held`: they may
    only be unmounted.
    """
    found, written = _list_defaults(config), {each.name: each for each in config.corpora}
    chosen = {**found, **_find_managed(config), **written}
    optional = found.keys() - written.keys() - set(held)
    every = (chosen[name] for name in sorted(chosen))
    return tuple(x for x in every if x.name not in optional or find_known_roots(x.kind))


def _list_defaults(config: Config) -> dict[str, CorpusConfig]:
    return {kind: CorpusConfig(kind, kind) for kind in KNOWN_KINDS} if config.known else {}


def find_fallback_note() -> str:
    """Return the path of the file that names the configuration of the current examples."""
    return os.path.join(state_dir(), "fallback")


def read_fallback() -> str | None:
    """Return the path of the last used configuration of the examples; None if it is unusable."""
    try:
        with open(find_fallback_note(), encoding="utf-8") as file:
            path = file.read()
        load_config(path)
    except (OSError, ValueError, ConfigError):
        return None
    return path


def add_examples(config: Config, fallback: Sequence[CorpusConfig] | None) -> Config | None:
    """Return a configuration with the corpora of a fallback; None if it has its own."""
    if fallback is None or list_wanted(config):
        return None
    index = replace(config.index, backend=LOCAL)  # no other process needs the examples
    return replace(config, corpora=tuple(fallback), index=index)


def _find_managed(config: Config) -> dict[str, CorpusConfig]:
    """Return the corpus of the managed directory, if it has documents or may get some."""
    directory = config.documents_dir
    if not directory or not (config.documents.write or (config.known and _holds(directory))):
        return {}
    return {_MANAGED: CorpusConfig(_MANAGED, "files", (directory,))}


def _holds(directory: str) -> bool:
    try:
        return any(not name.startswith(".") for name in os.listdir(directory))
    except OSError:
        return False


def make_corpus(given: CorpusConfig, config: Config, before: tuple[Root, ...] = ()) -> Corpus:
    """Make one corpus. Raises ConfigError naming the file and the fault.

    `before` are the known places found earlier, which are kept; ignored if roots are given.
    """
    found = () if given.roots else _add_vanished(find_known_roots(given.kind), before)
    try:
        source = _make_source(given, config, found)
        check_embedder(given.embedder or config.embedder)
        strategy = strategy_from_spec(given.strategy or KINDS.get(given.kind, _OTHER).strategy)
        if strategy is None:
            raise QueryError("no strategy is given", 'add strategy = "WholeText"')
    except IRError as error:
        raise _make_error(given, config, error) from error
    except Exception as error:  # a custom source or strategy may fail in any way
        why = QueryError(f"it cannot be made: {type(error).__name__}: {error}", "correct its table")
        raise _make_error(given, config, why) from error
    shared = is_shared(given.kind, given.share)
    backend = config.index.find_address(given.backend) if shared else None
    return Corpus(
        given.name,
        given.kind,
        source,
        strategy,
        given.embedder or config.embedder,
        given.cases,
        given.redact,
        given.follow_links,
        Quota(config.limits.artifacts, config.limits.memory_mb * MB),
        found,
        *_find_writable(given, config),
        given.reindex,
        given.selector,
        given.synopsis,
        backend=backend,
        learns=given.share is True or backend is None,
        packed=config.prompts.pack and given.kind in PACKED,
    )


def make_part(
    given: CorpusConfig, roots: tuple[Root, ...], part_of: str, project: Project, config: Config
) -> Corpus:
    """Make a project's part of a corpus. Raises ConfigError naming the file and the fault.

    A checkout is another person's text: no link out of it is followed, everything that looks like a
    secret is redacted, none of it is sent anywhere, and its use teaches nothing.
    """
    try:
        make: Callable[..., Source] = load("source", given.kind, SOURCES)
        source = make(roots, _make_options(given, make, config.limits))
        strategy = strategy_from_spec(given.strategy or KINDS[given.kind].strategy)
        assert strategy is not None
    except IRError as error:
        raise _make_error(given, config, error) from error
    return Corpus(
        given.name,
        given.kind,
        source,
        strategy,
        given.embedder or config.embedder,
        redact="all",
        follow_links=False,
        quota=Quota(config.projects.max_artifacts, config.limits.memory_mb * MB),
        learns=False,
        project=project,
        part_of=part_of,
        packed=config.prompts.pack and given.kind in PACKED,
    )


def _find_writable(given: CorpusConfig, config: Config) -> tuple[str, tuple[str, ...], int]:
    """Return the managed directory, the roots to write to, and the size of the largest document."""
    own = given.kind == "files" and given.roots == (config.documents_dir,)
    if not (own or given.writable) or not config.documents.write:
        return "", (), 0
    most = given.options.get("max_bytes", config.limits.file_bytes or _DOCUMENT_BYTES)
    return (config.documents_dir, (), int(most)) if own else ("", given.roots, int(most))


def _add_vanished(found: tuple[Root, ...], before: tuple[Root, ...]) -> tuple[Root, ...]:
    there = {resolve_path(root.path) for root in found}
    return found + tuple(root for root in before if resolve_path(root.path) not in there)


def _make_source(given: CorpusConfig, config: Config, found: tuple[Root, ...]) -> Source:
    if given.problem:
        cure = f"leave that character out, or irc rm {given.name}"
        return InvalidSource(Problem(config.path, f"{given.problem}; {cure}"))
    roots = tuple(Root(path) for path in given.roots) or found
    roots = tuple(replace(root, links=_choose_link_policy(given)) for root in roots)
    make: Callable[..., Source] = load("source", given.kind, SOURCES)
    return make(roots, _make_options(given, make, config.limits))


def _choose_link_policy(given: CorpusConfig) -> LinkPolicy:
    if given.follow_links is None:
        return "none" if KINDS.get(given.kind, _OTHER).confined else "direct"
    return "any" if given.follow_links else "none"


def _make_options(
    given: CorpusConfig, make_source: Callable[..., Source], limits: LimitsConfig
) -> Mapping[str, Any]:
    """Return a corpus' options, with the common limits that it does not set itself."""
    common = {"max_bytes": limits.file_bytes, "max_line_bytes": limits.line_bytes}
    known = getattr(make_source, "limits", ())
    return {**{name: common[name] for name in known if common[name]}, **given.options}


def _make_error(given: CorpusConfig, config: Config, error: IRError) -> ConfigError:
    named = next((key for key in given.options if repr(key) in error.message), "")
    line = given.lines.get(named, 0)
    place = f"{config.path}:{line}" if line else config.path
    # A misspelt key common to all corpora arrives here as an unknown option of the source.
    near = did_you_mean(named, CORPUS_KEYS) if f"unknown option {named!r}" in error.message else ""
    return ConfigError(f"{place}: [corpora.{given.name}]: {error.message}{near}", error.hint)


def find_known_roots(kind: str) -> tuple[Root, ...]:
    """Return the existing places of a known kind on this machine; () for other kinds."""
    if kind not in KNOWN_KINDS:
        return ()
    return keep_existing(_list_places(kind), KINDS[kind].reads_files)


def _list_places(kind: str) -> tuple[Root, ...]:
    module, _, _ = SOURCES[kind].partition(":")
    list_known_places = load("source", f"{module}:list_known_places", {})
    places: tuple[Root, ...] = list_known_places(os.path.expanduser("~"), os.environ)
    return places


# The source of a corpus with an invalid configuration: no entries and one problem.


class InvalidSource:
    """Stand in for a source that cannot be made; its indexed entries are kept."""

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, problem: Problem):
        self._problem = problem

    def roots(self) -> tuple[Root, ...]:
        """Return no roots."""
        return ()

    def scan(self, under: str | None = None) -> Scan:
        """Return the problem, no entries, and no covered path."""
        return Scan((), (), (self._problem,))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Raise FileNotFoundError: there are no entries."""
        raise FileNotFoundError(entry.path)
