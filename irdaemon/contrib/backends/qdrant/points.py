"""What is stored in Qdrant: how records, texts, words and counts are points, and how they are read.

Every point names its corpus and the attempt that wrote it (see `corpus_state`). Rows travel as
packed bytes in base64, as JSON has none; beside them stands what is filtered by.
"""

from __future__ import annotations

import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from itertools import islice, pairwise
from typing import Any

import msgpack
import numpy as np
from qdrant_client import models

from irdaemon.index.backend import IndexDelta, SentArtifact, SentRecord, Totals
from irdaemon.index.columns import Columns
from irdaemon.index.lexical import make_postings
from irdaemon.index.rows import Rows, hash_name
from irdaemon.types import Floor

DENSE, SPARSE = "dense", "lexical"
# What a query needs of a record; its text is left where it is.
SEARCHED = ["record", "artifact"]
AT_ONCE = 500
# Of how points are made: another needs corpora to be sent whole.
FORMAT = 1

_SPACE = uuid.UUID("8a0e8f36-5f4b-4a0b-9b0f-3f6f0c6d1c55")


def point_id(*parts: Any) -> str:
    """Return the id of a point, the same for the same parts."""
    return str(uuid.uuid5(_SPACE, "\0".join(map(str, parts))))


def packed(value: Any) -> str:
    """Return plain data, bytes among it, as text."""
    return b64encode(msgpack.packb(value)).decode()


def unpacked(text: str) -> Any:
    """Return what `packed` made a text of."""
    return msgpack.unpackb(b64decode(text), strict_map_key=False)


def in_batches(each: Iterable[Any], size: int = AT_ONCE) -> Iterator[list[Any]]:
    """Yield items in lists of at most `size`."""
    items = iter(each)
    while batch := list(islice(items, size)):
        yield batch


# -- values of fields ----------------------------------------------------------------------------


def value_code(name: str, value: Any) -> int:
    """Return a number for the whole value of a field; equal values have the same."""
    return _code("whole", name, value)


def item_code(name: str, item: Any) -> int:
    """Return a number for an item of a field's list; equal items have the same."""
    return _code("item", name, item)


def _code(place: str, name: str, value: Any) -> int:
    key = msgpack.packb((place, name, type(_plain(value)).__name__, repr(_plain(value))))
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little", signed=True)


def _plain(value: Any) -> Any:
    """Return a number in one form: 1 for 1.0, which are equal."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def codes_of(values: Mapping[str, Any]) -> list[int]:
    """Return the codes by which a record with these fields is found."""
    whole = [value_code(name, value) for name, value in values.items()]
    lists = ((name, value) for name, value in values.items() if isinstance(value, list))
    return whole + [item_code(name, item) for name, value in lists for item in value]


# -- records -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """Some records on their way with their artifacts: points, and the values of their fields."""

    points: list[Any]
    values: dict[str, Any]


def record_batches(delta: IndexDelta, attempt: int) -> Iterator[Batch]:
    """Yield the points of a delta's records, some hundred at a time."""
    corpus, dim, mean = delta.totals.corpus, delta.totals.dim, delta.totals.mean_length
    artifacts = _owners(delta.artifacts, delta.records)
    for batch in in_batches(artifacts):
        owners = {owner.row[0]: owner.row for owner, _ in batch}
        records = [record for _, record in batch]
        rows = Rows.built(list(owners.values()), [record.row for record in records], dim, {})
        columns = Columns(rows)
        values = [_fields(columns, at) for at in range(len(records))]
        sparse = _sparse(rows, mean)
        points = [
            models.PointStruct(
                id=point_id(corpus, attempt, record.row[0], record.row[2]),
                vector=_vectors(sparse[at], record.vector if dim else None),
                payload={
                    "corpus": corpus,
                    "attempt": attempt,
                    **_record(record, owners[record.row[0]], values[at]),
                },
            )
            for at, record in enumerate(records)
        ]
        yield Batch(points, _distinct(values))


def _owners(
    artifacts: Iterable[SentArtifact], records: Iterable[SentRecord]
) -> Iterator[tuple[SentArtifact, SentRecord]]:
    """Yield each record with its artifact; both come in the order of row numbers."""
    owners = iter(artifacts)
    owner: SentArtifact | None = None
    for record in records:
        while owner is None or owner.row[0] < record.row[0]:
            owner = next(owners)
        yield owner, record


