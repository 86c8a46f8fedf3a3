"""A Qdrant server, or the client's local mode: collections, requests and their errors.

There is a collection of the states of corpora, one of what stands beside records (texts, words,
counts, values of fields), and one of the records of each dimension of vectors. But for the first
each corpus has a shard key of its own, so a query asks the shards of its corpus alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from irclient.errors import Unavailable
from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.qdrant.points import AT_ONCE, DENSE, SPARSE
from irdaemon.runtime.deadline import check_clock, time_left

T = TypeVar("T")

STATES, BESIDE = "irdaemon_states", "irdaemon_beside"
_CONNECT_S = 10
_LOCAL = ("", ":memory:")
_INTEGERS = ("attempt", "number", "called", "codes", "term", "length")
_KEYWORDS = ("corpus", "id", "kind", "digest", "fields", "what", "word", "initial", "field")


@dataclass(frozen=True, slots=True)
class Placing:
    """How collections are placed: whether at all (`sharded`), and over how many nodes.

    A write is done when `write_consistency_factor` of a shard's `replication_factor` copies have
    it; each corpus has `shards` shards.
    """

    sharded: bool = True
    replication_factor: int = 1
    write_consistency_factor: int = 1
    shards: int = 1


@dataclass(slots=True)
class QdrantServer:
    """A client with what it is told of placing and consistency at each request."""

    client: Any
    name: str
    placing: Placing = field(default_factory=Placing)
    _made: set[tuple[str, str]] = field(default_factory=set)

    def states(self) -> None:
        """Make the collection of states, where it is not there."""
        self._make(STATES, {}, {}, None)

    def room_for(self, corpus: str, dim: int) -> str:
        """Make what a corpus needs, where it is not there; return its collection of records."""
        self._room(BESIDE, corpus, {}, {})
        dense = {DENSE: models.VectorParams(size=dim, distance=models.Distance.DOT)} if dim else {}
        self._room(records(dim), corpus, dense, {SPARSE: models.SparseVectorParams()})
        return records(dim)

    def _room(self, collection: str, corpus: str, dense: Any, sparse: Any) -> None:
        if (collection, corpus) in self._made:
            return
        sharding = models.ShardingMethod.CUSTOM if self.placing.sharded else None
        self._make(collection, dense, sparse, sharding)
        if self.placing.sharded and corpus not in self._shard_keys(collection):
            self.ask(
                lambda client: client.create_shard_key(
                    collection_name=collection,
                    shard_key=corpus,
                    shards_number=self.placing.shards,
                    replication_factor=self.placing.replication_factor,
                )
            )
        self._made.add((collection, corpus))

    def _shard_keys(self, collection: str) -> set[Any]:
        found = self.ask(lambda client: client.list_shard_keys(collection_name=collection))
        return {each.key for each in found.shard_keys or ()}

    def _make(self, collection: str, dense: Any, sparse: Any, sharding: Any) -> None:
        if self.ask(lambda client: client.collection_exists(collection_name=collection)):
            return
        self.ask(
            lambda client: client.create_collection(
                collection_name=collection,
                vectors_config=dense,
                sparse_vectors_config=sparse or None,
                sharding_method=sharding,
                shard_number=self.placing.shards if sharding else 1,
                replication_factor=self.placing.replication_factor,
                write_consistency_factor=self.placing.write_consistency_factor,
                on_disk_payload=True,
            )
        )
        if sharding:  # the local mode has no indexes of payloads
            self._index(collection)

    def _index(self, collection: str) -> None:
        kinds = {
            **dict.fromkeys(_INTEGERS, models.PayloadSchemaType.INTEGER),
            **dict.fromkeys(_KEYWORDS, models.PayloadSchemaType.KEYWORD),
            "embedded": models.PayloadSchemaType.BOOL,
        }
        for name, kind in kinds.items():
            self._index_by(collection, name, kind)

    def _index_by(self, collection: str, name: str, kind: Any) -> None:
        self.ask(
            lambda client: client.create_payload_index(
                collection_name=collection, field_name=name, field_schema=kind
            )
        )

    # -- writing ---------------------------------------------------------------------------------

    def put(self, collection: str, corpus: str, points: Sequence[Any]) -> None:
        """Write points, and return when they can be found."""
        if points:
            self.ask(
                lambda client: client.upsert(
                    collection_name=collection,
                    points=points,
                    **self.writing(corpus),
                )
            )

    def delete(self, collection: str, corpus: str, which: Any) -> None:
        """Delete the points that meet a filter."""
        self.ask(
            lambda client: client.delete(
                collection_name=collection,
                points_selector=models.FilterSelector(filter=which),
                **self.writing(corpus),
            )
        )

    def writing(self, corpus: str) -> dict[str, Any]:
        """Return what every request that writes of a corpus says: it ends when all is found."""
        return {"wait": True, **self._key(corpus)}

    # -- reading ---------------------------------------------------------------------------------

    def each(self, collection: str, corpus: str, which: Any, wanted: Any = True) -> Iterator[Any]:
        """Yield the points that meet a filter, in no order; `wanted` names keys of payloads."""
        offset = None
        while True:
            points, offset = self._page(collection, corpus, which, (wanted, offset))
            yield from points
            if offset is None:
                return

    def _page(self, collection: str, corpus: str, which: Any, how: tuple[Any, Any]) -> Any:
        wanted, offset = how
        return self.ask(
            lambda client: client.scroll(
                collection_name=collection,
                scroll_filter=which,
                limit=2 * AT_ONCE,
                offset=offset,
                with_payload=wanted,
                **self.reading(corpus),
            )
        )

    def reading(self, corpus: str) -> dict[str, Any]:
        """Return what every request that reads a corpus says: shard key, consistency, deadline."""
        return {
            **self._key(corpus),
            **({"consistency": self._consistency()} if self.placing.sharded else {}),
            **self._timeout(),
        }

    def state_reading(self) -> dict[str, Any]:
        """Return what every request that reads states says."""
        if not self.placing.sharded:
            return {}
        return {"consistency": models.ReadConsistencyType.MAJORITY, **self._timeout()}

    def _consistency(self) -> Any:
        every = self.placing.write_consistency_factor >= self.placing.replication_factor
        return 1 if every else models.ReadConsistencyType.MAJORITY

    def _timeout(self) -> dict[str, Any]:
        left = time_left()
        return {"timeout": max(1, math.ceil(left))} if left < math.inf else {}

    def _key(self, corpus: str) -> dict[str, Any]:
        return {"shard_key_selector": corpus} if self.placing.sharded else {}

    def ask(self, request: Callable[[Any], T]) -> T:
        """Return what the client gives. Raises Unavailable, naming the server."""
        check_clock()
        try:
            return request(self.client)
        except UnexpectedResponse as error:
            raise self._refused(error) from error
        except (ResponseHandlingException, OSError) as error:
            raise Unavailable(
                f"{self.name} does not answer: {error}", "is the server running?"
            ) from error

    def _refused(self, error: Any) -> Unavailable:
        if error.status_code in (401, 403):
            hint = "set the variable that [index] backend_password_env names"
            return Unavailable(f"{self.name} does not accept the API key", hint)
        reason = f"{error.status_code} {error.reason_phrase}"
        return Unavailable(f"{self.name} refused a request: {reason}: {error.content[:200]!r}")


def records(dim: int) -> str:
    """Return the collection of records with vectors of a dimension."""
    return f"irdaemon_records_{dim}"


def connected(url: str, password: str = "") -> QdrantServer:
    """Return the server that a URL names; nothing is asked of it. Raises ConfigError.

    `qdrant://host:port`, with `replication_factor`, `write_consistency_factor`, `shards` and `tls`
    as parameters; `qdrant:///directory` and `qdrant://:memory:` are the client's local mode.
    """
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    name = f"qdrant://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if parts.netloc in _LOCAL:
        place = {"path": parts.path} if parts.path.strip("/") else {"location": ":memory:"}
        return QdrantServer(QdrantClient(**place), name, Placing(sharded=False))
    tls = given.pop("tls", "0") == "1"
    address = f"{'https' if tls else 'http'}://{parts.netloc.rpartition('@')[2]}"
    return QdrantServer(_client(address, password), name, _placing(name, given))


def _client(place: str, key: str) -> QdrantClient:
    with warnings.catch_warnings():  # of a key that is sent in clear: the URL says so
        warnings.simplefilter("ignore", UserWarning)
        return QdrantClient(
            url=place, api_key=key or None, timeout=_CONNECT_S, check_compatibility=False
        )


def _placing(name: str, given: dict[str, str]) -> Placing:
    known = ("replication_factor", "write_consistency_factor", "shards")
    wrong = [key for key, value in given.items() if key not in known or not _counts(value)]
    if wrong:
        raise ConfigError(
            f"{name}: {wrong[0]} is not a parameter with a number from 1",
            f"parameters: {', '.join(known)}, tls=1",
        )
    copies, enough, shards = (int(given.get(key, "1")) for key in known)
    placing = Placing(True, copies, enough, shards)
    if placing.write_consistency_factor > placing.replication_factor:
        raise ConfigError(
            f"{name}: write_consistency_factor is above replication_factor",
            "a write cannot wait for more copies than there are",
        )
    return placing


def _counts(value: str) -> bool:
    return value.isdecimal() and int(value) > 0
