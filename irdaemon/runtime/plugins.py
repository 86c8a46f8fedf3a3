"""Resolve "module:attr" names: how families of parts are chosen, and how people add theirs."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Mapping
from typing import Any

from irclient.errors import QueryError
from irclient.nearest import did_you_mean as did_you_mean


def load(family: str, name: str, table: Mapping[str, str]) -> Any:
    """Return the part of `family` called `name`, from `table` or by a custom "module:attr".

    Raises QueryError naming the nearest known name, or the failed import.
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
    except Exception as error:  # a custom module may fail in any way
        raise QueryError(
            f"{family} {name!r} cannot be loaded: {error}",
            "" if name in table else f"{sys.executable} must find {module}, with {attribute} in it",
        ) from error


def load_quiet(name: str) -> Any:
    """Import a package that sets its own logger to log everything, and limit it to warnings.

    A level set before is kept, and so is that of a package imported before.
    """
    if name in sys.modules:
        return sys.modules[name]
    logger = logging.getLogger(name)
    level = logger.level or logging.WARNING
    package = importlib.import_module(name)
    logger.setLevel(level)
    return package
