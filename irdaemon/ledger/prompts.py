"""Learned prompts: what led to a use of an artifact, counted into its first record.

Two states of each corpus are kept, the one served and the one before it. A record that prompts
count for keeps, packed in its column `learned`: [[prompt, weight], ...], the share of its vector
that is theirs, the key of what was taken off them, and the term ids and counts of its own text,
with which it is as it was.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from irdaemon.embed.learned import Common
from irdaemon.ledger.rows import Learned, LearnedPrompt, LearnRate, digest_text
from irdaemon.ledger.store import Store
from irdaemon.ledger.terms import Terms
from irdaemon.text import tokenize
from irdaemon.types import Use

# Synopses that a model wrote: records like others, kept when their artifact is read again. A new
# one is handed in and the artifact's entry marked to be read again, which stores it.

_DAY, _ASKED = "synopsis_day", "synopses_asked"


class Synopses:
    """The synopses of every corpus: those handed in and not stored yet, else those stored."""

    def __init__(self, store: Store):
        self._store = store
        self._handed_in: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}

    def find(
        self, corpus: str, artifact_id: str, kind: str
    ) -> tuple[str, Mapping[str, Any]] | None:
        """Return the text of an artifact's synopsis and its metadata; None where it has none."""
        if (corpus, artifact_id) in self._handed_in:
            return self._handed_in[corpus, artifact_id]
        row = self._store.one(
            "SELECT text, metadata FROM records JOIN artifacts ON artifacts.id = records.artifact"
            " WHERE corpus = ? AND artifact_id = ? AND surface_index = 0 AND records.kind = ?",
            corpus,
            artifact_id,
            kind,
        )
        return (row[0], msgpack.unpackb(row[1])) if row else None

    def hand_in(
        self, corpus: str, artifact_id: str, text: str, metadata: Mapping[str, Any]
    ) -> None:
        """Have an artifact read again, and this be its synopsis then."""
        self._handed_in[corpus, artifact_id] = (text, metadata)
        with self._store.transaction():
            self._store.run(
                "UPDATE entries SET stamp = '', cursor = NULL WHERE id ="
                " (SELECT entry FROM artifacts WHERE corpus = ? AND artifact_id = ?)",
                corpus,
                artifact_id,
            )

    def settle(self, corpus: str) -> None:
        """Drop what was handed in of a corpus: its entries were read."""
        self._handed_in = {key: each for key, each in self._handed_in.items() if key[0] != corpus}

    def count_requests(self, day: int) -> int:
        """Return how often a model was asked on a day (days since 1970)."""
        found = dict(
            self._store.all("SELECT name, value FROM counters WHERE name IN (?, ?)", _DAY, _ASKED)
        )
        return int(found.get(_ASKED, 0)) if found.get(_DAY) == day else 0

    def add_requests(self, day: int, times: int) -> None:
        """Count how often a model was asked on a day."""
        times += self.count_requests(day)
        with self._store.transaction():
            for name, value in ((_DAY, day), (_ASKED, times)):
                self._store.run("INSERT OR REPLACE INTO counters VALUES (?, ?)", name, value)


_SERVED, _BEFORE = 1, 0
# Prompts that show what all have in common, and of how many artifacts half of that is believed.
_SAMPLE, _FEW_ARTIFACTS = 200, 10
_ARTIFACT = (
    "entry, corpus, artifact_id, name, pointer, fields, body, digest, content, version,"
    " indexed_at, name_terms"
)
_RECORD = (
    "record_id, kind, granularity, surface_index, text, metadata, digest, terms, counts, learned"
)


