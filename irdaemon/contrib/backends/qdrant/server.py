"""A Qdrant server, or the client's local mode: collections, requests and their errors.

There is one collection of the states of corpora, one of texts, words, counts and values of fields,
and one of records for each dimension of vectors. Except in the first, each corpus has its own shard
key, so a query reaches only the shards of its corpus.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from irclient.errors import Unavailable
from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.qdrant.points import AT_ONCE, DENSE, SPARSE
from irdaemon.contrib.backends.state import split_batches
from irdaemon.runtime.deadline import check_clock, time_left

STATES, BESIDE = "irdaemon_states", "irdaemon_beside"
_CONNECT_S = 10
_LOCAL = ("", ":memory:")
_INTEGERS = ("attempt", "number", "called", "codes", "term", "length")
_KEYWORDS = ("corpus", "id", "kind", "digest", "fields", "what", "word", "initial", "field")
_INDEXED = {
    **dict.fromkeys(_INTEGERS, models.PayloadSchemaType.INTEGER),
    **dict.fromkeys(_KEYWORDS, models.PayloadSchemaType.KEYWORD),
    "embedded": models.PayloadSchemaType.BOOL,
}


@dataclass(frozen=True, slots=True)
class Placing:
    """The placement of collections: whether they are `sharded`, and over how many nodes.

    A write is done when `write_consistency_factor` of a shard's `replication_factor` copies have
    it; each corpus has `shards` shards.
    """

    sharded: bool = True
    replication_factor: int = 1
    write_consistency_factor: int = 1
    shards: int = 1


class GuardedClient:
    """A client whose requests raise Unavailable, naming the server."""

    def __init__(self, client: Any, name: str):
        self._client, self._name = client, name

    def __getattr__(self, request: str) -> Any:
        return partial(self._request, getattr(self._client, request))

    def _request(self, request: Any, **arguments: Any) -> Any:
        check_clock()
        try:
            return request(**arguments)
        except UnexpectedResponse as error:
            if error.status_code in (401, 403):
                hint = "set the variable that [index] backend_password_env names"
                raise Unavailable(f"{self._name} does not accept the API key", hint) from error
            reason = f"{error.status_code} {error.reason_phrase}: {error.content[:200]!r}"
            raise Unavailable(f"{self._name} refused a request: {reason}") from error
        except (ResponseHandlingException, OSError) as error:
            message = f"{self._name} does not answer: {error}"
            raise Unavailable(message, "is the server running?") from error


class QdrantServer:
    """A client, and the placement and consistency that each request needs."""

    def __init__(self, client: Any, name: str, placing: Placing | None = None):
        self.client: Any = GuardedClient(client, name)
        self.name = name
        self.placing = placing or Placing()
        self._made: set[tuple[str, str]] = set()

    def make_states(self) -> None:
        """Create the collection of states if it is missing."""
        self._make(STATES, {}, {}, None)

    def make_room(self, corpus: str, dim: int) -> None:
        """Create the collections and shards that a corpus needs if they are missing."""
        dense = {DENSE: models.VectorParams(size=dim, distance=models.Distance.DOT)} if dim else {}
        self._make_shards(BESIDE, corpus, {}, {})
        self._make_shards(name_records(dim), corpus, dense, {SPARSE: models.SparseVectorParams()})

    def _make_shards(self, collection: str, corpus: str, dense: Any, sparse: Any) -> None:
        if (collection, corpus) in self._made:
            return
        sharding = models.ShardingMethod.CUSTOM if self.placing.sharded else None
        self._make(collection, dense, sparse, sharding)
        if sharding:
            found = self.client.list_shard_keys(collection_name=collection)
            if corpus not in {each.key for each in found.shard_keys or ()}:
                self.client.create_shard_key(
                    collection_name=collection,
                    shard_key=corpus,
                    shards_number=self.placing.shards,
                    replication_factor=self.placing.replication_factor,
                )
        self._made.add((collection, corpus))

    def _make(self, collection: str, dense: Any, sparse: Any, sharding: Any) -> None:
        if self.client.collection_exists(collection_name=collection):
            return
        self.client.create_collection(
            collection_name=collection,
            vectors_config=dense,
            sparse_vectors_config=sparse or None,
            sharding_method=sharding,
            shard_number=self.placing.shards if sharding else 1,
            replication_factor=self.placing.replication_factor,
            write_consistency_factor=self.placing.write_consistency_factor,
            on_disk_payload=True,
        )
        for name, kind in _INDEXED.items() if sharding else ():  # the local mode has no indexes
            self.client.create_payload_index(
                collection_name=collection, field_name=name, field_schema=kind
            )

    # -- writing ---------------------------------------------------------------------------------

    def put(self, collection: str, corpus: str, points: Iterable[Any]) -> None:
        """Write points, and return when they can be searched."""
        for batch in split_batches(points, AT_ONCE):
            self.client.upsert(
                collection_name=collection, points=batch, **self.list_write_options(corpus)
            )

    def delete(self, collection: str, corpus: str, which: Any) -> None:
        """Delete the points that match a filter."""
        selector = models.FilterSelector(filter=which)
        self.client.delete(
            collection_name=collection, points_selector=selector, **self.list_write_options(corpus)
        )

    def list_write_options(self, corpus: str) -> dict[str, Any]:
        """Return the options of a request that writes to a corpus and waits for the result."""
        return {"wait": True, **self._list_key(corpus)}

    # -- reading ---------------------------------------------------------------------------------

    def scroll(self, collection: str, corpus: str, which: Any, wanted: Any = True) -> Iterator[Any]:
        """Yield the points that match a filter, unordered; `wanted` names keys of payloads."""
        offset = None
        while True:
            points, offset = self.client.scroll(
                collection_name=collection,
                scroll_filter=which,
                limit=2 * AT_ONCE,
                offset=offset,
                with_payload=wanted,
                **self.list_read_options(corpus),
            )
            yield from points
            if offset is None:
                return

    def list_read_options(self, corpus: str) -> dict[str, Any]:
        """Return the options of a request that reads a corpus: key, consistency, timeout."""
        if not self.placing.sharded:
            return self._list_timeout()
        all_written = self.placing.write_consistency_factor >= self.placing.replication_factor
        consistency = 1 if all_written else models.ReadConsistencyType.MAJORITY
        return {**self._list_key(corpus), "consistency": consistency, **self._list_timeout()}

    def list_state_options(self) -> dict[str, Any]:
        """Return the options of a request that reads states."""
        if not self.placing.sharded:
            return {}
        return {"consistency": models.ReadConsistencyType.MAJORITY, **self._list_timeout()}

    def _list_timeout(self) -> dict[str, Any]:
        left = time_left()
        return {"timeout": max(1, math.ceil(left))} if left < math.inf else {}

    def _list_key(self, corpus: str) -> dict[str, Any]:
        return {"shard_key_selector": corpus} if self.placing.sharded else {}


def name_records(dim: int) -> str:
    """Return the collection of the records with vectors of a dimension."""
    return f"irdaemon_records_{dim}"


def open_server(url: str, password: str = "") -> QdrantServer:
    """Return the server that a URL names, without connecting yet. Raises ConfigError.

    `qdrant://host:port`, with `replication_factor`, `write_consistency_factor`, `shards` and `tls`
    as parameters; `qdrant:///directory` and `qdrant://:memory:` are the client's local mode.
    """
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    host = parts.netloc.rpartition("@")[2]
    name = f"qdrant://{host}{parts.path}"
    if parts.netloc in _LOCAL:
        place = {"path": parts.path} if parts.path.strip("/") else {"location": ":memory:"}
        return QdrantServer(QdrantClient(**place), name, Placing(sharded=False))
    address = f"{'https' if given.pop('tls', '0') == '1' else 'http'}://{host}"
    placing = _read_placing(name, given)
    with warnings.catch_warnings():  # its warning about an unencrypted key: the URL shows that
        warnings.simplefilter("ignore", UserWarning)
        client = QdrantClient(
            url=address, api_key=password or None, timeout=_CONNECT_S, check_compatibility=False
        )
    return QdrantServer(client, name, placing)


def _read_placing(name: str, given: dict[str, str]) -> Placing:
    known = ("replication_factor", "write_consistency_factor", "shards")
    for key, value in given.items():
        if key not in known or not value.isdecimal() or not int(value):
            raise ConfigError(
                f"{name}: {key} is not a parameter with a number from 1",
                f"parameters: {', '.join(known)}, tls=1",
            )
    placing = Placing(True, *(int(given.get(key, "1")) for key in known))
    if placing.write_consistency_factor > placing.replication_factor:
        raise ConfigError(
            f"{name}: write_consistency_factor is above replication_factor",
            "a write cannot wait for more copies than there are",
        )
    return placing
