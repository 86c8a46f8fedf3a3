"""The stages of a bounded retrieval as functions, from what a caller gives for each.

A callable is called by the names of its arguments where it has those, else by position. A corpus
retrieves by its ranking, selects as `discover` does, and judges by its own evidence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from irclient.errors import NotFound, QueryError
from irdaemon.discovery.decide import Choice, select
from irdaemon.discovery.query import MAX_K
from irdaemon.library.built import Built, open_corpus
from irdaemon.types import Hit, Query, Selection, SelectSpec

Stage = Callable[..., object]

_RETRIEVE = ("query", "top_k")
_SELECT = ("chunks", "query", "selected_chunk_limit")
_EVALUATE = ("query", "chunks")
_REFORMULATE = ("query", "evaluation")


def retriever_of(given: Any) -> Stage:
    """Return (query, top_k) -> chunks of a corpus, a callable, or what has `search` or `retrieve`.

    Raises TypeError for anything else, as the other functions here do.
    """
    if (built := _corpus(given)) is not None:
        return lambda query, top_k: built.own(built.search(_ranked(query, top_k)).results)
    search = getattr(given, "search", None)
    if callable(search) and not isinstance(given, type):
        return _searching(search)
    retrieve = getattr(given, "retrieve", None)
    if callable(retrieve) and not isinstance(given, type):
        given = retrieve
    return _unwrapping(_named("retriever", given, _RETRIEVE))


def selector_of(given: Any) -> Stage:
    """Return (chunks, query, limit) -> chunks of a corpus or a callable."""
    if _corpus(given) is None:
        return _unwrapping(_named("selector", given, _SELECT))
    return lambda chunks, query, limit: select(_hits(chunks), SelectSpec(max_k=limit)).hits


def evaluator_of(given: Any) -> Stage:
    """Return (query, chunks) -> evaluation of a corpus or a callable."""
    if (built := _corpus(given)) is None:
        return _named("evaluator", given, _EVALUATE)
    return lambda query, chunks: built.engine.judged(query, _hits(chunks))


def reformulation_of(given: Any) -> Stage | None:
    """Return (query, evaluation) -> query of a callable; None where none is given."""
    return None if given is None else _named("reformulation", given, _REFORMULATE)


def _corpus(given: Any) -> Built | None:
    """Return the corpus that is given as a handle, or by the name it was built under here."""
    if isinstance(given, str):
        try:
            return open_corpus(given)
        except NotFound as error:
            raise TypeError(f"{given!r} is no stage: {error}") from error
    return given if isinstance(given, Built) else None


def _ranked(query: str, top_k: int) -> Query:
    return Query(query, k=min(top_k, MAX_K))


def _searching(search: Stage) -> Stage:
    """Return a `search` as a retriever: one of a text and a number, or of a Query."""
    signature = inspect.signature(search)
    if inspect.iscoroutinefunction(search):
        return _named("retriever's search", search, ())
    if _binds(signature, "", k=1):
        return _unwrapping(lambda query, top_k: search(query, k=top_k))
    if _binds(signature, "", 1) or _binds(signature, query="", top_k=1):
        return _unwrapping(_named("retriever's search", search, _RETRIEVE))
    if _binds(signature, ""):
        return _unwrapping(lambda query, top_k: search(_ranked(query, top_k)))
    raise TypeError(f"the retriever's search must take (query, top_k), not {signature}")


def _named(part: str, given: Any, names: Sequence[str]) -> Stage:
    """Return a callable as one that takes its arguments by position, in the order of `names`."""
    if not callable(given) or isinstance(given, type):
        also = " or an object with `search` or `retrieve`" if part == "retriever" else ""
        raise TypeError(f"the {part} must be a callable, a corpus{also}, not {given!r:.80}")
    if any(map(inspect.iscoroutinefunction, (given, given.__call__))):
        raise TypeError(
            f"the {part} is asynchronous, and the loop is not: give a function that awaits it, such"
            " as lambda *values: asyncio.run(stage(*values))"
        )
    try:
        signature = inspect.signature(given)
    except ValueError:  # a builtin tells nothing of its arguments
        return given  # type: ignore[no-any-return]
    if _binds(signature, **dict.fromkeys(names)):
        return lambda *values: given(**dict(zip(names, values, strict=True)))
    if _binds(signature, *names):
        return given  # type: ignore[no-any-return]
    raise TypeError(f"the {part} must take ({', '.join(names)}), not {signature}")


def _binds(signature: inspect.Signature, *values: object, **named: object) -> bool:
    try:
        signature.bind(*values, **named)
    except TypeError:
        return False
    return True


def _unwrapping(stage: Stage) -> Stage:
    """Return a stage that gives the hits of a Selection or a Choice in its place."""

    def unwrapped(*values: object) -> object:
        given = stage(*values)
        if isinstance(given, Selection):
            return given.results
        return given.hits if isinstance(given, Choice) else given

    return unwrapped


def _hits(chunks: Sequence[Any]) -> Sequence[Hit]:
    for chunk in chunks:
        if not isinstance(chunk, Hit):
            raise QueryError(
                f"a corpus selects and judges hits, not {chunk!r:.80}",
                "give a callable for that stage, or the corpus as the retriever too",
            )
    return chunks
