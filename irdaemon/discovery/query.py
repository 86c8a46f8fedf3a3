"""From a query to the questions for each index: parse it, find its corpora, analyse its words."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Any

from irclient.errors import QueryError, Unavailable
from irclient.types import LEVELS, MODES, as_query
from irdaemon.discovery.decide import Selector, check_spec, is_weight
from irdaemon.discovery.disclose import unknown_corpus
from irdaemon.discovery.expand import Expand, parse_expand
from irdaemon.discovery.fuse import FUSIONS
from irdaemon.discovery.here import Here
from irdaemon.discovery.legs import UNTUNED, Question, Words, choose_depth
from irdaemon.discovery.times import (
    TIME,
    TimeWindow,
    find_window,
    holds_sessions,
    may_narrow,
    narrow_filter,
)
from irdaemon.discovery.where import NO_FILTER, Filter, check_fields, parse_filter
from irdaemon.embed import QueryVector
from irdaemon.index import CorpusIndex, Elsewhere, Snapshot
from irdaemon.index.backend import Wanted
from irdaemon.index.names import hash_names
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.projects import clean_place
from irdaemon.text import find_query_words, tokenize
from irdaemon.types import Query, Selection, SelectSpec, Tuning

MAX_WAIT_MS = 60_000
MAX_K = 1_000
MAX_ROUNDS = 8
# Chunks of a document overlap by this: every chunk may have only a part of a longer literal.
MAX_LITERAL = 200
# A query is cut at both: text beyond does not make it clearer, and costs time in each queried
# corpus. docs/retrieval.md has the rule.
MAX_CHARS = 8_000
MAX_TERMS = 256
# Return the vector of (text, embedder id), or None if that embedder is not ready.
Embed = Callable[[str, str], QueryVector | None]


# -- parsing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ParsedQuery(Query):
    """A query ready to run: `parse_query` makes it where a query enters, `replace` keeps it so.

    `filter` is its compiled `where`, `expansion` its parsed `expand`. `here` is the project that
    its place lies in, or None, `window` the time whose sessions it asks for: the reader finds both.
    """

    filter: Filter = field(default=NO_FILTER, repr=False, compare=False)
    expansion: Expand | None = None
    here: Here | None = field(default=None, repr=False)
    window: TimeWindow | None = field(default=None, repr=False)


def parse_query(
    asked: Query | str | Mapping[str, Any], custom: Selector | None = None
) -> ParsedQuery:
    """Check a query once, where it enters; later stages do not check it again.

    `custom` is a selector that replaces the one named by the query. Raises QueryError.
    """
    if isinstance(asked, ParsedQuery) and custom is None:
        return asked
    given = _read_fields(asked)
    if not isinstance(given["text"], str) or not given["text"].strip():
        raise QueryError("the query is empty", "say in a few words what is needed")
    place, where = given.get("place"), given.get("where", {})
    given["place"] = clean_place(place) if place else ""
    filter, expansion = parse_filter(where), parse_expand(given.get("expand", "none"))
    query = ParsedQuery(**given, filter=filter, expansion=expansion)
    for name, texts in (("corpora", query.corpora), ("surfaces", query.surfaces)):
        if not all(isinstance(each, str) for each in texts):
            raise QueryError(f"{name} must be a list of texts, not {list(texts)!r:.60}")
    _check_ranking(query)
    check_wait(query.wait_ms)
    if not is_weight(query.budget_ms):
        raise QueryError(f"budget_ms must be a number from 0 up, not {query.budget_ms!r}")
    for name in ("related", "exact", "ignore_case"):
        if not isinstance(value := getattr(query, name), bool):
            raise QueryError(f"{name} must be true or false, not {value!r:.60}")
    if query.exact:
        _check_literal(query.text)
    check_level(query.level)
    check_spec(query.select, custom)
    return query


def _read_fields(asked: Query | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a query, including its text. Raises QueryError."""
    if isinstance(asked, Mapping):
        try:
            return {"text": "", **Query.read_fields(asked)}
        except TypeError as error:
            raise QueryError(f"not a query: {error}", "see docs/protocol.md") from error
    query = as_query(asked)
    return {each: getattr(query, each) for each in Query.__dataclass_fields__}


