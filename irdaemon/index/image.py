"""Images: a corpus' index laid out in files, so that a start maps it instead of building it.

An image is a copy of the ledger's content and never the truth. It is used only with the ledger it
was made from, in a state no older than its own (a ledger may come back from a backup, or lose its
last moment in a power cut), for the same vector space; newer content of the ledger is added as
after any change. If anything about a file is odd, the index is built from the ledger.

Unused pages of an image stay on disk, which also keeps the memory of a large corpus low.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.dense import FEWEST
from irdaemon.index.graph import Graph, load_graph, save_graph
from irdaemon.index.growing import Growing, Packed, Ragged
from irdaemon.index.lexical import Lexical, Postings, Segments, TermCounts
from irdaemon.index.rows import FLAGS, PACKED, PLAIN, RAGGED, Rows
from irdaemon.index.spool import Spool

# Arrays in a file, each followed by spare room, to be mapped as they are.
#
# The file is `MAGIC`, the length of the header, the header (msgpack: facts, and the place of each
# array), then the arrays, each at the start of a page. The room after an array is a hole: it takes
# no disk, and what is written there after mapping stays in memory, as the mapping is private.

_MAGIC = b"irdaemon layout 1\n"
_LENGTH_BYTES = 8
_ROOM_SHARE = 0.25
_ROOM_ROWS = 1024
_WRITTEN_AT_ONCE = 4 << 20


class _Place(NamedTuple):
    """The place of an array at byte `offset`; it may grow to `room` rows."""

    dtype: str
    shape: tuple[int, ...]
    room: int
    offset: int

    @property
    def end(self) -> int:
        """Return the first byte after the array and its room."""
        return self.offset + self.room * self._row_bytes

    @property
    def used(self) -> int:
        """Return the first byte after the array itself."""
        return self.offset + self.shape[0] * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * int(np.prod(self.shape[1:], dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Streamed:
    """An array that is produced part by part while it is written."""

    dtype: np.dtype[Any]
    size: int
    parts: Callable[[], Iterable[NDArray[Any]]]

    @property
    def shape(self) -> tuple[int]:
        """Return the shape of the whole array."""
        return (self.size,)

    def __len__(self) -> int:
        return self.size


_Arrays = Mapping[str, NDArray[Any] | Streamed]


def write_layout(
    path: str,
    facts: Mapping[str, Any],
    arrays: _Arrays,
    note_written: Callable[[], None] = lambda: None,
) -> None:
    """Write facts and arrays to a new file and sync it to disk. Raises OSError.

    `note_written` is called now and then.
    """
    # The header holds offsets that depend on its own length: so first without an offset.
    length = len(_pack_header(facts, _place_arrays(arrays, 0)))
    start = _round_to_page(len(_MAGIC) + _LENGTH_BYTES + length + 16 * len(arrays))
    places = _place_arrays(arrays, start)
    header = _pack_header(facts, places)
    with open(path, "xb", opener=_open_private) as file:
        file.write(_MAGIC + len(header).to_bytes(_LENGTH_BYTES, "little") + header)
        for name, array in arrays.items():
            file.seek(places[name].offset)
            for part in array.parts() if isinstance(array, Streamed) else _split(array):
                file.write(np.ascontiguousarray(part).data)
                note_written()
        file.truncate(_find_end(places))
        file.flush()
        os.fsync(file.fileno())


def _split(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    rows = max(1, _WRITTEN_AT_ONCE * len(array) // max(1, array.nbytes))
    return (array[at : at + rows] for at in range(0, len(array), rows))


@dataclass(frozen=True, slots=True)
class Mapped:
    """A file's facts and its mapped arrays."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Growing]
    memory: mmap.mmap
    places: Mapping[str, _Place]

    def release(self, kept: Collection[str] = ()) -> None:
        """Release the pages of all arrays but those `kept`; the next use maps them again.

        Rows appended after an array stay in memory, with the page that they begin in. The arrays
        themselves must not have been changed.
        """
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        for place in (place for name, place in self.places.items() if name not in kept):
            whole = (place.used - place.offset) // mmap.PAGESIZE * mmap.PAGESIZE
            if whole:
                self.memory.madvise(mmap.MADV_DONTNEED, place.offset, whole)


def map_layout(path: str) -> Mapped:
    """Map a file. Raises OSError, or ValueError for a file of another kind."""
    with open(path, "rb") as file:
        facts, places = _read_header(file, path)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays = {name: _map_array(memory, place) for name, place in places.items()}
    return Mapped(facts, arrays, memory, places)


