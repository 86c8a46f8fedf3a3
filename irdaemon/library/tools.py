"""Offer discover as an agent's tool: a function from a query to plain data, ready for JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from irdaemon.library.functions import Corpora, discover
from irdaemon.library.reranking import ScoreTexts, TextOfHit
from irdaemon.types import Selection

_NO_NAME = re.compile(r"\W+")


def search(
    query: str,
    *,
    corpus: Corpora,
    k: int = 8,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    rerank: ScoreTexts | str | None = None,
    rerank_text: str | TextOfHit = "surface",
) -> dict[str, Any]:
    """Return the answer of `ir.discover` as plain data: few hits, or none and a reason."""
    found = discover(
        corpus, query, k=k, mode=mode, filter=filter, rerank=rerank, rerank_text=rerank_text
    )
    return Selection.to_dict(found)  # without keys that repeat its items, since a model reads it


search_tool = search


def make_search(
    corpus: Corpora,
    *,
    name: str | None = None,
    description: str | None = None,
    k: int = 8,
    mode: str = "hybrid",
    rerank: ScoreTexts | str | None = None,
    rerank_text: str | TextOfHit = "surface",
) -> Callable[..., dict[str, Any]]:
    """Return a tool (query, k=...) -> plain data that searches only this corpus.

    Its name is `search_NAME`, by default with the corpus' name, and `description` is its docstring.
    """
    label = name or _label(corpus)
    own_k = k

    def bound(query: str, k: int = own_k) -> dict[str, Any]:
        return search(query, corpus=corpus, k=k, mode=mode, rerank=rerank, rerank_text=rerank_text)

    bound.__name__ = bound.__qualname__ = (
        f"search_{_NO_NAME.sub('_', label).strip('_') or 'corpus'}"
    )
    bound.__doc__ = description or f"Search {label!r} for the few items that apply, or none."
    return bound


def _label(corpus: Corpora) -> str:
    if isinstance(corpus, str):
        return corpus
    if isinstance(corpus, (list, tuple)):
        return "_".join(map(_label, corpus))
    return str(getattr(corpus, "name", "corpus"))
