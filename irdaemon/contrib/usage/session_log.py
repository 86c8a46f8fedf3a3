"""Records from transcripts in a private file next to the ledger: its connection, and its writer.

The contents can be read from the transcripts again, so a damaged file or one of another format is
set aside and created again, and the corpora whose transcripts it lacks are read from their start.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config
from irdaemon.engine.observer import Observer
from irdaemon.ledger.backups import back_up_file, restore_file
from irdaemon.ledger.files import is_corrupt, open_private, set_aside
from irdaemon.ledger.schema import hold_transaction
from irdaemon.ledger.store import open_to_read

log = logging.getLogger(__name__)

_BUSY_MS = 2_000
_TRIED_AGAIN_AFTER_S = 10.0


class OtherFormat(sqlite3.DatabaseError):
    """The file has a format that this version does not know."""


class SessionStore:
    """One connection to a file. Raises sqlite3.Error or OSError if it cannot be used.

    `tables` creates a file of `format`; a table `whole` has the corpora that were read completely.
    """

    format: ClassVar[int]
    tables: ClassVar[str]

    def __init__(self, path: str, *, read_only: bool = False, create: bool = True):
        self.path = path
        self._db = (
            open_to_read(path, shared=True)
            if read_only
            else open_private(path, self.tables, create=create)
        )
        self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        if not read_only:
            self.migrate(self._select_one("PRAGMA user_version"))
        if self._select_one("PRAGMA user_version") != self.format:
            self._db.close()
            raise OtherFormat(f"{path} is of another format")

    def migrate(self, held: int) -> None:
        """Bring a file of an older format, `held`, to the present one if that is possible."""

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Do everything inside the block in one transaction."""
        return hold_transaction(self._db)

    def is_whole(self, corpus: str) -> bool:
        """Return whether all transcripts of a corpus were read into this file."""
        return bool(self._select_one("SELECT count(*) FROM whole WHERE corpus = ?", corpus))

    def set_whole(self, corpus: str) -> None:
        """Record that all transcripts of a corpus were read."""
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO whole VALUES (?)", (corpus,))

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return self._select_one(f"SELECT count(*) FROM {table}")

    def _select_one(self, statement: str, *values: Any) -> int:
        return int(self._db.execute(statement, values).fetchone()[0])

    def forget_entries(self, corpus: str, keys: Iterable[str]) -> None:
        """Forget deleted entries."""
        raise NotImplementedError


StoreT = TypeVar("StoreT", bound=SessionStore)


class SessionLog(Generic[StoreT]):
    """A file in the hands of an engine's writer; other threads may only read `problem`.

    `open_store` opens the file at `path`. `subject` is the object of log messages about failed
    recording. `note_replaced` is called when the file is set aside, so that others can reopen it.
    """

    def __init__(
        self,
        open_store: Callable[[str], StoreT],
        path: str,
        subject: str,
        clock: Callable[[], float],
        note_replaced: Callable[[], object] = lambda: None,
    ):
        self.path, self.problem = path, ""
        self._open_store, self._subject, self._clock = open_store, subject, clock
        self._note_replaced = note_replaced
        self._store: StoreT | None = None
        self._failed_at = float("-inf")
        # Corpora whose transcripts must be read again, and those that lost some since the last time
        # all were read.
        self._incomplete: set[str] = set()
        self._lossy: set[str] = set()

    def write(self, work: Callable[[StoreT], Any]) -> bool:
        """Write with the file open, created again if damaged; return whether it succeeded.

        For a while after a failure nothing is tried.
        """
        if 0 <= self._clock() - self._failed_at < _TRIED_AGAIN_AFTER_S:
            return False
        try:
            work(self._open())
            self.problem = ""
            return True
        except (sqlite3.Error, OSError) as error:
            self._note_failure(error)
            return False

    def keep(self, corpus: str, work: Callable[[StoreT], Any]) -> None:
        """Write the data read from a corpus, or have the whole corpus read again."""
        if not self.write(work):
            self._incomplete.add(corpus)
            self._lossy.add(corpus)

    def must_read_all(self, corpus: str) -> bool:
        """Return whether transcripts of a corpus are missing here and must all be read again."""
        whole = [True]
        self.write(lambda store: whole.append(store.is_whole(corpus)))
        return not whole[-1] or corpus in self._incomplete

    def note_all_read(self, corpus: str) -> None:
        """Record that all transcripts of a corpus were read.

        If some could not be stored since the last time, all are read once more.
        """
        if corpus in self._lossy:
            self._lossy.discard(corpus)
        elif self.write(lambda store: store.set_whole(corpus)):
            self._incomplete.discard(corpus)

    def close(self) -> None:
        """Close the file."""
        self._close_store()

    def _close_store(self) -> None:
        if self._store is not None:
            with suppress(sqlite3.Error):
                self._store.close()
            self._store = None

    def _open(self) -> StoreT:
        if self._store is not None and not os.path.exists(self.path):
            self._close_store()
        if self._store is None:
            try:
                self._store = self._open_store(self.path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not is_corrupt(error):
                    raise
                kept = set_aside(self.path, "corrupt")
                log.warning("%s could not be opened (%s); it is now %s", self.path, error, kept)
                self._note_replaced()
                self._store = self._open_store(self.path)
        return self._store

    def _note_failure(self, error: sqlite3.Error | OSError) -> None:
        self._failed_at = self._clock()
        if str(error) != self.problem:
            log.warning("%s is not recorded: %s", self._subject, error)
        self.problem = str(error)
        self._close_store()
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            self._note_replaced()
            with suppress(OSError):
                set_aside(self.path, "corrupt")


class SessionObserver(Observer):
    """An observer that records transcripts in the log `notes`; without one it records nothing."""

    notes: SessionLog[Any] | None

    def must_read_all(self, corpus: Corpus) -> bool:
        """Return whether the log lacks transcripts of a corpus."""
        notes = self.find_log(corpus)
        return notes is not None and notes.must_read_all(corpus.name)

    def note_gone(self, corpus: Corpus, keys: Sequence[str]) -> None:
        """Forget sessions whose files were deleted."""
        if keys and (notes := self.find_log(corpus)):
            notes.keep(corpus.name, lambda store: store.forget_entries(corpus.name, keys))

    def note_all_read(self, corpus: Corpus) -> None:
        """Record that the log has every transcript of a corpus."""
        if self.notes is not None:
            self.notes.note_all_read(corpus.name)

    def close(self) -> None:
        """Close the file."""
        if self.notes is not None:
            self.notes.close()

    def find_log(self, corpus: Corpus) -> Any:
        """Return the log if a corpus has sessions, else None."""
        return self.notes if has_sessions(corpus) else None


class SavedFile(NamedTuple):
    """A file as `irdaemon backup` and `restore` treat it: it is next to a ledger's backup."""

    suffix: str
    locate: Callable[[Config], str]
    store: type[SessionStore]

    def back_up(self, config: Config, file: str) -> tuple[str, int]:
        """Save the file next to a backup; return path and size, 0 if there is none."""
        beside = file + self.suffix
        return beside, back_up_file(self.locate(config), beside)

    def restore(self, config: Config, file: str) -> str | None:
        """Restore the file next to a backup; return the path of the previous one."""

        def open_store(path: str) -> AbstractContextManager[object]:
            return closing(self.store(path, read_only=True))

        return restore_file(file + self.suffix, self.locate(config), open_store)


def has_sessions(corpus: Corpus | None) -> bool:
    """Return whether the artifacts of a corpus are turns of sessions."""
    return corpus is not None and getattr(corpus.source, "has_turns", False)
