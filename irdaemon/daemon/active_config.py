"""The configuration that a daemon runs on, and what the daemon's parts derive from it."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from irclient.errors import IRError, QueryError
from irdaemon.config.addons import load_addons, load_part
from irdaemon.config.config import choose_path, load_config
from irdaemon.config.corpus import (
    Corpus,
    add_examples,
    find_fallback_note,
    find_new_corpora,
    list_absent_places,
    list_wanted,
    make_corpora,
    make_corpus,
    read_fallback,
)
from irdaemon.config.reindex import ALWAYS, parse_quiet_hours
from irdaemon.config.sections import SECTIONS, Config
from irdaemon.daemon.lock import make_private
from irdaemon.engine import EngineOptions
from irdaemon.engine.health import Policy
from irdaemon.index import Images
from irdaemon.serve.listen import check_endpoints, make_rules
from irdaemon.source.opening import resolve_path
from irdaemon.types import Tuning
from irdaemon.watch import Settings

if TYPE_CHECKING:
    from irdaemon.config.edit import ConfigFile
    from irdaemon.serve.ops import ServeRules

log = logging.getLogger(__name__)

_DAY_S = 24 * 60 * 60.0
# More processes would read faster than one writer stores.
_MOST_WORKERS = 3


# Keys read only at the start; "NAME." means all keys of a section.
_READ_AT_START = (
    "reranker", "index.hnsw_above", "index.idle_minutes", "search.", "watch.", "schedule.",
    "serve.tcp", "serve.shared", "serve.max_connections", "serve.max_message_bytes",
    "health.stale_minutes", "limits.memory_mb", "limits.open_files", "limits.queued_paths",
    "limits.nice", "models.", "prompts.write", "prompts.corpora", "prompts.model", "prompts.batch",
    "prompts.tokens_a_day", "usage.", "recall.", "web.",
)  # fmt: skip


class ActiveConfig:
    """The configuration in use: the person's file, or a fallback if it names no corpus.

    `demo` is whether the fallback's corpora are in use; any others replace them. `refused` is the
    error of the file as last read, None if the file is in use.
    """

    def __init__(self, path: str | None, fallback: str | None):
        self._path = path
        # Read once: removing the last corpus must not fail because the examples' file was deleted.
        self._examples_path = os.path.abspath(fallback) if fallback else read_fallback()
        self._fallback = load_config(self._examples_path).corpora if self._examples_path else None
        self.demo = False
        self._noted: bool | None = None  # whether a file names the examples, once that is known
        self._examples: frozenset[str] = frozenset()
        self.refused: IRError | None = None
        self.reload()
        self._started = self.config
        for each in self._fallback or ():
            make_corpus(each, self.config)

    def _add_examples(self, config: Config) -> Config:
        examples = add_examples(config, self._fallback)
        self._own, self.demo = config, examples is not None
        if self.demo != self._noted:
            self._note_examples()
        if examples is None:
            return config
        self._examples = frozenset(each.name for each in examples.corpora)
        return examples

    def _note_examples(self) -> None:
        """Record the fallback in use for the next start, which may be given none."""
        path, self._noted = find_fallback_note(), self.demo
        try:
            if self.demo and self._examples_path:
                make_private(os.path.dirname(path))
                with open(path, "w", encoding="utf-8") as file:
                    file.write(self._examples_path)
            elif os.path.lexists(path):
                os.unlink(path)
        except OSError as error:
            log.warning("%s cannot be written: %s", path, error.strerror)

    def add(self, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any]) -> None:
        """Write a corpus into the file. Raises QueryError for a missing root."""
        file = open_config_file(self._path)
        self._check_roots(name, file.preview_corpus(name, kind, roots))
        added = file.add_corpus(name, kind, roots, options)
        self.config, self.refused = self._add_examples(added), None

    def preview(self, name: str, kind: str, roots: Sequence[str]) -> Corpus:
        """Return the corpus that `add` would make, without writing. Raises like `add`."""
        config = open_config_file(self._path).preview_corpus(name, kind, roots)
        self._check_roots(name, config)
        (given,) = (each for each in list_wanted(config) if each.name == name)
        return make_corpus(given, config)

    def _check_roots(self, name: str, config: Config) -> None:
        """Raise QueryError for a missing root of a corpus, as the file resolves it."""
        for root in (root for each in config.corpora if each.name == name for root in each.roots):
            try:
                os.stat(root)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise QueryError(
                    f"{root} does not exist; [corpora.{name}] was not added to {self.config.path}",
                    "check the spelling, or create it first; to add a root that will appear later:"
                    " irdaemon config edit",
                ) from error
            except (OSError, ValueError):
                continue  # the scan says why it cannot be read

    def remove(self, name: str) -> None:
        """Remove a corpus from the file."""
        left = open_config_file(self._path).remove_corpus(name)
        self.config, self.refused = self._add_examples(left), None

    def make_corpora(self, held: Collection[str]) -> tuple[Corpus, ...]:
        """Return the configuration's corpora; `held` are the corpora in the ledger."""
        corpora = make_corpora(self.config, self._drop_examples(held))
        return tuple(replace(each, example=True) for each in corpora) if self.demo else corpora

    def _drop_examples(self, held: Collection[str]) -> Collection[str]:
        """Return the held names without the examples that are now replaced."""
        if self.demo:
            return held
        left, self._examples = self._examples, frozenset()
        return [name for name in held if name not in left]

    def find_new_corpora(self, now: Mapping[str, Corpus]) -> tuple[Corpus, ...] | None:
        """Return the corpora with known places that have appeared, or None."""
        if self.demo:
            self.config = self._add_examples(self._own)
        kept = self._drop_examples(now)
        return find_new_corpora(self.config, {name: now[name] for name in kept})

    def list_absent_places(self) -> list[tuple[str, str]]:
        """Return the known places that do not exist yet, each with its corpus' name."""
        return list_absent_places(self.config)

    def reload(self) -> None:
        """Read the file again; if it cannot be used, leave everything unchanged."""
        try:
            config = load_config(self._path)
            rules = check_startable(config)
        except IRError as error:
            self.refused = error
            raise
        _make_directory(config)
        self.config, self.rules, self.refused = self._add_examples(config), rules, None

    def describe_file(self) -> dict[str, Any]:
        """Return what the status reports of the file if part of it is not in use."""
        changed = list_changed_keys(self._started, self.config)
        sections = tuple(each for each in _READ_AT_START if each.endswith("."))
        later = [key for key in changed if key in _READ_AT_START or key.startswith(sections)]
        return {
            **({"refused": describe_refusal(self.refused)} if self.refused else {}),
            **({"next_start": later} if later else {}),
        }


def describe_refusal(error: IRError) -> dict[str, str]:
    """Return what the status reports about a refused configuration."""
    return {"message": error.message, "hint": error.hint}


def list_changed_keys(before: Config, after: Config) -> list[str]:
    """Return the dotted top-level and section keys whose values differ."""
    top = [key for key in ("embedder", "reranker") if getattr(before, key) != getattr(after, key)]
    return top + [
        f"{name}.{each.name}"
        for name, kind in SECTIONS.items()
        for each in fields(kind)
        if getattr(getattr(before, name), each.name) != getattr(getattr(after, name), each.name)
    ]


def check_startable(config: Config) -> ServeRules:
    """Return a configuration's rules for requests; refuse one that a daemon cannot start with.

    Starting, reloading and editing all use this function. Raises ConfigError.
    """
    make_corpora(config)
    check_endpoints(config)
    return make_rules(config)


def open_config_file(path: str | None) -> ConfigFile:
    """Return the file to edit. Raises ConfigError if the named file is missing."""
    from irdaemon.config.edit import ConfigFile  # with tomlkit, which no start needs

    return ConfigFile(choose_path(path), check_startable)


def _make_directory(config: Config) -> None:
    """Create the directory of managed documents, so that it is watched from the start."""
    if config.documents.write:
        try:
            os.makedirs(config.documents_dir, 0o700, exist_ok=True)
        except OSError as error:
            log.error("%s cannot be made: %s", config.documents_dir, error.strerror)


def make_engine_options(config: Config) -> EngineOptions:
    """Return the engine's options according to the configuration."""
    return EngineOptions(
        images=Images(os.path.join(config.state_dir, "index")),
        hnsw_above=config.index.hnsw_above,
        embedder_idle_s=60 * config.index.idle_minutes,
        reranker=config.reranker,
        policy=Policy(
            60 * config.health.stale_minutes,
            60 * config.schedule.reconcile_minutes,
            _DAY_S if config.schedule.quiet else 0.0,
        ),
        queued_paths=config.limits.queued_paths,
        tuning=Tuning(config.search.fusion, config.search.alpha, config.search.mmr_lambda),
        quiet=parse_quiet_hours(config.schedule.quiet) or ALWAYS,
        compact_every_s=60 * config.schedule.compact_minutes,
        model=config.models.make_endpoint(),
        model_timeout_s=config.models.timeout_s,
        addons={
            name: load_part(addon.options)(config)
            for name, addon in load_addons().items()
            if addon.options
        },
        on_battery=is_on_battery,
        workers=count_workers(),
        projects=config,
    )


def count_workers() -> int:
    """Return how many processes may read in bulk, leaving a core for answers and the writer."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(_MOST_WORKERS, cores - 1)


def make_watch_settings(config: Config, socket: str) -> Settings:
    """Return the watcher's settings according to the configuration."""
    return Settings(
        ignored=(resolve_path(config.state_dir), resolve_path(os.path.dirname(socket))),
        polling=config.watch.polling,
        poll_interval=config.watch.poll_s,
        settle=config.watch.settle_ms / 1e3,
        max_wait=config.watch.max_wait_ms / 1e3,
        cookies=os.path.join(os.path.dirname(socket), "cookies"),
    )


# Whether the machine runs on battery, according to Linux; elsewhere always False.

SUPPLIES = "/sys/class/power_supply"


def is_on_battery(directory: str = SUPPLIES) -> bool:
    """Return whether a battery of the machine is discharging and there is no other supply.

    A mouse's battery does not count, and a machine without a battery is never on one.
    """
    try:
        supplies = [os.path.join(directory, name) for name in os.listdir(directory)]
    except OSError:
        return False
    if any(_read_value(each, "online") == "1" for each in supplies):
        return False
    return any(map(_is_discharged, supplies))


def _is_discharged(supply: str) -> bool:
    own = _read_value(supply, "type") == "Battery" and _read_value(supply, "scope") != "Device"
    return own and _read_value(supply, "status") == "Discharging"


def _read_value(supply: str, name: str) -> str:
    try:
        with open(os.path.join(supply, name), encoding="ascii", errors="replace") as file:
            return file.read(64).strip()
    except OSError:
        return ""
