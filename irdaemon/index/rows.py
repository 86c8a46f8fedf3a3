"""A corpus in columns: its ledger content, laid out for scoring.

`sync` returns the next rows by appending new records and marking deleted ones, so a change costs in
proportion to its size. Ledger row numbers only grow and are never reused, and the ledger records
which artifacts were deleted; when too many are marked, the rows are laid out again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice, pairwise
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from irclient.errors import Unavailable
from irdaemon.index.growing import (
    Growing,
    JoinedGrowing,
    JoinedPacked,
    JoinedRagged,
    Packed,
    Ragged,
)
from irdaemon.index.spool import Spool
from irdaemon.ledger import Ledger
from irdaemon.ledger.index_rows import SUMMARY_CHARS
from irdaemon.source.asset_types import FIELD, find_asset_type
from irdaemon.strategy.code import SYMBOL
from irdaemon.text import tokenize_name

# Deleted rows are kept until they are this many, and this share of all.
_MOST_GONE = 256
_GONE_SHARE = 0.2
# Up to this many vectors are read one by one; above, all of the embedder's are read.
_LOOKED_UP = 1_000
_READ_AT_ONCE = 500
_NO_FIELDS = b"\x80"


# The columns with a row for each artifact, and for each record, which grow and shrink alike.
_BY_ARTIFACT = ("numbers", "cards", "called", "names")
_BY_RECORD = ("shown", "kinds", "terms", "symbols", "lengths", "surfaces", "vectors")
FLAGS = ("alive", "present", "embedded")
_GROWING = (*_BY_ARTIFACT, *_BY_RECORD, "artifact_of")
# The other columns take a few bytes a row.
_LARGE = ("cards", "shown", "terms", "vectors")
# Columns of ragged rows, with the values of a place, and of packed ones; the others are plain.
RAGGED = {"terms": 2, "names": 1, "symbols": 1}


class Card(NamedTuple):
    """An artifact as an answer shows it. `packed` holds its fields, `content` its hash."""

    artifact_id: str
    name: str
    pointer: str
    packed: bytes
    content: str

    @property
    def fields(self) -> dict[str, Any]:
        """Unpack the artifact's filter fields, its asset type among them."""
        fields: dict[str, Any] = msgpack.unpackb(self.packed)
        fields[FIELD] = find_asset_type(fields)
        return fields

    def get_field(self, name: str) -> Any:
        """Return a stored filter field, or None; mostly without unpacking.

        A name that does not occur in the bytes is the name of no field.
        """
        return msgpack.unpackb(self.packed).get(name) if name.encode() in self.packed else None


class Shown(NamedTuple):
    """A record as an answer shows it: `text` is the beginning of its text.

    `packed` holds the surface's own metadata.
    """

    text: str
    packed: bytes
    digest: bytes

    @property
    def fields(self) -> dict[str, Any]:
        """Unpack the surface's own metadata."""
        fields: dict[str, Any] = msgpack.unpackb(self.packed) if self.packed != _NO_FIELDS else {}
        return fields

    @property
    def summary(self) -> str:
        """Return the part of the text that is kept for records of every kind."""
        return self.text[:SUMMARY_CHARS]


PACKED = {"cards": Card, "shown": Shown}
PLAIN = tuple(name for name in _GROWING if name not in RAGGED and name not in PACKED)


