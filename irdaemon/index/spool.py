"""A spool: arrays of a corpus that is being built, in files without a name.

Until a corpus is laid out in an image (see `image`), what takes most of its memory and is read a
little at a time lies here: it is written to a file, and mapped from there. The system keeps its
pages while it has room for them, and they are no part of the process until they are read. Such a
file is gone with the last array that is mapped from it. Where nothing can be written, arrays stay
in memory.
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

# A file has room for so many times the rows that it needs: what is not written takes no disk.
_ROOM = 1.5
_LEAST_BYTES = 1 << 16
_KEPT_AT_ONCE = 1 << 20
# Less than this stays mapped: to read pages again takes a quarter of the time of a build of 5,000.
_RELEASED_FROM_BYTES = 64 << 20


class SpoolFile:
    """A file without a name, closed when nothing uses it any more."""

    def __init__(self, directory: str):
        with tempfile.TemporaryFile(dir=directory) as file:
            self.descriptor = os.dup(file.fileno())

    def __del__(self) -> None:
        """Close the file; what is mapped of it stays mapped."""
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
    """A directory for files that have no name there, and what is mapped of them."""

    directory: str
    _maps: WeakSet[mmap.mmap] = field(default_factory=WeakSet)

    def make_ragged(self, like: Ragged) -> Ragged:
        """Return no rows, to which rows like those of another are to be appended."""
        values = tuple(Spooled.make(self, each.buffer.dtype) for each in like.values)
        return Ragged(like.ends.cut(0), values)

    def keep(self, rows: Growing, kept: NDArray[np.bool_]) -> Growing:
        """Return the rows of one number each that `kept` selects, in a file of their own."""
        made = Spooled.make(self, rows.buffer.dtype)
        for start in range(0, rows.size, _KEPT_AT_ONCE):
            part = slice(start, start + _KEPT_AT_ONCE)
            made = made.append(Growing.from_array(rows.array[part][kept[part]]))
            self.release()
        return made

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array as it lies in a file of its own; as it is where that cannot be."""
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
        """Map the first rows of a file, to be read. Raises OSError, also where it is empty."""
        with suppress(ValueError):
            memory = mmap.mmap(file.descriptor, size * dtype.itemsize, access=mmap.ACCESS_READ)
            self._maps.add(memory)
            return np.frombuffer(memory, dtype)
        raise OSError("nothing can be mapped")

    def release(self) -> None:
        """Give back the pages of all that is mapped, if it is much; reading maps them again."""
        maps = tuple(self._maps)
        is_much = sum(map(len, maps)) >= _RELEASED_FROM_BYTES
        if is_much and hasattr(mmap, "MADV_DONTNEED"):
            for memory in maps:
                memory.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, slots=True)
class Spooled(Growing):
    """Rows of one number each in a file, which what is appended is written to."""

    spool: Spool
    file: SpoolFile

    @classmethod
    def make(cls, spool: Spool, dtype: np.dtype[Any]) -> Growing:
        """Return no rows of a type; in memory where no file can be made."""
        nothing = np.empty(0, dtype)
        try:
            return cls(nothing, 0, spool, spool.open())
        except OSError:
            return Growing(nothing, 0)

    def append(self, more: Growing) -> Growing:
        """Return these rows and `more`; in memory from the first that cannot be written."""
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
