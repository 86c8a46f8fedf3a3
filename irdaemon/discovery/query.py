"""From a query to what each index is asked: validate it, find its corpora, analyse its words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from irclient.errors import QueryError, Unavailable
from irclient.types import MODES
from irdaemon.discovery.decide import Selector, check_spec
from irdaemon.discovery.disclose import check_level, unknown_corpus
from irdaemon.discovery.expand import parse_expand
from irdaemon.discovery.legs import choose_depth
from irdaemon.discovery.merge import is_weight
from irdaemon.discovery.retrieve import FUSIONS, UNTUNED, Question
from irdaemon.discovery.where import check_dates, check_fields, check_filter
from irdaemon.embed import QueryVector
from irdaemon.index import CorpusIndex, Elsewhere, Snapshot
from irdaemon.index.backend import Wanted
from irdaemon.index.names import find_names
from irdaemon.index.rows import hash_name
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.text import as_typed, identifiers, tokenize, unstemmed
from irdaemon.types import Query, SelectSpec, Tuning

MAX_WAIT_MS = 60_000
MAX_K = 1_000
MAX_ROUNDS = 8
# A query is cut at both: text beyond does not make it any clearer, and costs each corpus that is
# asked. docs/retrieval.md has the rule.
MAX_CHARS = 8_000
MAX_TERMS = 256
# Give the vector of (text, embedder id), or None where that embedder is not ready.
Embed = Callable[[str, str], QueryVector | None]


# -- validation ----------------------------------------------------------------------------------


def parse_query(query: Query, custom: Selector | None = None) -> Query:
    """Return a query that can be run; called once for each query, where it enters the engine.

    What comes after takes it for valid, and so are the queries that `replace` makes of it.
    `custom` is a selector in place of the one it names. Raises QueryError.
    """
    if not isinstance(query.text, str) or not query.text.strip():
        raise QueryError("the query is empty", "say in a few words what is needed")
    for name, texts in (("corpora", query.corpora), ("surfaces", query.surfaces)):
        if not all(isinstance(each, str) for each in texts):
            raise QueryError(f"{name} must be a list of texts, not {list(texts)!r:.60}")
    _check_ranking(query)
    check_wait(query.wait_ms)
    if not is_weight(query.budget_ms):
        raise QueryError(f"budget_ms must be a number from 0 up, not {query.budget_ms!r}")
    if query.rounds is not None:
        _check_whole("rounds", query.rounds, MAX_ROUNDS)
    _check_whole("passages", query.passages, MAX_K)
    if not isinstance(query.related, bool):
        raise QueryError(f"related must be true or false, not {query.related!r:.60}")
    check_level(query.level)
    parse_expand(query.expand)
    check_filter(query.where)
    check_spec(query.select, custom)
    return query


def make_ranking_query(query: Query) -> Query:
    """Return a query that asks for a ranking: no floor, and nothing of how to select."""
    return replace(query, select=SelectSpec(min_score=None), rounds=None, related=False)


def _check_ranking(query: Query) -> None:
    if query.mode not in MODES:
        raise QueryError(
            f"unknown mode {query.mode!r}{did_you_mean(query.mode, MODES)}",
            f"modes: {', '.join(MODES)}",
        )
    if query.fusion and not (isinstance(query.fusion, str) and query.fusion in FUSIONS):
        raise QueryError(
            f"unknown fusion {query.fusion!r:.60}{did_you_mean(str(query.fusion), FUSIONS)}",
            f"fusions: {', '.join(FUSIONS)}",
        )
    if not isinstance(query.weights, Mapping):
        wanted = "a mapping of surface kinds to numbers"
        raise QueryError(f"the weights of surfaces must be {wanted}, not {query.weights!r:.60}")
    for kind, weight in query.weights.items():
        if not is_weight(weight):
            raise QueryError(f"the weight of {kind!r} must be a number from 0 up, not {weight!r}")
    _check_whole("k", query.k, MAX_K)


def _check_whole(name: str, value: Any, most: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and 1 <= value <= most):
        raise QueryError(f"{name} must be a whole number from 1 to {most:,}, not {value!r}")


def check_whole_artifacts(query: Query) -> None:
    """Raise QueryError for a query that asks for several passages of one artifact."""
    if query.passages > 1:
        raise QueryError(
            "passages is for search: discover commits to whole artifacts",
            "use search, or disclose what discover found",
        )


def check_wait(wait_ms: Any) -> None:
    """Raise QueryError for an invalid time to wait."""
    if not is_weight(wait_ms) or wait_ms > MAX_WAIT_MS:
        raise QueryError(f"wait_ms must be a number from 0 to {MAX_WAIT_MS:,}, not {wait_ms!r}")


# -- one index after another ---------------------------------------------------------------------


def find_indexes(snapshot: Snapshot, corpora: Sequence[str]) -> tuple[CorpusIndex, ...]:
    """Return the indexes of the named corpora, all when none is named.

    Raises NotFound naming the nearest corpus.
    """
    for name in corpora:
        if not isinstance(name, str) or name not in snapshot.corpora:
            raise unknown_corpus(str(name), snapshot.corpora)
    return tuple(snapshot.corpora[name] for name in dict.fromkeys(corpora or snapshot.corpora))


def restrict_snapshot(snapshot: Snapshot, query: Query) -> Snapshot:
    """Return the snapshot of the corpora that a query asks.

    Raises NotFound for an unknown corpus, QueryError for a filter on a field that none of them has
    or on what no value of a field compares with, and for a surface kind that no corpus has.
    """
    indexes = find_indexes(snapshot, query.corpora)
    if query.where:
        check_fields(query.where, {name for index in indexes for name in index.field_names()})
        check_dates(query.where, indexes)
    _check_surfaces(snapshot, (*query.surfaces, *query.weights))
    return replace(snapshot, corpora={index.corpus: index for index in indexes})


def _check_surfaces(snapshot: Snapshot, kinds: Sequence[str]) -> None:
    """Raise QueryError for a surface kind that no corpus has, naming the nearest."""
    if not kinds:
        return
    known = {kind for index in snapshot.corpora.values() for kind in index.kinds}
    for kind in kinds:
        if known and kind not in known:
            raise QueryError(
                f"unknown surface kind {kind!r}{did_you_mean(kind, known)}",
                f"kinds here: {', '.join(sorted(known))}",
            )


@lru_cache(maxsize=8)
def cut_text(text: str) -> str:
    """Return the beginning of a query that is searched: MAX_CHARS, MAX_TERMS at most."""
    text = text[:MAX_CHARS]
    if len(text) <= MAX_TERMS or _count_terms(text) <= MAX_TERMS:
        return text
    longer = bisect_right(range(len(text)), MAX_TERMS, key=lambda end: _count_terms(text[:end]))
    return text[: longer - 1]


def _count_terms(text: str) -> int:
    return len(set(tokenize(text)))


def make_cut_signal(text: str) -> dict[str, Any]:
    """Return what an answer says of a query that was cut, as a signal; {} of one that was not."""
    searched = len(cut_text(text))
    return {"cut": {"characters": searched, "of": len(text)}} if searched < len(text) else {}


def analyse_query(
    query: Query, vocabulary: Mapping[str, int], tuning: Tuning = UNTUNED
) -> Question:
    """Return a query in the terms of a snapshot, for any of its indexes, without its vector."""
    text = cut_text(query.text)
    tokens, known = split_words(text, vocabulary)
    return Question(
        text=text,
        terms=tuple(known[token] for token in tokens if token in known),
        vector=None,
        mode=query.mode,
        # Duplicates are joined later, so more is needed than is asked for.
        k=max(2 * query.k + 5, tuning.fetch_k or 0),
        where=query.where,
        surfaces=frozenset(query.surfaces),
        fusion=query.fusion or tuning.fusion,
        tuning=tuning,
        passages=query.passages,
        weights=query.weights,
        trust=0.0,
        unknown=sum(token not in known for token in tokens),
        identifiers=_numbers(identifiers(text), vocabulary),
        unstemmed=tuple(term for word, term in known.items() if word not in tokens),
        typed=_numbers(as_typed(text), vocabulary),
    )


def _numbers(words: Iterable[str], vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """Return the term ids of those words that are known."""
    return tuple(each for word in words if (each := vocabulary.get(word, -1)) >= 0)


def list_words(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that records are ranked by for a text, and others that it asks about."""
    text = cut_text(text)
    ranked = dict.fromkeys((*tokenize(text), *unstemmed(text)))
    others = dict.fromkeys((*identifiers(text), *as_typed(text)))
    return tuple(ranked), tuple(word for word in others if word not in ranked)