class Recounted(NamedTuple):
    """New term counts of a record, by id, and a new vector."""

    terms: Mapping[int, float]
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rows:
    """The artifacts and records of one corpus by position, deleted ones included.

    `numbers` are the ledger's row numbers of the artifacts, ascending; `artifact_of` gives each
    record's artifact position. `alive` (of artifacts) and `present` (of records) are false for what
    is gone. `terms` holds each record's term ids and counts, `names` the term ids of each
    artifact's name, `symbols` those of the symbol that a record is about, `called` a number made of
    it (see `hash_name`), `lengths` and `surfaces` each record's summed counts and surface index,
    `kinds` its place in `kind_names`, a list that is shared between generations and grows,
    `vectors` a row per record, of which only those that are `embedded` mean anything. `epoch`
    changes when positions do. `last` is the highest row number ever seen, `last_tombstone` the
    newest of the ledger's tombstones that is applied. `laid_out` counts the records that lie in an
    image. `spool` is where others have their terms, where those are not kept in memory.
    """

    numbers: Growing
    cards: Packed[Card]
    called: Growing
    alive: NDArray[np.bool_]
    artifact_of: Growing
    shown: Packed[Shown]
    kinds: Growing
    kind_names: list[str]
    present: NDArray[np.bool_]
    terms: Ragged
    names: Ragged
    symbols: Ragged
    lengths: Growing
    surfaces: Growing
    vectors: Growing
    embedded: NDArray[np.bool_]
    last: int = 0
    last_tombstone: int = 0
    epoch: int = 0
    laid_out: int = 0
    spool: Spool | None = None

    @classmethod
    def make_empty(cls, dim: int, spool: Spool | None = None) -> Rows:
        """Return the rows of a corpus without artifacts."""
        return replace(cls.build([], [], dim, {}), spool=spool)

    @classmethod
    def build(
        cls,
        artifacts: Sequence[tuple[Any, ...]],
        records: Sequence[tuple[Any, ...]],
        dim: int,
        vocabulary: Mapping[str, int],
    ) -> Rows:
        """Lay out artifacts and their records, as the ledger gives them, without vectors."""
        numbers = np.array([row[0] for row in artifacts], np.int64)
        owners = np.array([row[0] for row in records], np.int64)
        terms = Ragged.from_lengths(
            _count(records, 6),
            np.frombuffer(b"".join(row[6] for row in records), np.int32),
            np.frombuffer(b"".join(row[7] for row in records), np.float32),
        )
        of = np.repeat(np.arange(len(records)), terms.lengths)
        lengths = np.bincount(of, terms.values[1].array, minlength=len(records))
        kind_names = list(dict.fromkeys(row[1] for row in records))
        return cls(
            numbers=Growing.from_array(numbers),
            cards=Packed.from_values(Card, (row[1:6] for row in artifacts)),
            called=Growing.from_array(np.array([hash_name(row[2]) for row in artifacts], np.int64)),
            alive=np.ones(len(artifacts), np.bool_),
            artifact_of=Growing.from_array(np.searchsorted(numbers, owners).astype(np.int32)),
            shown=Packed.from_values(Shown, (row[3:6] for row in records)),
            kinds=Growing.from_array(
                np.array([kind_names.index(row[1]) for row in records], np.int16)
            ),
            kind_names=kind_names,
            present=np.ones(len(records), np.bool_),
            terms=terms,
            names=Ragged.from_lengths(
                _count(artifacts, 6),
                np.frombuffer(b"".join(row[6] for row in artifacts), np.int32),
            ),
            symbols=_number_symbols(records, vocabulary),
            lengths=Growing.from_array(lengths),
            surfaces=Growing.from_array(np.array([row[2] for row in records], np.int64)),
            vectors=Growing.from_array(np.zeros((len(records), dim), np.float32)),
            embedded=np.zeros(len(records), np.bool_),
            last=int(numbers[-1]) if len(numbers) else 0,
        )

    # -- what there is ---------------------------------------------------------------------------

    @property
    def n_artifacts(self) -> int:
        """Count the artifacts that are alive."""
        return int(np.count_nonzero(self.alive))

    @property
    def n_records(self) -> int:
        """Count the records that are present."""
        return int(np.count_nonzero(self.present))

    @property
    def n_embedded(self) -> int:
        """Count the records that have a vector."""
        return int(np.count_nonzero(self.embedded))

    def list_owners(self) -> list[int]:
        """Return the positions of the artifacts that are alive, ascending."""
        positions: list[int] = np.flatnonzero(self.alive).tolist()
        return positions

    def list_positions(self) -> list[int]:
        """Return the positions of the records that are present, ascending."""
        positions: list[int] = np.flatnonzero(self.present).tolist()
        return positions

    def get_kind(self, position: int) -> str:
        """Return the surface kind of one record."""
        return self.kind_names[int(self.kinds.array[position])]

    def find_records(self, owner: int) -> range:
        """Return the positions of an artifact's records, in the order of its surfaces."""
        owners, wanted = self.artifact_of.array, np.int32(owner)
        first, behind = (int(np.searchsorted(owners, wanted, side)) for side in ("left", "right"))
        return range(first, behind)

    def count_terms(self, position: int) -> dict[int, float]:
        """Return the term counts of one record, by term id."""
        ids, counts = (values.tolist() for values in self.terms.read(position))
        return dict(zip(ids, counts, strict=True))

    # -- the next ones ---------------------------------------------------------------------------

    def sync(self, ledger: Ledger, corpus: str, embedder: str) -> Rows:
        """Return these rows updated from the ledger, vectors included."""
        gone, last_tombstone = ledger.index_rows.list_tombstones(corpus, self.last_tombstone)
        rows = self._drop_gone(gone)
        # Part by part: a large corpus' ledger rows take several times the memory of the columns.
        while artifacts := ledger.index_rows.list_artifacts(corpus, rows.last, _READ_AT_ONCE):
            records = ledger.index_rows.list_records(corpus, rows.last, artifacts[-1][0])
            dim, vocabulary = self.vectors.buffer.shape[1], ledger.terms.get_table()
            rows = rows._append(Rows.build(artifacts, records, dim, vocabulary))
        if last_tombstone != self.last_tombstone:
            rows = replace(rows, last_tombstone=last_tombstone)
        if rows._has_too_many_gone():
            rows = rows._compact()
        return rows._add_vectors(ledger, embedder)

    def recount(self, changed: Mapping[int, Recounted]) -> Rows:
        """Return a copy in which some records, by position, have other terms and vectors."""
        ids, counts = (values.array for values in self.terms.values)
        ends = self.terms.ends.array.tolist()
        parts = [(ids[start:end], counts[start:end]) for start, end in pairwise([0, *ends])]
        vectors = self.vectors.array.copy()
        for position, each in changed.items():
            parts[position] = (
                np.array(list(each.terms), np.int32),
                np.array(list(each.terms.values()), np.float32),
            )
            vectors[position] = each.vector
        terms = Ragged.from_lengths(
            np.array([len(part) for part, _ in parts]),
            np.concatenate([part for part, _ in parts]),
            np.concatenate([part for _, part in parts]),
        )
        of = np.repeat(np.arange(len(parts)), terms.lengths)
        lengths = np.bincount(of, terms.values[1].array, minlength=len(parts))
        return replace(
            self,
            terms=terms,
            lengths=Growing.from_array(lengths),
            vectors=Growing.from_array(vectors),
            epoch=self.epoch + 1,
            laid_out=0,
        )

    def join(self, more: Rows) -> Rows:
        """Return these rows followed by those of another corpus, to search but not to append to.

        Large columns are shared, not copied; neither corpus is changed.
        """
        small = {name: getattr(self, name).closed for name in _GROWING if name not in _LARGE}
        base = replace(self, **small, kind_names=list(self.kind_names))
        return replace(
            base._append(more, left_out=_LARGE),
            cards=JoinedPacked(Card, self.cards.rows, more.cards),
            shown=JoinedPacked(Shown, self.shown.rows, more.shown),
            terms=JoinedRagged(self.terms.ends, self.terms.values, more.terms),
            vectors=JoinedGrowing(self.vectors.buffer, self.vectors.size, more.vectors),
        )

    def drop_vectors(self, dim: int) -> Rows:
        """Return the same rows without vectors, for a space of another dimension."""
        n = len(self.present)
        vectors = Growing.from_array(np.zeros((n, dim), np.float32))
        return replace(self, vectors=vectors, embedded=np.zeros(n, np.bool_))

    def _drop_gone(self, gone: Sequence[int]) -> Rows:
        """Mark artifacts as deleted, by row number; unknown numbers are ignored."""
        numbers = self.numbers.array
        at = np.searchsorted(numbers, gone)
        found = at[at < len(numbers)]
        found = found[numbers[found] == np.asarray(gone, np.int64)[at < len(numbers)]]
        if not len(found):
            return self
        alive, present, embedded = self.alive.copy(), self.present.copy(), self.embedded.copy()
        alive[found] = False
        for owner in found.tolist():
            theirs = self.find_records(owner)
            present[theirs.start : theirs.stop] = embedded[theirs.start : theirs.stop] = False
        return replace(self, alive=alive, present=present, embedded=embedded)

    def _append(self, more: Rows, left_out: Collection[str] = ()) -> Rows:
        if not len(self.alive):
            more = replace(more, last_tombstone=self.last_tombstone, epoch=self.epoch)
            if self.spool:
                terms = self.spool.make_ragged(more.terms).append(more.terms)
                more = replace(more, terms=terms, spool=self.spool)
            return more
        self.kind_names.extend(kind for kind in more.kind_names if kind not in self.kind_names)
        codes = np.array([self.kind_names.index(kind) for kind in more.kind_names], np.int16)
        owners = more.artifact_of.array + np.int32(len(self.alive))
        more = replace(
            more,
            artifact_of=Growing.from_array(owners),
            kinds=Growing.from_array(codes[more.kinds.array]),
        )
        grown: dict[str, Any] = {
            **{
                name: getattr(self, name).append(getattr(more, name))
                for name in _GROWING
                if name not in left_out
            },
            **{name: np.append(getattr(self, name), getattr(more, name)) for name in FLAGS},
        }
        return replace(self, **grown, last=max(self.last, more.last))

    def _has_too_many_gone(self) -> bool:
        gone = len(self.present) - self.n_records + len(self.alive) - self.n_artifacts
        everything = len(self.present) + len(self.alive)
        return gone > max(_MOST_GONE, _GONE_SHARE * everything)

    def _compact(self) -> Rows:
        """Return the rows without the deleted ones, in new arrays."""
        position = np.cumsum(self.alive, dtype=np.int32) - 1
        kept: dict[str, Any] = {
            **{name: getattr(self, name).keep(self.alive) for name in _BY_ARTIFACT},
            **{
                name: getattr(self, name).keep(self.present)
                for name in _BY_RECORD
                if name != "terms"
            },
            # Also if they were in an image: in memory they would take most of the space.
            "terms": self.terms.keep(self.present, self.spool.keep if self.spool else Growing.keep),
        }
        return replace(
            self,
            **kept,
            alive=np.ones(self.n_artifacts, np.bool_),
            artifact_of=Growing.from_array(position[self.artifact_of.array[self.present]]),
            present=np.ones(self.n_records, np.bool_),
            embedded=self.embedded[self.present],
            epoch=self.epoch + 1,
            laid_out=0,
        )

    def _add_vectors(self, ledger: Ledger, embedder: str) -> Rows:
        dim = self.vectors.buffer.shape[1]
        if not dim:  # no query can be embedded in this space
            return self
        waiting: dict[bytes, list[int]] = {}
        for position in np.flatnonzero(self.present & ~self.embedded).tolist():
            waiting.setdefault(self.shown[position].digest, []).append(position)
        embedded = self.embedded.copy()
        for part in _split_parts(_read_vectors(ledger, embedder, waiting)):
            packed = b"".join(vector for _, vector in part)
            if len(packed) != 4 * dim * len(part):
                raise Unavailable(
                    f"the vectors kept for embedder {embedder!r} have another dimension than its"
                    f" own, {dim}",
                    "an embedder that changes needs another id",
                )
            rows = [row for row, (digest, _) in enumerate(part) for _ in waiting[digest]]
            positions = [position for digest, _ in part for position in waiting[digest]]
            # In place: earlier generations know these records as not embedded, and skip them.
            read = np.frombuffer(packed, np.float32).reshape(-1, dim)
            self.vectors.array[positions] = read[rows]
            embedded[positions] = True
        return replace(self, embedded=embedded) if embedded.sum() > self.embedded.sum() else self


