"""Configuration: one optional TOML file becomes one frozen Config.

Without a file the known directories of this machine are the corpora. A key that is not known, or a
value of the wrong type, is an error that names file, line and key, and the nearest valid one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import platformdirs

from irclient.errors import IRError
from irdaemon.config.clients import ClientConfig, parse_clients
from irdaemon.runtime import toml
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source import SOURCES
from irdaemon.source.redact import LEVELS as REDACTION_LEVELS
from irdaemon.types import NAME

# Kinds whose directories are found by themselves; the corpus is called after the kind.
KNOWN_KINDS = tuple("skills agents commands rules plugins mcp_tools packages sessions".split())
# What every corpus' table may hold; further keys are options of its source.
CORPUS_KEYS = (
    "kind", "roots", "strategy", "embedder", "cases", "enabled", "redact", "follow_links",
)  # fmt: skip
# Kinds that hold what a program hands over, so a file cannot configure them.
_IN_PROCESS = ("mapping",)


class ConfigError(IRError):
    """The configuration cannot be used as it is."""

    code = "config"


@dataclass(frozen=True, slots=True)
class CorpusConfig:
    """One corpus: a source by name, its roots and options, its strategy spec and embedder.

    `cases` is a file of labelled queries from which its floor is set; `redact` the level at which
    secrets are taken out ("": as its kind has it); `follow_links` whether a link may lead out of
    the roots (None: as its kind has it). `options` are the keys that only its source knows; `lines`
    tells where each is written, "" the table itself, for errors that are found later. `fault` says
    where a control character makes it unusable, "" for nowhere: the other corpora are served.
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
    options: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """How the index is built and kept.

    `hnsw_above`: vectors from which an HNSW graph helps; 0 for never. `idle_minutes`: after so long
    without a query the embedder's model is let go until the next; 0 for never.
    """

    hnsw_above: int = 50_000
    idle_minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """How file events are taken in.

    `settle_ms`: quiet awaited before acting again; `max_wait_ms`: the longest a change waits;
    `poll_s`: how often a root that cannot be watched is looked at; `polling`: never use the
    system's events.
    """

    settle_ms: int = 20
    max_wait_ms: int = 2_000
    poll_s: float = 5.0
    polling: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """How often upkeep runs, in minutes; 0 turns a job off."""

    reconcile_minutes: float = 15.0
    retry_minutes: float = 60.0
    compact_minutes: float = 24 * 60.0


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """Who may ask from elsewhere, and what a request may cost.

    `tcp`: HOST:PORT to serve at beside the socket, with CURVE keys only (irdaemon keys); `shared`:
    the path of a second socket, for other users of this machine that a [[client]] table names.
    `max_items`: values in one request, in all; `max_waiting`: requests that wait for a worker;
    `max_request_s`: the longest a request may wait and run; `requests_per_second`: of one
    connection, ten times as many at once. 0 means no limit.
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

    `stale_minutes`: how long a change that was seen may wait to be indexed, and how much later than
    the schedule says a whole look may be; `stuck_minutes`: how long one job may go without a sign
    of progress before the service manager's watchdog is left unanswered.
    """

    stale_minutes: float = 10.0
    stuck_minutes: float = 15.0


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """What the daemon may use at most; 0 for no limit, `irc status` says which one bites.

    `memory_mb`: resident memory; near it what is only kept to be quick goes, above it new artifacts
    are refused. `file_bytes`, `line_bytes`: the largest file, and line of a session, read where a
    corpus sets no `max_bytes`, `max_line_bytes` (0: what its source has). `artifacts`: how many a
    corpus holds. `open_files`: descriptors, at least 256 (0: what the system gives).
    `queued_paths`: changed paths that wait for a corpus before one look stands for them. `nice`:
    how far indexing stands back. `idle_exit_minutes`: stop after so long without a request.
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
class Config:
    """Everything a person can set, and where the daemon keeps its own files."""

    path: str
    state_dir: str
    embedder: str = "wordllama"
    reranker: str = ""
    known: bool = True
    corpora: tuple[CorpusConfig, ...] = ()
    index: IndexConfig = field(default_factory=IndexConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    serve: ServeConfig = field(default_factory=ServeConfig)
    clients: tuple[ClientConfig, ...] = ()
    health: HealthConfig = field(default_factory=HealthConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)

    @property
    def ledger_path(self) -> str:
        """Return the path of the ledger file."""
        return os.path.join(self.state_dir, "ledger.sqlite")


_SECTIONS: Mapping[str, type[Any]] = MappingProxyType(
    {
        "index": IndexConfig,
        "watch": WatchConfig,
        "schedule": ScheduleConfig,
        "serve": ServeConfig,
        "health": HealthConfig,
        "limits": LimitsConfig,
    }
)
_TOP_KEYS = ("embedder", "reranker", "known", "corpora", "client", *_SECTIONS)


def config_path() -> str:
    """Return the path of the configuration file, existing or not."""
    if chosen := os.environ.get("IRDAEMON_CONFIG"):
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(platformdirs.user_config_dir("irdaemon"), "irdaemon.toml")


def state_dir() -> str:
    """Return the directory of the ledger, the lock and the log.

    systemd's STATE_DIRECTORY is not used: before version 254 it lies elsewhere than where a daemon
    started by hand would look, and both must find the same ledger.
    """
    return platformdirs.user_state_dir("irdaemon")


def load_config(path: str | None = None) -> Config:
    """Read the configuration; a file that was named must exist, the default one need not."""
    chosen = os.path.abspath(path) if path else config_path()
    text = read_text(chosen)
    if text is None and (path or os.environ.get("IRDAEMON_CONFIG")):
        raise ConfigError(f"{chosen}: no such file", "irdaemon init writes one")
    return parse_config(text or "", chosen)


def read_text(path: str) -> str | None:
    """Return what a configuration file holds; None where there is none. Raises ConfigError.

    Only a regular file is read: a pipe would have the daemon wait for whoever writes into it.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path} is no regular file", "name a file with the settings")
            return file.read().decode("utf-8")
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a directory", "name the file in it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", "check the file") from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def parse_config(text: str, path: str) -> Config:
    """Build a Config from TOML text; `path` is named in errors. Raises ConfigError."""
    try:
        data = toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}", "see https://toml.io for the syntax") from error
    where = _Where(path, text)
    for key, value in data.items():
        where.check_key("", key, _TOP_KEYS)
        if key != "corpora" and (fault := where.control_character(key, value)):
            raise ConfigError(f"{path}: {fault}", "leave that character out")
    sections = {
        name: _section(kind, data[name], name, where)
        for name, kind in _SECTIONS.items()
        if name in data
    }
    return Config(
        path=path,
        state_dir=state_dir(),
        embedder=where.typed("", "embedder", data.get("embedder", "wordllama"), str),
        reranker=where.typed("", "reranker", data.get("reranker", ""), str),
        known=where.typed("", "known", data.get("known", True), bool),
        corpora=_corpora(where.typed("", "corpora", data.get("corpora", {}), dict), where),
        clients=parse_clients(where.typed("", "client", data.get("client", []), list), where),
        **sections,
    )


