r"""BM25 over a list of documents in memory: a small exact contract, without a corpus or a model.

A text is lower-cased and split at anything but Unicode word characters (`\W+`); words of two
characters or more that are not in STOP_WORDS count, in documents and queries alike. With N
documents, df of which hold a word, tf its count in one document, and dl that document's words
(avgdl on average), the word adds

    ln(1 + (N - df + 0.5) / (df + 0.5)) * tf * (K1 + 1) / (tf + K1 * (1 - B + B * dl / avgdl))

to that document's score, once for each time that the query has it. This is not a leg of the search
of corpora, which analyses words differently (`irdaemon.text`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irdaemon.runtime.plugins import did_you_mean, load_quiet

if TYPE_CHECKING:
    import bm25s


K1 = 1.2
B = 0.75
STOP_WORDS = frozenset(
    """an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with""".split()
)

_BETWEEN_WORDS = re.compile(r"\W+")
_SHORTEST = 2
_KEYS = ("text", "meta")
# Sums of the same numbers in another order count as equal scores.
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class Document:
    """A text, and the caller's metadata."""

    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class DocumentIndex:
    """Documents and the counts of BM25. It never changes; any thread may search it.

    `vocabulary` numbers the words that occur. `bm25` is None without any word. `tf` counts the
    words of each document.
    """

    documents: tuple[Document, ...]
    vocabulary: Mapping[str, int]
    bm25: bm25s.BM25 | None
    tf: tuple[Mapping[str, int], ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def docs(self) -> tuple[Document, ...]:
        """Return the documents."""
        return self.documents

    @property
    def n(self) -> int:
        """Return the number of documents."""
        return len(self.documents)

    @property
    def df(self) -> dict[str, int]:
        """Return the number of documents that hold each word."""
        return dict(Counter(word for counts in self.tf for word in counts))

    @property
    def dl(self) -> tuple[int, ...]:
        """Return the number of counted words in each document."""
        return tuple(sum(counts.values()) for counts in self.tf)

    @property
    def avgdl(self) -> float:
        """Return the mean number of words of a document; 0 without documents."""
        return sum(self.dl) / max(self.n, 1)


def tokenize(text: str) -> list[str]:
    """Return the counted words of a text, in order, with repeats."""
    words = _BETWEEN_WORDS.split(text.lower())
    return [word for word in words if len(word) >= _SHORTEST and word not in STOP_WORDS]


def as_documents(docs: Iterable[object]) -> tuple[Document, ...]:
    """Return texts and mappings {text, meta} as documents, which are copies.

    Raises QueryError for anything else, naming its position from 1.
    """
    if isinstance(docs, (str, bytes, Mapping)) or not isinstance(docs, Iterable):
        raise QueryError(
            f"documents are a list, not a {type(docs).__name__}", "give texts, or {text, meta} maps"
        )
    given = list(docs)
    return tuple(
        _make_document(each, f"document {at} of {len(given)}") for at, each in enumerate(given, 1)
    )


def _make_document(given: object, where: str) -> Document:
    if isinstance(given, Document):
        given = {"text": given.text, "meta": given.meta}
    if isinstance(given, str):
        return Document(given)
    if not isinstance(given, Mapping):
        raise _make_error(
            f"{where} is neither a text nor a mapping: it is a {type(given).__name__}"
        )
    for key in given:
        if key not in _KEYS:
            near = did_you_mean(str(key), _KEYS)
            raise QueryError(f"{where} has an unknown key {key!r}{near}", f"put it into {'meta'!r}")
    text, meta = given.get("text"), given.get("meta")
    if not isinstance(text, str):
        raise _make_error(f"{where} has no text")
    if not isinstance(meta, (Mapping, type(None))):
        raise _make_error(f"{where}: its meta is not a mapping but a {type(meta).__name__}")
    return Document(text, deepcopy(dict(meta or {})))


def _make_error(message: str) -> QueryError:
    return QueryError(message, "give a text, or a mapping of text and, if wanted, meta")


def build_index(docs: Iterable[object]) -> DocumentIndex:
    """Return the index of documents, which are texts or mappings {text, meta}. Raises QueryError.

    A document without any counted word is stored, but never found.
    """
    documents = as_documents(docs)
    words = [tokenize(each.text) for each in documents]
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in each] for each in words]
    bm25 = _index_words(ids, vocabulary) if vocabulary else None
    return DocumentIndex(documents, vocabulary, bm25, tuple(map(Counter, words)))


def _index_words(ids: list[list[int]], vocabulary: Mapping[str, int]) -> bm25s.BM25:
    bm25s = load_quiet("bm25s")  # with scipy, a dependency: 28 MB and 0.15 s
    found = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
    corpus = bm25s.tokenization.Tokenized(ids=ids, vocab=dict(vocabulary))
    found.index(corpus, show_progress=False)
    return found


