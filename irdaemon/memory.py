"""Keep the process small and its pauses short.

glibc gives each thread an arena of its own and keeps what is freed; Python's collector goes through
every object it knows again and again. Both suit other programs better: here a writer builds large
arrays beside a server that must answer in a millisecond.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os

# From malloc.h. With one arena, large blocks mapped apart and the rest given back soon, a first
# build of 10,000 skills leaves 200 MB resident instead of 400.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_TRIM_ABOVE = 1 << 20
_MAPPED_ABOVE = 1 << 18
# Fewer, larger rounds: most objects here are strings in tuples, which hold no cycles.
_GC_THRESHOLDS = (20_000, 20, 50)


def resident() -> int | None:
    """Return how many bytes this process holds in memory; None where the system does not say."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def be_modest() -> None:
    """Give freed memory back, unless the environment says otherwise or the C library is another."""
    gc.set_threshold(*_GC_THRESHOLDS)
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_ABOVE)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_ABOVE)


def settle() -> None:
    """Take everything there is now out of the collector's rounds."""
    gc.collect()
    gc.freeze()