class LearnedPrompts:
    """Keep what was learned of each corpus' artifacts, and count it into their records."""

    def __init__(self, store: Store, terms: Terms):
        self._store = store
        self._terms = terms
        # By corpus, until something else is served of it: each artifact that is stored wants it.
        self._common: dict[str, Common] = {}

    def list_all(self, corpus: str, *, before: bool = False) -> dict[str, Learned]:
        """Return what is served of a corpus by artifact id, or what was served before that."""
        found: dict[str, list[LearnedPrompt]] = {}
        rates: dict[str, LearnRate] = {}
        for artifact_id, words, share, *prompt in self._store.all(
            "SELECT artifact_id, words, share, prompt, session, at, weight FROM learned"
            " WHERE corpus = ? AND served = ? ORDER BY artifact_id, place",
            corpus,
            _BEFORE if before else _SERVED,
        ):
            found.setdefault(artifact_id, []).append(LearnedPrompt(*prompt))
            rates[artifact_id] = LearnRate(words, share)
        return {id: Learned(tuple(prompts), rates[id]) for id, prompts in found.items()}

    def find_learned(self, corpus: str, artifact_id: str) -> Learned | None:
        """Return what is served of one artifact; None where nothing was learned of it."""
        rows = self._store.all(
            "SELECT prompt, session, at, weight, words, share FROM learned"
            " WHERE corpus = ? AND artifact_id = ? AND served = ? ORDER BY place",
            corpus,
            artifact_id,
            _SERVED,
        )
        if not rows:
            return None
        return Learned(tuple(LearnedPrompt(*row[:4]) for row in rows), LearnRate(*rows[0][4:]))

    def count(self, corpus: str) -> tuple[int, int]:
        """Return of how many artifacts of a corpus prompts are served, and how many prompts."""
        row = self._store.one(
            "SELECT count(DISTINCT artifact_id), count(*) FROM learned"
            " WHERE corpus = ? AND served = ?",
            corpus,
            _SERVED,
        )
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def read_state(self, corpus: str) -> dict[str, Any]:
        """Return what was last noted of a corpus' learning, {} where nothing was."""
        row = self._store.one("SELECT learning FROM corpora WHERE name = ?", corpus)
        return json.loads(row[0]) if row and row[0] else {}

    def put_state(self, corpus: str, state: Mapping[str, Any]) -> None:
        """Keep plain data about a corpus' learning, in place of what was noted before."""
        with self._store.transaction():
            self._store.run(
                "UPDATE corpora SET learning = ? WHERE name = ?", json.dumps(state), corpus
            )

    def publish(self, corpus: str, learned: Mapping[str, Learned]) -> int:
        """Serve this from now on and keep what was served; return how many artifacts change."""
        with self._store.transaction():
            was = self.list_all(corpus)
            self._drop(corpus, _BEFORE)
            self._store.run("UPDATE learned SET served = ? WHERE corpus = ?", _BEFORE, corpus)
            self._put(corpus, learned)
            return self._rewrite_changed(corpus, was, learned)

    def roll_back(self, corpus: str) -> int:
        """Serve what was served before, once; return how many artifacts change."""
        with self._store.transaction():
            was, before = self.list_all(corpus), self.list_all(corpus, before=True)
            self._drop(corpus, _SERVED)
            self._store.run("UPDATE learned SET served = ? WHERE corpus = ?", _SERVED, corpus)
            return self._rewrite_changed(corpus, was, before)

    def forget(self, corpus: str, artifact_id: str = "", session: str = "") -> int:
        """Forget what was learned of an artifact, from a session, or at all, in both states.

        Uses brought from elsewhere are forgotten, too. Returns how many artifacts change.
        """
        with self._store.transaction():
            was = self.list_all(corpus)
            forgotten = self._store.run(
                "DELETE FROM learned WHERE corpus = ?1 AND (?2 = '' OR artifact_id = ?2)"
                " AND (?3 = '' OR session = ?3)",
                corpus,
                artifact_id,
                session,
            ).rowcount
            forgotten += self._store.run(
                "DELETE FROM imported_uses WHERE corpus = ?1 AND (?3 = '' OR session = ?3)"
                " AND (?2 = '' OR EXISTS (SELECT 1 FROM json_each(gold) WHERE value = ?2))",
                corpus,
                artifact_id,
                session,
            ).rowcount
            if forgotten:
                self._store.note_forgotten()
            return self._rewrite_changed(corpus, was, self.list_all(corpus))

    def find_own_counts(self, corpus: str, artifact_id: str) -> tuple[str, dict[int, float]] | None:
        """Return an artifact's first text, and the counts that it gives by itself, by term id.

        None for an artifact that is not held, or without a record.
        """
        row = self._store.one(
            "SELECT text, terms, counts, learned FROM records"
            " JOIN artifacts ON artifacts.id = records.artifact"
            " WHERE corpus = ? AND artifact_id = ? AND surface_index = 0",
            corpus,
            artifact_id,
        )
        if row is None:
            return None
        text, ids, counts, known = row
        if known:
            ids, counts = msgpack.unpackb(known)[3:]
        return text, dict(zip(_ids(ids).tolist(), _counts(counts).tolist(), strict=True))

    def keep_only(self, corpus: str, pairs: Collection[tuple[str, str]]) -> int:
        """Forget, in both states, what is not of an (artifact, session) of these."""
        with self._store.transaction():
            was = self.list_all(corpus)
            held = self._store.all(
                "SELECT DISTINCT artifact_id, session FROM learned WHERE corpus = ?", corpus
            )
            gone = [(corpus, *pair) for pair in held if tuple(pair) not in pairs]
            if not gone:
                return 0
            self._store.note_forgotten()
            self._store.run_many(
                "DELETE FROM learned WHERE corpus = ? AND artifact_id = ? AND session = ?", gone
            )
            return self._rewrite_changed(corpus, was, self.list_all(corpus))

    # -- uses from elsewhere ---------------------------------------------------------------------

    def import_uses(self, corpus: str, uses: Iterable[Use]) -> None:
        """Keep uses that were brought from elsewhere; one that is there already stays one."""
        with self._store.transaction():
            self._store.run_many(
                "INSERT OR IGNORE INTO imported_uses VALUES (?, ?, ?, ?, ?)",
                [(corpus, u.prompt, json.dumps(u.gold), u.session, u.at) for u in uses],
            )

    def list_imported(self, corpus: str) -> list[Use]:
        """Return the uses that were brought from elsewhere, the oldest first."""
        return [
            Use(prompt, tuple(json.loads(gold)), session, at, corpus)
            for prompt, gold, session, at in self._store.all(
                "SELECT prompt, gold, session, at FROM imported_uses WHERE corpus = ?"
                " ORDER BY at, session, prompt",
                corpus,
            )
        ]

    def list_corpora(self) -> list[str]:
        """Return the corpora of which anything learned is kept."""
        return [name for (name,) in self._store.all("SELECT DISTINCT corpus FROM learned")]

    # -- storing ---------------------------------------------------------------------------------

    def _drop(self, corpus: str, state: int) -> None:
        dropped = self._store.run(
            "DELETE FROM learned WHERE corpus = ? AND served = ?", corpus, state
        )
        if dropped.rowcount:
            self._store.note_forgotten()

    def _put(self, corpus: str, learned: Mapping[str, Learned]) -> None:
        self._store.run_many(
            "INSERT INTO learned VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (corpus, artifact_id, _SERVED, place, prompt.text, prompt.session, prompt.at,
                 prompt.weight, each.rate.words, each.rate.share)
                for artifact_id, each in learned.items()
                for place, prompt in enumerate(each.prompts)
            ],
        )  # fmt: skip

    def _rewrite_changed(
        self, corpus: str, was: Mapping[str, Learned], now: Mapping[str, Learned]
    ) -> int:
        self._common.pop(corpus, None)
        common, same = find_common(now), find_common(was) == find_common(now)
        changed = [id for id in sorted({*was, *now}) if not same or was.get(id) != now.get(id)]
        return sum(self._rewrite(corpus, id, now.get(id), common.key) for id in changed)

    def _rewrite(self, corpus: str, artifact_id: str, learned: Learned | None, common: str) -> int:
        """Rewrite an artifact as a new row, its first record with what is now learned."""
        found = self._store.one(
            f"SELECT id, {_ARTIFACT} FROM artifacts WHERE corpus = ? AND artifact_id = ?",
            corpus,
            artifact_id,
        )
        if found is None:
            return 0
        row, artifact = found[0], found[1:]
        records = self._store.all(
            f"SELECT {_RECORD} FROM records WHERE artifact = ? ORDER BY surface_index", row
        )
        links = self._store.all(
            "SELECT place, type, corpus, target FROM links WHERE artifact = ?", row
        )
        self._store.run("DELETE FROM artifacts WHERE id = ?", row)
        inserted = self._store.run(
            f"INSERT INTO artifacts({_ARTIFACT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *artifact,
        )
        first = [self._rewrite_record(record, learned, common) for record in records[:1]]
        self._store.run_many(
            f"INSERT INTO records(artifact, {_RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(inserted.lastrowid, *record) for record in (*first, *records[1:])],
        )
        self._store.run_many(
            "INSERT INTO links(artifact, place, type, corpus, target) VALUES (?, ?, ?, ?, ?)",
            [(inserted.lastrowid, *link) for link in links],
        )
        return 1

    def _rewrite_record(
        self, record: tuple[Any, ...], learned: Learned | None, common: str
    ) -> tuple[Any, ...]:
        *place, _, ids, counts, known = record
        if known:
            ids, counts = msgpack.unpackb(known)[3:]
        return (*place, *self.count_in(str(place[4]), (ids, counts), learned, common))

    def count_in(
        self, text: str, own: tuple[bytes, bytes], learned: Learned | None, common: str = ""
    ) -> tuple[bytes, bytes, bytes, bytes | None]:
        """Return digest, term ids, counts and `learned` of a record, inside a transaction.

        `own` are the term ids (int32) and counts (float32) that its text gives, `common` is the key
        of what all learned prompts have in common.
        """
        data = text.encode("utf-8", "replace")
        if learned is None:
            return (digest_text(data), *own, None)
        prompts = [[prompt.text, prompt.weight] for prompt in learned.prompts]
        packed: bytes = msgpack.packb([prompts, learned.rate.share, common, *own])
        counts = dict(zip(_ids(own[0]).tolist(), _counts(own[1]).tolist(), strict=True))
        for number, count in self.count_added(learned).items():
            counts[number] = counts.get(number, 0.0) + count
        ids = np.array(list(counts), np.int32).tobytes()
        return (
            digest_text(data, packed),
            ids,
            np.array(list(counts.values()), np.float32).tobytes(),
            packed,
        )

    def find_common(self, corpus: str) -> Common:
        """Return what is common to the prompts that are served of a corpus."""
        if corpus not in self._common:
            self._common[corpus] = find_common(self.list_all(corpus))
        return self._common[corpus]

    def count_added(self, learned: Learned) -> dict[int, float]:
        """Return what learned prompts add to a record's counts, by term id, new ones included.

        A word counts once a prompt; the form that it was typed in is not kept.
        """
        counts: dict[str, float] = {}
        for prompt in learned.prompts:
            for token in dict.fromkeys(tokenize(prompt.text)):
                counts[token] = counts.get(token, 0.0) + learned.rate.words * prompt.weight
        return dict(zip(self._terms.give_ids(counts), counts.values(), strict=True))


def find_common(learned: Mapping[str, Learned]) -> Common:
    """Return what learned prompts have in common: a sample of them, by content.

    From few artifacts what their prompts have in common is what they are about.
    """
    texts = {prompt.text for each in learned.values() for prompt in each.prompts}
    sample = sorted(texts, key=lambda text: blake2b(text.encode("utf-8", "replace")).digest())
    n = len(learned)
    return Common(tuple(sample[:_SAMPLE]), round(n / (n + _FEW_ARTIFACTS), 4)) if n else Common()


def unpack_prompts(packed: bytes) -> tuple[list[tuple[str, float]], float]:
    """Return the prompts that a record keeps, with their weights, and their vectors' share."""
    prompts, share = msgpack.unpackb(packed)[:2]
    return [(text, weight) for text, weight in prompts], share


def _ids(packed: bytes) -> NDArray[np.int32]:
    return np.frombuffer(packed, np.int32)


def _counts(packed: bytes) -> NDArray[np.float32]:
    return np.frombuffer(packed, np.float32)
