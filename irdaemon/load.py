"""Resolve "module:attr" names: how families of parts are chosen, and how a person adds theirs."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from irclient.errors import QueryError

_COMPARED_CHARS = 100


def load(family: str, name: str, table: Mapping[str, str]) -> Any:
    """Return the part of `family` called `name`, from `table` or by its own "module:attr".

    Raises QueryError naming the nearest known name, or what failed to import.
    """
    target = table.get(name, name)
    module, _, attribute = target.partition(":")
    if not attribute:
        known = ", ".join(sorted(table))
        raise QueryError(
            f"unknown {family} {name!r}{did_you_mean(name, table)}",
            f'use one of: {known}; or "module:attr" of your own',
        )
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise QueryError(f"{family} {name!r} cannot be loaded: {error}") from error


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known word, or nothing."""
    # Not of any length: comparing takes time with the square of it.
    word = str(word)[:_COMPARED_CHARS]
    near = difflib.get_close_matches(word, [str(k) for k in known], n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
