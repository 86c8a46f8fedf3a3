"""The tables of the log of use, and their rows as values."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgpack

from irdaemon.usage.offers import ConsideredItem

FORMAT = 1
TABLES = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE offers (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, op TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, digest BLOB NOT NULL, generation INTEGER NOT NULL,
    variant TEXT NOT NULL, reason TEXT NOT NULL, floors TEXT NOT NULL, items BLOB NOT NULL,
    text TEXT
);
CREATE INDEX offers_by_time ON offers(at);
CREATE INDEX offers_by_session ON offers(session);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY, corpus TEXT NOT NULL, entry TEXT NOT NULL, turn_id TEXT NOT NULL,
    session TEXT NOT NULL, at REAL NOT NULL, UNIQUE (corpus, turn_id)
);
CREATE INDEX turns_by_entry ON turns(corpus, entry);
CREATE INDEX turns_by_session ON turns(session);
CREATE TABLE asked (
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, digest BLOB NOT NULL,
    own INTEGER NOT NULL, PRIMARY KEY (turn, digest)
) WITHOUT ROWID;
CREATE TABLE uses (
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, how TEXT NOT NULL,
    what TEXT NOT NULL, PRIMARY KEY (turn, how, what)
) WITHOUT ROWID;
CREATE TABLE whole (corpus TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE forgotten (kind TEXT, value TEXT, at REAL NOT NULL, PRIMARY KEY (kind, value));
PRAGMA user_version = 1;
COMMIT;
"""


@dataclass(frozen=True, slots=True)
class Offer:
    """One answer as it is kept. `session` is AGENT:ID, "" where the asker has none."""

    at: float
    op: str
    client: str
    session: str
    digest: bytes
    generation: int
    variant: str
    reason: str
    floors: dict[str, Any]
    items: tuple[ConsideredItem, ...]
    text: str | None = None
    id: int = 0

    @property
    def abstained(self) -> bool:
        """Return whether nothing was offered."""
        return not any(each.verdict == "offered" for each in self.items)


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """One turn as it is kept: digests of what was asked in it, and its uses as (how, what).

    `own` are the digests of prompts, `asked` of what the agent itself asked this daemon.
    """

    corpus: str
    entry: str
    turn_id: str
    session: str
    at: float
    own: frozenset[bytes] = frozenset()
    asked: frozenset[bytes] = frozenset()
    uses: tuple[tuple[str, str], ...] = ()


def offer_row(offer: Offer) -> tuple[Any, ...]:
    """Return an answer as the values of its columns, but for its number."""
    return (
        offer.at,
        offer.op,
        offer.client,
        offer.session,
        offer.digest,
        offer.generation,
        offer.variant,
        offer.reason,
        json.dumps(offer.floors),
        packed_items(offer.items),
        offer.text,
    )


def packed_items(items: Iterable[ConsideredItem]) -> bytes:
    """Return items as one value, compressed: ids are paths, and much alike."""
    return zlib.compress(msgpack.packb([list(each) for each in items]), 1)


def offer_of(row: tuple[Any, ...]) -> Offer:
    """Return the answer in a row."""
    at, op, client, session, digest, generation, variant, reason, floors, items, text, id = row
    considered = tuple(ConsideredItem(*each) for each in msgpack.unpackb(zlib.decompress(items)))
    about = at, op, client, session, digest, generation, variant, reason, json.loads(floors)
    return Offer(*about, items=considered, text=text, id=id)
