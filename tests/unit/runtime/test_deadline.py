"""Work that no client waits for any more gives itself up."""

import time

import pytest

from irclient.errors import Unavailable
from irdaemon.runtime.deadline import check_clock, until


def test_without_a_deadline_work_may_take_as_long_as_it_likes():
    check_clock()


def test_work_beyond_its_deadline_is_given_up_with_what_to_do():
    with until(time.monotonic() - 1), pytest.raises(Unavailable, match="in time") as raised:
        check_clock()
    assert "--timeout" in raised.value.hint
    with until(time.monotonic() + 3600):
        check_clock()


def test_a_deadline_ends_with_its_work_even_if_that_fails():
    with pytest.raises(KeyError), until(time.monotonic() - 1):
        raise KeyError
    check_clock()
    with until(time.monotonic() + 3600):
        with until(time.monotonic() - 1), pytest.raises(Unavailable):
            check_clock()
        check_clock()
