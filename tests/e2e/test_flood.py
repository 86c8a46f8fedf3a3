"""Floods, fuzzed messages, broken connections, readers that do not read: none of it matters."""

import contextlib
import os
import random
import resource
import socket
import subprocess
import time
from functools import partial

import pytest
import zmq

from irclient import wire
from irclient.errors import LimitError
from tests.support import bad_bytes
from tests.support.running import Running, until

MEGABYTE = 2**20
# SQLite keeps a file open that was read while another process locked it, for the next reader.
LEDGER_VIEWS = 8


def descriptors(running):
    return len(os.listdir(f"/proc/{running.process.pid}/fd"))


def memory(running):
    """Return the resident memory of a daemon in bytes."""
    with open(f"/proc/{running.process.pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def send_messages(home, number, seed):
    """Send so many messages, a hundred at a time; every one gets a reply that is no fault."""
    chance = random.Random(seed)
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.connect(f"ipc://{home.socket}")
        for at in range(0, number, 100):
            sent = [bad_bytes.message(chance) for _ in range(100)]
            for each in sent:
                dealer.send(each)
            for _ in sent:
                assert dealer.poll(30_000), (
                    f"seed {seed}, from message {at} on: one is not answered"
                )
                assert b"\xa8internal" not in dealer.recv(), f"seed {seed}, from message {at} on"


def send_bytes(home, number, seed):
    """Make so many connections, send what no client would, and leave, most of them at once."""
    chance = random.Random(seed)
    kept = []
    for _ in range(number):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(str(home.socket))
        raw.settimeout(5)
        with contextlib.suppress(OSError):  # the daemon may have had enough already
            raw.sendall(bad_bytes.connection(chance))
        kept.append(raw)
        if chance.random() < 0.9 or len(kept) > 20:
            kept.pop(chance.randrange(len(kept))).close()
    for raw in kept:
        raw.close()


def attack(home, running, messages, connections, seed):
    """Send bad messages and bad connections; return how memory and descriptors grew."""
    send_messages(home, 500, seed)
    send_bytes(home, 50, seed)
    before, opened = memory(running), descriptors(running)
    send_messages(home, messages, seed + 1)
    send_bytes(home, connections, seed + 1)
    with home.client() as client:
        assert client.ping().pid == running.process.pid
    until(lambda: descriptors(running) <= opened + LEDGER_VIEWS)
    return memory(running) - before


@pytest.fixture
def unhurried(home):
    home.config.write_text('embedder = "hashing"\n[serve]\nrequests_per_second = 0\n')
    home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
    with Running(home) as running:
        running.wait_idle()
        yield running


def test_thousands_of_bad_messages_and_connections_change_nothing(home, unhurried):
    grown = attack(home, unhurried, messages=2_000, connections=500, seed=20261121)
    assert grown < 20 * MEGABYTE
    assert home.answer("status")["queue"] == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_hundred_thousand_bad_messages_change_nothing(home, unhurried):
    started = time.monotonic()
    # Every operation is asked often enough that what it loads and keeps is there.
    attack(home, unhurried, messages=60_000, connections=1_000, seed=1)
    grown = attack(home, unhurried, messages=100_000, connections=10_000, seed=2)
    took = time.monotonic() - started
    print(f"\n161,000 messages, 11,100 connections, {took:.0f} s, {grown / MEGABYTE:.1f} MiB more")
    assert grown < 10 * MEGABYTE


@pytest.mark.parametrize("name", ["irdaemon.sock", "irevents.sock"])
def test_a_crowd_that_says_nothing_is_cut_and_leaves_room_for_others(home, name):
    home.skill("pdf-forms", "Fill and flatten PDF forms")
    home.config.write_text('embedder = "hashing"\n[serve]\nmax_connections = 20\n')
    with Running(home) as running:
        running.wait_idle()
        opened = descriptors(running)
        crowd = [socket.socket(socket.AF_UNIX) for _ in range(110)]
        for each in crowd:
            each.connect(str(home.socket.parent / name))
        until(lambda: sum(_is_cut(each) for each in crowd) >= 90)
        with home.client() as client:
            assert client.ping().pid == running.process.pid
        for each in crowd:
            each.close()
        until(lambda: descriptors(running) < opened + 10)  # the 20 that were let in are gone too


def test_where_few_files_may_be_open_clients_are_served_and_the_status_says_so(home, monkeypatch):
    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))

    home.forks = False
    with monkeypatch.context() as few:
        few.setattr(subprocess, "Popen", partial(subprocess.Popen, preexec_fn=limited))
        running = Running(home)
    with running, contextlib.ExitStack() as open_clients:
        for _ in range(40):
            client = open_clients.enter_context(home.client())
            assert client.ping().pid == running.process.pid
        until(lambda: "only 512 files may be open" in home.irc("status").stdout)


def _is_cut(raw):
    raw.setblocking(False)
    try:
        return raw.recv(4_096) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_client_that_does_not_read_costs_a_bounded_memory_and_delays_no_other_client(home):
    home.config.write_text(
        'embedder = "hashing"\n[serve]\nrequests_per_second = 0\nmax_waiting = 0\n'
    )
    home.skill("long", "Fill and flatten PDF forms", "word " * 3_500)
    ask = wire.pack_request(wire.Request(1, "disclose", {"references": ["skills/long"] * 30}))
    with Running(home) as running, zmq.Context() as context:
        running.wait_idle()
        before = memory(running)
        with context.socket(zmq.DEALER) as deaf:
            deaf.linger, deaf.rcvhwm, deaf.sndtimeo = 0, 1, 5_000
            deaf.connect(f"ipc://{home.socket}")
            for _ in range(900):  # half a megabyte each is asked for: 470 in all
                with contextlib.suppress(zmq.Again):
                    deaf.send(ask)
            with home.client(timeout=60) as client:
                client.status()  # it waits for its turn behind all that
                assert client.ping().pid == running.process.pid
            assert memory(running) - before < 350 * MEGABYTE


def test_a_connection_beyond_its_rate_is_told_so_and_another_is_not(home):
    home.config.write_text('embedder = "hashing"\n[serve]\nrequests_per_second = 2\n')
    with Running(home), home.client() as greedy, home.client() as modest:
        for _ in range(20):
            greedy.ping()
        with pytest.raises(LimitError, match="requests_per_second"):
            greedy.ping()
        modest.ping()
