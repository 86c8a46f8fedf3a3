"""AgenticRetrieval: retrieve, select and evaluate in bounded rounds, with stages of your own.

The loop is that of `discover` with rounds (`irdaemon.discovery.rounds`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import Any

from irclient.errors import NotFound, QueryError
from irclient.types import Plain, Round
from irdaemon.discovery.decide import Choice, select
from irdaemon.discovery.query import MAX_K
from irdaemon.discovery.rounds import SUFFICIENT, LoopBounds, LoopStages, run_loop
from irdaemon.library.built import Built, open_corpus
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit, Query, Selection, SelectSpec

# The stages of a bounded retrieval as functions, from what a caller gives for each.
#
# A callable is called by the names of its arguments where it has those, else by position. A corpus
# retrieves by its ranking, selects as `discover` does, and judges by its own evidence.

Stage = Callable[..., object]

_RETRIEVE = ("query", "top_k")
_SELECT = ("chunks", "query", "selected_chunk_limit")
_EVALUATE = ("query", "chunks")


def make_retriever(given: Any) -> Stage:
    """Return (query, top_k) -> chunks of a corpus, a callable, or what has `search` or `retrieve`.

    Raises TypeError for anything else, as the other functions here do.
    """
    if (built := _find_corpus(given)) is not None:
        return lambda query, top_k: built.own(built.search(_make_query(query, top_k)).results)
    search = getattr(given, "search", None)
    if callable(search) and not isinstance(given, type):
        return _adapt_search(search)
    retrieve = getattr(given, "retrieve", None)
    if callable(retrieve) and not isinstance(given, type):
        given = retrieve
    return _unwrap_results(_bind_arguments("retriever", given, _RETRIEVE))


def make_selector(given: Any) -> Stage:
    """Return (chunks, query, limit) -> chunks of a corpus or a callable."""
    if _find_corpus(given) is None:
        return _unwrap_results(_bind_arguments("selector", given, _SELECT))
    return lambda chunks, query, limit: select(_check_hits(chunks), SelectSpec(max_k=limit)).hits


def make_evaluator(given: Any) -> Stage:
    """Return (query, chunks) -> evaluation of a corpus or a callable."""
    if (built := _find_corpus(given)) is None:
        return _bind_arguments("evaluator", given, _EVALUATE)
    return lambda query, chunks: built.engine.judge_hits(query, _check_hits(chunks))


def _find_corpus(given: Any) -> Built | None:
    """Return the corpus that is given as a handle, or by the name it was built under here."""
    if isinstance(given, str):
        try:
            return open_corpus(given)
        except NotFound as error:
            raise TypeError(f"{given!r} is not a stage: {error}") from error
    return given if isinstance(given, Built) else None


def _make_query(query: str, top_k: int) -> Query:
    return Query(query, k=min(top_k, MAX_K))


def _adapt_search(search: Stage) -> Stage:
    """Return a `search` as a retriever: one of a text and a number, or of a Query."""
    signature = inspect.signature(search)
    if inspect.iscoroutinefunction(search):
        return _bind_arguments("retriever's search", search, ())
    if _does_bind(signature, "", k=1):
        return _unwrap_results(lambda query, top_k: search(query, k=top_k))
    if _does_bind(signature, "", 1) or _does_bind(signature, query="", top_k=1):
        return _unwrap_results(_bind_arguments("retriever's search", search, _RETRIEVE))
    if _does_bind(signature, ""):
        return _unwrap_results(lambda query, top_k: search(_make_query(query, top_k)))
    raise TypeError(f"the retriever's search must take (query, top_k), not {signature}")


def _bind_arguments(part: str, given: Any, names: Sequence[str]) -> Stage:
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
    if _does_bind(signature, **dict.fromkeys(names)):
        return lambda *values: given(**dict(zip(names, values, strict=True)))
    if _does_bind(signature, *names):
        return given  # type: ignore[no-any-return]
    raise TypeError(f"the {part} must take ({', '.join(names)}), not {signature}")


def _does_bind(signature: inspect.Signature, *values: object, **named: object) -> bool:
    try:
        signature.bind(*values, **named)
    except TypeError:
        return False
    return True


def _unwrap_results(stage: Stage) -> Stage:
    """Return a stage that gives the hits of a Selection or a Choice in its place."""

    def unwrapped(*values: object) -> object:
        given = stage(*values)
        if isinstance(given, Selection):
            return given.results
        return given.hits if isinstance(given, Choice) else given

    return unwrapped


def _check_hits(chunks: Sequence[Any]) -> Sequence[Hit]:
    for chunk in chunks:
        if not isinstance(chunk, Hit):
            raise QueryError(
                f"a corpus selects and judges hits, not {chunk!r:.80}",
                "give a callable for that stage, or the corpus as the retriever too",
            )
    return chunks


class OnInsufficientPolicy(StrEnum):
    """The result where no round was sufficient: the best one's chunks, or none."""

    BEST_EFFORT = "best_effort"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class RetrievalResult(Plain):
    """The results of a bounded retrieval.

    `round_idx` is the number (from 0) of the round that is kept; `top_k`, `candidate_chunks`,
    `selected_chunks` and `evaluation` are that round's, `evaluation` None where its evaluator
    failed. `candidate_chunks` holds all that was retrieved up to it, each once. `reason` says why
    the loop ended: `sufficient`, `max_rounds`, `exhausted` (fewer candidates than were asked for),
    `unchanged` (as wide as before, and nothing new) or `failed`.
    """

    query: str
    initial_top_k: int
    top_k: int
    round_idx: int
    candidate_chunks: tuple[Any, ...]
    selected_chunks: tuple[Any, ...]
    evaluation: Mapping[str, Any] | None
    rounds: tuple[Round, ...]
    reason: str

    @property
    def sufficient(self) -> bool:
        """Return whether the evaluator accepted what is returned."""
        return self.reason == SUFFICIENT

    def __getitem__(self, name: str) -> Any:
        """Return a field by its name. Raises KeyError for another."""
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True, slots=True)
class AgenticRetrieval:
    """Retrieve until an evaluator is satisfied, in at most `max_rounds`, each wider by `top_k`.

    The stages are `retriever(query, top_k)` and `selector(chunks, query, selected_chunk_limit)`,
    which return chunks, and `evaluator(query, chunks)`, which returns a bool or a mapping with
    `is_sufficient`; an `evidence` in it, a number, is what rounds are compared by, else the sum of
    the chunks' scores. In place of each a corpus may be given, for the retriever any object with
    `search` or `retrieve`. `reformulate(query, evaluation)` returns what the next round retrieves
    with. An object keeps nothing of a run: several may be under way at once.

    Raises QueryError (a ValueError) naming a wrong number or policy, TypeError for a wrong stage.
    """

    retriever: Any
    selector: Any
    evaluator: Any
    max_rounds: int = 2
    top_k: int = 10
    max_top_k: int | None = None
    selected_chunk_limit: int = 5
    on_insufficient: OnInsufficientPolicy | str = OnInsufficientPolicy.BEST_EFFORT
    reformulate: Callable[[str, Mapping[str, Any]], str] | None = None
    _stages: LoopStages = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("max_rounds", "top_k", "selected_chunk_limit"):
            _check_whole(name, getattr(self, name))
        if self.max_top_k is not None:
            _check_whole("max_top_k", self.max_top_k)
            if self.max_top_k < self.top_k:
                raise QueryError(f"max_top_k ({self.max_top_k}) is below top_k ({self.top_k})")
        object.__setattr__(self, "on_insufficient", _check_policy(self.on_insufficient))
        stages = LoopStages(
            make_retriever(self.retriever),
            make_selector(self.selector),
            make_evaluator(self.evaluator),
            None
            if self.reformulate is None
            else _bind_arguments("reformulation", self.reformulate, ("query", "evaluation")),
        )
        object.__setattr__(self, "_stages", stages)

    def build(self) -> Callable[[str], RetrievalResult]:
        """Return the loop as a function of a query."""
        return self.run

    def __call__(self, query: str) -> RetrievalResult:
        """Do as `run` does."""
        return self.run(query)

    def run(self, query: str) -> RetrievalResult:
        """Run rounds until one is sufficient or none can find more.

        Returns a sufficient round, else the one with most evidence (of equals the earliest), under
        the policy `empty` without its selected chunks. A stage that raises ends the loop, and its
        error is in its round's record; it is raised only where nothing was found before it.
        """
        if not isinstance(query, str) or not query.strip():
            raise QueryError(f"a query is a text with words, not {query!r:.60}")
        bounds = LoopBounds(self.max_rounds, self.top_k, self.max_top_k, self.selected_chunk_limit)
        outcome = run_loop(self._stages, bounds, query)
        kept = outcome.rounds[outcome.kept]
        none = self.on_insufficient == OnInsufficientPolicy.EMPTY and not kept.sufficient
        return RetrievalResult(
            query=query,
            initial_top_k=self.top_k,
            top_k=kept.top_k,
            round_idx=outcome.kept,
            candidate_chunks=kept.candidates,
            selected_chunks=() if none else kept.selected,
            evaluation=kept.evaluation,
            rounds=outcome.records(),
            reason=outcome.reason,
        )


AgenticRetrievalPipeline = AgenticRetrieval


def _check_whole(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise QueryError(f"{name} must be a whole number of at least 1, not {value!r}")


def _check_policy(given: Any) -> OnInsufficientPolicy:
    known = [str(each) for each in OnInsufficientPolicy]
    if given not in known:
        raise QueryError(
            f"unknown on_insufficient {given!r}{did_you_mean(str(given), known)}",
            f"use one of: {', '.join(known)}",
        )
    return OnInsufficientPolicy(given)
