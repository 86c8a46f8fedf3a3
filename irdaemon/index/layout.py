"""Arrays in a file: one after another, each with room behind it, to be mapped as they lie.

The file is `MAGIC`, the length of the header, the header (msgpack: facts, and where each array is),
then the arrays, each from a page on. The room behind an array is a hole: it takes no disk, and what
is written there after mapping goes to memory, for the mapping is private.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.growing import Growing

_MAGIC = b"irdaemon layout 1\n"
_LENGTH_BYTES = 8
_ROOM_SHARE = 0.25
_ROOM_ROWS = 1024


class _Place(NamedTuple):
    """Where an array lies: `room` counts the rows it may grow to, `offset` the bytes before it."""

    dtype: str
    shape: tuple[int, ...]
    room: int
    offset: int

    @property
    def end(self) -> int:
        """Return the first byte behind the array and its room."""
        return self.offset + self.room * self._row_bytes

    @property
    def used(self) -> int:
        """Return the first byte behind the array itself."""
        return self.offset + self.shape[0] * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * int(np.prod(self.shape[1:], dtype=np.int64))


def write_layout(path: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write facts and arrays to a new file, and have it on the disk. Raises OSError."""
    # The places stand in the header whose length they depend on: so first without an offset.
    length = len(_header(facts, _places(arrays, 0)))
    start = _page_after(len(_MAGIC) + _LENGTH_BYTES + length + 16 * len(arrays))
    places = _places(arrays, start)
    header = _header(facts, places)
    with open(path, "xb", opener=_private) as file:
        file.write(_MAGIC + len(header).to_bytes(_LENGTH_BYTES, "little") + header)
        for name, array in arrays.items():
            file.seek(places[name].offset)
            file.write(np.ascontiguousarray(array).data)
        file.truncate(_end(places))
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Mapped:
    """A file's facts and its arrays, mapped as they lie."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Growing]
    memory: mmap.mmap
    places: Mapping[str, _Place]

    def release(self, kept: Collection[str] = ()) -> None:
        """Give back the pages of all arrays but those `kept`; the next use maps them again.

        What was appended behind an array since stays, and so does the page that it begins in.
        Nothing may have been changed in the arrays themselves.
        """
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        for place in (place for name, place in self.places.items() if name not in kept):
            whole = (place.used - place.offset) // mmap.PAGESIZE * mmap.PAGESIZE
            if whole:
                self.memory.madvise(mmap.MADV_DONTNEED, place.offset, whole)


def map_layout(path: str) -> Mapped:
    """Map a file. Raises OSError, ValueError for another file."""
    with open(path, "rb") as file:
        facts, places = _read_header(file, path)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays = {name: _growing(memory, place) for name, place in places.items()}
    return Mapped(facts, arrays, memory, places)


def blank_layout(path: str, name: str, parts: Iterable[slice]) -> None:
    """Overwrite parts of an array of bytes in a file with zeros, and have that on the disk.

    Who has mapped the file sees it, too. Raises OSError, ValueError for another file.
    """
    with open(path, "r+b") as file:
        _, places = _read_header(file, path)
        start = places[name].offset
        for part in parts:
            file.seek(start + part.start)
            file.write(bytes(part.stop - part.start))
        file.flush()
        os.fsync(file.fileno())


def _read_header(file: BinaryIO, path: str) -> tuple[dict[str, Any], dict[str, _Place]]:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ValueError(f"{path} is no layout")
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    header = file.read(min(length, os.fstat(file.fileno()).st_size))
    facts, listed = msgpack.unpackb(header)
    places = {name: _Place(each[0], tuple(each[1]), *each[2:]) for name, each in listed.items()}
    if os.fstat(file.fileno()).st_size != _end(places):
        raise ValueError(f"{path} is cut short")
    return facts, places


def _growing(memory: mmap.mmap, place: _Place) -> Growing:
    shape = (place.room, *place.shape[1:])
    return Growing(np.ndarray(shape, place.dtype, memory, place.offset), place.shape[0])


def _places(arrays: Mapping[str, NDArray[Any]], offset: int) -> dict[str, _Place]:
    places: dict[str, _Place] = {}
    for name, array in arrays.items():
        room = int(len(array) * (1 + _ROOM_SHARE)) + _ROOM_ROWS
        places[name] = _Place(array.dtype.str, array.shape, room, offset)
        offset = _page_after(places[name].end)
    return places


def _header(facts: Mapping[str, Any], places: Mapping[str, _Place]) -> bytes:
    packed: bytes = msgpack.packb([facts, places])
    return packed


def _end(places: Mapping[str, _Place]) -> int:
    return max((place.end for place in places.values()), default=0)


def _page_after(offset: int) -> int:
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
