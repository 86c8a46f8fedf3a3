"""Read entries in a child process, started by `bulk`, so that the writer need not read them.

Processor time and memory of an entry are limited. An entry that hangs in code without signal
checks, or waits forever, ends the process.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.bulk import ReadReply, ReadRequest
from irdaemon.ingest.read import CURE, TOO_LARGE, ReadRules, read_entry
from irdaemon.ingest.scan import OptOuts
from irdaemon.ledger import KnownEntry, TabledTerms, Upsert
from irdaemon.runtime.memory import MB, settle, tune_allocator
from irdaemon.runtime.pool import answer
from irdaemon.text.counting import TermCounter
from irdaemon.types import Entry, SourceError

TIME_S, MEMORY = 10.0, 512 * MB
# Includes the reader's own child processes, each of which has a limit.
_WITH_WAITING_S = 60.0
# The place of a term that is not in the table yet, and the initial room for terms.
_NO_PLACE, _TERMS_AT_FIRST = -1, 1 << 16
_STATM = "/proc/self/statm"


class _TimeUp(BaseException):
    """An entry took too long; no reading code may catch this."""


class EntryReader:
    """Read the entries of requests; corpus and opt-outs are the same for a whole scan."""

    def __init__(self) -> None:
        self._scan = 0
        self._corpus: Corpus | None = None
        self._optouts = OptOuts()
        self._table = ReaderTable()

    def answer(self, data: bytes) -> bytes:
        """Return the reply to a request: the results of reading its entries, in order."""
        request: ReadRequest = pickle.loads(data)
        if not request.entries:
            return pickle.dumps(ReadReply())
        if self._corpus is None or request.scan != self._scan:
            self._scan, self._corpus = request.scan, pickle.loads(request.corpus)
            self._optouts = OptOuts()
            self._table = ReaderTable(self._table.counter)
        if self._table.counter.is_full:
            self._table = ReaderTable()
        rules = ReadRules(self._optouts, count=self._table.count)
        read = [self._read(self._corpus, rules, *each) for each in request.entries]
        reply = ReadReply(
            self._table.name, self._table.take_new(), pickle.dumps(read, pickle.HIGHEST_PROTOCOL)
        )
        return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)

    def _read(
        self, corpus: Corpus, rules: ReadRules, entry: Entry, known: KnownEntry | None
    ) -> Upsert | SourceError | None:
        """Read an entry within its limits, or return the limit that it exceeds."""
        place = entry.path or entry.key
        try:
            with _limit_time():
                return _lighten(read_entry(corpus, entry, known, rules))
        except _TimeUp:
            return SourceError(f"{place}: reading it takes more than {TIME_S:g} s", CURE)
        except MemoryError:
            return SourceError(f"{place}: {TOO_LARGE}, {MEMORY // MB} MB", CURE)


@contextmanager
def _limit_time() -> Iterator[None]:
    """Raise _TimeUp if the block takes too long; end the process if that does not stop it."""

    def stop(number: int, frame: object) -> None:
        raise _TimeUp

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, TIME_S)
    signal.setitimer(signal.ITIMER_REAL, _WITH_WAITING_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _limit_memory() -> None:
    """Limit the memory that this process may still take; its children set their own limits.

    macOS neither reports its use nor enforces such a limit: there only time is limited.
    """
    with suppress(OSError, ValueError):
        with open(_STATM, encoding="ascii") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, most))


class ReaderTable:
    """The terms read in one scan, each sent once; see TermTable."""

    def __init__(self, counter: TermCounter | None = None) -> None:
        self.name = os.getpid(), time.monotonic_ns()
        self.counter = counter or TermCounter()
        # The table place of each number of the counter, and how many have one.
        self._places = np.full(_TERMS_AT_FIRST, _NO_PLACE, np.int32)
        self._told, self._new = 0, list[str]()

    def count(self, text: str, lexical: str) -> TabledTerms:
        """Count the terms of a surface."""
        numbers, counts = self.counter.count(text, lexical)
        return TabledTerms(self._place(numbers).tobytes(), counts.tobytes())

    def take_new(self) -> list[str]:
        """Return the terms added to the table since the last call, in the order of their places."""
        new, self._new = self._new, []
        self._told += len(new)
        return new

    def _place(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the table places of distinct terms, adding new ones."""
        names = self.counter.names
        if len(self._places) < len(names):
            room = np.full(len(names), _NO_PLACE, np.int32)
            self._places = np.concatenate([self._places, room])
        places = self._places[numbers]
        if len(new := numbers[places == _NO_PLACE]):
            start = self._told + len(self._new)
            self._new += map(names.__getitem__, new.tolist())
            self._places[new] = np.arange(start, start + len(new))  # last, as time may be up before
            places = self._places[numbers]
        return places


def _lighten(outcome: Upsert | SourceError | None) -> Upsert | SourceError | None:
    """Leave out the parts that are stored as records and fields anyway."""
    if not isinstance(outcome, Upsert):
        return outcome
    light = (
        replace(made, artifact=replace(made.artifact, raw="", metadata={}))
        for made in outcome.artifacts
    )
    return replace(outcome, artifacts=tuple(light))


if __name__ == "__main__":
    tune_allocator()
    settle()
    with suppress(OSError, ValueError):  # not on Linux, or limited already
        _limit_memory()
    answer(EntryReader().answer)
