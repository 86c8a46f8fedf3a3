"""Kept clients across the life of a real daemon."""

import asyncio
import signal

import pytest

from irclient import AsyncClient, Lost, Query, Timeout
from tests.support.running import Running, until


def test_a_kept_client_asks_the_daemon_that_comes_after(daemon, home):
    with home.client() as client:
        first = client.ping().pid
        daemon.kill()
        with Running(home) as later:
            assert client.ping().pid == later.process.pid != first


def test_a_question_under_way_when_the_daemon_is_killed_is_answered_by_the_next(daemon, home):
    async def asked():
        async with AsyncClient(str(home.socket), timeout=30) as client:
            await client.ping()
            daemon.process.send_signal(signal.SIGSTOP)
            question = asyncio.create_task(client.discover(Query("fill a pdf form")))
            change = asyncio.create_task(client.build())
            await asyncio.sleep(0.05)
            daemon.kill()
            with Running(home):
                with pytest.raises(Lost):
                    await change
                return (await question).results[0].name

    assert asyncio.run(asked()) == "pdf-forms"


def test_events_say_that_the_daemon_went_and_came_back(daemon, home):
    with home.client() as client, client.events(timeout=20) as events:
        home.skill("new", "Count badgers")
        assert next(event for event in events if event.topic == "generation").data["corpus"]
        daemon.kill()
        assert any(event.topic == "lost" for event in events)
        with Running(home) as later:
            assert any(event.topic == "back" for event in events)
            later.wait_idle()


def test_a_stopped_daemon_is_a_timeout_once_and_answers_when_it_goes_on(daemon, home):
    with home.client(timeout=0.3) as client:
        client.ping()
        daemon.process.send_signal(signal.SIGSTOP)
        with pytest.raises(Timeout):
            client.ping()
        daemon.process.send_signal(signal.SIGCONT)
        until(lambda: client.ping().pid == daemon.process.pid)