def hash_name(name: str) -> int:
    """Return a hash of a name, the same in either letter case."""
    digest = blake2b(name.casefold().encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _number_symbols(records: Sequence[tuple[Any, ...]], vocabulary: Mapping[str, int]) -> Ragged:
    """Return the term ids of each record's symbol name; none for a record without a symbol."""
    names = [_read_symbol(row[4]) if row[1] == SYMBOL else "" for row in records]
    ids = [[vocabulary[t] for t in tokenize_name(n) if t in vocabulary] if n else [] for n in names]
    lengths = np.array([len(each) for each in ids], np.int64)
    return Ragged.from_lengths(
        lengths, np.array([number for each in ids for number in each], np.int32)
    )


def list_symbol_words(records: Iterable[tuple[Any, ...]]) -> set[str]:
    """Return the words of the symbol names of ledger records."""
    symbols = (_read_symbol(row[4]) for row in records if row[1] == SYMBOL)
    return {word for symbol in symbols for word in tokenize_name(symbol)}


def _read_symbol(packed: bytes) -> str:
    return str(msgpack.unpackb(packed).get("symbol") or "")


def _split_parts(
    stored: Iterable[tuple[bytes, bytes]],
) -> Iterator[list[tuple[bytes, bytes]]]:
    each = iter(stored)
    while part := list(islice(each, _READ_AT_ONCE)):
        yield part


def _read_vectors(
    ledger: Ledger, embedder: str, wanted: Collection[bytes]
) -> Iterable[tuple[bytes, bytes]]:
    if len(wanted) <= _LOOKED_UP:
        return ledger.vectors.get(embedder, list(wanted)).items()
    return ((digest, v) for digest, v in ledger.vectors.iterate(embedder) if digest in wanted)


def _count(rows: Sequence[tuple[Any, ...]], column: int) -> NDArray[np.int64]:
    return np.array([len(row[column]) // 4 for row in rows], np.int64)
