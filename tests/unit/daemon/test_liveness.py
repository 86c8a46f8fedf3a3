"""The watchdog is answered only while every thread gets on."""

from irdaemon.daemon.daemon import Heartbeat, find_dead, find_stuck

WELL = Heartbeat("writer", True, 100.0)


def test_threads_that_live_and_get_on_are_no_trouble():
    assert find_stuck([WELL], now=159.0, after_s=60) == ()
    assert find_dead([WELL]) == ()


def test_a_thread_without_a_sign_for_too_long_is_stuck():
    assert find_stuck([WELL], now=400.0, after_s=60) == (
        "the writer has made no progress for 5 min",
    )
    assert find_dead([WELL]) == ()


def test_no_limit_means_no_thread_is_ever_stuck():
    assert find_stuck([WELL], now=1e9, after_s=0) == ()


def test_a_dead_thread_is_told_whatever_the_limit():
    died = Heartbeat("supervisor", False, 100.0)
    assert find_stuck([WELL, died], now=100.0, after_s=0) == ("the supervisor died",)
    assert find_dead([WELL, died]) == ("supervisor",)
