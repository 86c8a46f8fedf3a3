"""The thread that copies corpora: it ticks, is woken, goes on after a fault, and ends."""

import subprocess
import sys
import threading

import pytest

from irclient.errors import Unavailable
from irdaemon.config.backends import BackendAddress
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.backends import making as backends
from irdaemon.contrib.backends.copying import CopyWork, name_holder
from irdaemon.daemon.threads import BackgroundThreads
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


def with_backend(made, items):
    """Have a corpus with a backend in an engine."""
    address, source = BackendAddress(("postgresql://db/ir",)), InMemory(items)
    made.reconfigure([Corpus("m", "mapping", source, WholeText(), "hashing", backend=address)])
    made.drain()


def test_the_thread_starts_with_the_first_corpus_that_has_a_backend(tmp_path, monkeypatch):
    made, backend = engine(mapped({}), path=str(tmp_path / "l.sqlite")), MemoryBackend()
    monkeypatch.setattr(backends, "open_backend", lambda address: backend)
    threads = BackgroundThreads([CopyWork(made)])
    threads.tick()
    threads.wake()
    assert "copies" not in [thread.name for thread in threading.enumerate()]
    with_backend(made, {"a": "fill in a pdf form"})
    threads.tick()
    until(lambda: backend.read_totals())
    threads.stop()
    threads.tick()
    assert "copies" not in [thread.name for thread in threading.enumerate()]
    assert backend.leases["m"][0] == name_holder(made.ledger.read_identity())
    assert backend.leases["m"][2] == 0
    made.ledger.close()


def test_a_ledger_that_cannot_be_read_is_tried_again(monkeypatch):
    made, backend = engine(mapped({})), MemoryBackend()
    monkeypatch.setattr(backends, "open_backend", lambda address: backend)
    with_backend(made, {})
    work = CopyWork(made)
    with monkeypatch.context() as patched:
        patched.setattr(made.state, "open_reading", unreadable)
        with pytest.raises(Unavailable):
            work.tick()
    work.tick()
    work.close()
    assert backend.leases["m"][0] == name_holder(made.ledger.read_identity())


def unreadable():
    raise Unavailable("the ledger cannot be read")


def test_a_holder_is_told_by_user_machine_and_ledger(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    monkeypatch.setattr("platform.node", lambda: "laptop")
    assert name_holder(0x1234ABCDEF) == "ann@laptop (ledger abcdef)"
    assert name_holder(1) != name_holder(2)


def test_a_daemon_without_a_backend_imports_none_of_what_those_need():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "irdaemon.daemon.daemon" in loaded
    heavy = (
        "psycopg",
        "qdrant_client",
        "irdaemon.contrib.backends.making",
        "irdaemon.contrib.backends.replication",
    )
    front = (
        "irdaemon.contrib.backends.front",
        "irdaemon.contrib.backends.front_process",
        "irdaemon.contrib.backends.remote",
    )
    assert loaded.isdisjoint((*heavy, *front, "irdaemon.contrib.backends.front"))
