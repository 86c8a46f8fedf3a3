"""Arrays that only grow: what a snapshot sees of one never changes under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgpack
import numpy as np
from numpy.typing import NDArray

_ROOM = 1.5


@dataclass(frozen=True, slots=True)
class Growing:
    """The first `size` rows of a buffer that may hold more.

    Appending writes beyond what any snapshot sees, so it costs only what is appended; now and then
    the buffer is copied into a larger one. Only the newest of a series may be appended to.
    """

    buffer: NDArray[Any]
    size: int

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> Growing:
        """Take over an array."""
        return cls(array, len(array))

    @property
    def array(self) -> NDArray[Any]:
        """Return the rows as an array."""
        return self.buffer[: self.size]

    def take(self, positions: NDArray[np.integer] | list[int]) -> NDArray[Any]:
        """Return a copy of some rows."""
        taken: NDArray[Any] = self.array[positions]
        return taken

    def append(self, more: Growing) -> Growing:
        """Return these rows and `more`."""
        if not more.size:
            return self
        size, buffer = self.size + more.size, self.buffer
        if size > len(buffer):
            buffer = _make_room(size, buffer)
            buffer[: self.size] = self.array
        buffer[self.size : size] = more.array
        return Growing(buffer, size)

    def cut(self, size: int) -> Growing:
        """Return the first rows as a new series: appending to it copies them first."""
        return Growing(self.buffer[:size], size)

    @property
    def closed(self) -> Growing:
        """Return the same rows as a new series: appending to it copies them first."""
        return self.cut(self.size)

    def keep(self, kept: NDArray[np.bool_]) -> Growing:
        """Return the rows that `kept` selects, in a new buffer with spare room."""
        size = int(np.count_nonzero(kept))
        buffer = _make_room(size, self.buffer)
        np.compress(kept, self.array, axis=0, out=buffer[:size])
        return Growing(buffer, size)


def _make_room(size: int, like: NDArray[Any]) -> NDArray[Any]:
    """Return a buffer with spare room; its unwritten part takes no memory."""
    return np.empty((int(size * _ROOM), *like.shape[1:]), like.dtype)


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths, one after another: row i is `values[ends[i - 1]:ends[i]]`."""

    ends: Growing
    values: tuple[Growing, ...]

    @classmethod
    def from_lengths(cls, lengths: NDArray[np.int64], *values: NDArray[Any]) -> Ragged:
        """Take over rows of these lengths; each place may have several values."""
        ends = np.cumsum(lengths, dtype=np.int64)
        return cls(Growing.from_array(ends), tuple(map(Growing.from_array, values)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return how long each row is."""
        return np.diff(self.ends.array, prepend=0)

    def find_row(self, number: int) -> slice:
        """Return the slice that holds the values of a row."""
        ends = self.ends.buffer
        return slice(ends.item(number - 1) if number else 0, ends.item(number))

    def holds(self, value: int) -> bool:
        """Return whether any row has a value."""
        return bool((self.values[0].array == value).any())

    def read(self, number: int) -> list[NDArray[Any]]:
        """Return the values of a row."""
        place = self.find_row(number)
        return [values.buffer[place] for values in self.values]

    def find_rows(self, start: int, end: int) -> slice:
        """Return the slice that holds the values of neighbouring rows."""
        ends = self.ends.buffer
        return slice(ends.item(start - 1) if start else 0, ends.item(end - 1) if end else 0)

    def number_rows(self, start: int, end: int) -> tuple[slice, NDArray[np.int64]]:
        """Return the slice of neighbouring rows' values, and the row number of each value."""
        place = self.find_rows(start, end)
        lengths = np.diff(self.ends.array[start:end], prepend=place.start)
        return place, np.repeat(np.arange(start, end), lengths)

    def locate_rows(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of several rows' values, and for each its row's index in `rows`."""
        ends = self.ends.array
        starts = np.where(rows > 0, ends[rows - 1], 0)
        lengths = ends[rows] - starts
        of = np.repeat(np.arange(len(rows)), lengths)
        before = np.cumsum(lengths) - lengths
        return np.arange(len(of)) - before[of] + starts[of], of

    def append(self, more: Ragged) -> Ragged:
        """Return these rows and `more`."""
        total = self.values[0].size
        pairs = zip(self.values, more.values, strict=True)
        ends = self.ends.append(Growing.from_array(more.ends.array + total))
        return Ragged(ends, tuple(mine.append(theirs) for mine, theirs in pairs))

    @property
    def closed(self) -> Ragged:
        """Return the same rows as a new series: appending to it copies them first."""
        return Ragged(self.ends.closed, tuple(values.closed for values in self.values))

    def keep(
        self,
        kept: NDArray[np.bool_],
        keep_values: Callable[[Growing, NDArray[np.bool_]], Growing] = Growing.keep,
    ) -> Ragged:
        """Return the rows that `kept` selects, in arrays of their own."""
        lengths = self.lengths
        inside = np.repeat(kept, lengths)
        ends = Growing.from_array(np.cumsum(lengths[kept], dtype=np.int64))
        return Ragged(ends, tuple(keep_values(values, inside) for values in self.values))


# Rows of any kind, packed into one array of bytes: read one at a time, without an object each.

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Packed(Generic[Row]):
    """Rows that `make` builds from their packed values. Reading one takes 2 microseconds."""

    make: Callable[..., Row]
    rows: Ragged

    @classmethod
    def from_values(
        cls, make: Callable[..., Row], values: Iterable[tuple[Any, ...]]
    ) -> Packed[Row]:
        """Pack the values of rows."""
        packed = [msgpack.packb(each) for each in values]
        lengths = np.array([len(each) for each in packed], np.int64)
        return cls(make, Ragged.from_lengths(lengths, np.frombuffer(b"".join(packed), np.uint8)))

    def __len__(self) -> int:
        return self.rows.ends.size

    def __getitem__(self, number: int) -> Row:
        ends = self.rows.ends.buffer  # inlined from Ragged.find_row: one call fewer a row
        start = ends.item(number - 1) if number else 0
        values = self.rows.values[0].buffer[start : ends.item(number)]
        return self.make(*msgpack.unpackb(values.data))

    def append(self, more: Packed[Row]) -> Packed[Row]:
        """Return these rows and `more`."""
        return Packed(self.make, self.rows.append(more.rows))

    def keep(self, kept: NDArray[np.bool_]) -> Packed[Row]:
        """Return the rows that `kept` selects, in arrays of their own."""
        return Packed(self.make, self.rows.keep(kept))


# Rows of two corpora, the second's after the first's, without a copy. They are read a few at a time
# and not appended to.


@dataclass(frozen=True, slots=True)
class JoinedGrowing(Growing):
    """The rows of one Growing, followed by those of another."""

    behind: Growing

    @property
    def array(self) -> NDArray[Any]:
        """Return a copy of all rows."""
        return np.concatenate([self.buffer[: self.size], self.behind.array])

    def take(self, positions: NDArray[np.integer] | list[int]) -> NDArray[Any]:
        """Return a copy of some rows."""
        wanted = np.asarray(positions, np.int64)
        first = wanted < self.size
        taken = np.empty((len(wanted), *self.buffer.shape[1:]), self.buffer.dtype)
        taken[first] = self.buffer[wanted[first]]
        taken[~first] = self.behind.take(wanted[~first] - self.size)
        return taken


@dataclass(frozen=True, slots=True)
class JoinedRagged(Ragged):
    """The rows of one Ragged, followed by those of another; read one by one."""

    behind: Ragged

    def read(self, number: int) -> list[NDArray[Any]]:
        """Return the values of a row."""
        n = self.ends.size
        return self.behind.read(number - n) if number >= n else Ragged.read(self, number)


@dataclass(frozen=True, slots=True)
class JoinedPacked(Packed[Row]):
    """The rows of one Packed, followed by those of another."""

    behind: Packed[Row]

    def __len__(self) -> int:
        return self.rows.ends.size + len(self.behind)

    def __getitem__(self, number: int) -> Row:
        n = self.rows.ends.size
        return self.behind[number - n] if number >= n else Packed.__getitem__(self, number)
