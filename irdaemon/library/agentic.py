"""AgenticRetrieval: retrieve, select and evaluate in bounded rounds, with the caller's stages.

The loop is the same as for `discover` with rounds (`irdaemon.discovery.rounds`).
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

# The stages of a bounded retrieval as functions, made from the caller's objects.
#
# A callable gets its arguments by name if it has those names, else by position. A corpus retrieves
# by its ranking, selects as `discover` does, and judges by its own evidence.

Stage = Callable[..., object]

_RETRIEVE = ("query", "top_k")
_SELECT = ("chunks", "query", "selected_chunk_limit")
_EVALUATE = ("query", "chunks")


def make_retriever(given: Any) -> Stage:
    """Return (query, top_k) -> chunks for a corpus, a callable, or an object to search or retrieve.

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
    """Return the corpus for a handle, or for the name of a corpus built by this process."""
    if isinstance(given, str):
        try:
            return open_corpus(given)
        except NotFound as error:
            raise TypeError(f"{given!r} is not a stage: {error}") from error
    return given if isinstance(given, Built) else None


def _make_query(query: str, top_k: int) -> Query:
    return Query(query, k=min(top_k, MAX_K))


def _adapt_search(search: Stage) -> Stage:
    """Return a `search` method as a retriever, whether it takes a text and a number or a Query."""
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
    """Return a callable with positional arguments, in the order of `names`."""
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
    except ValueError:  # the signature of a builtin is unknown
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
    """Return a stage that replaces a Selection or a Choice by its hits."""

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
    """The result if no round was sufficient: the chunks of the best one, or none."""

    BEST_EFFORT = "best_effort"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class RetrievalResult(Plain):
    """The results of a bounded retrieval.

    `round_idx` is the number (from 0) of the returned round; `top_k`, `candidate_chunks`,
    `selected_chunks` and `evaluation` are that round's, `evaluation` None if its evaluator failed.
    `candidate_chunks` holds every chunk retrieved up to it, each once. `reason` says why the loop
    ended: `sufficient`, `max_rounds`, `exhausted` (fewer candidates than requested), `unchanged`
    (as wide as before, without a new chunk) or `failed`.
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
        """Return whether the evaluator accepted the returned round."""
        return self.reason == SUFFICIENT

    def __getitem__(self, name: str) -> Any:
        """Return a field by name. Raises KeyError for an unknown one."""
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True, slots=True)
class AgenticRetrieval:
    """Retrieve until an evaluator is satisfied, in at most `max_rounds`, each wider by `top_k`.

    The stages are `retriever(query, top_k)` and `selector(chunks, query, selected_chunk_limit)`,
    which return chunks, and `evaluator(query, chunks)`, which returns a bool or a mapping with
    `is_sufficient`; rounds are compared by the number `evidence` in it, else by the sum of the
    chunks' scores. Each stage may also be a corpus, the retriever any object with `search` or
    `retrieve`. `reformulate(query, evaluation)` returns the query of the next round's retrieval. An
    object stores nothing of a run: several runs may be in progress at once.

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
        """Call `run`."""
        return self.run(query)

    def run(self, query: str) -> RetrievalResult:
        """Run rounds until one is sufficient or no round can find more.

        Returns a sufficient round, else the one with most evidence (ties go to the earliest),
        without its selected chunks under the policy `empty`. A stage that raises ends the loop, and
        its error is in its round's record; it is only raised if nothing was found before it.
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
