"""Points in Qdrant: how records, texts, words and counts are encoded as points and decoded.

Every point names its corpus and the attempt that wrote it (see `corpus_state`). Rows are packed
bytes in base64, as JSON has no bytes; the values to filter by are stored next to them.
"""

from __future__ import annotations

import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import msgpack
import numpy as np
from qdrant_client import models

from irdaemon.contrib.backends.state import split_batches
from irdaemon.index.backend import IndexDelta, SentArtifact, SentRecord
from irdaemon.index.columns import Columns
from irdaemon.index.lexical import make_postings
from irdaemon.index.rows import Rows, hash_name

DENSE, SPARSE = "dense", "lexical"
AT_ONCE = 500
# The version of the encoding of points: after a change corpora must be sent whole.
FORMAT = 1

_SPACE = uuid.UUID("8a0e8f36-5f4b-4a0b-9b0f-3f6f0c6d1c55")


def make_point_id(*parts: Any) -> str:
    """Return the id of a point; the same parts give the same id."""
    return str(uuid.uuid5(_SPACE, "\0".join(map(str, parts))))


def pack(value: Any) -> str:
    """Return plain data, including bytes, as text."""
    return b64encode(msgpack.packb(value)).decode()


def unpack(text: str) -> Any:
    """Return the data that `pack` packed; sequences come as lists."""
    return msgpack.unpackb(b64decode(text), strict_map_key=False)


# -- values of fields ----------------------------------------------------------------------------


def hash_value(name: str, value: Any, place: str = "whole") -> int:
    """Return a number for the value of a field; equal values have the same number.

    `place` is "item" for an item of a list in the field.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1 and 1.0 are equal
    key = msgpack.packb((place, name, type(value).__name__, repr(value)))
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little", signed=True)


def hash_fields(values: Mapping[str, Any]) -> list[int]:
    """Return the codes by which a record with these fields is found."""
    whole = [hash_value(name, value) for name, value in values.items()]
    lists = ((name, value) for name, value in values.items() if isinstance(value, list))
    return whole + [hash_value(name, item, "item") for name, value in lists for item in value]


# -- records -------------------------------------------------------------------------------------


def make_record_batches(
    delta: IndexDelta, attempt: int
) -> Iterator[tuple[list[Any], Mapping[str, Any]]]:
    """Yield the points of a delta's records, a few hundred at a time, with their fields' values.

    The values are by field and code, as `make_value_points` takes them.
    """
    corpus, dim = delta.totals.corpus, delta.totals.dim
    for batch in split_batches(_pair_owners(delta.artifacts, delta.records), AT_ONCE):
        owners = {owner.row[0]: owner.row for owner, _ in batch}
        records = [record for _, record in batch]
        rows = Rows.build(list(owners.values()), [record.row for record in records], dim, {})
        columns = Columns(rows)
        weights = _weigh_terms(rows, delta.totals.mean_length)
        points: list[Any] = []
        distinct: dict[str, Any] = {}
        for at, record in enumerate(records):
            values = _read_fields(columns, at)
            distinct |= {f"{name}\0{hash_value(name, each)}": each for name, each in values.items()}
            vectors = {SPARSE: weights[at]}
            if dim and record.vector is not None:
                vectors[DENSE] = read_vector(record.vector)
            payload = _describe_record(record, owners[record.row[0]], values)
            points.append(
                models.PointStruct(
                    id=make_point_id(corpus, attempt, record.row[0], record.row[2]),
                    vector=vectors,
                    payload={"corpus": corpus, "attempt": attempt, **payload},
                )
            )
        yield points, distinct


def _pair_owners(
    artifacts: Iterable[SentArtifact], records: Iterable[SentRecord]
) -> Iterator[tuple[SentArtifact, SentRecord]]:
    """Yield each record with its artifact; both are ordered by row number."""
    owners = iter(artifacts)
    owner: SentArtifact | None = None
    for record in records:
        while owner is None or owner.row[0] < record.row[0]:
            owner = next(owners)
        yield owner, record


def _read_fields(columns: Columns, position: int) -> dict[str, Any]:
    """Return the fields of a record, including its artifact's."""
    named = ((name, columns.get_column(name)) for name in columns.list_names())
    coded = ((name, column, int(column.codes[position])) for name, column in named)
    return {name: column.values[code] for name, column, code in coded if code}


def _weigh_terms(rows: Rows, mean: float) -> list[Any]:
    """Return the term weights of each record: BM25 without idf."""
    terms, owners, weights = make_postings(rows, 0, len(rows.present), mean)
    ends = np.searchsorted(owners, np.arange(len(rows.present) + 1))
    return [
        models.SparseVector(
            indices=terms[start:end].tolist(), values=[float(w) for w in weights[start:end]]
        )
        for start, end in pairwise(ends.tolist())
    ]


def read_vector(vector: bytes) -> list[float]:
    """Return a vector of the ledger as numbers."""
    numbers: list[float] = np.frombuffer(vector, np.float32).tolist()
    return numbers


def _describe_record(
    record: SentRecord, owner: tuple[Any, ...], values: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "number": owner[0],
        "id": owner[1],
        "called": hash_name(owner[2]),
        "kind": record.row[1],
        "surface": record.row[2],
        "digest": record.row[5].hex(),
        "embedded": record.vector is not None,
        "codes": hash_fields(values),
        "fields": sorted(values),
        "record": pack(record.row),
        "artifact": pack(owner),
        "text": record.text,
        "label": list(record.label),
    }


# -- what stands beside them ---------------------------------------------------------------------


def make_artifact_points(delta: IndexDelta, attempt: int) -> Iterator[Any]:
    """Yield the points of a delta's artifacts, with their texts."""
    for sent in delta.artifacts:
        payload = {
            "number": sent.row[0],
            "id": sent.row[1],
            "artifact": pack(sent.row),
            "body": sent.body,
            "digest": sent.digest,
            "indexed_at": sent.indexed_at,
        }
        yield _make_point(delta.totals.corpus, attempt, ("artifact", sent.row[0]), payload)


def make_count_points(delta: IndexDelta, attempt: int) -> Iterator[Any]:
    """Yield the points that store how many records hold a term."""
    for term, df in delta.df.items():
        payload = {"term": term, "df": df}
        yield _make_point(delta.totals.corpus, attempt, ("df", term), payload)


def make_word_points(corpus: str, epoch: int, words: Mapping[str, int]) -> Iterator[Any]:
    """Yield the points of words, which are the same from every writer."""
    for word, term in words.items():
        plain = word.removeprefix("=")
        payload = {"word": word, "term": term, "initial": plain[:1], "length": len(plain)}
        yield _make_point(corpus, epoch, ("word", word), payload)


def make_value_points(corpus: str, epoch: int, values: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the points of the values of fields, which are the same from every writer."""
    for key, value in values.items():
        payload = {"field": key.partition("\0")[0], "value": pack(value)}
        yield _make_point(corpus, epoch, ("value", key), payload)


def _make_point(
    corpus: str, attempt: int, key: tuple[str, object], payload: Mapping[str, Any]
) -> Any:
    """Return a point without vectors; `key` holds its type and its key within that type."""
    own = {"corpus": corpus, "attempt": attempt, "what": key[0], **payload}
    return models.PointStruct(id=make_point_id(corpus, attempt, *key), vector={}, payload=own)
