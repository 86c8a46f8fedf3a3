"""Functions from a query to hits, each bound to one corpus: one built here, or the daemon's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import signature
from typing import Any

from irclient.errors import QueryError, Unreachable
from irdaemon.library.built import names_built, open_corpus
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit, Query

# Takes a corpus, a query and keywords, and returns hits.
SearchCorpus = Callable[..., tuple[Hit, ...]]
# To list what a daemon has. One that does not answer within this has nothing to offer here.
_LISTING_S = 1.0


class BoundSearch:
    """Search one corpus: `retrieve(query, **overrides)` gives hits, best first.

    `corpus` is what it searches; `defaults` are keywords of the search, which a call may override.
    Raises QueryError for one that the search does not take.
    """

    def __init__(self, search: SearchCorpus, corpus: Any, defaults: Mapping[str, Any]):
        self._search = search
        self._known = tuple(signature(search).parameters)[2:]
        self.corpus = corpus
        self.defaults = self._checked(defaults)

    def __call__(self, query: str, **overrides: Any) -> tuple[Hit, ...]:
        """Return the hits of a query."""
        return self._search(self.corpus, query, **{**self.defaults, **self._checked(overrides)})

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        for name in given:
            if name not in self._known:
                raise QueryError(
                    f"search takes no {name!r}{did_you_mean(name, self._known)}",
                    f"it takes: {', '.join(self._known)}",
                )
        return dict(given)


class BoundSearches(Mapping[str, BoundSearch]):
    """A retriever by the name of each corpus: those built by this user, and those of the daemon.

    Names are looked up when they are asked for. A corpus is opened when its retriever is; of one
    name the corpus that was built here counts. Raises KeyError for another name.
    """

    def __init__(self, search: SearchCorpus, defaults: Mapping[str, Any]):
        self._search = search
        self._defaults = defaults

    def __getitem__(self, name: str) -> BoundSearch:
        if name in names_built():
            return BoundSearch(self._search, open_corpus(name), self._defaults)
        if name in _names_served():
            return BoundSearch(search_daemon, name, self._defaults)
        raise KeyError(f"no corpus {name!r} is built here or in the daemon")

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*names_built(), *_names_served()}))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def search_daemon(
    corpus: str,
    query: str,
    *,
    k: int = 10,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] = (),
    fusion: str = "standard",
    surface_weights: Mapping[str, float] | None = None,
    per_artifact: bool = True,
) -> tuple[Hit, ...]:
    """Return the `k` best artifacts of a corpus of the daemon; see `ir.search`."""
    asked = Query(
        query,
        corpora=(corpus,),
        k=k,
        mode=mode,
        where=filter or {},
        surfaces=kinds_of(surfaces),
        fusion=fusion,
        weights=surface_weights or {},
        passages=passages_of(per_artifact, k),
    )
    from irclient.client import Client  # what asks no daemon loads no ZeroMQ

    with Client() as client:
        return client.search(asked).results


def passages_of(per_artifact: bool, k: int) -> int:
    """Return how many passages of an artifact `k` hits may hold. Raises QueryError."""
    if not isinstance(per_artifact, bool):
        raise QueryError(f"per_artifact must be True or False, not {per_artifact!r:.60}")
    return 1 if per_artifact else k


def kinds_of(surfaces: Iterable[str] | None) -> tuple[str, ...]:
    """Return kinds of surfaces, none for all. Raises QueryError for what is no list of them."""
    if isinstance(surfaces, str) or not isinstance(surfaces, Iterable | None):
        raise QueryError(
            f"surfaces must be a list of texts, not {surfaces!r:.60}", 'surfaces=["description"]'
        )
    return tuple(surfaces or ())


def _names_served() -> list[str]:
    """Return the names of the daemon's corpora, none where there is no daemon."""
    from irclient.client import Client

    try:
        with Client(timeout=_LISTING_S) as client:
            return [corpus.name for corpus in client.status().corpora]
    except Unreachable:
        return []
