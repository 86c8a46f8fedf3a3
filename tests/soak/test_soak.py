"""The daemon under edits and queries for long: nothing lost, nothing stale, nothing grows.

IRDAEMON_SOAK_S is how many seconds the slow one takes (1800), IRDAEMON_SOAK_SEED its seed,
IRDAEMON_SOAK_OUT a file for its figures.
"""

import os
import tempfile
import time
from pathlib import Path

import pytest

from tests.soak.soak import Soak
from tests.support.running import Home

# Sockets of the comparing client, and files of SQLite's readers.
COME_AND_GO = 6
LONG_S = float(os.environ.get("IRDAEMON_SOAK_S", "1800"))


@pytest.fixture
def home(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        made = Home(Path(directory))
        # The oracle runs in this process, and finds its corpora in the same home.
        monkeypatch.setenv("HOME", str(made.path))
        yield made


def test_after_a_few_seconds_of_edits_and_queries_every_answer_is_that_of_a_fresh_build(home):
    figures = Soak(home, seconds=2, seed=int(time.time()), quiet_every=1).run()
    assert (figures.differences, figures.errors) == ([], []), figures.seed
    assert figures.queries > 0 < figures.edits


@pytest.mark.slow
@pytest.mark.timeout(LONG_S * 2 + 600)
def test_after_long_edits_and_queries_nothing_differs_and_nothing_has_grown(home):
    seed = int(os.environ.get("IRDAEMON_SOAK_SEED", int(time.time())))
    figures = Soak(home, LONG_S, seed).run()
    told = figures.told()
    print(told)
    if out := os.environ.get("IRDAEMON_SOAK_OUT"):
        Path(out).write_text(told + "\n")
    assert (figures.differences, figures.errors) == ([], []), told
    settled = figures.rss_mb[len(figures.rss_mb) // 4]
    assert figures.rss_mb[-1] < 1.25 * settled, told
    connected = figures.descriptors[1]  # the first was taken before the clients came
    assert figures.descriptors[-1] <= connected + COME_AND_GO, told
