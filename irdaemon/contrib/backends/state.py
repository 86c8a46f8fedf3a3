"""Shared by the engines: the scope of a request, an operator's view, and totals as plain data."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import Any, Protocol

import msgpack

from irdaemon.index.backend import StoredText, Totals
from irdaemon.types import Floor

# The number of items in one statement or request.
_BATCH = 500


def split_batches(items: Iterable[Any], size: int = _BATCH) -> Iterator[list[Any]]:
    """Yield items in lists of at most `size`."""
    each = iter(items)
    while batch := list(islice(each, size)):
        yield batch


def dump_totals(totals: Totals) -> dict[str, Any]:
    """Return totals as plain data."""
    plain = {each.name: getattr(totals, each.name) for each in fields(totals)}
    return {**plain, "floors": {mode: asdict(floor) for mode, floor in totals.floors.items()}}


def load_totals(plain: Mapping[str, Any]) -> Totals:
    """Load totals that were dumped, ignoring fields that this version does not know."""
    known = {each.name: plain[each.name] for each in fields(Totals) if each.name in plain}
    known["floors"] = {mode: Floor.from_dict(each) for mode, each in known["floors"].items()}
    known["fields"] = {name: tuple(values) for name, values in known["fields"].items()}
    known |= {name: tuple(known[name]) for name in ("degraded", "kinds")}
    return Totals(**known)


def unpack_bytes(data: bytes) -> Any:
    """Return packed data, with invalid Unicode in its texts kept; sequences come as lists."""
    return msgpack.unpackb(data, unicode_errors="surrogatepass", strict_map_key=False)


def make_stored_text(
    row: Sequence[Any], text: tuple[str, str, float], records: Sequence[Mapping[str, Any]]
) -> StoredText:
    """Return the text of an artifact from its row, as in `ledger.index_rows`.

    `text` is its body and digest, and when it was indexed.
    """
    _, artifact_id, name, pointer, packed, *_ = row
    return StoredText(artifact_id, name, pointer, *text[:2], unpack_bytes(packed), text[2], records)


def make_stored_record(row: Sequence[Any], label: Sequence[str], text: str) -> dict[str, Any]:
    """Return a record as in `ledger.artifacts.list_records`, from its row in `index_rows`."""
    _, kind, surface_index, _, metadata, *_ = row
    return {
        "record_id": label[0],
        "kind": kind,
        "granularity": label[1],
        "surface_index": surface_index,
        "text": text,
        "metadata": unpack_bytes(metadata),
    }


# The corpora that the client of this request may see, for engines that enforce it themselves.
_scope: ContextVar[frozenset[str] | None] = ContextVar("scope", default=None)


@contextlib.contextmanager
def limit_scope(corpora: Collection[str]) -> Iterator[None]:
    """Limit what backends return, for the block, to these corpora."""
    before = _scope.set(frozenset(corpora))
    try:
        yield
    finally:
        _scope.reset(before)


def get_scope() -> frozenset[str] | None:
    """Return the corpora that may be seen; None for all."""
    return _scope.get()


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One check: whether it passed, and what to do if not."""

    ok: bool
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class HostState:
    """The findings on one host; `writable` is whether it takes writes."""

    host: str
    lines: tuple[CheckLine, ...]
    writable: bool = False


@dataclass(frozen=True, slots=True)
class BackendState:
    """The findings on all hosts of a backend."""

    server: str
    hosts: tuple[HostState, ...]

    @property
    def ok(self) -> bool:
        """Return whether every check passed."""
        return all(line.ok for host in self.hosts for line in host.lines)


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """The size of a corpus: rows, and bytes on the server; `changed` in Unix seconds.

    `postings` is the server's estimate; it and the bytes are 0 if the server does not report them.
    `graph` is whether the vectors are in a graph.
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

    @classmethod
    def from_totals(
        cls, totals: Totals, changed: float, graph: bool, postings: int = 0, size: int = 0
    ) -> CorpusSize:
        """Build the size of a corpus from its totals."""
        rows = totals.n_artifacts, totals.n_records, totals.n_embedded
        return cls(totals.corpus, totals.generation, *rows, postings, size, graph, changed)


class BackendAdmin(Protocol):
    """The operator's interface to a backend. Every method raises Unavailable."""

    def check(self) -> BackendState:
        """Check every host: whether it answers, and can be searched and written."""
        ...

    def migrate(self) -> int:
        """Create what the server needs, or bring it to the present format; return the format."""
        ...

    def measure_corpora(self) -> tuple[CorpusSize, ...]:
        """Return the size of each corpus."""
        ...