def _fields(columns: Columns, position: int) -> dict[str, Any]:
    """Return the fields of a record, its artifact's among them."""
    of = ((name, columns.column(name)) for name in columns.names())
    coded = ((name, column, int(column.codes[position])) for name, column in of)
    return {name: column.values[code] for name, column, code in coded if code}


def _distinct(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values there are, by field and code."""
    return {
        f"{name}\0{value_code(name, value)}": value
        for each in values
        for name, value in each.items()
    }


def _sparse(rows: Rows, mean: float) -> list[Any]:
    """Return for each record the weights of its terms: all of BM25 but idf."""
    terms, of, weights = make_postings(rows, 0, len(rows.present), mean)
    ends = np.searchsorted(of, np.arange(len(rows.present) + 1))
    return [
        models.SparseVector(
            indices=terms[start:end].tolist(), values=[float(w) for w in weights[start:end]]
        )
        for start, end in pairwise(ends.tolist())
    ]


def _vectors(sparse: Any, vector: bytes | None) -> dict[str, Any]:
    if vector is None:
        return {SPARSE: sparse}
    return {SPARSE: sparse, DENSE: dense_vector(vector)}


def dense_vector(vector: bytes) -> list[float]:
    """Return a vector of the ledger as numbers."""
    numbers: list[float] = np.frombuffer(vector, np.float32).tolist()
    return numbers


def _record(
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
        "codes": codes_of(values),
        "fields": sorted(values),
        "record": packed(record.row),
        "artifact": packed(owner),
        "text": record.text,
        "label": list(record.label),
    }


# -- what stands beside them ---------------------------------------------------------------------


def artifact_points(delta: IndexDelta, attempt: int) -> Iterator[Any]:
    """Yield the points of a delta's artifacts, with their texts."""
    corpus = delta.totals.corpus
    for sent in delta.artifacts:
        yield _beside(
            point_id(corpus, attempt, "artifact", sent.row[0]),
            corpus,
            attempt,
            {
                "what": "artifact",
                "number": sent.row[0],
                "id": sent.row[1],
                "artifact": packed(sent.row),
                "body": sent.body,
                "digest": sent.digest,
                "indexed_at": sent.indexed_at,
            },
        )


def count_points(delta: IndexDelta, attempt: int) -> Iterator[Any]:
    """Yield the points of how many records hold a term."""
    corpus = delta.totals.corpus
    for term, df in delta.df.items():
        payload = {"what": "df", "term": term, "df": df}
        yield _beside(point_id(corpus, attempt, "df", term), corpus, attempt, payload)


def word_points(corpus: str, epoch: int, words: Mapping[str, int]) -> Iterator[Any]:
    """Yield the points of words, which every writer makes the same."""
    for word, term in words.items():
        plain = word.removeprefix("=")
        payload = {
            "what": "word",
            "word": word,
            "term": term,
            "initial": plain[:1],
            "length": len(plain),
        }
        yield _beside(word_id(corpus, epoch, word), corpus, epoch, payload)


def word_id(corpus: str, epoch: int, word: str) -> str:
    """Return the id of a word's point."""
    return point_id(corpus, epoch, "word", word)


def value_points(corpus: str, epoch: int, values: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the points of the values of fields, which every writer makes the same."""
    for key, value in values.items():
        name = key.partition("\0")[0]
        payload = {"what": "value", "field": name, "value": packed(value)}
        yield _beside(point_id(corpus, epoch, "value", key), corpus, epoch, payload)


def _beside(identity: str, corpus: str, attempt: int, payload: Mapping[str, Any]) -> Any:
    return models.PointStruct(
        id=identity, vector={}, payload={"corpus": corpus, "attempt": attempt, **payload}
    )


# -- totals --------------------------------------------------------------------------------------


def packed_totals(totals: Totals) -> str:
    """Return totals as text."""
    plain = {field.name: getattr(totals, field.name) for field in fields(totals)}
    plain["floors"] = {mode: asdict(floor) for mode, floor in totals.floors.items()}
    return packed({**plain, "fields": {name: list(of) for name, of in totals.fields.items()}})


def unpacked_totals(text: str) -> Totals:
    """Return the totals that `packed_totals` made a text of, in this version or another."""
    plain = unpacked(text)
    plain["floors"] = {mode: Floor.from_dict(each) for mode, each in plain["floors"].items()}
    plain["fields"] = {name: tuple(of) for name, of in plain["fields"].items()}
    for name in ("kinds", "degraded"):
        plain[name] = tuple(plain[name])
    known = {field.name for field in fields(Totals)}
    return Totals(**{name: value for name, value in plain.items() if name in known})
