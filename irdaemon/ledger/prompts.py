"""Expected prompts: what a person who needs an artifact types, counted into its first record.

Each has a provenance. Prompts by the author and from the knowledge pack come with the artifact and
are kept in its row, `stated`; those from a person, an agent or from use are kept in a table, in the
state that is served and the one before it. A gate, by corpus and provenance, says whether they
count. A record that prompts count for keeps, packed in its column `prompts`: [[prompt, weight],
...], their share of its vector, the key of the common vector subtracted from them, and the term ids
and counts of its own text, by which the prompts can be taken out again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from irdaemon.embed.prompts import Common
from irdaemon.ledger.artifacts import ARTIFACT_ROW, RECORD_ROW, insert_artifact, insert_records
from irdaemon.ledger.links import ArtifactLinks
from irdaemon.ledger.rows import (
    OWN_CONTENT,
    Expected,
    ExpectedPrompt,
    PromptRate,
    digest_text,
    unpack_stated,
)
from irdaemon.ledger.store import Store
from irdaemon.ledger.terms import Terms
from irdaemon.text import tokenize
from irdaemon.types import Use

# Provenances: the first two come with the artifact, the others are kept in a table.
AUTHOR, PACK, PERSON, AGENT, USE = "author", "pack", "person", "agent", "use"
STATED = (AUTHOR, PACK)
KEPT = (PERSON, AGENT, USE)
PROVENANCES = (*STATED, *KEPT)

_SERVED, _BEFORE = 1, 0
# How many prompts are sampled for what all have in common, and from how many artifacts on half of
# it is subtracted.
_SAMPLE, _FEW_ARTIFACTS = 200, 10


class HeldPrompts(NamedTuple):
    """The prompts of one provenance that are held for an artifact.

    `is_outdated`: they were written for another version of its text.
    """

    artifact_id: str
    name: str
    provenance: str
    expected: Expected
    is_outdated: bool = False


class ExpectedPrompts:
    """Keep the expected prompts of each corpus' artifacts, and count them into their records."""

    def __init__(self, store: Store, terms: Terms):
        self._store = store
        self._terms = terms
        # Cached by corpus until other prompts are served: every stored artifact needs them.
        self._common: dict[str, Common] = {}
        self._gates = Gates(store)
        self._links = ArtifactLinks(store)
        self._lost = store.lost_transactions

    def drop_cached(self) -> None:
        """Drop the cached gates and the cached common vectors."""
        self._common.clear()
        self._gates.drop_cached()
        self._lost = self._store.lost_transactions

    def _drop_lost(self) -> None:
        if self._lost != self._store.lost_transactions:
            self.drop_cached()

    def list_all(
        self, corpus: str, provenance: str = USE, *, before: bool = False
    ) -> dict[str, Expected]:
        """Return the served prompts of a corpus by artifact id, or those served before them.

        Prompts that come with an artifact have no previous state.
        """
        if provenance in STATED:
            held = self._list_stated(corpus)
            return {each.artifact_id: each.expected for each in held if each[2] == provenance}
        found: dict[str, list[ExpectedPrompt]] = {}
        rates: dict[str, PromptRate] = {}
        for artifact_id, words, share, *prompt in self._store.fetch_all(
            "SELECT artifact_id, words, share, prompt, session, at, weight FROM expected_prompts"
            " WHERE corpus = ? AND provenance = ? AND served = ? ORDER BY artifact_id, place",
            (corpus, provenance, _BEFORE if before else _SERVED),
        ):
            found.setdefault(artifact_id, []).append(ExpectedPrompt(*prompt))
            rates[artifact_id] = PromptRate(words, share)
        return {id: Expected(tuple(prompts), rates[id]) for id, prompts in found.items()}

    def list_held(self, corpus: str) -> Iterator[HeldPrompts]:
        """Yield the held prompts of a corpus' artifacts by provenance, counting or not."""
        yield from self._list_stated(corpus)
        rows = self._store.fetch_all(
            f"SELECT DISTINCT p.artifact_id, name, provenance, written_for, {OWN_CONTENT}"
            " FROM expected_prompts AS p LEFT JOIN artifacts AS a"
            " ON a.corpus = p.corpus AND a.artifact_id = p.artifact_id"
            " WHERE p.corpus = ? AND served = ?",
            (corpus, _SERVED),
        )
        held = {each: self.list_all(corpus, each) for each in {row[2] for row in rows}}
        for artifact_id, name, provenance, written_for, content in rows:
            is_outdated = bool(written_for) and written_for != content
            expected = held[provenance][artifact_id]
            yield HeldPrompts(artifact_id, name or "", provenance, expected, is_outdated)

    def _list_stated(self, corpus: str) -> Iterator[HeldPrompts]:
        for artifact_id, name, packed in self._store.fetch_all(
            "SELECT artifact_id, name, stated FROM artifacts"
            " WHERE corpus = ? AND stated IS NOT NULL ORDER BY artifact_id",
            (corpus,),
        ):
            for provenance, expected in unpack_stated(packed).items():
                yield HeldPrompts(artifact_id, name, provenance, expected)

    def find_by_provenance(self, corpus: str, artifact_id: str) -> dict[str, Expected]:
        """Return the served prompts of one artifact by provenance, counting or not."""
        row = self._store.fetch_one(
            "SELECT stated FROM artifacts WHERE corpus = ? AND artifact_id = ?",
            (corpus, artifact_id),
        )
        found = unpack_stated(row[0]) if row and row[0] else {}
        rows = self._store.fetch_all(
            "SELECT provenance, prompt, session, at, weight, words, share FROM expected_prompts"
            " WHERE corpus = ? AND artifact_id = ? AND served = ? ORDER BY provenance, place",
            (corpus, artifact_id, _SERVED),
        )
        for provenance, of_it in groupby(rows, key=itemgetter(0)):
            mine = list(of_it)
            prompts = tuple(ExpectedPrompt(*row[1:5]) for row in mine)
            found[provenance] = Expected(prompts, PromptRate(*mine[0][5:]))
        return found

    def find_counting(self, corpus: str, artifact_id: str) -> dict[str, Expected]:
        """Return the prompts that count for an artifact, by provenance."""
        gates = self.read_gates(corpus)
        found = self.find_by_provenance(corpus, artifact_id)
        return {name: each for name, each in found.items() if gates.get(name, Gate()).is_open}

    def find_expected(self, corpus: str, artifact_id: str) -> tuple[Expected | None, str]:
        """Return the prompts that count for an artifact, or None, and their common vector's key."""
        counting = self.find_counting(corpus, artifact_id)
        return merge(counting.values()), self.find_common(corpus).key if USE in counting else ""

    def count(self, corpus: str, provenance: str = USE) -> tuple[int, int]:
        """Count a corpus' artifacts with served prompts, and those prompts."""
        if provenance in STATED:
            held = self.list_all(corpus, provenance).values()
            return len(held), sum(len(each.prompts) for each in held)
        row = self._store.fetch_one(
            "SELECT count(DISTINCT artifact_id), count(*) FROM expected_prompts"
            " WHERE corpus = ? AND provenance = ? AND served = ?",
            (corpus, provenance, _SERVED),
        )
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def read_state(self, corpus: str) -> dict[str, Any]:
        """Return the stored state of a corpus' learning, or {}."""
        row = self._store.fetch_one("SELECT learning FROM corpora WHERE name = ?", (corpus,))
        return json.loads(row[0]) if row and row[0] else {}

    def put_state(self, corpus: str, state: Mapping[str, Any]) -> None:
        """Store plain data about a corpus' learning in place of the previous."""
        self._store.write(
            "UPDATE corpora SET learning = ? WHERE name = ?", (json.dumps(state), corpus)
        )

    # -- gates -----------------------------------------------------------------------------------

    def read_gates(self, corpus: str) -> Mapping[str, Gate]:
        """Return the gates of a corpus that were ever set, by provenance.

        A project's part of a corpus has the gates of the corpus.
        """
        self._drop_lost()
        return self._gates.read(corpus)

    def set_gate(self, corpus: str, provenance: str, gate: Gate) -> dict[str, int]:
        """Make the prompts of a provenance count or not, in a corpus and in its parts.

        Returns by corpus or part how many artifacts change.
        """
        with self._store.transaction():
            was = self.read_gates(corpus).get(provenance, Gate())
            self._gates.put(corpus, provenance, gate)
            if was.is_open == gate.is_open:
                return {}
            return {
                name: self._rewrite_all(name, self.list_all(name, provenance))
                for name in self._gates.list_reached(corpus)
            }

    # -- what is served --------------------------------------------------------------------------

    def publish(
        self,
        corpus: str,
        expected: Mapping[str, Expected],
        provenance: str = USE,
        written_for: Mapping[str, str] = {},
    ) -> int:
        """Serve these prompts of a provenance from now on and keep the previous ones.

        `written_for` has by artifact id the content that prompts were written for, where that is
        known. Returns how many artifacts change.
        """
        with self._store.transaction():
            was = self.list_all(corpus, provenance)
            self._drop(corpus, provenance, _BEFORE)
            self._store.run(
                "UPDATE expected_prompts SET served = ? WHERE corpus = ? AND provenance = ?",
                (_BEFORE, corpus, provenance),
            )
            self._put(corpus, provenance, expected, written_for)
            return self._rewrite_changed(corpus, was, expected, provenance)

    def add(
        self,
        corpus: str,
        expected: Mapping[str, Expected],
        provenance: str,
        written_for: Mapping[str, str],
    ) -> int:
        """Serve these prompts of some artifacts, keeping those of others; else like `publish`."""
        held = self.list_written_for(corpus, provenance)
        together = {**self.list_all(corpus, provenance), **expected}
        return self.publish(corpus, together, provenance, {**held, **written_for})

    def list_written_for(self, corpus: str, provenance: str) -> dict[str, str]:
        """Return by artifact id the content that its prompts were written for, "" if unknown."""
        return dict(
            self._store.fetch_all(
                "SELECT DISTINCT artifact_id, written_for FROM expected_prompts"
                " WHERE corpus = ? AND provenance = ? AND served = ?",
                (corpus, provenance, _SERVED),
            )
        )

    def list_outdated(self, corpus: str, artifact_id: str) -> set[str]:
        """Return the provenances whose prompts were written for another text of an artifact."""
        provenances = self._store.fetch_column(
            "SELECT DISTINCT provenance FROM expected_prompts AS p LEFT JOIN artifacts AS a"
            " ON a.corpus = p.corpus AND a.artifact_id = p.artifact_id"
            " WHERE p.corpus = ? AND p.artifact_id = ? AND served = ?"
            f" AND written_for != '' AND written_for != coalesce({OWN_CONTENT}, '')",
            (corpus, artifact_id, _SERVED),
        )
        return set(provenances)

    def roll_back(self, corpus: str, provenance: str = USE) -> int:
        """Serve the previous prompts again, once; return how many artifacts change."""
        with self._store.transaction():
            was = self.list_all(corpus, provenance)
            before = self.list_all(corpus, provenance, before=True)
            self._drop(corpus, provenance, _SERVED)
            self._store.run(
                "UPDATE expected_prompts SET served = ? WHERE corpus = ? AND provenance = ?",
                (_SERVED, corpus, provenance),
            )
            return self._rewrite_changed(corpus, was, before, provenance)

    def forget(
        self, corpus: str, artifact_id: str = "", session: str = "", provenance: str = USE
    ) -> int:
        """Forget the prompts of an artifact, of a session, or all, in both states.

        Imported uses are forgotten as well. Returns how many artifacts change.
        """
        with self._store.transaction():
            was = self.list_all(corpus, provenance)
            forgotten = self._store.run(
                "DELETE FROM expected_prompts WHERE corpus = ?1 AND provenance = ?4"
                " AND (?2 = '' OR artifact_id = ?2) AND (?3 = '' OR session = ?3)",
                (corpus, artifact_id, session, provenance),
            ).rowcount
            if provenance == USE:
                forgotten += self._store.run(
                    "DELETE FROM imported_uses WHERE corpus = ?1 AND (?3 = '' OR session = ?3)"
                    " AND (?2 = '' OR EXISTS (SELECT 1 FROM json_each(gold) WHERE value = ?2))",
                    (corpus, artifact_id, session),
                ).rowcount
            if forgotten:
                self._store.note_forgotten()
            return self._rewrite_changed(corpus, was, self.list_all(corpus, provenance), provenance)

    def forget_corpora(self, is_meant: Callable[[str], bool]) -> None:
        """Forget for good all prompts given for the corpora whose names match.

        The corpora themselves may already be forgotten.
        """
        with self._store.transaction():
            names = self._store.fetch_column("SELECT DISTINCT corpus FROM expected_prompts")
            gone = [(name,) for name in names if is_meant(name)]
            if gone:
                self._store.note_forgotten()
                self._store.run_many("DELETE FROM expected_prompts WHERE corpus = ?", gone)
                self.drop_cached()

    def find_own_counts(self, corpus: str, artifact_id: str) -> tuple[str, dict[int, float]] | None:
        """Return an artifact's first text and its own term counts, by term id.

        None for an unknown artifact or one without a record.
        """
        row = self._store.fetch_one(
            "SELECT text, terms, counts, prompts FROM records"
            " JOIN artifacts ON artifacts.id = records.artifact"
            " WHERE corpus = ? AND artifact_id = ? AND surface_index = 0",
            (corpus, artifact_id),
        )
        if row is None:
            return None
        text, ids, counts, known = row
        if known:
            ids, counts = msgpack.unpackb(known)[3:]
        return text, dict(
            zip(_unpack_ids(ids).tolist(), _unpack_counts(counts).tolist(), strict=True)
        )

    def keep_only(self, corpus: str, pairs: Collection[tuple[str, str]]) -> int:
        """Forget, in both states, prompts from use of any other (artifact, session)."""
        with self._store.transaction():
            was = self.list_all(corpus)
            held = self._store.fetch_all(
                "SELECT DISTINCT artifact_id, session FROM expected_prompts"
                " WHERE corpus = ? AND provenance = ?",
                (corpus, USE),
            )
            gone = [(corpus, *pair) for pair in held if tuple(pair) not in pairs]
            if not gone:
                return 0
            self._store.note_forgotten()
            self._store.run_many(
                "DELETE FROM expected_prompts WHERE corpus = ? AND artifact_id = ? AND session = ?"
                f" AND provenance = '{USE}'",
                gone,
            )
            return self._rewrite_changed(corpus, was, self.list_all(corpus), USE)

    # -- uses from elsewhere ---------------------------------------------------------------------

    def import_uses(self, corpus: str, uses: Iterable[Use]) -> None:
        """Store imported uses; duplicates are stored once."""
        self._store.write_many(
            "INSERT OR IGNORE INTO imported_uses VALUES (?, ?, ?, ?, ?)",
            [(corpus, u.prompt, json.dumps(u.gold), u.session, u.at) for u in uses],
        )

    def list_imported(self, corpus: str) -> list[Use]:
        """Return the imported uses, the oldest first."""
        return [
            Use(prompt, tuple(json.loads(gold)), session, at, corpus)
            for prompt, gold, session, at in self._store.fetch_all(
                "SELECT prompt, gold, session, at FROM imported_uses WHERE corpus = ?"
                " ORDER BY at, session, prompt",
                (corpus,),
            )
        ]

    def list_corpora(self) -> list[str]:
        """Return the corpora that have prompts from use."""
        return self._store.fetch_column(
            "SELECT DISTINCT corpus FROM expected_prompts WHERE provenance = ?", (USE,)
        )

    # -- storing ---------------------------------------------------------------------------------

    def _drop(self, corpus: str, provenance: str, state: int) -> None:
        dropped = self._store.run(
            "DELETE FROM expected_prompts WHERE corpus = ? AND provenance = ? AND served = ?",
            (corpus, provenance, state),
        )
        if dropped.rowcount:
            self._store.note_forgotten()

    def _put(
        self,
        corpus: str,
        provenance: str,
        expected: Mapping[str, Expected],
        written_for: Mapping[str, str],
    ) -> None:
        self._store.run_many(
            "INSERT INTO expected_prompts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (corpus, artifact_id, provenance, _SERVED, place, prompt.text, prompt.session,
                 prompt.at, prompt.weight, each.rate.words, each.rate.share,
                 written_for.get(artifact_id, ""))
                for artifact_id, each in expected.items()
                for place, prompt in enumerate(each.prompts)
            ],
        )  # fmt: skip

    def _rewrite_changed(
        self,
        corpus: str,
        was: Mapping[str, Expected],
        now: Mapping[str, Expected],
        provenance: str,
    ) -> int:
        same = True
        if provenance == USE:
            self._common.pop(corpus, None)
            same = find_common(was) == find_common(now)
        changed = (id for id in {*was, *now} if not same or was.get(id) != now.get(id))
        return self._rewrite_all(corpus, changed)

    def _rewrite_all(self, corpus: str, artifact_ids: Iterable[str]) -> int:
        return sum(self._rewrite(corpus, id) for id in sorted(artifact_ids))

    def _rewrite(self, corpus: str, artifact_id: str) -> int:
        """Rewrite an artifact as a new row, its first record with the prompts that now count."""
        found = self._store.fetch_one(
            f"SELECT id, {ARTIFACT_ROW} FROM artifacts WHERE corpus = ? AND artifact_id = ?",
            (corpus, artifact_id),
        )
        if found is None:
            return 0
        row, artifact = found[0], found[1:]
        records = self._store.fetch_all(
            f"SELECT {RECORD_ROW} FROM records WHERE artifact = ? ORDER BY surface_index", (row,)
        )
        edges = self._links.list_edges(corpus, artifact_id)
        expected, common = self.find_expected(corpus, artifact_id)
        self._store.run("DELETE FROM artifacts WHERE id = ?", (row,))
        for at, (*place, _, ids, counts, known) in enumerate(records[:1]):
            own = msgpack.unpackb(known)[3:] if known else (ids, counts)
            records[at] = (*place, *self.count_in(str(place[4]), own, expected, common))
        number = insert_artifact(self._store, artifact)
        self._links.put(number, edges)
        insert_records(self._store, number, records)
        return 1

    def count_in(
        self, text: str, own: tuple[bytes, bytes], expected: Expected | None, common: str = ""
    ) -> tuple[bytes, bytes, bytes, bytes | None]:
        """Return digest, term ids, counts and `prompts` of a record, inside a transaction.

        `own` are the term ids (int32) and counts (float32) of its text, `common` is the key of the
        vector subtracted from its prompts.
        """
        data = text.encode("utf-8", "replace")
        if expected is None:
            return (digest_text(data), *own, None)
        prompts = [[prompt.text, prompt.weight] for prompt in expected.prompts]
        packed: bytes = msgpack.packb([prompts, expected.rate.share, common, *own])
        counts = dict(
            zip(_unpack_ids(own[0]).tolist(), _unpack_counts(own[1]).tolist(), strict=True)
        )
        for number, count in self.count_added(expected).items():
            counts[number] = counts.get(number, 0.0) + count
        ids = np.array(list(counts), np.int32).tobytes()
        return (
            digest_text(data, packed),
            ids,
            np.array(list(counts.values()), np.float32).tobytes(),
            packed,
        )

    def find_common(self, corpus: str) -> Common:
        """Return what the prompts from use have in common in a corpus."""
        self._drop_lost()
        if corpus not in self._common:
            self._common[corpus] = find_common(self.list_all(corpus))
        return self._common[corpus]

    def count_added(self, expected: Expected) -> dict[int, float]:
        """Return the counts that prompts add to a record, by term id, new terms included.

        A word counts once a prompt; the form in which it was typed is not kept. Near misses add
        nothing.
        """
        counts: dict[str, float] = {}
        for prompt in expected.prompts:
            for token in dict.fromkeys(tokenize(prompt.text)) if prompt.weight > 0 else ():
                counts[token] = counts.get(token, 0.0) + expected.rate.words * prompt.weight
        return dict(zip(self._terms.give_ids(counts), counts.values(), strict=True))


