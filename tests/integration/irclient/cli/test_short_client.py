"""The client of one command against daemons that are not there, go away, or speak another word."""

import os
import socket
import tempfile

import pytest

from irclient import Client
from irclient.cli.short_client import ShortClient, Told, told
from irclient.errors import IRError, Lost, ProtocolError, Timeout, Unreachable
from irclient.testing import CRASH, SILENT, FakeDaemon


def failed(client, name, *given):
    """Return the error of an operation."""
    with pytest.raises(IRError) as caught:
        getattr(client, name)(*given)
    if isinstance(client, Client):
        client.close()
    return type(caught.value), caught.value.message, caught.value.hint


def test_where_no_daemon_is_the_error_is_that_of_the_whole_client():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "s")
        there_is_none = failed(ShortClient(path, 0.1), "ping")
        assert there_is_none == failed(Client(path, 0.1), "ping")
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(path)
        nobody_listens = failed(ShortClient(path, 0.1), "ping")
        assert nobody_listens == failed(Client(path, 0.1), "ping")
        assert there_is_none[0] is nobody_listens[0] is Unreachable
        assert there_is_none != nobody_listens


def test_a_daemon_that_does_not_answer_is_too_late():
    with FakeDaemon({"status": SILENT}) as daemon:
        found = failed(ShortClient(daemon.endpoint, 0.05), "status")
        assert found == failed(Client(daemon.endpoint, 0.05), "status")
        assert found[0] is Timeout


def test_an_answer_that_was_lost_is_asked_for_once_more_where_that_may_be():
    answers = iter([CRASH, {"version": "1", "protocol": 2, "pid": 7}])
    with FakeDaemon({"ping": lambda args: next(answers), "build": CRASH}) as daemon:
        client = ShortClient(daemon.endpoint, 5)
        assert client.ping().pid == 7
        assert not client.asked_once
        assert failed(client, "build")[0] is Lost
        assert client.asked_once
        assert [each.op for each in daemon.requests] == ["ping", "ping", "build"]


def test_a_daemon_of_another_protocol_is_named_with_what_helps():
    with FakeDaemon(protocol=1) as daemon:
        found = failed(ShortClient(daemon.endpoint, 5), "ping")
        assert found == failed(Client(daemon.endpoint, 5), "ping")
        assert found[0] is ProtocolError


def test_the_keys_of_a_reply_are_read_as_attributes_however_deep():
    reply = told({"corpora": [{"name": "skills", "health": {"level": "ok"}}], "queue": 0})
    assert reply.corpora[0].health.level == "ok"
    assert reply.queue == 0
    assert reply.to_dict() == {**reply}
    assert isinstance(reply, Told)
    with pytest.raises(AttributeError):
        reply.unknown  # noqa: B018