def parse_search(asked: Query | str | Mapping[str, Any]) -> ParsedQuery:
    """Check a query that asks for a ranking: without a floor or selection."""
    ranking: dict[str, Any] = dict(select=SelectSpec(min_score=None), rounds=None, related=False)
    if isinstance(asked, ParsedQuery):
        return replace(asked, **ranking)
    return parse_query({**_read_fields(asked), **ranking})


def _check_literal(text: str) -> None:
    """Raise QueryError for a literal that may not fit into a single record."""
    if "\n" in text or len(text) > MAX_LITERAL:
        raise QueryError(
            f"an exact search is for a part of one line, of at most {MAX_LITERAL} characters",
            "search for a part of it",
        )


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
    rounds = 1 if query.rounds is None else query.rounds
    numbers = ("rounds", rounds, MAX_ROUNDS), ("passages", query.passages, MAX_K)
    for name, value, most in (("k", query.k, MAX_K), *numbers):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole and 1 <= value <= most):
            raise QueryError(f"{name} must be a whole number from 1 to {most:,}, not {value!r}")


def check_level(level: str) -> None:
    """Raise QueryError for a level that does not exist."""
    if level not in LEVELS:
        raise QueryError(
            f"unknown level {level!r}{did_you_mean(level, LEVELS)}", f"levels: {', '.join(LEVELS)}"
        )


def check_wait(wait_ms: Any) -> None:
    """Raise QueryError for an invalid time to wait."""
    if not is_weight(wait_ms) or wait_ms > MAX_WAIT_MS:
        raise QueryError(f"wait_ms must be a number from 0 to {MAX_WAIT_MS:,}, not {wait_ms!r}")


# -- one index after another ---------------------------------------------------------------------


def find_indexes(snapshot: Snapshot, corpora: Sequence[str]) -> tuple[CorpusIndex, ...]:
    """Return the indexes of the named corpora, all if none is named.

    Raises NotFound naming the nearest corpus.
    """
    for name in corpora:
        if name not in snapshot.corpora:
            raise unknown_corpus(name, snapshot.corpora)
    return tuple(snapshot.corpora[name] for name in dict.fromkeys(corpora or snapshot.corpora))


def restrict_snapshot(snapshot: Snapshot, query: ParsedQuery) -> Snapshot:
    """Return the snapshot of the corpora that a query asks for.

    Raises NotFound for an unknown corpus, QueryError for a filter on a field that none of them has
    or with a value that no value of the field compares with, and for a surface kind that no corpus
    has.
    """
    asked = (*query.surfaces, *query.weights)
    if not (query.corpora or query.where or asked):
        return snapshot
    indexes = find_indexes(snapshot, query.corpora)
    if query.where:
        check_fields(query.filter, indexes)
    known = (
        {kind for index in snapshot.corpora.values() for kind in index.kinds} if asked else set()
    )
    for kind in asked if known else ():
        if kind not in known:
            raise QueryError(
                f"unknown surface kind {kind!r}{did_you_mean(kind, known)}",
                f"kinds here: {', '.join(sorted(known))}",
            )
    asked_of = {index.corpus: index for index in indexes}
    return replace(snapshot, corpora=asked_of, beside=snapshot.beside or snapshot.corpora)


# -- words and vectors ---------------------------------------------------------------------------


@lru_cache(maxsize=8)
def cut_text(text: str) -> str:
    """Return the searched beginning of a query: at most MAX_CHARS characters, MAX_TERMS words."""
    text = text[:MAX_CHARS]
    if len(text) <= MAX_TERMS or _count_terms(text) <= MAX_TERMS:
        return text
    longer = bisect_right(range(len(text)), MAX_TERMS, key=lambda end: _count_terms(text[:end]))
    return text[: longer - 1]


def _count_terms(text: str) -> int:
    return len(set(tokenize(text)))


def read_words(text: str) -> Words:
    """Analyse the searched part of a text."""
    text = cut_text(text)
    tokens, identifiers, unstemmed, typed = find_query_words(text)
    return Words(text, tokens, tuple(dict.fromkeys((*tokens, *unstemmed))), identifiers, typed)


def analyse_query(
    query: ParsedQuery,
    vocabulary: Mapping[str, int],
    tuning: Tuning = UNTUNED,
    words: Words | None = None,
) -> Question:
    """Return a query in the terms of a vocabulary, without its vector; `words` are its own."""
    words = words or read_words(query.text)
    question = Question(
        words.text,
        mode=query.mode,
        k=choose_k(query.k, tuning),
        filter=query.filter,
        surfaces=frozenset(query.surfaces),
        fusion=query.fusion or tuning.fusion,
        tuning=tuning,
        passages=query.passages,
        exact=query.exact,
        weights=query.weights,
        here=query.here,
        trust=0.0,
        words=words,
    )
    return number_words(question, vocabulary)


def choose_k(k: int, tuning: Tuning) -> int:
    """Return how many artifacts to get per corpus: more than k, as duplicates are joined later."""
    return max(2 * k + 5, tuning.fetch_k or 0)


def number_words(question: Question, vocabulary: Mapping[str, int]) -> Question:
    """Return a question in the terms of a vocabulary."""
    words = question.words
    every = dict.fromkeys((*words.ranked, *words.identifiers, *words.typed))
    known = {word: term for word in every if (term := vocabulary.get(word, -1)) >= 0}
    terms = tuple([known[word] for word in words.tokens if word in known])
    others = words.ranked[len(words.tokens) :]  # words that are not tokens come after the tokens
    return replace(
        question,
        terms=terms,
        unknown=len(words.tokens) - len(terms),
        unstemmed=tuple([known[word] for word in others if word in known]),
        identifiers=tuple([known[word] for word in words.identifiers if word in known]),
        typed=tuple([known[word] for word in words.typed if word in known]),
    )


def embed_question(question: Question, index: CorpusIndex, embed: Embed) -> Question:
    """Return a question with its vector for one index.

    Raises Unavailable if it needs a vector that is missing.
    """
    # Punctuation alone has a vector too, which means nothing.
    if question.mode == "lexical" or not any(map(str.isalnum, question.text)):
        return question
    vector = embed(question.text, index.embedder)
    if vector is not None:
        return replace(question, vector=vector.vector, trust=vector.trust, coding=vector.coding)
    if question.mode == "dense":
        raise Unavailable(
            f"the embedder {index.embedder!r} of corpus {index.corpus!r} is not ready",
            "use --mode lexical or hybrid in the meantime; `irc status` says why",
        )
    return question


def add_window(query: ParsedQuery, snapshot: Snapshot, today: date) -> ParsedQuery:
    """Return a query with the time whose sessions it asks for, if it names one."""
    if not may_narrow(query.text) or query.filter.names(TIME):
        return query
    asked = [snapshot.corpora[name] for name in query.corpora if name in snapshot.corpora]
    only = bool(asked) and all(map(holds_sessions, asked))
    window = find_window(query.text, today, sessions_only=only)
    return replace(query, window=window) if window else query


def narrow_question(question: Question, index: CorpusIndex, window: TimeWindow) -> Question:
    """Return the question for a corpus; sessions are limited to those of a time, if any exist."""
    if not holds_sessions(index):
        return question
    narrowed = narrow_filter(question.filter, index, window)
    return replace(question, filter=narrowed) if narrowed else question


