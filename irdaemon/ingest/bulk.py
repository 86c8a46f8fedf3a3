"""Bulk reading: child processes read many stale entries ahead of the writer.

Results are returned in the order of the entries, so that the ledger does not depend on the number
of processes. An entry that kills two processes is a failure; if no process works, all entries are
read here.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.read import ReadRules, read_entry
from irdaemon.ingest.scan import OptOuts
from irdaemon.ledger import Delta, KnownEntry, Upsert
from irdaemon.ledger.terms import TermTable
from irdaemon.runtime.pool import Parallel
from irdaemon.types import Entry, SourceError

Read = Upsert | SourceError | None
COMMAND = (sys.executable, "-P", "-m", "irdaemon.ingest.reader_process")
# Fewer entries are read here sooner than a process starts.
FEWEST = 256
# Entries of one request: some tens of milliseconds of work.
AT_ONCE = 32
# Requests made ahead of the writer for each process.
_AHEAD = 6
_PATIENCE_S = 0.05
# Requests whose entries are stored in one transaction, if so many are answered by then: the terms
# of one alone touch half of the pages of their index.
_TOGETHER, _TOGETHER_S = 4, 0.2
# Sources whose entries are small and whose readings depend on the entry alone. Sessions are large,
# are read on from where they ended, and mostly a few at a time.
_KINDS = frozenset("skills agents commands rules plugins packages files code reports".split())
_OURS = "irdaemon."

_numbers = itertools.count(1)
# The processes of the last scan, while no other uses them: they end by themselves after a while.
_idle: list[Parallel] = []


def end_idle() -> None:
    """End the processes that no scan uses."""
    while _idle:
        _idle.pop().end()


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Some entries of a corpus, which is pickled, to be read in one scan, with what is known."""

    scan: int
    corpus: bytes
    entries: tuple[tuple[Entry, KnownEntry | None], ...]


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The results of reading a request's entries, in order, pickled.

    `table` names the table that their records' terms refer to, `new` are its terms since the
    reader's last reply. A reader begins a new table when one is full.
    """

    table: tuple[int, int] = (0, 0)
    new: Sequence[str] = ()
    read: bytes = b""


class BulkReader:
    """Read the stale entries of one scan in `workers` child processes, in their order."""

    def __init__(
        self, corpus: Corpus, entries: Sequence[tuple[Entry, KnownEntry | None]], workers: int
    ):
        self._corpus, self._pickled = corpus, pickle.dumps(corpus)
        self._batches = _cut(entries)
        self._scan, self._most = next(_numbers), _AHEAD * workers
        self._asked: dict[int, int] = {}  # requests under way, with the number of their batch
        self._replies: dict[int, tuple[ReadReply, TermTable] | None] = {}
        # The name and the contents of each reader's current table, by its pid.
        self._tables: dict[int, tuple[tuple[int, int], TermTable]] = {}
        self._at = self._next = 0
        self._due_at = 0.0
        self._optouts = OptOuts()
        self._parallel = _idle.pop() if _idle else _start_readers(workers)
        self._parallel.count = workers

    def read(self) -> list[tuple[Entry, Read]]:
        """Return the next entries with their results; none while few are ready."""
        self._ask()
        wanted = min(_TOGETHER, len(self._batches) - self._at)
        wait = 0.0 if self._count_ready() >= wanted else _PATIENCE_S
        for number, data in self._parallel.receive(wait):
            reply = self._open_reply(data) if data else None  # also where it is not asked any more
            if number in self._asked:
                self._replies[self._asked.pop(number)] = reply
        if not (ready := self._count_ready()):
            return []
        if ready < wanted and time.monotonic() < self._due_at:
            return []
        self._due_at = time.monotonic() + _TOGETHER_S
        return [each for _ in range(min(ready, _TOGETHER)) for each in self._take_batch()]

    def _count_ready(self) -> int:
        """Count the next batches that are ready."""
        at = self._at
        while at in self._replies:
            at += 1
        return at - self._at

    def _take_batch(self) -> list[tuple[Entry, Read]]:
        """Return the entries of the next batch, which is ready; none if it must be read again."""
        if self._at not in self._replies:
            return []
        batch, reply = self._batches[self._at], self._replies.pop(self._at)
        if reply is None and len(batch) > 1 and self._parallel.is_of_use:
            # One of them killed two processes: read the others one by one.
            self._batches[self._at : self._at + 1] = [(each,) for each in batch]
            self.discard_read()
            return []
        self._at += 1
        entries = (entry for entry, _ in batch)
        return list(zip(entries, self._unpack_reply(batch, reply), strict=True))

    def put_first(self, keys: Collection[str]) -> None:
        """Read some entries next, if no process was asked for them yet."""
        waiting = [each for batch in self._batches[self._next :] for each in batch]
        first = tuple(each for each in waiting if each[0].key in keys)
        if first:
            others = [each for each in waiting if each[0].key not in keys]
            self._batches[self._next :] = [first, *_cut(others)]

    def discard_read(self) -> None:
        """Discard what was read ahead, to read it again: it may have changed."""
        self._parallel.forget()
        self._asked.clear()
        self._replies.clear()
        self._next = self._at

    def close(self) -> None:
        """Keep the processes for the next scan."""
        self._parallel.forget()
        if not _idle:
            _idle.append(self._parallel)
        else:
            self._parallel.end()

    def _ask(self) -> None:
        while self._next < min(len(self._batches), self._at + self._most):
            number = next(_numbers)
            request = ReadRequest(self._scan, self._pickled, self._batches[self._next])
            self._parallel.ask(number, pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
            self._asked[number] = self._next
            self._next += 1

    def _open_reply(self, data: bytes) -> tuple[ReadReply, TermTable]:
        """Return a reply with its table, after adding the reply's new terms."""
        reply: ReadReply = pickle.loads(data)
        reader = reply.table[0]
        if reader not in self._tables or self._tables[reader][0] != reply.table:
            self._tables[reader] = reply.table, TermTable()
        table = self._tables[reader][1]
        table += reply.new
        return reply, table

    def _unpack_reply(
        self,
        batch: Sequence[tuple[Entry, KnownEntry | None]],
        reply: tuple[ReadReply, TermTable] | None,
    ) -> Sequence[Read]:
        if reply is None and self._parallel.is_of_use:
            return [_make_failure(entry) for entry, _ in batch]
        if reply is None:
            return [read_entry(self._corpus, *each, ReadRules(self._optouts)) for each in batch]
        read: Sequence[Read] = pickle.loads(reply[0].read)
        return [
            replace(each, table=reply[1]) if isinstance(each, Upsert) else each for each in read
        ]


