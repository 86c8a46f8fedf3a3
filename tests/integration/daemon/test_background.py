"""The threads of add-ons: they tick, are woken, go on after a fault, and end."""

import threading

import pytest

from irdaemon.daemon.threads import BackgroundThreads
from irdaemon.engine.observer import Background
from tests.support.running import until


class Ticking(Background):
    """Work that counts its ticks, and fails as long as it is told to."""

    name, failure = "ticking", "a tick failed"
    stops_within_s = 5.0
    follows_generations = True
    ticks, fails, closed, needed = 0, False, False, True

    def is_needed(self):
        return self.needed

    def tick(self):
        self.ticks += 1
        if self.fails:
            raise RuntimeError("a fault")
        return 60.0

    def close(self):
        self.closed = True


class Quiet(Ticking):
    name, follows_generations = "quiet", False


def running():
    return {thread.name for thread in threading.enumerate()} & {"ticking", "quiet"}


@pytest.fixture
def work():
    return Ticking()


@pytest.fixture
def threads(work):
    made = BackgroundThreads([work, Quiet()])
    yield made
    made.stop()


def test_what_follows_generations_goes_on_at_once_and_a_fault_ends_nothing(work, threads, caplog):
    threads.tick()
    until(lambda: work.ticks == 1)
    work.fails = True
    threads.wake()
    until(lambda: "a tick failed" in caplog.text)
    work.fails = False
    threads.wake()
    until(lambda: work.ticks >= 3)
    assert "ticking" in running()


def test_a_generation_wakes_only_what_follows_it(work):
    quiet = Quiet()
    threads = BackgroundThreads([work, quiet])
    threads.tick()
    until(lambda: work.ticks == 1 and quiet.ticks == 1)
    for more in range(2, 5):
        threads.wake()
        until(lambda more=more: work.ticks == more)
    assert quiet.ticks == 1
    threads.stop()


def test_there_is_no_thread_before_one_is_needed_and_none_after_the_end(work, threads):
    work.needed = False
    threads.tick()
    threads.wake()
    assert "ticking" not in running()
    work.needed = True
    threads.tick()
    until(lambda: work.ticks == 1)
    threads.stop()
    assert work.closed
    threads.tick()
    assert "ticking" not in running()
