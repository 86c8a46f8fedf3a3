"""Qdrant's client in local mode, with what a server would be asked written down."""

import msgpack
import numpy as np
from qdrant_client import QdrantClient, models

from irdaemon.contrib.backends.qdrant import QdrantBackend
from irdaemon.contrib.backends.qdrant.server import Placing, QdrantServer
from irdaemon.index.backend import IndexDelta, SentArtifact, SentRecord, Totals

# What the local mode does not know, or takes no notice of.
_PLACING = ("shard_key_selector", "consistency", "ordering", "timeout", "sharding_method")


class RecordingClient:
    """Write down each request, and have the local mode do as much of it as it can."""

    def __init__(self):
        self.asked, self.keys = [], set()
        self.local = QdrantClient(location=":memory:")
        self.failing = None

    def __getattr__(self, name):
        def ask(**arguments):
            self.asked.append((name, arguments))
            if self.failing and self.failing(name, arguments):
                raise OSError("the connection was lost")
            own = getattr(type(self), f"_{name}", None)
            return own(self, **arguments) if own else self._done(name, arguments)

        return ask

    def _done(self, name, arguments):
        kept = {key: value for key, value in arguments.items() if key not in _PLACING}
        return getattr(self.local, name)(**kept)

    def _create_shard_key(self, collection_name, shard_key, **placing):
        self.keys.add((collection_name, shard_key))

    def _list_shard_keys(self, collection_name):
        keys = [
            models.ShardKeyDescription(key=key) for of, key in self.keys if of == collection_name
        ]
        return models.ShardKeysResponse(shard_keys=keys)

    def _create_payload_index(self, **arguments):
        pass

    def _query_batch_points(self, collection_name, requests, **reading):
        plain = [each.model_copy(update={"params": None, "shard_key": None}) for each in requests]
        return self.local.query_batch_points(collection_name=collection_name, requests=plain)

    def of(self, name):
        """Return the arguments of each request of a name."""
        return [arguments for asked, arguments in self.asked if asked == name]


PLACED = Placing()


def recorded(placing=PLACED, clock=None):
    """Return a backend on a client that writes down what it is asked, and that client."""
    client = RecordingClient()
    server = QdrantServer(client, "qdrant://there:6333", placing)
    return (QdrantBackend(server, clock) if clock else QdrantBackend(server)), client


def totals(generation, count, corpus="notes", ledger="own"):
    """Return the totals of so many artifacts with a record each."""
    return Totals(
        corpus=corpus,
        kind="files",
        ledger=ledger,
        holder="me@here",
        generation=generation,
        embedder="e",
        dim=2,
        recipe="r",
        n_artifacts=count,
        n_records=count,
        n_embedded=count,
        mean_length=2.0,
    )


def sent(number, term=0, vector=True):
    """Return an artifact with one record that holds a term, on their way."""
    fields, digest = msgpack.packb({"number": number}), bytes([number]) * 32
    name = (number, f"id-{number}", f"name {number}", "", fields, "c", b"")
    counts = np.array([term], np.int32).tobytes(), np.array([2.0], np.float32).tobytes()
    row = (number, "document", 0, "text", b"\x80", digest, *counts)
    own = np.array([1, 0], np.float32).tobytes() if vector else None
    return SentArtifact(name, f"body {number}", "d", 1.0), SentRecord(row, own, "text", ("r", "g"))


def delta(fence, generation, base, numbers=(), **rest):
    """Return a delta that brings artifacts; `count` is how many there are after it."""
    came = [sent(number, **rest.pop("with_", {})) for number in numbers]
    return IndexDelta(
        totals=totals(generation, rest.pop("count", len(numbers))),
        base=base,
        fence=fence,
        artifacts=[artifact for artifact, _ in came],
        records=[record for _, record in came],
        words={"word": 0},
        df={0: rest.pop("df", len(numbers))},
        **rest,
    )