def split_words(text: str, vocabulary: Mapping[str, int]) -> tuple[list[str], dict[str, int]]:
    """Return the distinct tokens of a text, and the terms that it is ranked by, by word.

    Those are its known tokens and, behind them, its known unstemmed words.
    """
    tokens = list(dict.fromkeys(tokenize(text)))
    words = dict.fromkeys((*tokens, *unstemmed(text)))
    numbers = ((word, vocabulary.get(word, -1)) for word in words)
    return tokens, {word: number for word, number in numbers if number >= 0}


def embed_question(question: Question, index: CorpusIndex, embed: Embed) -> Question:
    """Return a question with its vector for one index.

    Raises Unavailable where it needs one that is missing.
    """
    # Punctuation alone has a vector too, which means nothing.
    if question.mode == "lexical" or not any(map(str.isalnum, question.text)):
        return question
    vector = embed(question.text, index.embedder)
    if vector is not None:
        return replace(question, vector=vector.vector, trust=vector.trust)
    if question.mode == "dense":
        raise Unavailable(
            f"the embedder {index.embedder!r} of corpus {index.corpus!r} is not ready",
            "use --mode lexical or hybrid meanwhile; `irc status` says why",
        )
    return question


# -- a corpus that lies in a backend -------------------------------------------------------------


def make_wanted(question: Question) -> Wanted:
    """Return what a question, whatever its terms, needs of a corpus."""
    ranked, others = list_words(question.text)
    called = {name.casefold() for name in find_names(question.text)}
    return Wanted(
        ranked=() if question.mode == "dense" else ranked,
        others=(*ranked, *others) if question.mode == "dense" else others,
        vector=question.vector,
        depth=choose_depth(question),
        k1=question.tuning.k1,
        b=question.tuning.b,
        where=question.where,
        surfaces=question.surfaces,
        names=tuple(map(hash_name, called)),
    )


def fetch_part(
    index: CorpusIndex, elsewhere: Elsewhere, query: Query, tuning: Tuning, embed: Embed
) -> tuple[CorpusIndex, Question]:
    """Return the part of a corpus that a query needs, and the query in its terms.

    Raises Unavailable where the backend does not answer, or a model is missing.
    """
    asked = embed_question(analyse_query(query, {}, tuning), index, embed)
    part = elsewhere.part(make_wanted(asked))
    question = analyse_query(query, part.vocabulary or {}, tuning)
    return part, replace(question, vector=asked.vector, trust=asked.trust)
