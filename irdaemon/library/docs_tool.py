"""Documents as a tool of a model: a callable over a list of texts, and its schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from irclient.errors import QueryError
from irdaemon.library.inmemory import (
    DocumentIndex,
    as_documents,
    build_index,
    check_count,
    search,
)
from irdaemon.runtime.plugins import did_you_mean

# What every provider of models accepts as the name of a tool.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

Schema = dict[str, Any]
# Where each protocol puts the name, the description and the parameters of a tool.
_SCHEMAS: Mapping[str, Callable[[str, str, Schema], Schema]] = {
    "openai": lambda name, description, parameters: {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    },
    "anthropic": lambda name, description, parameters: {
        "name": name,
        "description": description,
        "input_schema": parameters,
    },
    "mcp": lambda name, description, parameters: {
        "name": name,
        "description": description,
        "inputSchema": parameters,
    },
}


class DocsTool:
    """Search a fixed list of documents by BM25; see `irdaemon.library.inmemory` for the contract.

    Called with a query, and how many passages are wanted at most, it returns them as {text, meta,
    score}, best first. `__name__` and `__doc__` are those of the tool. Any thread may call it.
    """

    def __init__(self, name: str, description: str, index: DocumentIndex, top_k: int):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = description
        self.top_k = top_k
        self._index = index

    def __repr__(self) -> str:
        return f"<tool {self.__name__!r}: {len(self._index)} documents>"

    def __call__(self, query: str, top_k: int | None = None) -> list[dict[str, Any]]:
        """Return the passages that answer a query best. Raises QueryError for a wrong argument."""
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
        return _SCHEMAS[kind](self.__name__, self.__doc__ or "", self._parameters())

    def _parameters(self) -> Schema:
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

    Raises QueryError, naming the tool and the entry, for a name that is no identifier, an empty
    description, a document without text, or a `top_k` below 1.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise QueryError(
            f"{name!r:.80} is no name for a tool",
            "use letters, digits and _, not a digit first, at most 64",
        )
    try:
        _check_description(description)
        check_count("top_k", top_k)
        documents = as_documents(docs)
        for at, document in enumerate(documents, start=1):
            if not document.text.strip():
                raise QueryError(f"document {at} of {len(documents)} has no text", "leave it out")
    except QueryError as error:
        raise QueryError(f"tool {name!r}: {error.message}", error.hint) from error
    return DocsTool(name, description, build_index(documents), top_k)


def _check_description(description: object) -> None:
    if not isinstance(description, str) or not description.strip():
        raise QueryError(
            "the description is empty", "a model decides by it whether to call: say when to"
        )
