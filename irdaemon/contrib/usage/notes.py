"""Notes: collect what was offered and what transcripts say was used, and store both.

Except for `note` everything belongs to the writer's thread, which calls `tick` every second or so.
Failures here stop nothing else: a damaged file is set aside and created again, answers wait while
the disk is full, and missed transcripts are read again.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from irclient.errors import Unavailable
from irdaemon.contrib.usage.offers import NotedAnswer, Offers
from irdaemon.contrib.usage.store import (
    KEPT_BYTES,
    KEPT_DAYS,
    KeptTurn,
    Offer,
    UsageStore,
    read_usage,
)
from irdaemon.ledger import Upsert
from irdaemon.ledger.files import is_corrupt, list_set_aside, set_aside
from irdaemon.source.redact import Redactor
from irdaemon.source.sessions.transcript import strip_injected
from irdaemon.types import Refused, SessionTurn

# Keyed digests: they tell whether two texts are the same, and nothing of what they say.
#
# The key lies in a file of its own, for its owner alone. Who has the log but not the key cannot
# even try texts out.

_KEY_BYTES = 32
_DIGEST_BYTES = 16
# The prompt hook sends no more of a prompt than this.
_COMPARED_CHARS = 8_000


class DigestKey:
    """The key of this machine's digests. Raises OSError if its file cannot be used.

    A file without a key is replaced: digests made with another key join nothing.
    """

    def __init__(self, path: str):
        self._key = _read_key(path) or _make_key(path)

    def digest_text(self, text: str) -> bytes:
        """Return the digest of what a person typed in a text; white space does not matter."""
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


log = logging.getLogger(__name__)

_PRUNED_EVERY_S = 600.0
_TRIED_AGAIN_AFTER_S = 10.0
_FUTURE_S = 60.0


@dataclass(frozen=True, slots=True)
class UsageOptions:
    """The paths of the log of use and its key, and whether the log stores query texts."""

    path: str
    key_path: str
    text: bool = False


class UsageNotes:
    """An engine's records of use."""

    def __init__(self, options: UsageOptions, clock: Callable[[], float]):
        self.options = options
        self._clock = clock
        self._offers = Offers()
        self._store: UsageStore | None = None
        self._key: DigestKey | None = None
        self._failed_at = self._pruned_at = float("-inf")
        self._incomplete: set[str] = set()
        self.problem = ""
        # Note an answer, which the writer thread stores. Any thread may.
        self.note = self._offers.note

    # -- by the writer ---------------------------------------------------------------------------

    def tick(self, corpora: Collection[str]) -> None:
        """Store waiting records, and regularly drop old ones and those of removed corpora."""
        now = self._clock()
        if 0 <= now - self._failed_at < _TRIED_AGAIN_AFTER_S:
            return
        if waiting := self._offers.take_all():
            done = self._write(lambda store: store.put_offers(self._make_offers(waiting)))
            if not done:
                self._offers.put_back(waiting)
                return
        if not 0 <= now - self._pruned_at < _PRUNED_EVERY_S:
            self._pruned_at = now
            self._write(lambda store: _prune(store, corpora, now))

    def read(self, corpus: str, upsert: Upsert) -> None:
        """Store the turns of a session that was read."""
        if not upsert.turns and upsert.partial:
            return
        place = corpus, upsert.entry.key
        latest = upsert.entry.mtime_ns / 1e9
        done = self._write(
            lambda store: store.put_turns(
                place,
                [self._make_turn(place, turn, latest) for turn in upsert.turns],
                upsert.partial,
            )
        )
        if not done:
            self._incomplete.add(corpus)

    def forget_sessions(self, corpus: str, keys: Sequence[str]) -> None:
        """Forget sessions whose files are gone."""
        if keys and not self._write(lambda store: store.forget_entries(corpus, keys)):
            self._incomplete.add(corpus)

    def must_read_all(self, corpus: str) -> bool:
        """Return whether transcripts of a corpus are missing here and must all be read again."""
        whole = [True]
        self._write(lambda store: whole.append(store.is_whole(corpus)))
        return not whole[-1] or corpus in self._incomplete

    def note_all_read(self, corpus: str) -> None:
        """Record that all transcripts of a corpus were read."""
        if self._write(lambda store: store.set_whole(corpus, True)):
            self._incomplete.discard(corpus)

    def close(self) -> None:
        """Store waiting records, and close the file."""
        if waiting := self._offers.take_all():
            self._write(lambda store: store.put_offers(self._make_offers(waiting)))
        if self._store is not None:
            self._store.close()
            self._store = None

    def _write(self, write: Callable[[UsageStore], Any]) -> bool:
        """Write with the file open, recreated if damaged; return whether it succeeded."""
        try:
            write(self._open())
            self.problem = ""
            return True
        except (sqlite3.Error, OSError) as error:
            self._note_failure(error)
            return False

    def _open(self) -> UsageStore:
        if self._store is not None and not os.path.exists(self.options.path):
            self._store.close()
            self._store = None
        if self._key is None:
            self._key = DigestKey(self.options.key_path)
        if self._store is None:
            self._store = _open_or_create(self.options.path)
        return self._store

    def _note_failure(self, error: sqlite3.Error | OSError) -> None:
        self._failed_at = self._clock()
        if str(error) != self.problem:
            log.warning("use is not recorded: %s", error)
        self.problem = str(error)
        if self._store is not None:
            with suppress(sqlite3.Error):
                self._store.close()
            self._store = None
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            with suppress(OSError):
                set_aside(self.options.path, "corrupt")

    def _hash(self, text: str) -> bytes:
        assert self._key is not None  # made with the file
        return self._key.digest_text(text)

    def _make_offers(self, answers: Iterable[NotedAnswer]) -> list[Offer]:
        return [
            Offer(
                at=each.at,
                op=each.op,
                client=each.session.client,
                session=each.session.name,
                digest=self._hash(each.answer.query),
                generation=each.answer.generation,
                variant=each.variant,
                reason=each.answer.reason,
                floors=each.list_floors(),
                items=tuple(each.list_items()),
                text=_redact(each.answer.query) if self.options.text else None,
            )
            for each in answers
        ]

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
        """Open another connection to a file that is there; the caller changes and closes it."""
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


def _open_or_create(path: str) -> UsageStore:
    """Open the file; set aside a damaged one or one of another format."""
    try:
        return UsageStore(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and not is_corrupt(error):
            raise
        kept = set_aside(path, "corrupt")
        log.warning("the log of use could not be opened (%s); it was moved to %s", error, kept)
        return UsageStore(path)


def _prune(store: UsageStore, corpora: Collection[str], now: float) -> None:
    store.keep_corpora(corpora)
    store.prune(now)


def _redact(text: str) -> str:
    try:
        return Redactor("all").redact_text(text)
    except Refused:
        return ""
