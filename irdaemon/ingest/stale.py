"""The stale entries of a scan, read a few at a time, as far as they are to be taken in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.bulk import BulkReader
from irdaemon.ingest.optout import OptOuts
from irdaemon.ingest.read import read_entry
from irdaemon.ledger import Delta, Ledger, Upsert
from irdaemon.types import Entry, SourceError

# Entries read and stored in one go: few enough that a change need not wait for the rest.
_AT_ONCE = 32
_AT_ONCE_S = 0.05


@dataclass(frozen=True, slots=True)
class OverLimit:
    """An entry that is not taken in because a limit is exceeded: which."""

    why: str


@dataclass(frozen=True, slots=True)
class Superseded:
    """An entry that a more urgent scan stored or forgot since this one compared it."""


# What reading an entry gave: what it holds, why it cannot be read, why it is not taken in, or None
# where it is gone.
Outcome = Upsert | SourceError | OverLimit | Superseded | None


@dataclass(frozen=True, slots=True)
class StaleEntries:
    """What a scan has to read: here, or by the processes of `bulk` where it is much.

    With `from_start` what was read of an entry before does not count.
    """

    ledger: Ledger
    corpus: Corpus
    delta: Delta
    from_start: bool = False
    bulk: BulkReader | None = None
    optouts: OptOuts = field(default_factory=OptOuts)

    def read(self, start: int, held: int) -> list[tuple[Entry, Outcome]]:
        """Read a few entries, those from `start` on, with `held` artifacts there already.

        Here at most so many, and for no longer than a moment; new ones while the limits allow.
        """
        outcomes: list[tuple[Entry, Outcome]] = []
        for entry, outcome in self._bulk() if self.bulk else self._here(start):
            known = self.delta.known.get(entry.key)
            if self.ledger.entries.known(self.corpus.name, entry.key) != known:
                outcomes.append((entry, Superseded()))
            elif known is None and (why := self.corpus.quota.exceeded(held)):
                outcomes.append((entry, OverLimit(why)))
            else:
                outcomes.append((entry, outcome()))
                held += known is None
        return outcomes

    def _bulk(self) -> Iterator[tuple[Entry, Callable[[], Outcome]]]:
        assert self.bulk is not None
        for entry, read in self.bulk.read():
            yield entry, partial(_as_it_is, read)

    def _here(self, start: int) -> Iterator[tuple[Entry, Callable[[], Outcome]]]:
        until = time.monotonic() + _AT_ONCE_S
        for entry in self.delta.stale[start : start + _AT_ONCE]:
            known = None if self.from_start else self.delta.known.get(entry.key)
            yield (
                entry,
                partial(read_entry, self.corpus, entry, known, self.optouts, self.ledger.synopses),
            )
            if time.monotonic() > until:
                return


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome
