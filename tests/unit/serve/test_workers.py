"""Requests that take a while: so many at once, each with a deadline. No thread is started."""

import pytest

from irclient.wire import Request
from irdaemon.serve.workers import Lanes, Task


def task(number, deadline=10.0):
    return Task(Request(number, "status", {}), lambda: b"", lambda reply: None, deadline)


@pytest.fixture
def started():
    return []


@pytest.fixture
def lanes(started):
    return Lanes({"slow": 2, "heavy": 1}, started.append)


def test_a_lane_runs_so_many_at_once_in_the_order_they_came(lanes, started):
    tasks = [task(number) for number in range(4)]
    for each in tasks:
        lanes.add("slow", each)
    assert started == tasks[:2]
    assert lanes.end(tasks[1])
    assert started == tasks[:3]
    assert len(lanes) == 3


def test_a_full_lane_holds_up_no_other(lanes, started):
    for number in range(5):
        lanes.add("slow", task(number))
    other = task(9)
    lanes.add("heavy", other)
    assert started[-1] is other


def test_what_waits_past_its_deadline_is_given_up_and_never_begun(lanes, started):
    late = task(3, deadline=1.0)
    for each in (task(1), task(2), late, task(4)):
        lanes.add("slow", each)
    assert lanes.expire(2.0) == [late]
    for each in tuple(started):
        lanes.end(each)
    assert late not in started


def test_what_runs_past_its_deadline_gives_its_place_to_the_next(lanes, started):
    stuck, after = task(1, deadline=1.0), task(2)
    lanes.add("heavy", stuck)
    lanes.add("heavy", after)
    assert lanes.expire(0.5) == []
    assert lanes.expire(2.0) == [stuck]
    assert started == [stuck, after]
    assert not lanes.end(stuck), "its client was told already"
    assert lanes.end(after)


def test_only_so_many_threads_are_written_off(lanes, started):
    for number in range(100):
        lanes.add("heavy", task(number, deadline=number))
        lanes.expire(number + 0.5)
    assert len(started) < 20
    lanes.end(started[0])
    lanes.expire(200.0)
    lanes.add("heavy", task(200, deadline=300.0))
    assert started[-1].request.id == 200


def test_what_has_not_begun_can_be_taken_back(lanes, started):
    tasks = [task(number) for number in range(3)]
    for each in tasks:
        lanes.add("slow", each)
    assert lanes.clear() == tasks[2:]
    assert len(lanes) == 2
