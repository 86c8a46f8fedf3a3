"""Read entries in a child process: what `bulk` starts, so that the writer need not read them.

An entry may take so much time of the processor and so much memory. One that stops in code which
does not check for signals ends the process, as does one that waits forever.
"""

from __future__ import annotations

import pickle
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.bulk import ReadRequest
from irdaemon.ingest.read import CURE, TOO_LARGE, ReadRules, read_entry
from irdaemon.ingest.scan import OptOuts
from irdaemon.ledger import Decomposed, KnownEntry, Record, TabledTerms, Uncounted, Upsert
from irdaemon.runtime.memory import MB, settle, tune_allocator
from irdaemon.runtime.pool import answer
from irdaemon.text.counting import TermCounter
from irdaemon.types import Entry, SourceError

TIME_S, MEMORY = 10.0, 512 * MB
# With what child processes of its own may take, each of which has a limit.
_WITH_WAITING_S = 60.0
# A place in a table that a term has not got yet, and how many terms there is room for at first.
_NO_PLACE, _TERMS_AT_FIRST = -1, 1 << 16
_STATM = "/proc/self/statm"


class _TimeUp(BaseException):
    """An entry took its time: nothing that reads it is to catch this."""


class EntryReader:
    """Read what requests name: the corpus and the opt-outs of one scan are those of all of it."""

    def __init__(self) -> None:
        self._scan = 0
        self._corpus: Corpus | None = None
        self._optouts = OptOuts()
        self._counter = TermCounter()

    def answer(self, data: bytes) -> bytes:
        """Return the reply to a request: what reading its entries gave, in their order."""
        request: ReadRequest = pickle.loads(data)
        if not request.entries:
            return pickle.dumps([])
        if self._corpus is None or request.scan != self._scan:
            self._scan, self._corpus = request.scan, pickle.loads(request.corpus)
            self._optouts = OptOuts()
        if self._counter.is_full:
            self._counter = TermCounter()
        reply = _Reply(self._counter)
        read = [self._read(self._corpus, reply, *each) for each in request.entries]
        return pickle.dumps(read, pickle.HIGHEST_PROTOCOL)

    def _read(
        self, corpus: Corpus, reply: _Reply, entry: Entry, known: KnownEntry | None
    ) -> Upsert | SourceError | None:
        """Read an entry within its limits, or return which it exceeds."""
        place = entry.path or entry.key
        try:
            with _limit_time():
                return reply.lighten(
                    read_entry(corpus, entry, known, ReadRules(self._optouts, count=Uncounted))
                )
        except _TimeUp:
            return SourceError(f"{place}: reading it takes more than {TIME_S:g} s", CURE)
        except MemoryError:
            return SourceError(f"{place}: {TOO_LARGE}, {MEMORY // MB} MB", CURE)


@contextmanager
def _limit_time() -> Iterator[None]:
    """Raise _TimeUp where the block takes too long; end the process where that is of no use."""

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

    macOS does not say how much that is, and takes no such limit: there its time alone is limited.
    """
    with suppress(OSError, ValueError):
        with open(_STATM, encoding="ascii") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, most))


class _Reply:
    """The reply to one request: all its records share one table of terms."""

    def __init__(self, counter: TermCounter) -> None:
        self._terms: list[str] = []
        self._counter = counter
        # The place in the table of each of the counter's numbers.
        self._places = np.full(_TERMS_AT_FIRST, _NO_PLACE, np.int32)

    def lighten(self, outcome: Upsert | SourceError | None) -> Upsert | SourceError | None:
        """Leave out what is stored as records and fields anyway, and each term but once."""
        if not isinstance(outcome, Upsert):
            return outcome
        return replace(outcome, artifacts=tuple(map(self._lighten, outcome.artifacts)))

    def _lighten(self, made: Decomposed) -> Decomposed:
        numbers = list(map(self._counter.number, made.name_terms))
        self._place(np.array(numbers, np.int32))  # first, as they are stored first
        records = tuple(replace(each, terms=self._count(each)) for each in made.records)
        return replace(made, artifact=replace(made.artifact, raw="", metadata={}), records=records)

    def _count(self, record: Record) -> TabledTerms:
        terms = record.terms
        assert isinstance(terms, Uncounted)  # as they come from reading
        numbers, counts = self._counter.count(terms.text, terms.lexical)
        return TabledTerms(self._terms, self._place(numbers).tobytes(), counts.tobytes())

    def _place(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the places in the table of distinct terms, which has them from now on."""
        names = self._counter.names
        if len(self._places) < len(names):
            room = np.full(len(names), _NO_PLACE, np.int32)
            self._places = np.concatenate([self._places, room])
        new = numbers[self._places[numbers] == _NO_PLACE]
        start = len(self._terms)
        self._terms += map(names.__getitem__, new.tolist())
        self._places[new] = np.arange(start, start + len(new))  # last: time may be up before
        return self._places[numbers]


if __name__ == "__main__":
    tune_allocator()
    settle()
    with suppress(OSError, ValueError):  # not on Linux, or limited already
        _limit_memory()
    answer(EntryReader().answer)
