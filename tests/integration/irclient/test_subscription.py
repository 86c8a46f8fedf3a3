"""Events at both clients: as they happen, until silence, and across a restart of the daemon."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from irclient import AsyncClient, Client, Unreachable
from irclient.testing import FakeDaemon
from irclient.types import Event


class Awaited:
    """The events of an AsyncClient, taken one at a time like those of a Client."""

    def __init__(self, endpoint):
        self.runner = asyncio.Runner()
        self.client = AsyncClient(endpoint)

    def events(self, *args, **named):
        async def subscribe():
            return self.client.events(*args, **named)

        subscription = self.runner.run(subscribe())

        async def following():
            return await anext(subscription, None)

        while (event := self.runner.run(following())) is not None:
            yield event

    def close(self):
        self.runner.close()


@pytest.fixture
def daemon():
    with FakeDaemon() as running:
        yield running


@pytest.fixture(params=[Client, Awaited])
def client(request, daemon):
    made = request.param(daemon.endpoint)
    yield made
    made.close()


@contextmanager
def publishing(daemon, *events):
    """Publish again and again: what is sent before the subscription is there goes nowhere."""
    enough = threading.Event()

    def publish():
        while not enough.wait(0.005):
            for topic, data in events:
                daemon.publish(topic, data)

    thread = threading.Thread(target=publish)
    thread.start()
    yield
    enough.set()
    thread.join()


def test_an_event_is_a_topic_and_its_data(daemon, client):
    with publishing(daemon, ("generation", {"generation": 5, "corpus": "notes"})):
        topic, data = next(iter(client.events(timeout=5)))
    assert (topic, data) == ("generation", {"generation": 5, "corpus": "notes"})


def test_only_the_topics_that_were_asked_for_arrive(daemon, client):
    with publishing(daemon, ("job", {"n": 1}), ("failure", {"n": 2})):
        events = iter(client.events(("failure",), timeout=5))
        assert {next(events).topic for _ in range(3)} == {"failure"}


def test_events_end_after_so_much_silence(client):
    assert list(client.events(timeout=0.03)) == []


def test_a_restart_is_an_event_and_events_go_on_after_it(daemon, client):
    events = iter(client.events(("job",), timeout=5))
    with publishing(daemon, ("job", {"n": 1})):
        assert next(events).topic == "job"
    while (event := _after(daemon.stop, events)).topic == "job":
        pass  # those that were on the way
    assert event == Event("lost", {})
    daemon.start()
    assert next(events) == Event("back", {})
    with publishing(daemon, ("job", {"n": 2})):
        assert next(events) == Event("job", {"n": 2})


def _after(happened, events):
    happened()
    return next(events)


def test_without_a_daemon_there_are_no_events_to_wait_for(daemon, client):
    daemon.stop()
    with pytest.raises(Unreachable, match="no daemon"):
        next(iter(client.events()))


def test_a_subscription_that_was_closed_has_ended(daemon):
    with Client(daemon.endpoint) as client, client.events(timeout=5) as events:
        events.close()
        assert list(events) == []