def merge(parts: Collection[Expected]) -> Expected | None:
    """Merge the prompts of several provenances at the highest rate; None if there are none.

    A word of a prompt counts as much as at its own rate. A near miss of one provenance is not a
    prompt of any other.
    """
    if len(parts) < 2:
        return next(iter(parts), None)
    missed = {prompt.text for each in parts for prompt in each.prompts if prompt.weight < 0}
    rate = PromptRate(
        max(each.rate.words for each in parts), max(each.rate.share for each in parts)
    )
    prompts = (
        replace(prompt, weight=round(prompt.weight * each.rate.words / rate.words, 6))
        for each in parts
        for prompt in each.prompts
        if prompt.weight < 0 or prompt.text not in missed
    )
    return Expected(tuple(prompts), rate)


def find_common(expected: Mapping[str, Expected]) -> Common:
    """Return a sample of prompts that shows what they have in common, by content.

    With few artifacts, what the prompts have in common is the artifacts' subject.
    """
    texts = {prompt.text for each in expected.values() for prompt in each.prompts}
    sample = sorted(texts, key=lambda text: blake2b(text.encode("utf-8", "replace")).digest())
    n = len(expected)
    return Common(tuple(sample[:_SAMPLE]), round(n / (n + _FEW_ARTIFACTS), 4)) if n else Common()