def ranked(index: DocumentIndex, query: str, k: int) -> list[tuple[int, float]]:
    """Return the positions, from 0, and scores of the best `k` documents; see `search`."""
    check_count("k", k)
    if not isinstance(query, str):
        raise QueryError(f"a query is a text, not {query!r:.60}")
    scores = _score_words(index, tokenize(query))
    best = np.argsort(-scores, kind="stable")[: min(k, len(index))].tolist()
    return [(at, float(scores[at])) for at in best if scores[at] > 0]


def search(index: DocumentIndex, query: str, k: int) -> list[dict[str, Any]]:
    """Return the best `k` documents as {text, meta, score}, best first, ties by position.

    Fewer are returned if fewer hold a word of the query. Raises QueryError for a `k` below 1.
    """
    found = ((index.documents[at], score) for at, score in ranked(index, query, k))
    return [
        {"text": each.text, "meta": deepcopy(dict(each.meta)), "score": score}
        for each, score in found
    ]


def check_count(name: str, value: object) -> None:
    """Raise QueryError for anything but a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise QueryError(f"{name} must be a whole number from 1 up, not {value!r:.60}")


def _score_words(index: DocumentIndex, words: list[str]) -> NDArray[np.float64]:
    ids = [index.vocabulary[word] for word in words if word in index.vocabulary]
    if index.bm25 is None or not ids:
        return np.zeros(len(index), np.float64)
    # bm25s omits the factor, which does not affect the order.
    scores: NDArray[np.float64] = index.bm25.get_scores_from_ids(ids) * (K1 + 1)
    return np.round(scores, _DECIMALS)


# Documents as a tool for a model: a callable over a list of texts, and its schema.

# A tool name that every provider of models accepts.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

Schema = dict[str, Any]
# The key of a tool's parameters in each protocol.
_SCHEMAS = {"openai": "parameters", "anthropic": "input_schema", "mcp": "inputSchema"}


class DocsTool:
    """Search a fixed list of documents by BM25; see `irdaemon.library.inmemory` for the contract.

    Called with a query and the maximum number of passages, it returns them as {text, meta, score},
    best first. `__name__` and `__doc__` are those of the tool. Any thread may call it.
    """

    def __init__(self, name: str, description: str, index: DocumentIndex, top_k: int):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = description
        self.top_k = top_k
        self._index = index

    def __repr__(self) -> str:
        return f"<tool {self.__name__!r}: {len(self._index)} documents>"

    def __call__(self, query: str, top_k: int | None = None) -> list[dict[str, Any]]:
        """Return the best passages for a query. Raises QueryError for an invalid argument."""
        wanted = self.top_k if top_k is None else top_k
        check_count("top_k", wanted)
        return search(self._index, query, wanted)

    def schema(self, kind: str = "openai") -> Schema:
        """Return the tool's definition for a model: `openai`, `anthropic` or `mcp`."""
        if kind not in _SCHEMAS:
            raise QueryError(
                f"unknown schema {kind!r}{did_you_mean(str(kind), _SCHEMAS)}",
                f"schemas: {', '.join(_SCHEMAS)}",
            )
        described = {"name": self.__name__, "description": self.__doc__ or ""}
        definition = {**described, _SCHEMAS[kind]: self._make_parameters()}
        return {"type": "function", "function": definition} if kind == "openai" else definition

    def _make_parameters(self) -> Schema:
        return {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to search the documents for."},
                "top_k": {
                    "type": "integer",
                    "minimum": 1,
                    "default": self.top_k,
                    "description": f"How many passages to return at most (default {self.top_k}).",
                },
            },
            "required": ["query"],
        }


def docs_tool(name: str, description: str, docs: Iterable[object], top_k: int = 4) -> DocsTool:
    """Return a tool that searches documents: texts, or mappings {text, meta}.

    Raises QueryError, naming the tool and the entry, for a name that is not an identifier, an empty
    description, a document without text, or a `top_k` below 1.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise QueryError(
            f"{name!r:.80} is not a valid tool name",
            "use letters, digits and _, not a digit first, at most 64",
        )
    try:
        if not isinstance(description, str) or not description.strip():
            raise QueryError(
                "the description is empty", "a model decides by it whether to call: say when to"
            )
        check_count("top_k", top_k)
        documents = as_documents(docs)
        for at, document in enumerate(documents, start=1):
            if not document.text.strip():
                raise QueryError(f"document {at} of {len(documents)} has no text", "leave it out")
    except QueryError as error:
        raise QueryError(f"tool {name!r}: {error.message}", error.hint) from error
    return DocsTool(name, description, build_index(documents), top_k)
