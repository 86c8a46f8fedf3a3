"""Dependencies as evidence: what a package is built on says what it is for, whatever its prose."""

from __future__ import annotations

import math
from collections.abc import Iterable

from irclient.errors import QueryError
from irdaemon.discovery.merge import is_number
from irdaemon.discovery.rerank import ScoreBoost
from irdaemon.strategy.edges import link_name
from irdaemon.types import Hit


def dependency_evidence_boost(
    relevant_libs: Iterable[str], *, weight: float, saturate: int = 1, deps_field: str = "deps"
) -> ScoreBoost:
    """Return a `dep_boost` for `search` that rewards dependencies on some libraries.

    It adds `weight` * min(n, saturate) / saturate, where n is how many of `relevant_libs` a hit's
    `deps_field` names. Scores lie between 0 and 1, so a weight of .02 to .05 is much. Raises
    TypeError for a bare text, QueryError for a weight that is no number from 0.
    """
    if isinstance(relevant_libs, str):
        raise TypeError(f"relevant_libs is a collection of names, not the text {relevant_libs!r}")
    if not is_number(weight) or not math.isfinite(weight) or weight < 0:
        raise QueryError(f"weight must be a finite number from 0, not {weight!r:.60}")
    if not isinstance(saturate, int) or isinstance(saturate, bool) or saturate < 1:
        raise QueryError(f"saturate must be a whole number from 1, not {saturate!r:.60}")
    wanted = frozenset(link_name(name) for name in relevant_libs)

    def boost(hit: Hit) -> float:
        listed = hit.fields.get(deps_field) or ()
        deps = [listed] if isinstance(listed, str) else listed
        found = len(wanted & {link_name(str(dep)) for dep in deps})
        return weight * min(found, saturate) / saturate

    return boost