@dataclass(frozen=True, slots=True)
class _Where:
    """The text a value came from, so that an error can name its line."""

    path: str
    text: str

    def error(self, table: str, key: str, message: str, hint: str = "") -> ConfigError:
        line = self.line_of(table, key)
        place = f"{self.path}:{line}" if line else self.path
        return ConfigError(f"{place}: {message}", hint)

    def check_key(self, table: str, key: str, valid: tuple[str, ...]) -> None:
        if key in valid:
            return
        place = f" in [{table}]" if table else ""
        raise self.error(
            table,
            key,
            f"unknown key {key!r}{place}{did_you_mean(key, valid)}",
            f"valid keys: {', '.join(valid)}",
        )

    def typed(self, table: str, key: str, value: Any, kind: type[Any]) -> Any:
        good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if good:
            return value
        raise self.error(
            table, key, f"{key} must be {_SAID[kind]}, not {type(value).__name__} ({value!r})"
        )

    def control_character(self, table: str, value: Any) -> str:
        """Say where a table or value holds a control character, "" for nowhere.

        No path and no name may: what shows them would be misled, and no system has one with a NUL.
        """
        found = next(_control_characters(value, ""), None)
        if found is None:
            return ""
        key, code = found
        line = self.line_of(table, key) or self.line_of("", table)
        said = f"{key or table} holds the control character U+{code:04X}"
        return f"line {line}: {said}" if line else said

    def absolute(self, path: str) -> str:
        """Return a path as written: relative to the file, or to the home."""
        return os.path.normpath(os.path.join(os.path.dirname(self.path), os.path.expanduser(path)))

    def line_of(self, table: str, key: str) -> int:
        """Return the line where a key, or else its table, is set; 0 if it cannot be told."""
        current, found = "", 0
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
                current = header.group(1).replace('"', "").replace("'", "")
                found = number if current in (table, f"{table}.{key}".strip(".")) else found
            name = re.match(r"""\s*["']?([^"'=\s]+)["']?\s*=""", line)
            dotted = f"{current}.{name.group(1)}".strip(".") if name else ""
            if name and dotted == f"{table}.{key}".strip("."):
                return number
        return found


