"""Keep the process small and its pauses short.

glibc gives each thread a separate arena and keeps freed memory; Python's collector visits every
object again and again. Neither suits a writer that builds large arrays next to a server that must
answer in a millisecond.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys

MB = 1 << 20

# From malloc.h. With one arena, large blocks mapped separately and the rest released soon, a first
# build of 10,000 skills leaves 200 MB resident instead of 400.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_TRIM_ABOVE = 1 << 20
_MAPPED_ABOVE = 1 << 18
# Fewer, larger rounds: most objects here are strings in tuples, which hold no cycles.
_GC_THRESHOLDS = (20_000, 20, 50)


def tune_allocator() -> None:
    """Make allocator and collector keep less memory; leave MALLOC_* and other C libraries alone."""
    gc.set_threshold(*_GC_THRESHOLDS)
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_ABOVE)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_ABOVE)


def measure_resident() -> int:
    """Return the bytes of memory this process holds; on systems other than Linux, the peak."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def trim() -> None:
    """Collect garbage and return free memory to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def settle() -> None:
    """Exclude all current objects from garbage collection, and start it.

    Garbage among them stays, too: a few hundred objects; finding it would delay the first answer
    for as long as importing numpy does.
    """
    gc.freeze()
    gc.enable()
