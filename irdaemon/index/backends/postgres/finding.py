"""The part of a corpus that a query needs: three exchanges with the server, in one view of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irdaemon.index.backend import Found, Wanted
from irdaemon.index.backends.postgres.connections import Connection
from irdaemon.index.backends.postgres.filters import KeptValues, SpaceFields
from irdaemon.index.backends.postgres.legs import legs
from irdaemon.index.backends.postgres.packing import SURFACE_BITS, unpacked
from irdaemon.index.backends.postgres.view import CorpusView, check_there, end_view, look_at

# Of pgvector's binary form: dimension, and two bytes that are not used.
_VECTOR_HEAD = 4


def find(
    connection: Connection,
    corpus: str,
    wanted: Wanted,
    kept: KeptValues,
    hnsw_above: int,
) -> Found:
    """Return the part of a corpus that a query needs. Raises NotFound, SpaceGone."""
    view = look_at(connection, corpus, (*wanted.ranked, *wanted.others))
    condition = None
    if wanted.where or wanted.surfaces:
        if corpus not in kept or kept[corpus][0] != view.space:
            kept[corpus] = (view.space, {})
        fields = SpaceFields(connection, view.space, view.fields, kept[corpus][1])
        condition = fields.condition(wanted.where, wanted.surfaces)
    chosen = legs(view, wanted, condition, hnsw_above)
    n_eligible = view.totals.n_records if condition is None else chosen.eligible
    return _with_rows(view, chosen.records, chosen.artifacts, n_eligible)


def _with_rows(
    view: CorpusView, records: Sequence[int], named: Sequence[int], n_eligible: int
) -> Found:
    owners = sorted({*named, *(record >> SURFACE_BITS for record in records)})
    connection = view.connection
    with connection.pipeline():
        found = connection.execute(
            "SELECT r.record, r.row, v.vector FROM irdaemon.records AS r"
            " LEFT JOIN irdaemon.vectors AS v ON v.space = %(space)s AND v.record = r.record"
            " WHERE r.space = %(space)s AND r.record = ANY (%(records)s::bigint[])"
            " ORDER BY r.record",
            {"space": view.space, "records": list(records)},
            binary=True,
        )
        artifacts = connection.execute(
            "SELECT artifact, row FROM irdaemon.artifacts WHERE space = %s"
            " AND artifact = ANY (%s::bigint[]) ORDER BY artifact",
            (view.space, owners),
            binary=True,
        )
        naming = connection.execute(
            "SELECT n.term, f.df FROM (SELECT DISTINCT term FROM irdaemon.naming"
            "  WHERE space = %(space)s AND artifact = ANY (%(owners)s::bigint[])) AS n"
            " LEFT JOIN irdaemon.frequencies AS f ON f.space = %(space)s AND f.term = n.term",
            {"space": view.space, "owners": owners},
            binary=True,
        )
        there = end_view(view)
    check_there(there)
    rows = found.fetchall()
    return Found(
        totals=view.totals,
        artifacts=[(number, *unpacked(row)) for number, row in artifacts.fetchall()],
        records=[(number >> SURFACE_BITS, *unpacked(row)) for number, row, _ in rows],
        vectors=_vectors([vector for _, _, vector in rows]),
        words=view.words,
        df={**view.df, **{term: df or 0 for term, df in naming.fetchall()}},
        eligible=n_eligible,
    )


def _vectors(received: Sequence[bytes | None]) -> list[bytes | None]:
    return [
        None
        if data is None
        else np.frombuffer(data, ">f4", offset=_VECTOR_HEAD).astype("<f4").tobytes()
        for data in received
    ]
