"""The process around an engine, as far as the engine may ask something of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from irclient.errors import Unavailable
from irdaemon.engine.health import ProcessHealth


class Host(Protocol):
    """What an engine may ask of the process it runs in: its facts, and its configuration."""

    @property
    def writes(self) -> bool:
        """Say whether a thread of its own does the engine's jobs."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Return what the status says of the process."""
        ...

    def vitals(self) -> ProcessHealth:
        """Return what the process knows of its watches, threads and limits."""
        ...

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return the real paths of roots of which every change so far has been asked for.

        Takes at most `timeout` seconds.
        """
        ...

    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration; return the jobs that take it up."""
        ...

    def remove(self, name: str) -> list[int]:
        """Take a corpus out of the configuration; return the jobs that take it up."""
        ...

    def reload(self) -> list[int]:
        """Read the configuration again; return the jobs that take it up."""
        ...


class InProcess:
    """The host of an engine that runs in somebody's own process: no configuration to edit."""

    writes = False

    def facts(self) -> Mapping[str, Any]:
        """Return no facts."""
        return {}

    def vitals(self) -> ProcessHealth:
        """Return nothing: nobody watches."""
        return ProcessHealth()

    def caught_up(self, timeout: float) -> Collection[str]:
        """Return none: nobody watches."""
        return ()

    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Refuse: see Host."""
        raise Unavailable("this engine has no configuration file")

    def remove(self, name: str) -> list[int]:
        """Refuse: see Host."""
        raise Unavailable("this engine has no configuration file")

    def reload(self) -> list[int]:
        """Refuse: see Host."""
        raise Unavailable("this engine has no configuration file")
