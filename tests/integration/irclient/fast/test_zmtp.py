"""The hand-written ZMTP against libzmq itself, and against peers that speak something else."""

import contextlib
import os
import socket
import tempfile
import threading
import time

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

from irclient.fast.zmtp import exchange, post


@pytest.fixture(scope="module")
def echo():
    """Run a ROUTER of libzmq that sends every message back, reversed."""
    path = os.path.join(tempfile.mkdtemp(), "s")
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.bind(f"ipc://{path}")

    def serve():
        with contextlib.suppress(zmq.ContextTerminated):
            while True:
                *route, data = router.recv_multipart()
                router.send_multipart([*route, data[::-1]])
        router.close(linger=0)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield path
    context.term()
    thread.join(5)


@contextlib.contextmanager
def peer_that(answers):
    """Listen, and call `answers(connection)` for one connection."""
    path = os.path.join(tempfile.mkdtemp(), "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def serve():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                answers(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        thread.join(5)


@given(st.binary(max_size=2_000))
def test_what_is_sent_arrives_and_what_is_answered_is_returned(echo, data):
    assert exchange(echo, data, 5) == data[::-1]


@pytest.mark.parametrize("size", [0, 255, 256, 65_536, 3_000_000])
def test_any_length_goes_both_ways(echo, size):
    data = os.urandom(size)
    assert exchange(echo, data, 5) == data[::-1]


def test_what_is_posted_arrives_though_no_client_waits_for_an_answer():
    path = os.path.join(tempfile.mkdtemp(), "s")
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger = 0
        router.bind(f"ipc://{path}")
        for number in range(50):
            post(path, b"%d" % number, 5)
        arrived = set()
        while len(arrived) < 50 and router.poll(5_000):
            arrived.add(int(router.recv_multipart()[1]))
    assert arrived == set(range(50))


def test_a_peer_that_says_nothing_costs_no_more_than_the_timeout():
    with peer_that(lambda connection: time.sleep(0.3)) as path:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            exchange(path, b"x", 0.05)
        assert time.monotonic() - started < 0.3


@given(st.binary(max_size=200))
def test_a_peer_that_speaks_something_else_is_an_os_error(said):
    with (
        peer_that(lambda connection: connection.sendall(said)) as path,
        pytest.raises(OSError),  # noqa: PT011 (whatever it is called: the caller knows OSError)
    ):
        exchange(path, b"x", 2)


def test_no_daemon_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        exchange(str(tmp_path / "none"), b"x", 1)
