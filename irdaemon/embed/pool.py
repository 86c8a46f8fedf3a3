"""The embedders in use: made once by name, found again by the id that a corpus is pinned to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from irclient.errors import Unavailable
from irdaemon.embed import Embedder, QueryVector, make_embedder, query_vector
from irdaemon.embed.absent import Absent
from irdaemon.embed.on_demand import OnDemand
from irdaemon.runtime.profile import stage

_NONE: Mapping[str, Embedder] = MappingProxyType({})
# A query vector is a function of its text: repeated prompts need not be embedded again.
_VECTORS_REMEMBERED = 256


class Embedders:
    """Make, hold and call embedders; one that cannot be made is held by a stand-in.

    With `idle_s` above 0, a model unused for so many seconds is released until it is needed again;
    `release_all` releases all at once. `given` are held as they are, by their names.
    """

    def __init__(self, idle_s: float = 0.0, given: Mapping[str, Embedder] = _NONE) -> None:
        self._idle_s = idle_s
        self._by_name: dict[str, Embedder] = dict(given)
        self._by_id: dict[str, Embedder] = {each.id: each for each in given.values()}
        self._vectors: dict[tuple[str, str], QueryVector] = {}

    def named(self, name: str) -> Embedder:
        """Return an embedder by its configured name; an Absent where it cannot be made now."""
        if name not in self._by_name:
            try:
                embedder = self._made(name)
            except Unavailable as error:
                embedder = Absent(name, error)
            self._by_name[name] = self._by_id[embedder.id] = embedder
        return self._by_name[name]

    def by_id(self, embedder_id: str) -> Embedder | None:
        """Return the embedder of an id, where one was made by its name."""
        return self._by_id.get(embedder_id)

    def _made(self, name: str) -> Embedder:
        return OnDemand(partial(make_embedder, name))

    def release_idle(self) -> None:
        """Release the models that were unused for `idle_s`, where that is above 0."""
        if self._idle_s:
            self._release(self._idle_s)

    def release_all(self) -> None:
        """Release every model, and the vectors of queries."""
        self._vectors.clear()
        self._release(0.0)

    def _release(self, after_s: float) -> None:
        for embedder in tuple(self._by_name.values()):
            if isinstance(embedder, OnDemand):
                embedder.release(after_s)

    def release_pages(self) -> None:
        """Give back the pages of models that are mapped; the next query has them again."""
        for embedder in tuple(self._by_name.values()):
            if isinstance(embedder, OnDemand):
                embedder.release_pages()

    def serving(self, name: str, served: tuple[str, str] | None) -> Embedder:
        """Return the embedder whose vectors answer: the old one until the new one's are all there.

        `served` is the (name, id) that the vectors are from. Where that one cannot be made any more
        its vectors cannot be compared with a query's.
        """
        target = self.named(name)
        if served is None or served[1] == target.id:
            return target
        old = self.named(served[0])
        return old if old.id == served[1] else target

    def try_absent_again(self) -> None:
        """Forget the stand-ins: what was missing may have come."""
        absent = [n for n, each in self._by_name.items() if isinstance(each, Absent)]
        for name in absent:
            del self._by_name[name]

    def vector(self, text: str, embedder_id: str) -> QueryVector | None:
        """Return a query's vector, remembered or made; None where there is no such embedder."""
        # Another query may clear the memory at any moment: read it once.
        vector = self._vectors.get((text, embedder_id))
        if vector is None:
            vector = self.fresh_vector(text, embedder_id)
            if vector is not None:
                self._remember((text, embedder_id), vector)
        return vector

    def fresh_vector(self, text: str, embedder_id: str) -> QueryVector | None:
        """Embed a query, past the memory; None where an endpoint does not answer."""
        embedder = self._by_id.get(embedder_id)
        if embedder is None:
            return None
        try:
            with stage("embed"):
                return query_vector(embedder, text)
        except Unavailable:
            return None

    def _remember(self, key: tuple[str, str], vector: QueryVector) -> None:
        if len(self._vectors) >= _VECTORS_REMEMBERED:
            self._vectors.clear()
        self._vectors[key] = vector
