"""The log of use: offers, and uses found in transcripts, in one private file.

It contains no text unless the configuration asks for it. Turns and uses can be recovered from the
transcripts, so a damaged file or one of another format is set aside and created again.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from irdaemon.contrib.usage.offers import ConsideredItem
from irdaemon.contrib.usage.session_log import SessionStore

# The tables of the log of use, and their rows as values.

FORMAT = 1
TABLES = """
PRAGMA auto_vacuum = INCREMENTAL;
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
    """One stored answer. `session` is AGENT:ID, "" without a session."""

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
    """One stored turn: digests of its queries, and its uses as (how, what).

    `own` are the digests of prompts, `asked` those of the agent's own queries to this daemon.
    """

    corpus: str
    entry: str
    turn_id: str
    session: str
    at: float
    own: frozenset[bytes] = frozenset()
    asked: frozenset[bytes] = frozenset()
    uses: tuple[tuple[str, str], ...] = ()


def make_offer_row(offer: Offer) -> tuple[Any, ...]:
    """Return an answer as the values of its columns, without its number."""
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
        pack_items(offer.items),
        offer.text,
    )


def pack_items(items: Iterable[ConsideredItem]) -> bytes:
    """Return items as one value, compressed: ids are paths and similar to each other."""
    return zlib.compress(msgpack.packb([list(each) for each in items]), 1)


def read_offer(row: tuple[Any, ...]) -> Offer:
    """Return the answer in a row."""
    at, op, client, session, digest, generation, variant, reason, floors, items, text, id = row
    considered = tuple(ConsideredItem(*each) for each in msgpack.unpackb(zlib.decompress(items)))
    about = at, op, client, session, digest, generation, variant, reason, json.loads(floors)
    return Offer(*about, items=considered, text=text, id=id)


KEPT_DAYS = 90
KEPT_BYTES = 50 * 1024 * 1024
_DAY = 24 * 60 * 60
# The share of the oldest rows that is deleted at once if the file is too large.
_SHARE_DROPPED = 0.1


