"""The process: its resource use, and its limits, which it enforces or reports as exceeded."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from irdaemon import __version__
from irdaemon.config.sections import LimitsConfig
from irdaemon.runtime.memory import MB, measure_resident

log = logging.getLogger(__name__)

# Near a limit: the share from which on the daemon acts or reports.
NEAR = 0.9
_SHED_EVERY_S = 60.0
# libzmq ends the process if a connection arrives and no descriptor is left.
_FEWEST_FILES = 256
# With fewer there is room for a few dozen clients at once.
_ENOUGH_FILES = 1_024
_DESCRIPTORS = "/dev/fd"


@dataclass(frozen=True, slots=True)
class Usage:
    """What the process uses: bytes of memory and open files, and the limit for files."""

    memory: int
    open_files: int
    most_files: int


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that is reached, or nearly: its name, and a sentence about it."""

    name: str
    sentence: str


def measure_usage() -> Usage:
    """Measure this process; the number of open files is 0 if unknown."""
    try:
        opened = len(os.listdir(_DESCRIPTORS)) - 1
    except OSError:
        opened = 0
    return Usage(measure_resident(), opened, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def find_exceeded(used: Usage, limits: LimitsConfig) -> Iterator[Exceeded]:
    """Yield the limits that the process has reached, or nearly."""
    memory = f"{used.memory // MB:,} of {limits.memory_mb:,} MB of memory are used (memory_mb)"
    if limits.memory_mb and used.memory > limits.memory_mb * MB:
        yield Exceeded("memory", f"{memory}; new entries are refused")
    elif is_near_limit(used, limits):
        yield Exceeded("near memory", f"{memory}; models, graphs and cached answers are released")
    if used.most_files < _ENOUGH_FILES:
        few = f"only {used.most_files:,} files may be open, which limits concurrent clients"
        cure = "raise the hard limit: ulimit -n 4096, LimitNOFILE=4096 in a unit"
        yield Exceeded("few files", f"{few}; {cure}")
    if used.open_files > NEAR * used.most_files:
        files = f"{used.open_files:,} of {used.most_files:,} files are open (open_files)"
        yield Exceeded("open files", f"{files}; when none is left, connections fail")


def is_near_limit(used: Usage, limits: LimitsConfig) -> bool:
    """Return whether memory is near its limit, so that some should be released."""
    return bool(limits.memory_mb) and used.memory > NEAR * limits.memory_mb * MB


def set_open_files(limits: LimitsConfig) -> None:
    """Set how many files the process may open, within what the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(_FEWEST_FILES, limits.open_files)
    if limits.open_files:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with contextlib.suppress(OSError, ValueError):  # macOS has a limit beyond the hard one
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def describe_process(started: float, socket: str, config: str) -> dict[str, Any]:
    """Return what the status reports of this process; `started` is a monotonic time."""
    return {
        "version": __version__,
        "pid": os.getpid(),
        "uptime_s": round(time.monotonic() - started, 1),
        "rss_bytes": measure_resident(),
        "socket": socket,
        "config": config,
    }


class ResourceLimits:
    """Monitor the process, and call `shed` when memory is near its limit."""

    def __init__(self, limits: LimitsConfig, shed: Callable[[], None]):
        self._limits = limits
        self._shed = shed
        self._shed_at = float("-inf")
        self._exceeded: tuple[Exceeded, ...] = ()

    def tick(self, now: float) -> None:
        """Measure, and act; `now` is in seconds of the monotonic clock."""
        used = measure_usage()
        if is_near_limit(used, self._limits) and now - self._shed_at >= _SHED_EVERY_S:
            self._shed_at = now
            self._shed()
        found = tuple(find_exceeded(used, self._limits))
        if {each.name for each in found} != {each.name for each in self._exceeded}:
            sentences = "; ".join(each.sentence for each in found)
            log.warning("limits exceeded: %s", sentences or "none")
        self._exceeded = found

    def list_exceeded(self) -> tuple[str, ...]:
        """Return a sentence for each limit that was exceeded at the last tick."""
        return tuple(each.sentence for each in self._exceeded)
