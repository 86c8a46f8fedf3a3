"""The configurable settings: one frozen dataclass per table of the file.

`irdaemon init` also writes a section's docstring and defaults into the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

from irdaemon.config.backends import LOCAL, Backend, BackendAddress, parse_address
from irdaemon.config.checking import ConfigError
from irdaemon.config.clients import ClientConfig
from irdaemon.config.reindex import Reindex
from irdaemon.runtime.model_endpoint import KEY_ENV, ModelEndpoint

# Kinds with known directories; the corpus found there has the name of the kind.
KNOWN_KINDS = tuple("skills agents commands rules plugins mcp_tools packages sessions".split())
# The keys that every corpus' table may have; further keys are options of its source.
CORPUS_KEYS = (
    "kind", "roots", "strategy", "embedder", "cases", "enabled", "redact", "follow_links",
    "writable", "reindex", "reindex_minutes", "selector", "synopsis", "backend", "share",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CorpusConfig:
    """One corpus: a source by name, its roots and options, its strategy spec and embedder.

    `cases` is a file of labelled queries from which its floor is set; `redact` the level at which
    secrets are removed ("": the kind's); `follow_links` whether a link may lead out of the roots
    (None: the kind's rule); `writable` whether clients may write documents there. `reindex` is what
    triggers its scans. `selector` is "llm" if a model chooses among its hits, `synopsis` whether a
    model writes a synopsis of each artifact. `backend` is the engine that gets a copy, or "local"
    (None: that of [index]), `share` whether it may be copied elsewhere (None: the kind's rule).
    `options` are the keys that only its source knows; `lines` has the line of each, "" for the
    table itself, for errors that are found later. `problem` is a control character that makes it
    unusable, or "": the other corpora are served.
    """

    name: str
    kind: str
    roots: tuple[str, ...] = ()
    strategy: Mapping[str, Any] | None = None
    embedder: str | None = None
    cases: str = ""
    enabled: bool = True
    redact: str = ""
    follow_links: bool | None = None
    writable: bool = False
    reindex: Reindex = field(default_factory=Reindex)
    selector: str = ""
    synopsis: bool = False
    backend: Backend | None = None
    share: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """How the index is built and stored.

    `hnsw_above`: number of vectors from which an HNSW graph (the extra `graph`) helps; 0 for never.
    `idle_minutes`: minutes without a query after which the embedder's model is unloaded until the
    next one; 0 for never. `backend`: an engine that gets a copy of every corpus, for front ends to
    search: "local" for none, "postgresql://HOST/DATABASE" or "qdrant://HOST:PORT", or a list of
    those, among which corpora are divided (docs/backends.md). `backend_password_env`: the
    environment variable with its password or key.
    """

    hnsw_above: int = 50_000
    idle_minutes: float = 0.0
    backend: Backend = LOCAL
    backend_password_env: str = ""

    def find_address(self, own: Backend | None = None) -> BackendAddress | None:
        """Return the engine of a corpus that sets `own`, else the common one; None for local."""
        return parse_address(self.backend if own is None else own, self.backend_password_env)


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How the rankings by words and by meaning are combined.

    `fusion`: for queries that name none (standard, rrf, blend, alpha, mmr or alpha+mmr); `alpha`:
    the share of the cosine in alpha, 0 to 1; `mmr_lambda`: the weight of relevance in mmr, 0 to 1,
    the rest goes to diversity. The environment variables IRDAEMON_FUSION, IRDAEMON_ALPHA and
    IRDAEMON_MMR_LAMBDA override the file.
    """

    fusion: str = "standard"
    alpha: float = 0.7
    mmr_lambda: float = 0.7


@dataclass(frozen=True, slots=True)
class ProjectsConfig:
    """What is indexed of the projects that queries come from; each project alone sees its own.

    `enabled`: index them; `roots`: directories in which every project may be read, even outside of
    the home directory and on other file systems; `ignore`: directories that are never read, nor
    anything below them; `environment`: the Python environment of projects that have none;
    `offer_packages`: the hook, and discover over all corpora, offer dependencies too;
    `max_projects`: how many are kept up to date at a time; `max_artifacts`: how many artifacts each
    may have.
    """

    enabled: bool = True
    roots: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    environment: str = ""
    offer_packages: bool = True
    max_projects: int = 64
    max_artifacts: int = 20_000


# The writers of expected prompts.
PROMPT_WRITERS = ("claude", "codex", "models")


@dataclass(frozen=True, slots=True)
class PromptsConfig:
    """Expected prompts: what people type who need an item and do not know it.

    `pack`: count those that ship with irdaemon, for packages, skills and tools in common use;
    `write`: who writes more of them in the background: "claude" or "codex", whose own command is
    run, or "models", the endpoint of [models] ("": only `irc prompts write`). The writer is sent
    the content of `corpora`, without secrets; "all" are skills, agents, commands, rules, plugins,
    packages and tools, never sessions or notes; `model`: the writer's model ("": its own choice);
    `batch`: items in one request, 1 for each alone; `tokens_a_day`: about how many are spent at
    most.
    """

    pack: bool = True
    write: str = ""
    corpora: tuple[str, ...] = ("all",)
    model: str = ""
    batch: int = 10
    tokens_a_day: int = 200_000


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """How file events are processed.

    `settle_ms`: quiet time after a change before acting on it; `max_wait_ms`: the longest a change
    waits; `poll_s`: how often a root that cannot be watched is scanned; `polling`: never use the
    system's events.
    """

    settle_ms: int = 20
    max_wait_ms: int = 2_000
    poll_s: float = 5.0
    polling: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """How often upkeep runs, in minutes; 0 turns a job off.

    `quiet`: the hours of the day, as 22:00-06:00 by the local clock, in which compaction and the
    scans of corpora with reindex = "interval" run, and a model writes synopses; empty for any time.
    """

    reconcile_minutes: float = 15.0
    retry_minutes: float = 60.0
    compact_minutes: float = 24 * 60.0
    learn_minutes: float = 60.0
    quiet: str = ""


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """Where else to serve, and what a request may cost.

    `tcp`: HOST:PORT to serve in addition to the socket, with CURVE keys only (irdaemon keys);
    `shared`: the path of a second socket, for other users of this machine that a [[client]] table
    names. `max_items`: values in one request, in total; `max_waiting`: requests that wait for a
    worker; `max_request_s`: the longest a request may wait and run; `requests_per_second`: of one
    connection, with bursts of ten times as many. 0 means no limit.
    """

    tcp: str = ""
    shared: str = ""
    max_connections: int = 1_000
    max_message_bytes: int = 4 * 1024 * 1024
    max_reply_bytes: int = 16 * 1024 * 1024
    max_depth: int = 32
    max_items: int = 100_000
    max_query_chars: int = 200_000
    max_references: int = 1_000
    max_cases: int = 10_000
    max_waiting: int = 64
    max_request_s: float = 600.0
    requests_per_second: float = 5_000.0


@dataclass(frozen=True, slots=True)
class HealthConfig:
    """When an index counts as stale.

    `stale_minutes`: how long an observed change may wait to be indexed, and how much later than
    scheduled a whole scan may be; `stuck_minutes`: how long one job may go without progress before
    the service manager's watchdog is no longer answered.
    """

    stale_minutes: float = 10.0
    stuck_minutes: float = 15.0


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """The resources the daemon may use; 0 for no limit, `irc status` names those exceeded.

    `memory_mb`: resident memory; near it models, graphs and cached answers are released, above it
    new artifacts are refused. `file_bytes`, `line_bytes`: the largest file, and line of a session,
    read if a corpus sets no `max_bytes`, `max_line_bytes` (0: the source's own limit). `artifacts`:
    artifacts in each corpus. `open_files`: descriptors, at least 256 (0: the system's limit).
    `queued_paths`: changed paths that wait for a corpus before one whole scan replaces them.
    `nice`: by how much indexing lowers its priority. `idle_exit_minutes`: minutes without a request
    after which the daemon stops.
    """

    memory_mb: int = 1_800
    file_bytes: int = 0
    line_bytes: int = 0
    artifacts: int = 1_000_000
    open_files: int = 0
    queued_paths: int = 10_000
    nice: int = 5
    idle_exit_minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class DocumentsConfig:
    """Whether clients may write documents into the managed directory.

    `write`: enable `irc docs add`, `update` and `rm`, and the tools of the library profile with
    these names; the corpus `documents` holds the documents. They then also work in the roots of
    each corpus of kind files that says writable = true. `roots`: below these a client may have a
    new directory indexed (`irc docs index`).
    """

    write: bool = False
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelsConfig:
    """A language model, for corpora with selector = "llm" or synopsis = true.

    `endpoint`: base URL of an OpenAI-compatible endpoint ("": none); `model`: its name there;
    `key_env`: the environment variable with its key. If the endpoint is on another machine,
    redacted text leaves this one. `timeout_s`: the longest wait for a choice; six times as long for
    a synopsis; `synopses_a_day`: how many are requested at most, 0 for none; `quiet_minutes`:
    minutes without a request or a change before synopses are requested.
    """

    endpoint: str = ""
    model: str = ""
    key_env: str = KEY_ENV
    timeout_s: float = 10.0
    synopses_a_day: int = 200
    quiet_minutes: float = 10.0

    def make_endpoint(self) -> ModelEndpoint | None:
        """Return the endpoint, or None if none is configured."""
        return (
            ModelEndpoint(self.endpoint.rstrip("/"), self.model, self.key_env)
            if self.endpoint
            else None
        )


@dataclass(frozen=True, slots=True)
class UsageConfig:
    """What is recorded about use: the answers given, and the items used according to transcripts.

    `enabled`: record it, for 90 days and in 50 MB at most, on this machine only (docs/usage.md);
    `text`: keep the words of queries too, without secrets. A change takes effect at the next start.
    """

    enabled: bool = True
    text: bool = False


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """What is kept of the actions of sessions: files, commits and commands (docs/queries.md).

    `enabled`: keep it, and say of recalled turns whether they still hold. A change takes effect at
    the next start; records made before stay in recall.sqlite.
    """

    enabled: bool = True


@dataclass(frozen=True, slots=True)
class WebConfig:
    """The page of `irc web`, served by a process that the daemon starts.

    `enabled`: start it; `port`: of the loopback address. `irc web` then opens a link to it.
    `host_names`: names (NAME or NAME:PORT) of a tunnel or a proxy under which it also answers. A
    change takes effect at the next start.
    """

    enabled: bool = False
    port: int = 7412
    host_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """The complete configuration, and where the daemon keeps its own files.

    `documents_dir` is the directory of managed documents, or "". `lines` has the line of each key
    that is set, by its dotted name, for errors that are found later.
    """

    path: str
    state_dir: str
    documents_dir: str = ""
    embedder: str = "wordllama"
    reranker: str = ""
    known: bool = True
    corpora: tuple[CorpusConfig, ...] = ()
    index: IndexConfig = field(default_factory=IndexConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    projects: ProjectsConfig = field(default_factory=ProjectsConfig)
    prompts: PromptsConfig = field(default_factory=PromptsConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    serve: ServeConfig = field(default_factory=ServeConfig)
    clients: tuple[ClientConfig, ...] = ()
    health: HealthConfig = field(default_factory=HealthConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    documents: DocumentsConfig = field(default_factory=DocumentsConfig)
    models: ModelsConfig = field(default_factory=ModelsConfig)
    usage: UsageConfig = field(default_factory=UsageConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    web: WebConfig = field(default_factory=WebConfig)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    def make_error(self, key: str, message: str, hint: str = "") -> ConfigError:
        """Return an error that names the file, and the line of a dotted key if it is set."""
        line = self.lines.get(key, 0)
        return ConfigError(
            f"{self.path}:{line}: {message}" if line else f"{self.path}: {message}", hint
        )

    def list_backends(self) -> tuple[BackendAddress, ...]:
        """Return the engines named for all corpora or for one, each once."""
        named = (
            self.index.find_address(),
            *(self.index.find_address(each.backend) for each in self.corpora),
        )
        return tuple(dict.fromkeys(each for each in named if each is not None))

    @property
    def ledger_path(self) -> str:
        """Return the path of the ledger file."""
        return os.path.join(self.state_dir, "ledger.sqlite")

    @property
    def usage_path(self) -> str:
        """Return the path of the usage log."""
        return os.path.join(self.state_dir, "usage.sqlite")

    @property
    def recall_path(self) -> str:
        """Return the path of the file that keeps what sessions did to files."""
        return os.path.join(self.state_dir, "recall.sqlite")

    @property
    def usage_key_path(self) -> str:
        """Return the path of the key of the digests in the usage log."""
        return os.path.join(self.state_dir, "usage.key")


SECTIONS: Mapping[str, type[Any]] = MappingProxyType(
    {
        name: kind
        for name, kind in get_type_hints(Config).items()
        if isinstance(kind, type) and is_dataclass(kind)
    }
)
