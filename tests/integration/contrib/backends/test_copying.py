"""The thread that copies corpora: it ticks, is woken, goes on after a fault, and ends."""

import subprocess
import sys
import threading

import pytest

from irclient.errors import Unavailable
from irdaemon.config.backends import BackendAddress
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.backends import making as backends
from irdaemon.contrib.backends.copying import Copying, CopyThread, holder
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import WholeText
from tests.support.corpora import engine, mapped
from tests.support.memory_backend import MemoryBackend
from tests.support.running import until

PROGRAM = """
import sys
import irdaemon.cli.starting, irdaemon.daemon.active_config, irdaemon.daemon.daemon
print(*sys.modules)
"""


class Ticking:
    """A replication that counts its ticks, and fails as long as it is told to."""

    ticks, fails, closed = 0, False, False

    def tick(self, now):
        self.ticks += 1
        if self.fails:
            raise RuntimeError("a fault")

    def close(self):
        self.closed = True


@pytest.fixture
def ticking():
    made = Ticking()
    made.thread = CopyThread(made, tick_s=60)
    made.thread.start()
    yield made
    made.thread.stop()


def test_what_is_published_is_copied_at_once_and_a_fault_ends_nothing(ticking, caplog):
    until(lambda: ticking.ticks == 1)
    ticking.fails = True
    ticking.thread.wake()
    until(lambda: ticking.ticks == 2)
    until(lambda: "a copy failed" in caplog.text)
    ticking.fails = False
    ticking.thread.wake()
    until(lambda: ticking.ticks == 3)
    assert ticking.thread.is_alive()


def test_the_leases_are_given_up_at_the_end(ticking):
    ticking.thread.stop()
    assert ticking.closed
    assert not ticking.thread.is_alive()


def test_the_thread_starts_with_the_first_corpus_that_has_a_backend(tmp_path, monkeypatch):
    made, backend = engine(mapped({}), path=str(tmp_path / "l.sqlite")), MemoryBackend()
    monkeypatch.setattr(backends, "open_backend", lambda address: backend)
    copying = Copying(made)
    copying.tick()
    copying.wake()
    assert "copies" not in [thread.name for thread in threading.enumerate()]
    address = BackendAddress(("postgresql://db/ir",))
    source = InMemory({"a": "fill in a pdf form"})
    made.reconfigure([Corpus("m", "mapping", source, WholeText(), "hashing", backend=address)])
    made.drain()
    copying.tick()
    until(lambda: backend.totals())
    copying.stop()
    copying.tick()
    assert "copies" not in [thread.name for thread in threading.enumerate()]
    assert backend.leases["m"][0] == holder(made.ledger.read_identity())
    assert backend.leases["m"][2] == 0
    made.ledger.close()


def test_a_ledger_that_cannot_be_read_starts_no_thread_yet(monkeypatch):
    made = engine(mapped({}))
    address = BackendAddress(("postgresql://db/ir",))
    made.reconfigure(
        [Corpus("m", "mapping", InMemory({}), WholeText(), "hashing", backend=address)]
    )
    made.drain()

    def unreadable():
        raise Unavailable("the ledger cannot be read")

    monkeypatch.setattr(made.state, "reading", unreadable)
    copying = Copying(made)
    copying.tick()
    assert "copies" not in [thread.name for thread in threading.enumerate()]


def test_a_holder_is_told_by_user_machine_and_ledger(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    monkeypatch.setattr("platform.node", lambda: "laptop")
    assert holder(0x1234ABCDEF) == "ann@laptop (ledger abcdef)"
    assert holder(1) != holder(2)


def test_a_daemon_without_a_backend_imports_none_of_what_those_need():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "irdaemon.daemon.daemon" in loaded
    heavy = (
        "psycopg",
        "qdrant_client",
        "irdaemon.contrib.backends",
        "irdaemon.contrib.backends.replication",
    )
    front = (
        "irdaemon.contrib.backends.front",
        "irdaemon.contrib.backends.front_process",
        "irdaemon.contrib.backends.remote",
    )
    assert loaded.isdisjoint((*heavy, *front, "irdaemon.discovery.stored"))