def unpack_prompts(packed: bytes) -> tuple[list[tuple[str, float]], float, str]:
    """Return a record's prompts with their weights, their share of its vector, and the common key.

    The key names the vector that is subtracted from the prompts.
    """
    prompts, share, common = msgpack.unpackb(packed)[:3]
    return [(text, weight) for text, weight in prompts], share, common


def _unpack_ids(packed: bytes) -> NDArray[np.int32]:
    return np.frombuffer(packed, np.int32)


def _unpack_counts(packed: bytes) -> NDArray[np.float32]:
    return np.frombuffer(packed, np.float32)


# Gates: whether the expected prompts of a provenance count in a corpus and in its parts.


class Gate(NamedTuple):
    """Whether the prompts of a provenance count in a corpus, why, and since when (Unix seconds)."""

    is_open: bool = True
    report: Mapping[str, Any] = {}
    at: float = 0.0


class Gates:
    """Keep the gates of each corpus, which also apply to its parts."""

    def __init__(self, store: Store):
        self._store = store
        # Every stored artifact needs them.
        self._held: dict[str, Mapping[str, Gate]] = {}

    def drop_cached(self) -> None:
        """Drop the gates in memory, to read them again."""
        self._held.clear()

    def read(self, corpus: str) -> Mapping[str, Gate]:
        """Return the gates of a corpus that were ever set, by provenance."""
        base = corpus.partition("@")[0]
        if base not in self._held:
            rows = self._store.fetch_all(
                "SELECT provenance, is_open, report, at FROM prompt_gates WHERE corpus = ?", (base,)
            )
            self._held[base] = {
                provenance: Gate(bool(is_open), json.loads(report), at)
                for provenance, is_open, report, at in rows
            }
        return self._held[base]

    def put(self, corpus: str, provenance: str, gate: Gate) -> None:
        """Store a gate in place of the previous one, in the caller's transaction."""
        self._store.run(
            "INSERT OR REPLACE INTO prompt_gates VALUES (?, ?, ?, ?, ?)",
            (corpus, provenance, gate.is_open, json.dumps(dict(gate.report)), gate.at),
        )
        self._held.pop(corpus, None)

    def list_reached(self, corpus: str) -> list[str]:
        """Return the names of a corpus and of its parts."""
        return self._store.fetch_column(
            "SELECT name FROM corpora WHERE name = ?1"
            " OR substr(name, 1, length(?1) + 1) = ?1 || '@'",
            (corpus,),
        )
