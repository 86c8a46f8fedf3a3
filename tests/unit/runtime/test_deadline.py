"""Work that no client waits for any more gives itself up."""

import time

import pytest

from irclient.errors import Unavailable
from irdaemon.runtime.deadline import check_clock, limit_time, set_deadline


def test_without_a_deadline_work_may_take_as_long_as_it_likes():
    check_clock()


def test_work_beyond_its_deadline_is_given_up_with_what_to_do():
    with set_deadline(time.monotonic() - 1), pytest.raises(Unavailable, match="in time") as raised:
        check_clock()
    assert "--timeout" in raised.value.hint
    with set_deadline(time.monotonic() + 3600):
        check_clock()


def test_a_deadline_ends_with_its_work_even_if_that_fails():
    with pytest.raises(KeyError), set_deadline(time.monotonic() - 1):
        raise KeyError
    check_clock()
    with set_deadline(time.monotonic() + 3600):
        with set_deadline(time.monotonic() - 1), pytest.raises(Unavailable):
            check_clock()
        check_clock()


def test_what_does_not_answer_within_its_own_time_is_named_and_a_request_that_is_over_is_not():
    with pytest.raises(Unavailable) as caught, limit_time(-1, "postgresql://db/ir"):
        check_clock()
    assert caught.value.message.startswith("postgresql://db/ir did not answer within")
    with (
        pytest.raises(Unavailable, match="gave this request up"),
        set_deadline(time.monotonic() - 2),
        limit_time(-1, "postgresql://db/ir"),
    ):
        check_clock()
    with pytest.raises(Unavailable, match="refused"), limit_time(5, "x"):
        raise Unavailable("refused")
