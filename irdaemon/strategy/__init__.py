"""Strategies: how one artifact becomes surfaces.

A strategy is any object with `decompose`. Those named in STRATEGY_REGISTRY can be written down as
a spec, `{"name": ..., "params": {scalars}}`, and rebuilt from it; the spec is part of the recipe,
so changing a parameter makes every artifact of the corpus stale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from irclient.errors import QueryError
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.strategy.chunked import Chunked, WholeText, text_of
from irdaemon.strategy.code import Code
from irdaemon.strategy.kinds import ClaudeTurn, Dependency, Package, Rule, Skill
from irdaemon.strategy.recipe import identify_parts, make_spec
from irdaemon.text import ANALYZER
from irdaemon.types import IndexPlan

__all__ = [
    "STRATEGY_REGISTRY",
    "Chunked",
    "ClaudeTurn",
    "Code",
    "Dependency",
    "IndexingStrategy",
    "Package",
    "Rule",
    "Skill",
    "WholeText",
    "build_recipe",
    "is_named",
    "strategy_from_spec",
    "strategy_to_spec",
    "text_of",
]

# Raise when decomposition changes in a way no parameter shows.
DECOMPOSITION = 8


class IndexingStrategy(Protocol):
    """Decompose one artifact into an index plan.

    `named` is false where an artifact's name must not be searched as one: that of a turn is only
    its first words.
    """

    named: ClassVar[bool]

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return filter fields and surfaces for `raw`, in plan order."""
        ...


STRATEGY_REGISTRY: dict[str, type[Any]] = {
    "Chunked": Chunked,
    "ClaudeTurn": ClaudeTurn,
    "Code": Code,
    "Dependency": Dependency,
    "Package": Package,
    "Rule": Rule,
    "Skill": Skill,
    "WholeText": WholeText,
}


def strategy_to_spec(strategy: IndexingStrategy) -> dict[str, Any]:
    """Return the name and scalar parameters of a strategy; anything else is not captured."""
    return make_spec(strategy)


def strategy_from_spec(spec: Mapping[str, Any] | None) -> IndexingStrategy | None:
    """Rebuild a strategy from its spec; None gives None.

    Raises QueryError (a ValueError) for an unknown name or parameter.
    """
    if spec is None:
        return None
    name, params = spec.get("name", ""), dict(spec.get("params") or {})
    if name not in STRATEGY_REGISTRY:
        known = ", ".join(sorted(STRATEGY_REGISTRY))
        raise QueryError(
            f"unknown strategy {name!r}{did_you_mean(name, STRATEGY_REGISTRY)}",
            f"use one of: {known}",
        )
    try:
        built: IndexingStrategy = STRATEGY_REGISTRY[name](**params)
    except TypeError as error:
        raise QueryError(f"strategy {name}: {error}") from error
    return built


def is_named(strategy: IndexingStrategy) -> bool:
    """Return whether names of artifacts are searched; true for a strategy that does not say."""
    return getattr(strategy, "named", True)


def build_recipe(strategy: IndexingStrategy) -> str:
    """Return the identity of a decomposition: strategy, parameters, analyzer, own version.

    A strategy within another counts with its own parameters, a named function by its name, one
    without a name (a lambda) by its code; see `irdaemon.strategy.recipe`.
    """
    parts = [make_spec(strategy), identify_parts(strategy), ANALYZER, DECOMPOSITION]
    return json.dumps(parts, sort_keys=True)