class UsageStore(SessionStore):
    """One connection to the file. Raises sqlite3.Error or OSError if it cannot be used."""

    format, tables = FORMAT, TABLES

    # -- writing ---------------------------------------------------------------------------------

    def put_offers(self, offers: Iterable[Offer]) -> None:
        """Store answers, except those to forgotten sessions."""
        gone = {value for kind, value, _ in self._list_forgotten() if kind == "session"}
        rows = [make_offer_row(each) for each in offers if each.session not in gone]
        with self.transaction():
            self._db.executemany(
                "INSERT INTO offers(at, op, client, session, digest, generation, variant, reason,"
                " floors, items, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def put_turns(self, entry: tuple[str, str], turns: Sequence[KeptTurn], partial: bool) -> None:
        """Store the turns of an entry (corpus, key), replacing its known ones.

        If they are only `partial`, its other turns stay. Forgotten ones stay forgotten. A session
        that the entry no longer has is removed with its offers.
        """
        kept = [each for each in map(self._filter_forgotten, turns) if each is not None]
        with self.transaction():
            if not partial:
                sessions = {each.session for each in kept}
                self._forget_sessions(self._list_sessions(entry) - sessions)
                self._db.execute("DELETE FROM turns WHERE corpus = ? AND entry = ?", entry)
            for turn in kept:
                self._put_turn(turn)

    def forget_entries(self, corpus: str, keys: Iterable[str]) -> None:
        """Forget deleted entries, with their turns and the offers to their sessions."""
        with self.transaction():
            for key in keys:
                self._forget_sessions(self._list_sessions((corpus, key)))
                self._db.execute("DELETE FROM turns WHERE corpus = ? AND entry = ?", (corpus, key))

    def keep_corpora(self, corpora: Iterable[str]) -> None:
        """Forget the turns of removed corpora."""
        names = json.dumps(list(corpora))
        with self.transaction():
            for table in ("turns", "whole"):
                self._db.execute(
                    f"DELETE FROM {table} WHERE corpus NOT IN (SELECT value FROM json_each(?))",
                    (names,),
                )

    def forget_all(self, now: float) -> int:
        """Forget everything so far; return how many rows."""
        count = self.count("offers") + self.count("uses")
        with self.transaction():
            for table in ("offers", "turns", "forgotten"):
                self._db.execute(f"DELETE FROM {table}")
            self._db.execute("INSERT INTO forgotten VALUES ('all', '', ?)", (now,))
        self._shrink()
        return count

    def forget_session(self, session: str, now: float) -> int:
        """Forget the offers to a session and its uses; return how many rows."""
        statement = (
            "SELECT (SELECT count(*) FROM offers WHERE session = ?1) + (SELECT count(*) FROM turns"
            " JOIN uses ON uses.turn = turns.id WHERE session = ?1)"
        )
        count = self._select_one(statement, session)
        with self.transaction():
            self._forget_sessions({session})
            self._db.execute("DELETE FROM turns WHERE session = ?", (session,))
            self._db.execute(
                "INSERT OR REPLACE INTO forgotten VALUES ('session', ?, ?)", (session, now)
            )
        return count

    def forget_item(
        self, item: tuple[str, str], uses: Iterable[tuple[str, str]], now: float
    ) -> int:
        """Forget that an item (corpus, id) was offered, and uses of it under these names."""
        changed = [
            (pack_items(i for i in offer.items if i[:2] != item), offer.id)
            for offer in self.list_offers()
            if any(i[:2] == item for i in offer.items)
        ]
        with self.transaction():
            self._db.executemany("UPDATE offers SET items = ? WHERE id = ?", changed)
            count = len(changed)
            for use in uses:
                count += self._db.execute(
                    "DELETE FROM uses WHERE how = ? AND what = ?", use
                ).rowcount
                self._db.execute(
                    "INSERT OR REPLACE INTO forgotten VALUES ('use', ?, ?)", ("\t".join(use), now)
                )
        return count

    def prune(self, now: float, most_bytes: int = KEPT_BYTES) -> None:
        """Drop offers older than 90 days, and the oldest rows while the file is too large."""
        with self.transaction():
            self._db.execute("DELETE FROM offers WHERE at < ?", (now - KEPT_DAYS * _DAY,))
        while self.measure_size() > most_bytes and self._drop_oldest():
            self._shrink()

    def _drop_oldest(self) -> bool:
        """Drop a tenth of the offers, or of the turns without offers; False without either."""
        for table in ("offers", "turns"):
            if count := self.count(table):
                with self.transaction():
                    self._db.execute(
                        f"DELETE FROM {table} WHERE id IN"
                        f" (SELECT id FROM {table} ORDER BY at LIMIT ?)",
                        (1 + int(count * _SHARE_DROPPED),),
                    )
                return True
        return False

    def _shrink(self) -> None:
        self._db.executescript("PRAGMA incremental_vacuum")  # execute() would free one page
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _filter_forgotten(self, turn: KeptTurn) -> KeptTurn | None:
        """Return the part of a turn that may be stored, without records that a person erased."""
        uses = set(turn.uses)
        for kind, value, at in self._list_forgotten():
            if turn.at > at:
                continue
            if kind == "all" or (kind == "session" and value == turn.session):
                return None
            if kind == "use":
                how, _, what = value.partition("\t")
                uses.discard((how, what))
        return replace(turn, uses=tuple(use for use in turn.uses if use in uses))

    def _list_forgotten(self) -> list[tuple[str, str, float]]:
        return self._db.execute("SELECT kind, value, at FROM forgotten").fetchall()

    def _list_sessions(self, entry: tuple[str, str]) -> set[str]:
        rows = self._db.execute(
            "SELECT DISTINCT session FROM turns WHERE corpus = ? AND entry = ?", entry
        )
        return {session for (session,) in rows}

    def _forget_sessions(self, sessions: Iterable[str]) -> None:
        self._db.executemany(
            "DELETE FROM offers WHERE session = ?", [(each,) for each in sessions if each]
        )

    def _put_turn(self, turn: KeptTurn) -> None:
        self._db.execute(
            "DELETE FROM turns WHERE corpus = ? AND turn_id = ?", (turn.corpus, turn.turn_id)
        )
        number = self._db.execute(
            "INSERT INTO turns(corpus, entry, turn_id, session, at) VALUES (?, ?, ?, ?, ?)",
            (turn.corpus, turn.entry, turn.turn_id, turn.session, turn.at),
        ).lastrowid
        self._db.executemany(
            "INSERT OR IGNORE INTO asked VALUES (?, ?, ?)",
            [
                (number, each, own)
                for own, some in ((1, turn.own), (0, turn.asked))
                for each in some
            ],
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO uses VALUES (?, ?, ?)", [(number, *use) for use in turn.uses]
        )

    # -- reading ---------------------------------------------------------------------------------

    def list_offers(self, since: float = 0.0) -> list[Offer]:
        """Return the answers given since a time, oldest first."""
        rows = self._db.execute(
            "SELECT at, op, client, session, digest, generation, variant, reason, floors, items,"
            " text, id FROM offers WHERE at >= ? ORDER BY at, id",
            (since,),
        )
        return [read_offer(row) for row in rows]

    def list_turns(self, since: float = 0.0, only_used: bool = False) -> list[KeptTurn]:
        """Return the turns since a time, newest first; on request only those with uses."""
        wanted = " AND EXISTS (SELECT 1 FROM uses WHERE turn = turns.id)" if only_used else ""
        where = f"at >= ?{wanted}"
        rows = self._db.execute(
            f"SELECT id, corpus, entry, turn_id, session, at FROM turns WHERE {where}"
            " ORDER BY at DESC, id DESC",
            (since,),
        ).fetchall()
        own, asked = self._read_digests(since, 1), self._read_digests(since, 0)
        uses = self._read_uses(since)
        return [
            KeptTurn(
                *(corpus, entry, turn_id, session, at),
                own=frozenset(own.get(id, ())),
                asked=frozenset(asked.get(id, ())),
                uses=tuple(uses.get(id, ())),
            )
            for id, corpus, entry, turn_id, session, at in rows
        ]

    def list_session(self, session: str, transcript: str, most: int) -> list[KeptTurn]:
        """Return the last turns of a session, newest first, with their uses and no digests.

        If its id (AGENT:ID) has none, return those of the entry named like the transcript's file.
        """
        found = self._list_last_turns("session = ?", session, most)
        name = os.path.basename(transcript)
        if not found and name:
            found = self._list_last_turns(
                "entry = ?1 OR substr(entry, -length(?1)) = ?1", name, most
            )
        return found

    def _list_last_turns(self, where: str, value: str, most: int) -> list[KeptTurn]:
        rows = self._db.execute(
            f"SELECT id, corpus, entry, turn_id, session, at FROM turns WHERE {where}"
            f" ORDER BY at DESC, id DESC LIMIT {most:d}",
            (value,),
        ).fetchall()
        statement = "SELECT how, what FROM uses WHERE turn = ?"
        return [
            KeptTurn(
                *(corpus, entry, turn_id, session, at),
                uses=tuple(self._db.execute(statement, (id,)).fetchall()),
            )
            for id, corpus, entry, turn_id, session, at in rows
        ]

    def _read_digests(self, since: float, own: int) -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {}
        for turn, digest in self._db.execute(
            "SELECT turn, digest FROM asked JOIN turns ON turns.id = turn"
            " WHERE at >= ? AND own = ?",
            (since, own),
        ):
            found.setdefault(turn, []).append(digest)
        return found

    def _read_uses(self, since: float) -> dict[int, list[tuple[str, str]]]:
        found: dict[int, list[tuple[str, str]]] = {}
        for turn, how, what in self._db.execute(
            "SELECT turn, how, what FROM uses JOIN turns ON turns.id = turn WHERE at >= ?", (since,)
        ):
            found.setdefault(turn, []).append((how, what))
        return found

    def find_oldest_offer(self) -> float | None:
        """Return the time of the oldest stored answer; None if there is none."""
        (at,) = self._db.execute("SELECT min(at) FROM offers").fetchone()
        return None if at is None else float(at)

    def measure_size(self) -> int:
        """Return the size of the file in bytes, without its log."""
        return self._select_one("PRAGMA page_count") * self._select_one("PRAGMA page_size")


@contextmanager
def read_usage(path: str) -> Iterator[UsageStore]:
    """Open the file for reading during the block; any thread may."""
    with closing(UsageStore(path, read_only=True)) as store:
        yield store
