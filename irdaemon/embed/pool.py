"""The embedders in use: made once by name, found by the id that a corpus is pinned to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from irclient.errors import Unavailable
from irdaemon.embed import Embedder, QueryVector, embed_query, make_embedder
from irdaemon.embed.ordinary import CodingRequests
from irdaemon.runtime.profile import stage

# An embedder that is released when unused for a while, and made again at the next use.
#
# If its id and dimension are already known, it is not made before its first use.


class OnDemand(Embedder):
    """Stand in for the embedder that `make` returns; `release` releases it.

    `known` is its id and dimension, if vectors of it exist already: it is then made at its first
    use, which raises Unavailable if its id differs.
    """

    def __init__(
        self,
        make: Callable[[], Embedder],
        clock: Callable[[], float] = time.monotonic,
        known: tuple[str, int] | None = None,
    ):
        self._make = make
        self._clock = clock
        self._embedder: Embedder | None = None
        self._used = clock()
        if known is None:
            self._embedder = made = make()
            known, self.instant = (made.id, made.dim), getattr(made, "instant", False)
        self.id, self.dim = known

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, after making the embedder again if need be; see Embedder."""
        return self._load().embed(texts)

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a query's vector and the known share, as `embed` does; see Embedder."""
        return self._load().read(text)

    def release(self, after_s: float) -> bool:
        """Release the embedder if unused for so long; return whether it is released."""
        if self._embedder is not None and self._clock() - self._used >= after_s:
            self._embedder = None
        return self._embedder is None

    def release_pages(self) -> None:
        """Release the memory that the embedder can map again at once, if any."""
        if release := getattr(self._embedder, "release_pages", None):
            release()

    def _load(self) -> Embedder:
        self._used = self._clock()
        # Two threads may both make it: either result will do.
        embedder = self._embedder or self._make()
        if embedder.id != self.id:
            raise Unavailable(
                f"the vectors are of embedder {self.id!r}, which is {embedder.id!r} now",
                "build the corpus again",
            )
        self._embedder, self.instant = embedder, getattr(embedder, "instant", False)
        return embedder


# The stand-in for an embedder that cannot be made now: it embeds nothing, and keeps the error.

# The beginning of the id of a missing embedder.
ABSENT = "absent:"


class Absent(Embedder):
    """Refuse to embed, with the error that making the real embedder gave.

    The corpus is served lexically, and by another embedder's vectors if it has them; its status
    shows the error. It is never replaced by another model.
    """

    dim = 0

    def __init__(self, name: str, error: Unavailable):
        self.id = f"{ABSENT}{name}"
        self.error = error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise Unavailable."""
        raise Unavailable(self.error.message, self.error.hint)


_NONE: Mapping[str, Embedder] = MappingProxyType({})
# A query vector is a function of its text: repeated prompts need not be embedded again.
_VECTORS_REMEMBERED = 256


class Embedders:
    """Make, hold and call embedders; one that cannot be made is replaced by a stand-in.

    With `idle_s` above 0, a model unused for that many seconds is released until its next use;
    `release_all` releases all at once. `given` are existing embedders, by their names.
    """

    def __init__(self, idle_s: float = 0.0, given: Mapping[str, Embedder] = _NONE) -> None:
        self._idle_s = idle_s
        self._by_name: dict[str, Embedder] = dict(given)
        self._by_id: dict[str, Embedder] = {each.id: each for each in given.values()}
        self._vectors: dict[tuple[str, str], QueryVector] = {}

    def get_embedder(self, name: str) -> Embedder:
        """Return an embedder by its configured name; an Absent if it cannot be made now."""
        if name not in self._by_name:
            embedder: Embedder
            try:
                embedder = OnDemand(partial(make_embedder, name))
            except Unavailable as error:
                embedder = Absent(name, error)
            self._by_name[name] = self._by_id[embedder.id] = embedder
        return self._by_name[name]

    def find_made(self, embedder_id: str) -> Embedder | None:
        """Return the embedder with an id, if one was made by its name."""
        return self._by_id.get(embedder_id)

    def release_idle(self) -> None:
        """Release the models that were unused for `idle_s`, if that is above 0."""
        for embedder in self._list_loadable() if self._idle_s else ():
            embedder.release(self._idle_s)

    def release_all(self) -> None:
        """Release every model, and the vectors of queries."""
        self._vectors.clear()
        for embedder in self._list_loadable():
            embedder.release(0.0)

    def _list_loadable(self) -> list[OnDemand]:
        return [each for each in tuple(self._by_name.values()) if isinstance(each, OnDemand)]

    def release_pages(self) -> None:
        """Release the pages of mapped models; the next query maps them again."""
        for embedder in self._list_loadable():
            embedder.release_pages()

    def choose_embedder(self, name: str, served: tuple[str, str] | None) -> Embedder:
        """Return the embedder whose vectors answer: the old one until the new one has them all.

        `served` is the (name, id) that the vectors are from. If that embedder can no longer be
        made, its vectors cannot be compared with a query's.
        """
        target = self.get_embedder(name)
        if served is None or served[1] == target.id:
            return target
        old = self.get_embedder(served[0])
        return old if old.id == served[1] else target

    def retry_absent(self) -> None:
        """Forget the stand-ins: missing embedders may be available now."""
        absent = [n for n, each in self._by_name.items() if isinstance(each, Absent)]
        for name in absent:
            del self._by_name[name]

    def embed_query(self, text: str, embedder_id: str) -> QueryVector | None:
        """Return a query's vector, remembered or made; None without such an embedder."""
        # Another query may clear the memory at any moment: read it once.
        vector = self._vectors.get((text, embedder_id))
        if vector is None and (vector := self.embed_fresh(text, embedder_id)) is not None:
            if len(self._vectors) >= _VECTORS_REMEMBERED:
                self._vectors.clear()
            self._vectors[(text, embedder_id)] = vector
        return vector

    def embed_fresh(self, text: str, embedder_id: str) -> QueryVector | None:
        """Embed a query, bypassing the memory; None if an endpoint does not answer."""
        embedder = self._by_id.get(embedder_id)
        if embedder is None:
            return None
        try:
            with stage("embed"):
                query = embed_query(embedder, text)
        except Unavailable:
            return None
        if not getattr(embedder, "instant", False):
            return query
        return query._replace(coding=CodingRequests.embed_once(embedder).compare(query.vector))
