"""Notes: collect what was offered and what transcripts say was used, and store both.

Except for `note` everything belongs to the writer's thread, which calls `tick` every second or so.
Failures here stop nothing else: answers wait while the disk is full, and missed transcripts are
read again.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from irclient.errors import Unavailable
from irdaemon.contrib.usage.offers import NotedAnswer, Offers
from irdaemon.contrib.usage.session_log import SessionLog
from irdaemon.contrib.usage.store import (
    KEPT_BYTES,
    KEPT_DAYS,
    KeptTurn,
    Offer,
    UsageStore,
    read_usage,
)
from irdaemon.ledger import Upsert
from irdaemon.ledger.files import list_set_aside
from irdaemon.source.redact import Redactor
from irdaemon.source.sessions.transcript import strip_injected
from irdaemon.types import Refused, SessionTurn

# Keyed digests: they tell whether two texts are the same, and nothing about their content.
#
# The key is in a separate file, readable only by its owner. Without the key, the log does not even
# allow testing guessed texts.

_KEY_BYTES = 32
_DIGEST_BYTES = 16
# The prompt hook sends at most this much of a prompt.
_COMPARED_CHARS = 8_000


class DigestKey:
    """The key of this machine's digests. Raises OSError if its file cannot be used.

    A file without a key is replaced: digests made with another key join nothing.
    """

    def __init__(self, path: str):
        self._key = _read_key(path) or _make_key(path)

    def digest_text(self, text: str) -> bytes:
        """Return the digest of the typed part of a text, ignoring white space."""
        words = " ".join(strip_injected(text[:_COMPARED_CHARS]).split())
        whole = hmac.digest(self._key, words.encode("utf-8", "replace"), "sha256")
        return whole[:_DIGEST_BYTES]


def _read_key(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            key = file.read(_KEY_BYTES + 1)
    except FileNotFoundError:
        return b""
    return key if len(key) == _KEY_BYTES else b""


def _make_key(path: str) -> bytes:
    key = secrets.token_bytes(_KEY_BYTES)
    temporary = f"{path}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(key)
    os.replace(temporary, path)
    return key


_PRUNED_EVERY_S = 600.0
_FUTURE_S = 60.0


@dataclass(frozen=True, slots=True)
class UsageOptions:
    """The paths of the log of use and its key, and whether the log stores query texts."""

    path: str
    key_path: str
    text: bool = False


class UsageNotes(SessionLog[UsageStore]):
    """An engine's log of use."""

    def __init__(self, options: UsageOptions, clock: Callable[[], float]):
        super().__init__(self._open_with_key, options.path, "use", clock)
        self.options = options
        self._offers = Offers()
        self._key: DigestKey | None = None
        self._pruned_at = float("-inf")
        # Note an answer, which the writer thread stores. Any thread may.
        self.note = self._offers.note

    # -- by the writer ---------------------------------------------------------------------------

    def tick(self, corpora: Collection[str]) -> None:
        """Store waiting records, and regularly drop old ones and those of removed corpora."""
        if not self._store_offers():
            return
        now = self._clock()
        is_due = not 0 <= now - self._pruned_at < _PRUNED_EVERY_S
        if is_due and self.write(lambda store: _prune(store, corpora, now)):
            self._pruned_at = now

    def read(self, corpus: str, upsert: Upsert) -> None:
        """Store the turns of a session that was read."""
        if not upsert.turns and upsert.partial:
            return
        place, latest = (corpus, upsert.entry.key), upsert.entry.mtime_ns / 1e9

        def put_turns(store: UsageStore) -> None:
            turns = [self._make_turn(place, turn, latest) for turn in upsert.turns]
            store.put_turns(place, turns, upsert.partial)

        self.keep(corpus, put_turns)

    def close(self) -> None:
        """Store waiting records, and close the file."""
        self._failed_at = float("-inf")
        self._store_offers()
        super().close()

    def _store_offers(self) -> bool:
        """Store waiting answers; return whether none waits any more."""
        waiting = self._offers.take_all()
        if not waiting or self.write(
            lambda store: store.put_offers(map(self._make_offer, waiting))
        ):
            return True
        self._offers.put_back(waiting)
        return False

    def _open_with_key(self, path: str) -> UsageStore:
        if self._key is None:
            self._key = DigestKey(self.options.key_path)
        return UsageStore(path)

    def _hash(self, text: str) -> bytes:
        assert self._key is not None  # created with the file
        return self._key.digest_text(text)

    def _make_offer(self, noted: NotedAnswer) -> Offer:
        return Offer(
            at=noted.at,
            op=noted.op,
            client=noted.session.client,
            session=noted.session.name,
            digest=self._hash(noted.answer.query),
            generation=noted.answer.generation,
            variant=noted.variant,
            reason=noted.answer.reason,
            floors=noted.list_floors(),
            items=tuple(noted.list_items()),
            text=_redact(noted.answer.query) if self.options.text else None,
        )

    def _make_turn(self, place: tuple[str, str], turn: SessionTurn, latest: float) -> KeptTurn:
        """Return a turn for storage; a future time is replaced by the time of reading."""
        now = self._clock()
        at = turn.at or latest or now
        asked = {each.what for each in turn.uses if each.how == "asked"}
        return KeptTurn(
            *place,
            turn.turn_id,
            turn.session,
            now if at > now + _FUTURE_S else at,
            frozenset(map(self._hash, turn.prompts)),
            frozenset(map(self._hash, asked)),
            tuple((use.how, use.what) for use in turn.uses if use.how != "asked"),
        )

    # -- by any thread ---------------------------------------------------------------------------

    @contextmanager
    def open_reading(self) -> Iterator[UsageStore]:
        """Open the file for reading only. Raises Unavailable if it cannot be read."""
        try:
            with read_usage(self.options.path) as store:
                yield store
        except (sqlite3.Error, OSError) as error:
            raise Unavailable(
                f"the log of use cannot be read: {error}", "it will be created again in a moment"
            ) from error

    def open_changing(self) -> UsageStore:
        """Open another connection to an existing file; the caller changes and closes it."""
        return UsageStore(self.options.path, create=False)

    def drop_waiting(self) -> None:
        """Drop the recorded answers that are not stored yet."""
        self._offers.take_all()

    def describe_log(self) -> dict[str, Any]:
        """Return what is stored, where, and for how long."""
        facts: dict[str, Any] = {
            "path": self.options.path,
            "kept_days": KEPT_DAYS,
            "kept_bytes": KEPT_BYTES,
            "text": self.options.text,
            "problem": self.problem,
            "set_aside": list_set_aside(self.options.path),
        }
        with suppress(sqlite3.Error, OSError), read_usage(self.options.path) as store:
            facts |= {each: store.count(each) for each in ("offers", "turns", "uses")}
            facts |= {"bytes": store.measure_size(), "since": store.find_oldest_offer()}
        return facts


def _prune(store: UsageStore, corpora: Collection[str], now: float) -> None:
    store.keep_corpora(corpora)
    store.prune(now)


def _redact(text: str) -> str:
    try:
        return Redactor("all").redact_text(text)
    except Refused:
        return ""