# -- a corpus that lies in a backend -------------------------------------------------------------


def make_wanted(question: Question) -> Wanted:
    """Return what a question needs from a corpus, independently of a vocabulary."""
    words = question.words
    others = dict.fromkeys(
        word for word in (*words.identifiers, *words.typed) if word not in words.ranked
    )
    return Wanted(
        ranked=() if question.mode == "dense" else words.ranked,
        others=(*words.ranked, *others) if question.mode == "dense" else tuple(others),
        vector=question.vector,
        depth=choose_depth(question),
        k1=question.tuning.k1,
        b=question.tuning.b,
        where=question.filter.where,
        surfaces=question.surfaces,
        names=tuple(hash_names(question.text).values()),
    )


def fetch_part(elsewhere: Elsewhere, question: Question) -> tuple[CorpusIndex, Question]:
    """Return the part of a corpus that a question needs, and the question in its terms.

    Raises Unavailable if the backend does not answer.
    """
    part = elsewhere.fetch_part(make_wanted(question))
    return part, number_words(question, part.vocabulary or {})


# Tiers: of the ways to answer a query, the best that fits its budget.
#
# From the best down: with a reranker, hybrid, by words alone, and the last answer to the same
# query. A tier fits if its recent answers took no longer; now and then the requested tier is tried
# anyway, so that a slow spell does not last for ever.

CACHED = "cached"
# The mode of the lowest tier, by the query's mode.
_LOWEST = {"hybrid": "lexical", "lexical": "lexical", "dense": "dense"}
# A tier fits if this share of its last answers did; how many answers that is.
_SHARE, _LAST = 0.95, 100
_TRIED_EVERY = 20
_ANSWERS_REMEMBERED = 256


def name_tier(query: ParsedQuery) -> str:
    """Return the tier that a query asks for."""
    return "rerank" if query.rerank else query.mode


class Tiers:
    """Answer queries, those with a budget at the best tier that fits it.

    The times of the last hundred answers of each tier are kept, in milliseconds.
    """

    def __init__(self) -> None:
        self._took: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST))
        self._turns = itertools.count(1)
        self._answers: dict[tuple[str, str], Selection] = {}

    def answer(
        self,
        query: ParsedQuery,
        run: Callable[[ParsedQuery], Selection],
        operation: str = "discover",
    ) -> Selection:
        """Return the answer at the best tier; at the lowest one if no tier fits."""
        answers = self._answers  # an answer begun before they are forgotten is not kept
        if not query.budget_ms:
            answer = run(query)
        else:
            key = operation, repr(query)
            as_asked = next(self._turns) % _TRIED_EVERY == 0
            chosen = query if as_asked else self.choose_tier(query)
            # An earlier answer cannot be fresh.
            if chosen is None and key in answers and not query.fresh:
                return replace(answers[key], tier=CACHED)
            answer = run(chosen or replace(query, rerank=False, mode=_LOWEST[query.mode]))
            if len(answers) >= _ANSWERS_REMEMBERED:
                answers.clear()
            answers[key] = answer
        if query.rounds is None:  # the time of several rounds says nothing about a tier
            self._took[answer.tier].append(answer.took_ms)
        return answer

    def choose_tier(self, query: ParsedQuery) -> ParsedQuery | None:
        """Return the query at the best tier that usually fits its budget; None if no tier does.

        A tier without an answer yet fits.
        """
        tiers = [query, replace(query, rerank=False)] if query.rerank else [query]
        if query.mode == "hybrid":
            tiers.append(replace(query, rerank=False, mode="lexical"))
        for tier in tiers:
            took = sorted(list(self._took[name_tier(tier)]))
            if not took or took[min(len(took) - 1, int(len(took) * _SHARE))] <= query.budget_ms:
                return tier
        return None

    def forget_answers(self) -> None:
        """Drop the kept answers, but not the times of the tiers."""
        self._answers = {}
