"""What is said of a daemon that has just started on a ledger of before."""

import sqlite3
import time

from irclient.errors import Unreachable
from tests.support.running import Running

_LONG_AGO_S = 1200.0


def levels_from_the_first_answer_on(home, daemon):
    """Return the levels of health that a daemon gave until everything was looked at again."""
    seen, started = [], time.time()
    while True:
        assert daemon.process.poll() is None
        try:
            with home.client(timeout=5) as client:
                while True:
                    state = client.status()
                    seen.append(state.health["level"])
                    looked = all(each.last_reconcile >= started for each in state.corpora)
                    if looked and not state.queue and state.watch:
                        return seen
        except Unreachable:
            time.sleep(0.001)


def test_no_root_is_said_to_be_unwatched_while_the_watches_of_a_start_are_made(home):
    for number in range(300):
        home.skill(f"skill-{number}", "Fill PDF forms")
    with Running(home) as running:
        running.wait_idle()
    with sqlite3.connect(home.path / ".local/state/irdaemon/ledger.sqlite") as ledger:
        ledger.execute("UPDATE corpora SET last_reconcile = last_reconcile - ?", (_LONG_AGO_S,))
    ledger.close()
    again = Running(home)
    try:
        seen = levels_from_the_first_answer_on(home, again)
    finally:
        again.__exit__()
    assert set(seen) == {"ok"}
