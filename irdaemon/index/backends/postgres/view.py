"""One state of a corpus, as a transaction sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irclient.errors import NotFound
from irdaemon.index.backend import Totals
from irdaemon.index.backends.postgres.connections import Connection
from irdaemon.index.backends.postgres.filters import read_fields
from irdaemon.index.backends.postgres.packing import bytes_of, text_of, unpacked_totals
from irdaemon.index.backends.postgres.settings import begin_reading


class SpaceGone(Exception):
    """The space was removed while it was read: the corpus lies in another by now."""


@dataclass(frozen=True, slots=True)
class CorpusView:
    """A corpus as a transaction sees it."""

    connection: Connection
    space: int
    vector_schema: str
    totals: Totals
    fields: Mapping[str, tuple[int, int]]
    words: Mapping[str, int]
    df: Mapping[int, int]


def look_at(connection: Connection, corpus: str, words: Sequence[str]) -> CorpusView:
    """Begin a transaction that sees one state of a corpus; return what is known of it."""
    of_corpus = "(SELECT {} FROM irdaemon.corpora WHERE corpus = %(corpus)s)"
    values = {"corpus": corpus, "words": [bytes_of(word) for word in words]}
    with connection.pipeline():
        begin_reading(connection)
        row = connection.execute(
            "SELECT space, totals, (SELECT vectors FROM irdaemon.format) FROM irdaemon.corpora"
            " WHERE corpus = %(corpus)s",
            values,
            binary=True,
        )
        fields = connection.execute(
            "SELECT field, name, last FROM irdaemon.fields"
            f" WHERE space = {of_corpus.format('space')}",
            values,
            binary=True,
        )
        known = connection.execute(
            "SELECT w.word, w.term, f.df FROM irdaemon.words AS w"
            f" LEFT JOIN irdaemon.frequencies AS f ON f.space = {of_corpus.format('space')}"
            "  AND f.term = w.term"
            f" WHERE w.ledger = {of_corpus.format('ledger')}"
            " AND w.word = ANY (%(words)s::bytea[])",
            values,
            binary=True,
        )
    found = row.fetchone()
    if found is None:
        connection.execute("ROLLBACK")
        raise NotFound(f"there is no corpus {corpus!r}")
    counted = [(text_of(word), term, df or 0) for word, term, df in known.fetchall()]
    return CorpusView(
        connection,
        found[0],
        found[2],
        unpacked_totals(found[1]),
        read_fields(fields.fetchall()),
        {word: term for word, term, _ in counted},
        {term: df for _, term, df in counted},
    )


def end_view(view: CorpusView) -> Any:
    """End the transaction behind what is under way; return what `check_there` looks at."""
    there = view.connection.execute("SELECT to_regclass(%s)", (f"irdaemon.slots_{view.space}",))
    view.connection.execute("COMMIT")
    return there


def check_there(there: Any) -> None:
    """Raise SpaceGone where the space that was read is not there."""
    if there.fetchone()[0] is None:
        raise SpaceGone
