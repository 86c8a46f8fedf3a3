"""What is seen of a backend by those who look after it, and what they do there."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

# Which corpora the client of this request may see, for engines that check it themselves.

_scope: ContextVar[frozenset[str] | None] = ContextVar("scope", default=None)


@contextlib.contextmanager
def seeing_only(corpora: Collection[str]) -> Iterator[None]:
    """Have backends give nothing of any corpus but these while the work inside goes on."""
    before = _scope.set(frozenset(corpora))
    try:
        yield
    finally:
        _scope.reset(before)


def corpora_in_scope() -> frozenset[str] | None:
    """Return the corpora that may be seen; None for all."""
    return _scope.get()


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One thing that was looked at: whether it is as it should be, and what to do if not."""

    ok: bool
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class HostState:
    """What was found on one host; `writable` is whether it is one that takes writes."""

    host: str
    lines: tuple[CheckLine, ...]
    writable: bool = False


@dataclass(frozen=True, slots=True)
class BackendState:
    """What was found on all hosts of a backend."""

    server: str
    hosts: tuple[HostState, ...]

    @property
    def ok(self) -> bool:
        """Return whether all is as it should be."""
        return all(line.ok for host in self.hosts for line in host.lines)


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """What a corpus takes: rows, and bytes on the server; `changed` in Unix seconds.

    `postings` is what the server estimates; it and the bytes are 0 where the server tells nothing
    of them. `graph` is whether its vectors are in one.
    """

    corpus: str
    generation: int
    artifacts: int
    records: int
    vectors: int
    postings: int
    size: int
    graph: bool
    changed: float


class BackendAdmin(Protocol):
    """The work of an operator of a backend. Every method raises Unavailable."""

    def check(self) -> BackendState:
        """Look at every host: whether it answers, and can be searched and written."""
        ...

    def migrate(self) -> int:
        """Make what the server needs, or bring it to the present format; return that."""
        ...

    def stats(self) -> tuple[CorpusSize, ...]:
        """Return what each corpus takes."""
        ...
