"""The configuration that a daemon runs on, and what follows from it for the daemon's parts."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irdaemon.config.backends import LOCAL
from irdaemon.config.config import Config, load_config
from irdaemon.config.corpus import Corpus, corpora_of, make_corpus, newly_found, waited_for, wanted
from irdaemon.config.reindex import ALWAYS, quiet_hours
from irdaemon.engine import EngineOptions
from irdaemon.engine.health import Policy
from irdaemon.index import Images
from irdaemon.runtime.power import on_battery
from irdaemon.serve.listen import rules_of
from irdaemon.source.opening import resolved
from irdaemon.types import Tuning
from irdaemon.usage.notes import UsageOptions
from irdaemon.watch import Settings

log = logging.getLogger(__name__)

_DAY_S = 24 * 60 * 60.0
# More than these read faster than one writer stores.
_MOST_WORKERS = 3


class ActiveConfig:
    """The configuration in use: the person's file, or a fallback where that names no corpus.

    `demo` is whether the fallback's corpora are in use. They make way as soon as there are others.
    """

    def __init__(self, path: str | None, fallback: str | None):
        self._path = path
        self._fallback = fallback
        self.demo = False
        self._examples: frozenset[str] = frozenset()
        self.config = self._read()
        self.rules = rules_of(self.config)

    def _read(self) -> Config:
        config = load_config(self._path)
        _make_directory(config)
        return self._or_fallback(config)

    def _or_fallback(self, config: Config) -> Config:
        self._own, self.demo = config, self._fallback is not None and not wanted(config)
        if not self.demo:
            return config
        index = replace(config.index, backend=LOCAL)  # no other process wants the examples
        config = replace(config, corpora=load_config(self._fallback).corpora, index=index)
        self._examples = frozenset(each.name for each in config.corpora)
        return config

    def add(self, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any]) -> None:
        """Write a corpus into the file."""
        from irdaemon.config.edit import add_corpus  # with tomlkit, which no start needs

        self.config = self._or_fallback(add_corpus(self._file(), name, kind, roots, options))

    def preview(self, name: str, kind: str, roots: Sequence[str]) -> Corpus:
        """Return the corpus that `add` would make, and write nothing."""
        from irdaemon.config.edit import with_corpus

        config = with_corpus(self._file(), name, kind, roots)
        (given,) = (each for each in wanted(config) if each.name == name)
        return make_corpus(given, config)

    def remove(self, name: str) -> None:
        """Take a corpus out of the file."""
        from irdaemon.config.edit import remove_corpus

        self.config = self._or_fallback(remove_corpus(self._file(), name))

    def _file(self) -> str:
        """Return the file to edit. Raises ConfigError where the one that was named is gone."""
        return load_config(self._path).path

    def corpora(self, held: Collection[str]) -> tuple[Corpus, ...]:
        """Return the corpora of the configuration; `held` are those the ledger has."""
        return corpora_of(self.config, self._without_examples(held))

    def _without_examples(self, held: Collection[str]) -> Collection[str]:
        """Return the names of what is held without the examples that make way now."""
        if self.demo:
            return held
        left, self._examples = self._examples, frozenset()
        return [name for name in held if name not in left]

    def newly_found(self, now: Mapping[str, Corpus]) -> tuple[Corpus, ...] | None:
        """Return the corpora with the known places that have appeared; None where none has."""
        if self.demo:
            self.config = self._or_fallback(self._own)
        kept = self._without_examples(now)
        return newly_found(self.config, {name: now[name] for name in kept})

    def waited_for(self) -> list[tuple[str, str]]:
        """Return the known places that do not exist yet, each with its corpus' name."""
        return waited_for(self.config)

    def reload(self, held: Collection[str]) -> None:
        """Read the file again; one that cannot be used leaves everything as it was."""
        before = self._own, self.demo
        try:
            config = self._read()
            corpora_of(config, held)
        except BaseException:
            self._own, self.demo = before
            raise
        self.config, self.rules = config, rules_of(config)


def _make_directory(config: Config) -> None:
    """Make the directory of managed documents, so that it is watched from the start."""
    if config.documents.write:
        try:
            os.makedirs(config.documents_dir, 0o700, exist_ok=True)
        except OSError as error:
            log.error("%s cannot be made: %s", config.documents_dir, error.strerror)


def engine_options(config: Config) -> EngineOptions:
    """Return how the configuration wants the engine to work."""
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
        quiet=quiet_hours(config.schedule.quiet) or ALWAYS,
        compact_every_s=60 * config.schedule.compact_minutes,
        model=config.models.model_endpoint(),
        model_timeout_s=config.models.timeout_s,
        usage=_usage_options(config),
        on_battery=on_battery,
        workers=reading_workers(),
    )


def reading_workers() -> int:
    """Return how many processes may read in bulk: a core is left to answers and to the writer."""
    return min(_MOST_WORKERS, _cores() - 1)


def _cores() -> int:
    """Count the cores that this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _usage_options(config: Config) -> UsageOptions | None:
    if not config.usage.enabled:
        return None
    return UsageOptions(config.usage_path, config.usage_key_path, config.usage.text)


def watch_settings(config: Config, socket: str) -> Settings:
    """Return how the configuration wants the roots to be watched."""
    return Settings(
        ignored=(resolved(config.state_dir), resolved(os.path.dirname(socket))),
        polling=config.watch.polling,
        poll_interval=config.watch.poll_s,
        settle=config.watch.settle_ms / 1e3,
        max_wait=config.watch.max_wait_ms / 1e3,
        cookies=os.path.join(os.path.dirname(socket), "cookies"),
    )
