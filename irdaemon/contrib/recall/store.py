"""Records of sessions in one private file: the files that turns touched, as they were then.

Everything except the state of files at the time can be recovered from the transcripts: a file that
is damaged or of another format is set aside and created again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from irdaemon.contrib.usage.session_log import SessionStore

FORMAT = 3
TABLES = """
PRAGMA auto_vacuum = INCREMENTAL;
BEGIN;
CREATE TABLE turns (
    id INTEGER PRIMARY KEY, corpus TEXT NOT NULL, entry TEXT NOT NULL, turn_id TEXT NOT NULL,
    session TEXT NOT NULL, place TEXT NOT NULL, at REAL NOT NULL, until REAL NOT NULL,
    UNIQUE (corpus, turn_id)
);
CREATE INDEX turns_by_entry ON turns(corpus, entry);
CREATE INDEX turns_by_session ON turns(session, at, id);
CREATE TABLE files (
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, path TEXT NOT NULL,
    name TEXT NOT NULL, is_write INTEGER NOT NULL, looked INTEGER NOT NULL DEFAULT 0,
    blob TEXT NOT NULL DEFAULT '', size INTEGER NOT NULL DEFAULT -1,
    mtime INTEGER NOT NULL DEFAULT 0, symbols TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (turn, path)
) WITHOUT ROWID;
CREATE INDEX files_by_name ON files(name);
CREATE INDEX files_to_look_at ON files(path) WHERE looked = 0;
CREATE TABLE commits (
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, hash TEXT NOT NULL,
    is_gone INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (turn, hash)
) WITHOUT ROWID;
CREATE TABLE runs (
    turn INTEGER NOT NULL REFERENCES turns(id) ON DELETE CASCADE, n INTEGER NOT NULL,
    key TEXT NOT NULL, command TEXT NOT NULL, wrote TEXT NOT NULL, failed INTEGER NOT NULL,
    PRIMARY KEY (turn, n)
) WITHOUT ROWID;
CREATE TABLE signatures (
    signature TEXT NOT NULL, turn INTEGER NOT NULL, n INTEGER NOT NULL, rank INTEGER NOT NULL,
    PRIMARY KEY (signature, turn, n),
    FOREIGN KEY (turn, n) REFERENCES runs(turn, n) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX signatures_by_run ON signatures(turn, n);
CREATE TABLE roots (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE whole (corpus TEXT PRIMARY KEY) WITHOUT ROWID;
PRAGMA user_version = 3;
COMMIT;
"""
# Commands stored by that format could contain a secret; otherwise it is the same.
_FORMAT_WITH_SECRETS = 2


@dataclass(frozen=True, slots=True)
class DoneRun:
    """A command that was run, without secrets, by its key (`find_key`), or a file that was written.

    `signatures` are those of the error of a failed command, the most specific first.
    """

    key: str = ""
    command: str = ""
    wrote: str = ""
    failed: bool = False
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PastFailure:
    """A failed run of a turn, the number of signatures it shares with an error, and the best rank.

    `number` is the turn's, `n` the run's position in it.
    """

    corpus: str
    turn_id: str
    session: str
    at: float
    number: int
    n: int
    key: str
    shared: int
    rank: int


@dataclass(frozen=True, slots=True)
class DoneTurn:
    """The record of a turn: `files` by path with whether each was written, `commits` by hash.

    The turn lasted from `at` `until` (Unix seconds), in the directory `place`.
    """

    turn_id: str
    session: str
    place: str
    at: float
    until: float
    files: Mapping[str, bool] = field(default_factory=dict)
    commits: tuple[str, ...] = ()
    runs: tuple[DoneRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Unlooked:
    """A file of a turn whose state at the time is not known yet."""

    turn: int
    path: str
    is_write: bool
    at: float
    until: float
    corpus: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit that a turn made, in the directory `place`; `at` is when the turn began."""

    turn: int
    place: str
    hash: str
    at: float


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file at a turn: git's hash of its content, "" if unknown.

    A file of that `size` (bytes) and `mtime` (ns) has that content; -1 if no such file was seen.
    `symbols` are the names in the turn that were in the file.
    """

    path: str
    blob: str = ""
    size: int = -1
    mtime: int = 0
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnState:
    """The known state of a turn's files and commits; `gone` are the commits on no branch."""

    files: tuple[FileState, ...] = ()
    commits: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TouchingTurn:
    """A turn that touched a file, and whether it wrote it."""

    corpus: str
    turn_id: str
    session: str
    at: float
    path: str
    is_write: bool


class RecallStore(SessionStore):
    """One connection to the file. Raises sqlite3.Error or OSError if it cannot be used."""

    format, tables = FORMAT, TABLES

    def migrate(self, held: int) -> None:
        """Drop the runs in a file of the previous format, which are read again; keep the files."""
        if held != _FORMAT_WITH_SECRETS:
            return
        with self.transaction():
            self._db.execute("DELETE FROM runs")
            self._db.execute("DELETE FROM whole")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")
        # They remain in the log next to the file until a checkpoint.
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- turns, by the writer --------------------------------------------------------------------

    def put_turns(self, corpus: str, entry: str, turns: Sequence[DoneTurn], partial: bool) -> None:
        """Store the turns of an entry, replacing its known ones; if `partial`, others stay.

        If a stored turn touched the same files and ended at the same time, the known states of its
        files stay, even if its runs are read differently now: they cannot be recovered.
        """
        with self.transaction():
            if not partial:
                kept = json.dumps([each.turn_id for each in turns])
                self._db.execute(
                    "DELETE FROM turns WHERE corpus = ? AND entry = ?"
                    " AND turn_id NOT IN (SELECT value FROM json_each(?))",
                    (corpus, entry, kept),
                )
            for turn in turns:
                self._put_turn(corpus, entry, turn)

    def _put_turn(self, corpus: str, entry: str, turn: DoneTurn) -> None:
        found = self._db.execute(
            "SELECT id, until FROM turns WHERE corpus = ? AND turn_id = ?", (corpus, turn.turn_id)
        ).fetchone()
        if found and found[1] == turn.until and self._has_files(found[0], turn):
            self._db.execute("UPDATE turns SET entry = ? WHERE id = ?", (entry, found[0]))
            if self._list_runs(found[0]) != turn.runs:
                self._db.execute("DELETE FROM runs WHERE turn = ?", (found[0],))
                self._put_runs(found[0], turn.runs)
            return
        if found:
            self._db.execute("DELETE FROM turns WHERE id = ?", (found[0],))
        values = (corpus, entry, turn.turn_id, turn.session, turn.place, turn.at, turn.until)
        number = self._db.execute(
            "INSERT INTO turns(corpus, entry, turn_id, session, place, at, until)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        ).lastrowid
        self._db.executemany(
            "INSERT INTO files(turn, path, name, is_write) VALUES (?, ?, ?, ?)",
            [(number, path, path.rpartition("/")[2], w) for path, w in turn.files.items()],
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO commits(turn, hash) VALUES (?, ?)",
            [(number, each) for each in turn.commits],
        )
        self._put_runs(number, turn.runs)

    def _put_runs(self, number: int | None, runs: Iterable[DoneRun]) -> None:
        for n, run in enumerate(runs):
            self._db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (number, n, run.key, run.command, run.wrote, run.failed),
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO signatures VALUES (?, ?, ?, ?)",
                [(each, number, n, rank) for rank, each in enumerate(run.signatures)],
            )

    def _has_files(self, number: int, turn: DoneTurn) -> bool:
        rows = self._db.execute("SELECT path FROM files WHERE turn = ?", (number,))
        return {path for (path,) in rows} == set(turn.files)

    def _list_runs(self, number: int) -> tuple[DoneRun, ...]:
        signatures = defaultdict[int, list[str]](list)
        for n, signature in self._db.execute(
            "SELECT n, signature FROM signatures WHERE turn = ? ORDER BY n, rank", (number,)
        ):
            signatures[n].append(signature)
        rows = self._db.execute(
            "SELECT n, key, command, wrote, failed FROM runs WHERE turn = ? ORDER BY n", (number,)
        )
        return tuple(
            DoneRun(key, command, wrote, bool(failed), tuple(signatures[n]))
            for n, key, command, wrote, failed in rows
        )

    def forget_entries(self, corpus: str, keys: Iterable[str]) -> None:
        """Forget the turns of deleted entries."""
        with self.transaction():
            self._db.executemany(
                "DELETE FROM turns WHERE corpus = ? AND entry = ?", [(corpus, key) for key in keys]
            )

    def forget_corpus(self, corpus: str) -> None:
        """Forget all turns of a corpus."""
        with self.transaction():
            for table in ("turns", "whole"):
                self._db.execute(f"DELETE FROM {table} WHERE corpus = ?", (corpus,))

    # -- states, beside the writer ---------------------------------------------------------------

    def list_unlooked(self, root: str, limit: int) -> list[Unlooked]:
        """Return files below a directory whose state at their turn is unknown, newest first."""
        rows = self._db.execute(
            "SELECT turn, path, is_write, at, until, corpus, turn_id FROM files"
            " JOIN turns ON turns.id = turn WHERE looked = 0 AND path >= ? AND path < ?"
            " ORDER BY until DESC, turn, path LIMIT ?",
            (*_bound(root), limit),
        )
        return [Unlooked(turn, path, bool(w), *rest) for turn, path, w, *rest in rows]

    def find_oldest(self, root: str) -> float:
        """Return the start of the oldest turn with an unexamined file below a directory, or 0."""
        (at,) = self._db.execute(
            "SELECT min(at) FROM files JOIN turns ON turns.id = turn"
            " WHERE looked = 0 AND path >= ? AND path < ?",
            _bound(root),
        ).fetchone()
        return float(at or 0.0)

    def put_states(self, states: Iterable[tuple[int, FileState]]) -> None:
        """Store the states of files at their turns, by the turn's number; each is examined once."""
        rows = [
            (each.blob, each.size, each.mtime, json.dumps(each.symbols), turn, each.path)
            for turn, each in states
        ]
        with self.transaction():
            self._db.executemany(
                "UPDATE files SET looked = 1, blob = ?, size = ?, mtime = ?, symbols = ?"
                " WHERE turn = ? AND path = ?",
                rows,
            )

    def keep_roots(self, roots: Iterable[str]) -> None:
        """Forget the states of files below directories that may no longer be read."""
        known, wanted = {path for (path,) in self._db.execute("SELECT path FROM roots")}, set(roots)
        if known == wanted:
            return
        with self.transaction():
            for root in known - wanted:
                self._db.execute(
                    "UPDATE files SET looked = 0, blob = '', size = -1, mtime = 0, symbols = '[]'"
                    " WHERE path >= ? AND path < ?",
                    _bound(root),
                )
            self._db.execute("DELETE FROM roots")
            self._db.executemany("INSERT INTO roots VALUES (?)", [(each,) for each in wanted])

    def list_commits(self) -> list[MadeCommit]:
        """Return all commits that turns made."""
        rows = self._db.execute(
            "SELECT turn, place, hash, at FROM commits JOIN turns ON turns.id = turn"
        )
        return [MadeCommit(*row) for row in rows]

    def set_gone(self, made: Iterable[MadeCommit], gone: Iterable[str]) -> None:
        """Record which of some commits, by hash, are no longer on any branch."""
        lost = set(gone)
        with self.transaction():
            self._db.executemany(
                "UPDATE commits SET is_gone = ?1 WHERE turn = ?2 AND hash = ?3 AND is_gone != ?1",
                [(each.hash in lost, each.turn, each.hash) for each in made],
            )

    # -- by any thread ---------------------------------------------------------------------------

    def find_state(self, corpus: str, turn_id: str) -> TurnState | None:
        """Return the known state of a turn; None if nothing is recorded of it."""
        found = self._db.execute(
            "SELECT id FROM turns WHERE corpus = ? AND turn_id = ?", (corpus, turn_id)
        ).fetchone()
        if found is None:
            return None
        files = self._db.execute(
            "SELECT path, blob, size, mtime, symbols FROM files"
            " WHERE turn = ? AND blob != '' ORDER BY is_write DESC, path",
            found,
        )
        commits = self._db.execute(
            "SELECT hash, is_gone FROM commits WHERE turn = ? ORDER BY hash", found
        ).fetchall()
        return TurnState(
            tuple(
                FileState(path, blob, size, mtime, tuple(json.loads(symbols)))
                for path, blob, size, mtime, symbols in files
            ),
            tuple(hash for hash, _ in commits),
            tuple(hash for hash, is_gone in commits if is_gone),
        )

    def find_touching(self, path: str, limit: int) -> list[TouchingTurn]:
        """Return the turns that touched a file, given its path or the end of it, newest first."""
        rows = self._db.execute(
            "SELECT corpus, turn_id, session, at, path, is_write FROM files"
            " JOIN turns ON turns.id = turn WHERE name = ?"
            " AND ('/' || path) LIKE ? ESCAPE '\\' ORDER BY at DESC, turn_id LIMIT ?",
            (path.rpartition("/")[2], f"%/{_escape(path.lstrip('/'))}", limit),
        )
        found = [
            TouchingTurn(corpus, turn_id, session, at, held, bool(is_write))
            for corpus, turn_id, session, at, held, is_write in rows
        ]
        return [each for each in found if not path.startswith("/") or each.path == path]

    def find_failures(
        self, signatures: Sequence[str], but_session: str, limit: int
    ) -> list[PastFailure]:
        """Return failed runs of other sessions with one of these signatures, newest first."""
        rows = self._db.execute(
            "SELECT corpus, turn_id, session, at, runs.turn, runs.n, key, count(*), min(rank)"
            " FROM signatures JOIN runs ON runs.turn = signatures.turn AND runs.n = signatures.n"
            " JOIN turns ON turns.id = runs.turn"
            " WHERE signature IN (SELECT value FROM json_each(?)) AND session != ?"
            " GROUP BY runs.turn, runs.n ORDER BY at DESC, runs.turn DESC, runs.n DESC LIMIT ?",
            (json.dumps(list(signatures)), but_session, limit),
        )
        return [PastFailure(*row) for row in rows]

    def list_following(self, failure: PastFailure, limit: int) -> list[tuple[str, DoneRun]]:
        """Return the runs of a session after a failed run, each with the id of its turn."""
        rows = self._db.execute(
            "SELECT turn_id, key, command, wrote, failed, (SELECT group_concat(signature) FROM"
            " signatures WHERE signatures.turn = turns.id AND signatures.n = runs.n)"
            " FROM turns JOIN runs ON turn = turns.id"
            " WHERE session = ?1 AND ((at, turns.id) > (?2, ?3) OR (turns.id = ?3 AND n > ?4))"
            " ORDER BY at, turns.id, n LIMIT ?5",
            (failure.session, failure.at, failure.number, failure.n, limit),
        )
        return [
            (turn_id, DoneRun(key, command, wrote, bool(failed), tuple((signed or "").split(","))))
            for turn_id, key, command, wrote, failed, signed in rows
        ]

    def find_command(self, failure: PastFailure) -> str:
        """Return the command line of a failed run."""
        row = self._db.execute(
            "SELECT command FROM runs WHERE turn = ? AND n = ?", (failure.number, failure.n)
        ).fetchone()
        return str(row[0]) if row else ""

    def prune_runs(self, most: int) -> None:
        """Forget the oldest turns' runs while there are more than `most`."""
        excess = self.count("runs") - most
        if excess <= 0:
            return
        with self.transaction():
            self._db.execute(
                "DELETE FROM runs WHERE turn IN (SELECT turn FROM runs JOIN turns ON turns.id ="
                " turn ORDER BY at, turns.id LIMIT ?)",
                (excess,),
            )


def _bound(directory: str) -> tuple[str, str]:
    """Return the bounds between which all paths below a directory sort."""
    return f"{directory.rstrip('/')}/", f"{directory.rstrip('/')}0"


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
