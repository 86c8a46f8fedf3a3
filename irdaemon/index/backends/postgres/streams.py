"""The artifacts and records of a delta, copied into a space part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from irdaemon.index.backend import SentArtifact, SentRecord
from irdaemon.index.backends.postgres.coding import KIND, Coder
from irdaemon.index.backends.postgres.packing import (
    SURFACE_BITS,
    id_key,
    merged_fields,
    packed,
    unpacked,
)
from irdaemon.index.backends.postgres.space import SpaceTables
from irdaemon.index.rows import name_key
from irdaemon.source.asset_types import FIELD, asset_type

# Artifacts, and records, that are held in memory at a time.
_AT_ONCE = 500


def copy_streams(
    space: SpaceTables,
    coder: Coder,
    artifacts: Iterable[SentArtifact],
    records: Iterable[SentRecord],
) -> None:
    """Copy artifacts, and their records in the same order, into a space."""
    parts = _in_parts(records)
    ahead: list[SentRecord] = []
    for some in _in_parts(artifacts):
        _copy_artifacts(space, some)
        of_artifact = {each.row[0]: _packed_fields(each.row[4]) for each in some}
        while ahead or (ahead := next(parts, [])):
            mine = [each for each in ahead if each.row[0] <= some[-1].row[0]]
            _copy_records(space, coder, mine, [of_artifact[each.row[0]] for each in mine])
            ahead = ahead[len(mine) :]
            if ahead:
                break


def _packed_fields(data: bytes) -> dict[str, bytes]:
    fields = unpacked(data)
    fields[FIELD] = asset_type(fields)
    return {str(name): packed(value) for name, value in fields.items()}


def _copy_artifacts(space: SpaceTables, artifacts: Sequence[SentArtifact]) -> None:
    space.copy_rows(
        "artifacts",
        "artifact, id_key, name_key, row, stored",
        ["int8", "int8", "int8", "bytea", "bytea"],
        (
            (
                each.row[0],
                id_key(each.row[1]),
                name_key(each.row[2]),
                packed(each.row[1:]),
                packed((each.body, each.digest, each.indexed_at)),
            )
            for each in artifacts
        ),
    )
    terms = [np.frombuffer(each.row[6], np.int32) for each in artifacts]
    owners = np.repeat([each.row[0] for each in artifacts], [len(ids) for ids in terms])
    space.copy_columns("naming", "term, artifact", [("i4", np.concatenate(terms)), ("i8", owners)])


def _copy_records(
    space: SpaceTables,
    coder: Coder,
    records: Sequence[SentRecord],
    of_artifact: Sequence[dict[str, bytes]],
) -> None:
    if not records:
        return
    numbers = np.array([record_number(each.row) for each in records], np.int64)
    fields = [
        {**merged_fields(theirs, each.row[4]), KIND: packed(each.row[1])}
        for each, theirs in zip(records, of_artifact, strict=True)
    ]
    codes = coder.coded(fields)
    space.copy_columns("slots", "record, codes", [("i8", numbers), ("i4", codes)])
    space.copy_rows(
        "records",
        "record, row, stored",
        ["int8", "bytea", "bytea"],
        (
            (int(number), packed(each.row[1:]), packed(_stored(each)))
            for number, each in zip(numbers, records, strict=True)
        ),
    )
    _copy_vectors(space, numbers.tolist(), records)
    _copy_postings(space, numbers, records)


def record_number(row: tuple[Any, ...]) -> int:
    """Return the number of a record by its row as the ledger gives it."""
    return (int(row[0]) << SURFACE_BITS) + int(row[2])


def _stored(record: SentRecord) -> tuple[str, str, str, bool]:
    """Return a record's id and granularity, and its text without the beginning that its row has."""
    begins = record.text.startswith(record.row[3])
    return (*record.label, record.text[len(record.row[3]) :] if begins else record.text, begins)


def _copy_vectors(
    space: SpaceTables, numbers: Sequence[int], records: Sequence[SentRecord]
) -> None:
    both = list(zip(numbers, records, strict=True))
    copy_vectors(space, {n: each.vector for n, each in both if each.vector is not None})
    waiting = [(number, each.row[5]) for number, each in both if each.vector is None]
    if waiting:
        space.copy_rows("waiting", "record, digest", ["int8", "bytea"], waiting)


def copy_vectors(space: SpaceTables, vectors: dict[int, bytes]) -> None:
    """Add the vectors of records, by their numbers."""
    if vectors and space.dim:
        values = np.frombuffer(b"".join(vectors.values()), np.float32).reshape(-1, space.dim)
        numbers = np.array(list(vectors), np.int64)
        space.copy_columns("vectors", "record, vector", [("i8", numbers), ("f4", values)])


def _copy_postings(space: SpaceTables, numbers: Any, records: Sequence[SentRecord]) -> None:
    sizes = np.array([len(each.row[6]) // 4 for each in records])
    terms = np.frombuffer(b"".join(each.row[6] for each in records), np.int32)
    counts = np.frombuffer(b"".join(each.row[7] for each in records), np.float32)
    of = np.repeat(np.arange(len(records)), sizes)
    lengths = np.bincount(of, counts, minlength=len(records))
    space.copy_columns(
        "postings",
        "term, record, count, length",
        [("i4", terms), ("i8", numbers[of]), ("f4", counts), ("f4", lengths[of])],
    )


def _in_parts(items: Iterable[Any]) -> Iterator[list[Any]]:
    each = iter(items)
    while part := list(islice(each, _AT_ONCE)):
        yield part
