"""Work that no client waits for any more gives itself up."""

import time

import pytest

from irclient.errors import Unavailable
from irdaemon.runtime.deadline import answering_within, check_clock, until


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


def test_what_does_not_answer_within_its_own_time_is_named_and_a_request_that_is_over_is_not():
    with pytest.raises(Unavailable) as caught, answering_within(-1, "postgresql://db/ir"):
        check_clock()
    assert caught.value.message.startswith("postgresql://db/ir did not answer within")
    with (
        pytest.raises(Unavailable, match="gave this request up"),
        until(time.monotonic() - 2),
        answering_within(-1, "postgresql://db/ir"),
    ):
        check_clock()
    with pytest.raises(Unavailable, match="refused"), answering_within(5, "x"):
        raise Unavailable("refused")
