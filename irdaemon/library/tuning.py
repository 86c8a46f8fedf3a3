"""The numbers that one call ranks with, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irclient.errors import QueryError
from irdaemon.discovery.merge import check_rrf_k, is_number, is_share
from irdaemon.discovery.retrieve import UNTUNED
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Tuning

MOST_FETCHED = 10_000
_OKAPI = ("k1", "b")
# The fusions that a number counts in.
_FUSIONS = {"alpha": ("alpha", "alpha+mmr"), "mmr_lambda": ("mmr", "alpha+mmr"), "rrf_k": ("rrf",)}


def tuned(
    alpha: float,
    mmr_lambda: float,
    rrf_k: float,
    bm25: Mapping[str, float] | None = None,
    fetch_k: int | None = None,
) -> Tuning:
    """Return the numbers of a ranking. Raises QueryError for one that is none."""
    for name, value in (("alpha", alpha), ("mmr_lambda", mmr_lambda)):
        if not is_share(value):
            raise QueryError(f"{name} must be a number from 0 to 1, not {value!r}")
    check_rrf_k(rrf_k)
    _check_fetch(fetch_k)
    k1, b = _okapi({} if bm25 is None else bm25)
    return Tuning(alpha=alpha, mmr_lambda=mmr_lambda, rrf_k=rrf_k, k1=k1, b=b, fetch_k=fetch_k)


def check_used(tuning: Tuning, fusion: str) -> None:
    """Raise QueryError for a number that a fusion would not look at."""
    for name, fusions in _FUSIONS.items():
        if fusion not in fusions and getattr(tuning, name) != getattr(UNTUNED, name):
            raise QueryError(
                f"{name} says nothing of the fusion {fusion!r}",
                f"it is of {' and '.join(fusions)}: add fusion={fusions[0]!r}",
            )


def _okapi(given: Any) -> tuple[float, float]:
    """Return k1 and b, the usual ones where they are left out."""
    if not isinstance(given, Mapping):
        raise QueryError(f"bm25 must be a mapping of k1 and b, not {given!r:.60}")
    for name in given:
        if name not in _OKAPI:
            near = did_you_mean(str(name), _OKAPI)
            raise QueryError(f"bm25 has no {name!r}{near}", "it takes: k1, b")
    k1, b = given.get("k1", UNTUNED.k1), given.get("b", UNTUNED.b)
    if not is_number(k1) or not 0 <= k1 < float("inf"):
        raise QueryError(f"k1 of bm25 must be a number from 0 up, not {k1!r}")
    if not is_share(b):
        raise QueryError(f"b of bm25 must be a number from 0 to 1, not {b!r}")
    return float(k1), float(b)


def _check_fetch(fetch_k: Any) -> None:
    whole = isinstance(fetch_k, int) and not isinstance(fetch_k, bool)
    if fetch_k is not None and not (whole and 1 <= fetch_k <= MOST_FETCHED):
        raise QueryError(
            f"fetch_k must be a whole number from 1 to {MOST_FETCHED:,} or None, not {fetch_k!r}"
        )