def blank_layout(path: str, name: str, parts: Iterable[slice]) -> None:
    """Overwrite parts of an array of bytes in a file with zeros, and sync that to disk.

    Existing mappings of the file see the zeros. Raises OSError, or ValueError for a file of another
    kind.
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
        raise ValueError(f"{path} is not a layout")
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    header = file.read(min(length, os.fstat(file.fileno()).st_size))
    facts, listed = msgpack.unpackb(header)
    places = {name: _Place(each[0], tuple(each[1]), *each[2:]) for name, each in listed.items()}
    if os.fstat(file.fileno()).st_size != _find_end(places):
        raise ValueError(f"{path} is cut short")
    return facts, places


def _map_array(memory: mmap.mmap, place: _Place) -> Growing:
    shape = (place.room, *place.shape[1:])
    return Growing(np.ndarray(shape, place.dtype, memory, place.offset), place.shape[0])


def _place_arrays(arrays: _Arrays, offset: int) -> dict[str, _Place]:
    places: dict[str, _Place] = {}
    for name, array in arrays.items():
        room = int(len(array) * (1 + _ROOM_SHARE)) + _ROOM_ROWS
        places[name] = _Place(array.dtype.str, array.shape, room, offset)
        offset = _round_to_page(places[name].end)
    return places


def _pack_header(facts: Mapping[str, Any], places: Mapping[str, _Place]) -> bytes:
    packed: bytes = msgpack.packb([facts, places])
    return packed


def _find_end(places: Mapping[str, _Place]) -> int:
    return max((place.end for place in places.values()), default=0)


def _round_to_page(offset: int) -> int:
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


# Write a new image once this share of the records is missing from the last.
_DRIFT = 0.1


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an image: the ledger's identity, the corpus, and its vector space."""

    ledger: int
    corpus: str
    embedder: str
    dim: int


@dataclass(frozen=True, slots=True)
class Image:
    """A corpus' rows, postings and graph as they were laid out."""

    rows: Rows
    lexical: Lexical
    graph: Graph | None


class Images:
    """Keep one image for each corpus of at least `above` records, in one directory.

    Reading fewer from the ledger is as fast as mapping. `spool` holds what is in no image yet.
    """

    def __init__(self, directory: str, above: int = 5_000):
        self.spool = Spool(directory)
        self._directory = Path(directory)
        self._above = above
        self._mapped: dict[str, Mapped] = {}

    def is_due(self, rows: Rows, graph: Graph | None) -> bool:
        """Return whether a new image would help: the present one lacks many records or a graph."""
        new_graph = graph is not None and not graph.kept
        drifted = rows.laid_out < (1 - _DRIFT) * rows.n_records
        return rows.n_records >= self._above and (new_graph or drifted)

    def save(self, origin: Origin, generation: int, image: Image) -> None:
        """Replace the image by one of this index. Raises OSError and keeps the old one."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = secrets.token_hex(8)
        made = self._make_path(origin.corpus, token)
        try:
            if image.graph is not None:
                save_graph(image.graph, str(made.with_suffix(".graph")))
            facts = {"origin": asdict(origin), "generation": generation, **_list_facts(image)}
            write_layout(str(made), facts, _list_arrays(image), self.spool.release)
        except BaseException:
            for path in self._directory.glob(f"{made.stem}.*"):
                path.unlink(missing_ok=True)
            raise
        self._remove_all_but(origin.corpus, token)

    def load(self, origin: Origin, generation: int) -> Image | None:
        """Map the image of an origin; None if no usable one exists.

        Unusable images are deleted: a ledger that is behind one may catch up with it without being
        the same.
        """
        for path in sorted(self._directory.glob(f"{origin.corpus}@*.rows")):
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                mapped = map_layout(str(path))
                facts = mapped.facts
                if facts["origin"] == asdict(origin) and facts["generation"] <= generation:
                    self._mapped[origin.corpus] = mapped
                    return _read_image(mapped, str(path.with_suffix(".graph")), self.spool)
        self.drop(origin.corpus)
        return None

    def release(self) -> None:
        """Release the memory of the images' pages; the next use maps them again."""
        for mapped in tuple(self._mapped.values()):
            # Without a graph a query reads vectors everywhere: mapping them all again would take
            # as long as ten answers.
            mapped.release(kept=() if mapped.facts["graph"] else ("vectors",))
        self.spool.release()

    def blank(self, corpus: str, gone: Callable[[int], Sequence[int]]) -> None:
        """Overwrite the texts of deleted artifacts in the image of a corpus.

        `gone` returns their ledger row numbers after a tombstone, here the last that the image has
        applied. No query may read them any more. Raises OSError.
        """
        for path in map(str, self._directory.glob(f"{corpus}@*.rows")):
            with contextlib.suppress(ValueError, LookupError, TypeError, FileNotFoundError):
                mapped = map_layout(path)
                arrays = mapped.arrays
                gone_since = np.isin(arrays["numbers"].array, gone(mapped.facts["buried"]))
                alive = arrays["alive"].array & ~gone_since
                for name, kept in (("cards", alive), ("shown", alive[arrays["artifact_of"].array])):
                    blank_layout(path, f"{name}.0", _find_rows(arrays, name, ~kept))

    def drop(self, corpus: str) -> None:
        """Delete the image of a corpus, if any."""
        self._mapped.pop(corpus, None)
        self._remove_all_but(corpus, "")

    def _make_path(self, corpus: str, token: str) -> Path:
        return self._directory / f"{corpus}@{token}.rows"

    def _remove_all_but(self, corpus: str, token: str) -> None:
        kept = self._make_path(corpus, token).stem
        for path in self._directory.glob(f"{corpus}@*"):
            if path.stem != kept:
                path.unlink(missing_ok=True)


