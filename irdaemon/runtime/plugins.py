"""Resolve "module:attr" names: how families of parts are chosen, and how a person adds theirs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from irclient.errors import QueryError
from irclient.nearest import did_you_mean as did_you_mean


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
    except Exception as error:  # a person's own module may fail in any way
        raise QueryError(
            f"{family} {name!r} cannot be loaded: {error}",
            "" if name in table else f"{sys.executable} must find {module}, with {attribute} in it",
        ) from error
