"""Reranking by the call: the reranker of candidates, the text that it reads, and its name.

Floors are stored under that name, so that none is applied to scores of another scale. A function
takes it from its attribute `rerank_id`, else `model_name`, else from where it is defined; a
function that is created anew each time (a lambda, a closure, a bound method, a partial) has no
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import ismethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import NotFound, QueryError
from irdaemon.discovery.decide import is_weight
from irdaemon.discovery.expand import stitch_records
from irdaemon.discovery.rerank import Rereading, ScoreBoost, get_surface_text, make_floor_key
from irdaemon.discovery.retrieve import Candidate
from irdaemon.embed.rerankers import NOT_CONFIGURED, Reranker, check_reranker, make_reranker
from irdaemon.library.built import Built
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.strategy.edges import normalize_name
from irdaemon.types import Hit

# Dependencies as evidence: the libraries that a package uses show its purpose, regardless of its
# prose.


def dependency_evidence_boost(
    relevant_libs: Iterable[str], *, weight: float, saturate: int = 1, deps_field: str = "deps"
) -> ScoreBoost:
    """Return a `dep_boost` for `search` that rewards dependencies on some libraries.

    It adds `weight` * min(n, saturate) / saturate, where n is how many of `relevant_libs` a hit's
    `deps_field` names. Scores lie between 0 and 1, so a weight of .02 to .05 is large. Raises
    TypeError for a bare text, QueryError for a weight that is not a number of at least 0.
    """
    if isinstance(relevant_libs, str):
        raise TypeError(f"relevant_libs is a collection of names, not the text {relevant_libs!r}")
    if not is_weight(weight):
        raise QueryError(f"weight must be a finite number from 0, not {weight!r:.60}")
    if not isinstance(saturate, int) or isinstance(saturate, bool) or saturate < 1:
        raise QueryError(f"saturate must be a whole number from 1, not {saturate!r:.60}")
    wanted = frozenset(normalize_name(name) for name in relevant_libs)

    def boost(hit: Hit) -> float:
        listed = hit.fields.get(deps_field) or ()
        deps = [listed] if isinstance(listed, str) else listed
        found = len(wanted & {normalize_name(str(dep)) for dep in deps})
        return weight * min(found, saturate) / saturate

    return boost


# Takes a query and texts; returns how well each text answers, from 0 to 1.
ScoreTexts = Callable[[str, Sequence[str]], Sequence[float]]
# Takes a corpus and a hit; returns the text to read.
TextOfHit = Callable[[Built, Hit], str]
RERANK_TEXTS = ("surface", "artifact")
# More than a cross-encoder can read of a text.
RERANK_CHARS = 2_000


class FromScores:
    """Rerank by a function, and check its result."""

    def __init__(self, function: ScoreTexts):
        self.id = name_function(function)
        self._function = function

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text. Raises QueryError for invalid scores."""
        try:
            given = np.asarray(self._function(query, list(texts)), np.float32)
        except (TypeError, ValueError) as error:
            raise QueryError(f"rerank failed: {type(error).__name__}: {error}") from error
        if given.shape != (len(texts),) or not ((given >= 0) & (given <= 1)).all():
            raise QueryError(
                f"rerank gave no number from 0 to 1 for each of {len(texts)} texts",
                "put other scores through a logistic first",
            )
        return given


@dataclass(frozen=True, slots=True)
class Reranking:
    """The reranking that a call requests: the reranker, None for none, and the text to read.

    `text` is "surface", "artifact" or a function; only the first `chars` characters of a whole
    artifact are read.
    """

    rerank: ScoreTexts | str | None = None
    text: str | TextOfHit = "surface"
    chars: int = RERANK_CHARS

    def check(self) -> Reranking:
        """Return this reranking, without loading a model. Raises QueryError if it is invalid."""
        if isinstance(self.rerank, str):
            check_reranker(self.rerank)
        elif self.rerank is not None and not callable(self.rerank):
            raise QueryError(
                f"rerank must be a function or a name, not {self.rerank!r:.60}",
                "a function (query, texts) -> scores, cross-encoder[:MODEL], or module:attr",
            )
        if not callable(self.text) and self.text not in RERANK_TEXTS:
            near = did_you_mean(self.text, RERANK_TEXTS) if isinstance(self.text, str) else ""
            raise QueryError(
                f"unknown rerank_text {self.text!r:.60}{near}",
                f"texts: {', '.join(RERANK_TEXTS)}, or a function (corpus, hit) -> text",
            )
        if self.rerank is None and (self.text, self.chars) != ("surface", RERANK_CHARS):
            raise QueryError(
                "rerank_text and rerank_max_chars say what is reranked, but no reranker is set",
                "give rerank=, a function or a model's name",
            )
        if isinstance(self.chars, bool) or not isinstance(self.chars, int) or self.chars < 1:
            raise QueryError(
                f"rerank_max_chars must be a whole number from 1 up, not {self.chars!r:.60}"
            )
        return self

    def bind(self, corpora: Mapping[str, Built]) -> Rereading:
        """Return a function that reranks candidates of these corpora.

        Raises Unavailable if a model or its package is not on this machine.
        """
        reranker = self._load()
        return Rereading(reranker, self._choose_text(corpora), self._make_key(reranker.id))

    def _load(self) -> Reranker:
        if self.rerank is None:
            return NOT_CONFIGURED
        return (
            _load_reranker(self.rerank) if isinstance(self.rerank, str) else FromScores(self.rerank)
        )

    def _choose_text(self, corpora: Mapping[str, Built]) -> Callable[[Candidate], str]:
        if self.text == "surface":
            return get_surface_text
        if isinstance(self.text, str):
            return lambda found: self._read_whole(corpora[found.index.corpus], found)
        return lambda found: self._read_own(corpora[found.index.corpus], found)

    def _read_whole(self, built: Built, found: Candidate) -> str:
        """Return the text of an artifact; that of its surface if the artifact was deleted."""
        try:
            records = built.engine.records(f"{built.name}/{found.card.artifact_id}")
        except NotFound:
            records = []
        return stitch_records(records)[: self.chars] or get_surface_text(found)

    def _read_own(self, built: Built, found: Candidate) -> str:
        assert callable(self.text)
        (hit,) = built.own((found.make_hit(),))
        text = self.text(built, hit)
        if not isinstance(text, str):
            raise QueryError(f"rerank_text must give a text, not {text!r:.60}")
        return text

    def _make_key(self, reranker: str) -> str:
        """Return the name that floors are stored under, "" if a part of it has no name."""
        if self.text == "surface":
            return make_floor_key(reranker)
        if isinstance(self.text, str):
            whole = self.chars == RERANK_CHARS
            return make_floor_key(reranker, self.text if whole else f"{self.text}@{self.chars}")
        named = name_function(self.text)
        return make_floor_key(reranker, f"{named}()") if named else ""


NOT_RERANKED = Reranking()


def name_function(function: Any) -> str:
    """Return a name of a function that is the same in every process, "" without one."""
    for attribute in ("rerank_id", "model_name"):
        if given := getattr(function, attribute, None):
            return str(given)
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name or ismethod(function):
        return ""
    return f"{getattr(function, '__module__', '')}.{name}"


@cache
def _load_reranker(name: str) -> Reranker:
    """Return the reranker of a name, loading its model only once."""
    return make_reranker(name)
