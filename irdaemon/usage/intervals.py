"""Shares with their uncertainty."""

from __future__ import annotations

import math

_Z = 1.959964


def interval(part: int, whole: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; (0.0, 1.0) where nothing was counted."""
    if not whole:
        return 0.0, 1.0
    share, z2 = part / whole, _Z * _Z
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = (
        _Z * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole)) / (1 + z2 / whole)
    )
    return max(0.0, middle - spread), min(1.0, middle + spread)


def share_of(part: int, whole: int) -> dict[str, float | None]:
    """Return a share with its interval, rounded; None where nothing was counted."""
    low, high = interval(part, whole)
    share = round(part / whole, 4) if whole else None
    return {"share": share, "low": round(low, 4), "high": round(high, 4)}