def _cut(
    entries: Sequence[tuple[Entry, KnownEntry | None]],
) -> list[tuple[tuple[Entry, KnownEntry | None], ...]]:
    return [tuple(entries[at : at + AT_ONCE]) for at in range(0, len(entries), AT_ONCE)]


def _start_readers(workers: int) -> Parallel:
    """Return new processes, after an empty request that shows that they answer."""
    parallel = Parallel(COMMAND, workers)
    parallel.ask(next(_numbers), pickle.dumps(ReadRequest(0, b"", ())))
    return parallel


def _make_failure(entry: Entry) -> SourceError:
    return SourceError(
        f"{entry.path or entry.key}: two processes that read it ended without an answer",
        "exclude it, or split its content",
    )


# Fewer bodies are read quickly enough without reading their heads first.
_FEWEST_HEADS = 500


def make_head_corpus(corpus: Corpus, new: int, workers: int) -> Corpus | None:
    """Return the corpus with a source that reads the heads of its `new` entries.

    None if they are few, if child processes cannot read them, if its source reads no heads, and if
    the corpus has a backend or belongs to a project.
    """
    make = getattr(corpus.source, "make_head_source", None)
    if not make or not workers or new < _FEWEST_HEADS or not _suits_children(corpus):
        return None
    return None if corpus.backend or corpus.project else replace(corpus, source=make())


def make_bulk_reader(
    corpus: Corpus, delta: Delta, from_start: bool, workers: int
) -> BulkReader | None:
    """Return a reader of a corpus' stale entries in child processes.

    None if they are few, if `workers` is 0, or if only this process can read them. If all of them
    are new, or only their heads are known, one more process reads: the writer would wait for it
    half of the time.
    """
    if not workers or len(delta.stale) < FEWEST or not _suits_children(corpus):
        return None
    known = {} if from_start else delta.known
    stale = [(entry, known.get(entry.key)) for entry in delta.stale]
    before = filter(None, (delta.known.get(entry.key) for entry in delta.stale))
    is_first = all(each.is_head for each in before)
    return BulkReader(corpus, stale, workers + is_first)


def _suits_children(corpus: Corpus) -> bool:
    """Return whether source and strategy of a corpus are built in and need no ledger."""
    parts = (type(corpus.source).__module__, type(corpus.strategy).__module__)
    ours = all(part.startswith(_OURS) for part in parts) and corpus.edge_extractor is None
    return ours and corpus.kind in _KINDS and not corpus.synopsis
