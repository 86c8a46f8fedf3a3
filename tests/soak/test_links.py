"""A storm of links: nothing outside is ever shown or stored, and the daemon lives through it.

IRDAEMON_STORM_S is how many seconds the slow one takes (600), IRDAEMON_STORM_OUT a file for its
figures.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.soak.links import Storm
from tests.support.running import Home

LONG_S = float(os.environ.get("IRDAEMON_STORM_S", "600"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged by renameat2")


@pytest.fixture
def home():
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        yield Home(Path(directory))


def check(figures):
    told = figures.told()
    assert (figures.leaks, figures.errors, figures.differences) == ([], [], []), told
    assert figures.swaps > 100, told
    assert figures.disclosed > 10, told
    assert figures.bodies, told


def test_links_swapped_at_full_speed_show_nothing_outside_and_all_is_served_afterwards(home):
    check(Storm(home, seconds=4, seed=int(time.time())).run())


@pytest.mark.slow
@pytest.mark.timeout(LONG_S * 2 + 300)
def test_a_long_storm_of_links_shows_and_stores_nothing_outside(home):
    figures = Storm(home, LONG_S, seed=int(time.time())).run()
    print(figures.told())
    if out := os.environ.get("IRDAEMON_STORM_OUT"):
        Path(out).write_text(figures.told() + "\n")
    check(figures)
