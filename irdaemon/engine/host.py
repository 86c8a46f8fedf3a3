"""The interface between an engine and the process around it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

from irclient.errors import Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.engine.health import ProcessHealth

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class ServingHost(Protocol):
    """The part of a process that every engine needs."""

    def describe_process(self) -> Mapping[str, Any]:
        """Return what the status reports about the process."""
        ...

    def reload(self) -> list[int]:
        """Read the configuration again; return the jobs that apply it."""
        ...


class Host(ServingHost, Protocol):
    """The part of a process that an engine with a ledger needs: health and configuration."""

    @property
    def writes(self) -> bool:
        """Return whether a writer thread runs the engine's jobs."""
        ...

    def judge_health(self) -> ProcessHealth:
        """Return the health of the process: its watches, threads and limits."""
        ...

    def measure_idle_s(self) -> float:
        """Return how many seconds ago the last request came; infinity without any."""
        ...

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return the real paths of the roots whose changes so far have all been requested.

        Takes at most `timeout` seconds.
        """
        ...

    @property
    def document_roots(self) -> Collection[str]:
        """Return the directories below which clients may have new directories indexed."""
        ...

    def add(
        self, name: str, kind: str, roots: Sequence[str], options: Mapping[str, Any] = NO_OPTIONS
    ) -> list[int]:
        """Write a corpus into the configuration; return the jobs that apply it."""
        ...

    def preview(self, name: str, kind: str, roots: Sequence[str]) -> Corpus:
        """Return the corpus that `add` would make, and change nothing."""
        ...

    def remove(self, name: str) -> list[int]:
        """Remove a corpus from the configuration; return the jobs that apply it."""
        ...


class InProcess:
    """The host of an engine that runs in its caller's process: no configuration to edit."""

    writes = False
    document_roots: Collection[str] = ()

    def describe_process(self) -> Mapping[str, Any]:
        """Return no facts."""
        return {}

    def judge_health(self) -> ProcessHealth:
        """Return nothing: there is no watcher."""
        return ProcessHealth()

    def measure_idle_s(self) -> float:
        """Return infinity: there are no requests."""
        return float("inf")

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return no roots: there is no watcher."""
        return ()

    def _refuse(self, *given: object, **named: object) -> NoReturn:
        """Raise an error: see Host."""
        raise Unavailable("this engine has no configuration file")

    add = preview = remove = reload = _refuse
