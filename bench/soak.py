"""Whether memory stays flat under ten minutes of changes and queries.

    python bench/soak.py [--minutes M] [--seed N]

The soak of the tests: edits of skills, notes and sessions and eight clients at once, and every
twenty seconds a comparison of what is held and answered with a fresh build. Memory is flat where
the median of the last quarter is within 2% of that of the third: the first half fills caches and
the allocator's arena. What it grew by since the second quarter is kept, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common import ROOT, keep

_FLAT = 0.02


def main() -> None:
    """Soak and keep the figures; exit with 1 where something differs, or memory grew."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.soak.soak import Soak
    from tests.support.running import Home

    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        home = Home(Path(directory))
        # The oracle runs in this process, and finds its corpora in the same home.
        os.environ["HOME"] = str(home.path)
        figures = Soak(home, 60 * options.minutes, options.seed).run()
    growth, since_second = grown(figures.rss_mb, 2), grown(figures.rss_mb, 1)
    found = {
        "minutes": options.minutes,
        "seed": figures.seed,
        "edits": figures.edits,
        "queries": figures.queries,
        "compared": figures.compared,
        "differences": len(figures.differences),
        "errors": len(figures.errors),
        "rss_mb": {"first": figures.rss_mb[0], "last": figures.rss_mb[-1]},
        "ratio_of_last_to_third_quarter": round(1 + growth, 4),
        "ratio_of_last_to_second_quarter": round(1 + since_second, 4),
        "slope_of_second_half_mb_per_hour": round(figures.slope(), 1),
        "flat": abs(growth) <= _FLAT,
    }
    keep("soak", found)
    raise SystemExit(bool(figures.differences or figures.errors or growth > _FLAT))


def grown(series: Sequence[float], since: int) -> float:
    """Return by what share memory grew from a quarter of a series, counted from 0, to its last."""
    size = max(1, len(series) // 4)
    before, last = series[since * size : (since + 1) * size], series[-size:]
    return statistics.median(last) / statistics.median(before or series[:1]) - 1


if __name__ == "__main__":
    main()
