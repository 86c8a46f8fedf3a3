"""Requests that take a while: so many at once, each with a deadline. No thread is started."""

import pytest

from irclient.wire import Request
from irdaemon.serve.loop import Task, WorkerPools


def task(number, deadline=10.0):
    return Task(Request(number, "status", {}), lambda: b"", lambda reply: None, deadline)


@pytest.fixture
def started():
    return []


@pytest.fixture
def pools(started):
    return WorkerPools({"slow": 2, "heavy": 1}, started.append)


def test_a_pool_runs_so_many_at_once_in_the_order_they_came(pools, started):
    tasks = [task(number) for number in range(4)]
    for each in tasks:
        pools.add("slow", each)
    assert started == tasks[:2]
    assert pools.end(tasks[1])
    assert started == tasks[:3]
    assert len(pools) == 3


def test_a_full_pool_holds_up_no_other(pools, started):
    for number in range(5):
        pools.add("slow", task(number))
    other = task(9)
    pools.add("heavy", other)
    assert started[-1] is other


def test_what_waits_past_its_deadline_is_given_up_and_never_begun(pools, started):
    late = task(3, deadline=1.0)
    for each in (task(1), task(2), late, task(4)):
        pools.add("slow", each)
    assert pools.expire(2.0) == [late]
    for each in tuple(started):
        pools.end(each)
    assert late not in started


def test_what_runs_past_its_deadline_gives_its_place_to_the_next(pools, started):
    stuck, after = task(1, deadline=1.0), task(2)
    pools.add("heavy", stuck)
    pools.add("heavy", after)
    assert pools.expire(0.5) == []
    assert pools.expire(2.0) == [stuck]
    assert started == [stuck, after]
    assert not pools.end(stuck), "its client was told already"
    assert pools.end(after)


def test_only_so_many_threads_are_written_off(pools, started):
    for number in range(100):
        pools.add("heavy", task(number, deadline=number))
        pools.expire(number + 0.5)
    assert len(started) < 20
    pools.end(started[0])
    pools.expire(200.0)
    pools.add("heavy", task(200, deadline=300.0))
    assert started[-1].request.id == 200


def test_what_has_not_begun_can_be_taken_back(pools, started):
    tasks = [task(number) for number in range(3)]
    for each in tasks:
        pools.add("slow", each)
    assert pools.clear() == tasks[2:]
    assert len(pools) == 2
