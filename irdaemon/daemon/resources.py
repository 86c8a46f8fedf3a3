"""Ceilings: hold the process to its limits, and say which of them bite."""

from __future__ import annotations

import logging
import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from irdaemon.config.config import LimitsConfig
from irdaemon.runtime.memory import MB, resident

log = logging.getLogger(__name__)

# Near a limit: from this share on, something is done or said.
NEAR = 0.9
_SHED_EVERY_S = 60.0
# libzmq ends the process when a connection comes and no descriptor is left.
_FEWEST_FILES = 256
_DESCRIPTORS = "/proc/self/fd"


@dataclass(frozen=True, slots=True)
class Usage:
    """What the process uses: bytes of memory and open files, with the limit for the latter."""

    memory: int
    open_files: int
    most_files: int


@dataclass(frozen=True, slots=True)
class Bite:
    """A limit that bites: which, and a sentence about it."""

    name: str
    said: str


def usage() -> Usage:
    """Measure this process; the number of open files is 0 where it cannot be told."""
    try:
        opened = len(os.listdir(_DESCRIPTORS)) - 1
    except OSError:
        opened = 0
    return Usage(resident(), opened, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def biting(used: Usage, limits: LimitsConfig) -> tuple[Bite, ...]:
    """Return which limits of the process bite."""
    return tuple(_biting(used, limits))


def _biting(used: Usage, limits: LimitsConfig) -> Iterator[Bite]:
    memory = f"{used.memory // MB:,} of {limits.memory_mb:,} MB of memory are used (memory_mb)"
    if limits.memory_mb and used.memory > limits.memory_mb * MB:
        yield Bite("memory", f"{memory}; new entries are refused")
    elif over_memory(used, limits):
        yield Bite("near memory", f"{memory}; what is only kept to be quick is let go")
    if used.open_files > NEAR * used.most_files:
        files = f"{used.open_files:,} of {used.most_files:,} files are open (open_files)"
        yield Bite("open files", f"{files}; without any left, connections fail")


def over_memory(used: Usage, limits: LimitsConfig) -> bool:
    """Say whether memory is so near its limit that some should be let go."""
    return bool(limits.memory_mb) and used.memory > NEAR * limits.memory_mb * MB


def set_open_files(limits: LimitsConfig) -> None:
    """Set how many files the process may open, as far as the system lets it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(_FEWEST_FILES, limits.open_files)
    if limits.open_files:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


class Ceilings:
    """Watch what the process uses, and have `shed` called when memory is near its limit."""

    def __init__(self, limits: LimitsConfig, shed: Callable[[], None]):
        self._limits = limits
        self._shed = shed
        self._shed_at = float("-inf")
        self._bites: tuple[Bite, ...] = ()

    def tick(self, now: float) -> None:
        """Measure, and act; `now` is in seconds of the monotonic clock."""
        used = usage()
        if over_memory(used, self._limits) and now - self._shed_at >= _SHED_EVERY_S:
            self._shed_at = now
            self._shed()
        bites = biting(used, self._limits)
        if {bite.name for bite in bites} != {bite.name for bite in self._bites}:
            log.warning("limits that bite: %s", "; ".join(b.said for b in bites) or "none any more")
        self._bites = bites

    def biting(self) -> tuple[str, ...]:
        """Say which limits bite as of the last tick."""
        return tuple(bite.said for bite in self._bites)