# C0, DEL and C1.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _control_characters(value: Any, key: str) -> Iterator[tuple[str, int]]:
    """Yield each control character in a value by its code point, with the key it is set under."""
    if isinstance(value, str):
        yield from ((key, ord(each[0])) for each in _CONTROL.finditer(value))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _control_characters(name, key)
            yield from _control_characters(inner, key or name)
    elif isinstance(value, list):
        for inner in value:
            yield from _control_characters(inner, key)


_SAID: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}


def _section(kind: type[Any], data: Any, name: str, where: _Where) -> Any:
    table = where.typed("", name, data, dict)
    types = {f.name: type(f.default) for f in fields(kind)}
    for key, value in table.items():
        where.check_key(name, key, tuple(types))
        if isinstance(where.typed(name, key, value, types[key]), (int, float)) and not (
            0 <= value < float("inf")
        ):
            raise where.error(name, key, f"{key} must be finite and not negative")
    if table.get("shared"):
        table = {**table, "shared": where.absolute(table["shared"])}
    return kind(**table)


def _corpora(tables: Mapping[str, Any], where: _Where) -> tuple[CorpusConfig, ...]:
    return tuple(_corpus(name, table, where) for name, table in tables.items())


def _corpus(name: str, data: Any, where: _Where) -> CorpusConfig:
    table = f"corpora.{name}"
    if not NAME.match(name):
        raise where.error(
            table, "", f"{name!r} is no name for a corpus", "use letters, digits, '-', '_' and '.'"
        )
    given = where.typed("corpora", name, data, dict)
    # A strategy's parameters are no paths: what separates its parts may be a line end.
    values = {key: value for key, value in given.items() if key != "strategy"}
    fault = where.control_character(table, values)
    if fault:
        values = {k: v for k, v in values.items() if not where.control_character(table, {k: v})}
    kind = where.typed(table, "kind", values.pop("kind", name), str)
    configurable = tuple(k for k in SOURCES if k not in _IN_PROCESS)
    if kind not in configurable and ":" not in kind:
        raise where.error(
            table,
            "kind",
            f"unknown kind {kind!r}{did_you_mean(kind, configurable)}",
            f"kinds: {', '.join(configurable)}",
        )
    roots = where.typed(table, "roots", values.pop("roots", []), list)
    for root in roots:
        where.typed(table, "roots", root, str)
    embedder = values.pop("embedder", None)
    cases = where.typed(table, "cases", values.pop("cases", ""), str)
    return CorpusConfig(
        name=name,
        kind=kind,
        roots=tuple(where.absolute(root) for root in roots),
        strategy=_strategy(table, given.get("strategy"), where),
        embedder=None if embedder is None else where.typed(table, "embedder", embedder, str),
        cases=where.absolute(cases) if cases else "",
        enabled=where.typed(table, "enabled", values.pop("enabled", True), bool),
        redact=_level(table, values.pop("redact", ""), where),
        follow_links=_switch(table, "follow_links", values.pop("follow_links", None), where),
        options=values,
        lines={key: where.line_of(table, key) for key in ("", *values)},
        fault=fault,
    )


def _level(table: str, value: Any, where: _Where) -> str:
    level: str = where.typed(table, "redact", value, str)
    if level and level not in REDACTION_LEVELS:
        raise where.error(
            table,
            "redact",
            f"unknown level {level!r}{did_you_mean(level, REDACTION_LEVELS)}",
            f"levels: {', '.join(REDACTION_LEVELS)}",
        )
    return level


def _switch(table: str, key: str, value: Any, where: _Where) -> bool | None:
    return None if value is None else bool(where.typed(table, key, value, bool))


def _strategy(table: str, value: Any, where: _Where) -> Mapping[str, Any] | None:
    if value is None or isinstance(value, Mapping):
        return value
    return {"name": where.typed(table, "strategy", value, str), "params": {}}