def _find_rows(
    arrays: Mapping[str, Growing], name: str, gone: NDArray[np.bool_]
) -> Iterator[slice]:
    """Yield the places of the rows that are deleted and not blanked yet."""
    rows = Ragged(arrays[f"{name}.ends"], (arrays[f"{name}.0"],))
    for place in map(rows.find_row, np.flatnonzero(gone).tolist()):
        if rows.values[0].array[place].any():
            yield place


def _choose_vectors(mapped: Growing, has_graph: bool) -> Growing:
    """Return vectors mapped, or in memory if every query scans all of them.

    Scanning is faster in memory; with a graph or a prefix a query reads only a few.
    """
    few_needed = has_graph or mapped.size >= FEWEST
    return mapped if few_needed else Growing.from_array(mapped.array.copy())


def _list_facts(image: Image) -> dict[str, Any]:
    return {
        "kind_names": list(image.rows.kind_names),
        "last": image.rows.last,
        "buried": image.rows.last_tombstone,
        "mean_length": image.lexical.mean_length,
        "based": image.lexical.based,
        "graph": image.graph is not None,
    }


def _list_arrays(image: Image) -> dict[str, NDArray[Any] | Streamed]:
    rows, base = image.rows, image.lexical.base
    ragged = {name: getattr(rows, name) for name in RAGGED}
    ragged |= {name: getattr(rows, name).rows for name in PACKED}
    return {
        **{name: getattr(rows, name).array for name in PLAIN},
        **{name: getattr(rows, name) for name in FLAGS},
        **{f"{name}.ends": each.ends.array for name, each in ragged.items()},
        **{
            f"{name}.{at}": values.array
            for name, each in ragged.items()
            for at, values in enumerate(each.values)
        },
        **_list_postings(base),
        "df": image.lexical.df,
        "graph.keys": image.graph.keys if image.graph else np.empty(0, np.int64),
    }


def _list_postings(base: Postings) -> dict[str, NDArray[Any] | Streamed]:
    names, starts = ("postings.records", "postings.values"), base.dense_starts
    if not isinstance(base, Segments):
        return {
            "postings.starts": starts,
            **dict(zip(names, (base.records, base.values), strict=True)),
        }
    size = int(starts[-1])

    def stream(column: int) -> Callable[[], Iterator[NDArray[Any]]]:
        return lambda: (each[column] for each in base.merge())

    types = np.dtype(np.int32), np.dtype(np.float32)
    streamed = (Streamed(dtype, size, stream(at)) for at, dtype in enumerate(types))
    return {"postings.starts": starts, **dict(zip(names, streamed, strict=True))}


def _read_image(mapped: Mapped, graph_path: str, spool: Spool) -> Image:
    facts, arrays = mapped.facts, mapped.arrays

    def make_ragged(name: str, width: int = 1) -> Ragged:
        values = tuple(arrays[f"{name}.{at}"] for at in range(width))
        return Ragged(arrays[f"{name}.ends"], values)

    columns: dict[str, Any] = {name: arrays[name] for name in PLAIN}
    columns |= {name: arrays[name].array for name in FLAGS}
    columns |= {name: make_ragged(name, width) for name, width in RAGGED.items()}
    columns |= {name: Packed(kind, make_ragged(name)) for name, kind in PACKED.items()}
    columns["vectors"] = _choose_vectors(arrays["vectors"], facts["graph"])
    rows = Rows(
        **columns,
        kind_names=list(facts["kind_names"]),
        last=facts["last"],
        last_tombstone=facts["buried"],
        laid_out=arrays["present"].size,
        spool=spool,
    )
    base = Postings(*(arrays[f"postings.{part}"].array for part in ("starts", "records", "values")))
    counts = TermCounts(arrays["df"].array)
    lexical = Lexical.build_on(rows, facts["mean_length"], base, facts["based"], counts)
    dim = arrays["vectors"].buffer.shape[1]
    graph = load_graph(graph_path, dim, arrays["graph.keys"].array) if facts["graph"] else None
    return Image(rows, lexical, graph)
