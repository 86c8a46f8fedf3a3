"""A spool: arrays of a corpus that is being built, in unnamed files.

Until a corpus has an image (see `image`), the arrays that take most of its memory and are read a
little at a time are written to a file and mapped from there. The system caches their pages while it
has room; they do not count as the process' memory until they are read. A file goes away with the
last array mapped from it. If nothing can be written, arrays stay in memory.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.growing import Growing, Ragged

# A file has room for this many times the rows it needs: unwritten room takes no disk.
_ROOM = 1.5
_LEAST_BYTES = 1 << 16
_KEPT_AT_ONCE = 1 << 20
# Less than this stays mapped: reading pages again takes a quarter of a build of 5,000.
_RELEASED_FROM_BYTES = 64 << 20


class SpoolFile:
    """An unnamed file, closed when nothing uses it any more."""

    def __init__(self, directory: str):
        with tempfile.TemporaryFile(dir=directory) as file:
            self.descriptor = os.dup(file.fileno())

    def __del__(self) -> None:
        """Close the file; its mappings stay valid."""
        with suppress(AttributeError):  # it could not be made
            os.close(self.descriptor)

    def write(self, array: NDArray[Any], offset: int) -> None:
        """Write an array at an offset. Raises OSError."""
        left = np.ascontiguousarray(array).data.cast("B")
        while left:
            written = os.pwrite(self.descriptor, left, offset)
            left, offset = left[written:], offset + written


@dataclass(frozen=True, slots=True)
class Spool:
    """A directory for unnamed files, and the arrays mapped from them."""

    directory: str
    _maps: WeakSet[mmap.mmap] = field(default_factory=WeakSet)

    def make_ragged(self, like: Ragged) -> Ragged:
        """Return empty rows of the type of another's, to append to."""
        values = tuple(Spooled.make(self, each.buffer.dtype) for each in like.values)
        return Ragged(like.ends.cut(0), values)

    def keep(self, rows: Growing, kept: NDArray[np.bool_]) -> Growing:
        """Return the rows of one number each that `kept` selects, in a new file."""
        made = Spooled.make(self, rows.buffer.dtype)
        for start in range(0, rows.size, _KEPT_AT_ONCE):
            part = slice(start, start + _KEPT_AT_ONCE)
            made = made.append(Growing.from_array(rows.array[part][kept[part]]))
            self.release()
        return made

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array mapped from a new file, or the array itself if none can be written."""
        if array.nbytes < _LEAST_BYTES:
            return array
        try:
            file = self.open()
            file.write(array, 0)
            return self.map(file, array.dtype, len(array))
        except OSError:
            return array

    def open(self) -> SpoolFile:
        """Return a new file. Raises OSError."""
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        return SpoolFile(self.directory)

    def map(self, file: SpoolFile, dtype: np.dtype[Any], size: int) -> NDArray[Any]:
        """Map the first rows of a file for reading. Raises OSError, also for an empty file."""
        with suppress(ValueError):
            memory = mmap.mmap(file.descriptor, size * dtype.itemsize, access=mmap.ACCESS_READ)
            self._maps.add(memory)
            return np.frombuffer(memory, dtype)
        raise OSError("nothing can be mapped")

    def release(self) -> None:
        """Release the pages of all mappings, if they are large; reading maps them again."""
        maps = tuple(self._maps)
        is_much = sum(map(len, maps)) >= _RELEASED_FROM_BYTES
        if is_much and hasattr(mmap, "MADV_DONTNEED"):
            for memory in maps:
                memory.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, slots=True)
class Spooled(Growing):
    """Rows of one number each, appended to a file."""

    spool: Spool
    file: SpoolFile

    @classmethod
    def make(cls, spool: Spool, dtype: np.dtype[Any]) -> Growing:
        """Return empty rows of a type, in memory if no file can be made."""
        nothing = np.empty(0, dtype)
        try:
            return cls(nothing, 0, spool, spool.open())
        except OSError:
            return Growing(nothing, 0)

    def append(self, more: Growing) -> Growing:
        """Return these rows and `more`, in memory once a write has failed."""
        if not more.size:
            return self
        size, dtype = self.size + more.size, self.buffer.dtype
        try:
            self.file.write(more.array, self.size * dtype.itemsize)
            buffer = self.buffer
            if size > len(buffer):
                room = int(size * _ROOM)
                os.truncate(self.file.descriptor, room * dtype.itemsize)
                buffer = self.spool.map(self.file, dtype, room)
        except OSError:
            return self.closed.append(more)
        return Spooled(buffer, size, self.spool, self.file)
