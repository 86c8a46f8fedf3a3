import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.backends.qdrant.corpus_state import LEASE_S, States
from tests.support.clocks import Clock
from tests.support.qdrant import recorded


@pytest.fixture
def clock():
    return Clock(1_000.0)


@pytest.fixture
def states(clock):
    return States(recorded()[0]._server, clock)


def test_a_lease_is_renewed_with_the_fence_that_it_has(states, clock):
    fence = states.take_lease("notes", "one@here")
    clock.now += 5
    assert states.take_lease("notes", "one@here") == fence
    assert states.get("notes").until == clock.now + LEASE_S


def test_a_second_writer_is_told_of_the_first(states):
    states.take_lease("notes", "one@here")
    with pytest.raises(Unavailable, match="one@here"):
        states.take_lease("notes", "two@there")


def test_a_lease_that_ran_out_is_taken_with_a_higher_fence(states, clock):
    first = states.take_lease("notes", "one@here")
    clock.now += LEASE_S + 1
    assert states.take_lease("notes", "two@there") > first
    with pytest.raises(Unavailable, match="two@there"):
        states.get_own("notes", first)


def test_of_two_that_change_what_both_have_read_one_does(states):
    states.take_lease("notes", "one@here")
    read = states.get("notes")
    assert states.change(read, read)
    assert not states.change(read, read)


def test_of_two_that_make_a_state_one_does(states):
    none = states.get("notes")
    assert states.change(none, none)
    assert not states.change(none, none)


def test_a_lease_may_be_renewed_while_a_delta_is_written(states):
    fence = states.take_lease("notes", "one@here")
    read = states.get_own("notes", fence)
    states.take_lease("notes", "one@here")
    assert states.advance(read, {"begun": 1}).begun == 1
