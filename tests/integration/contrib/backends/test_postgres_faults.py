"""What goes wrong with a server is said with what to do, within the request's time, and passes."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.backends.making import make_backend
from irdaemon.runtime.deadline import set_deadline
from tests.support.filled import HOLDER, MadeCorpus, owners, wanted
from tests.support.postgres import PostgresServer, shared_server
from tests.support.tcp_proxy import Proxy


@pytest.fixture(scope="module")
def own_server():
    """Give a server that listens on TCP, for what others should not suffer from."""
    shared_server()
    made = PostgresServer("-c", "fsync=off", tcp=True).start()
    yield made
    made.remove()


@pytest.fixture
def own_database(own_server):
    return own_server.new_database()


@pytest.fixture
def proxy(own_server):
    with closing(Proxy("127.0.0.1", own_server.port)) as made:
        yield made


@pytest.fixture
def through(proxy, own_server, own_database):
    """Give a backend behind a proxy, with a corpus in it."""
    url = f"postgresql://writer@127.0.0.1:{proxy.port}/{own_database}"
    with closing(make_backend(url)) as backend:
        corpus = MadeCorpus()
        backend.apply(corpus.delta(backend.take_lease("c", HOLDER), [corpus.add([{1: 1.0}])]))
        yield backend


def soon(seconds=0.3):
    return set_deadline(time.monotonic() + seconds)


def test_where_nothing_listens_it_is_said_where_without_the_password():
    with closing(make_backend("postgresql://me:secret@127.0.0.1:1/db")) as backend:
        with pytest.raises(
            Unavailable, match=r"no connection to postgresql://me@127\.0\.0\.1:1/db"
        ):
            backend.read_totals()
        with pytest.raises(Unavailable) as again:
            backend.read_totals()
    assert "irdaemon backend check" in again.value.hint
    assert "secret" not in f"{again.value}{again.value.__cause__}"


def test_a_server_that_hangs_after_it_accepts_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://me@127.0.0.1:{port}/db"
        late = pytest.raises(Unavailable, match="timeout")
        with closing(make_backend(url)) as backend, late, soon(2):
            backend.read_totals()


@pytest.mark.parametrize(
    ("role", "database", "said"),
    [("nobody-here", "postgres", "nobody-here"), ("owner", "no_such_db", "no_such_db")],
)
def test_a_wrong_role_or_database_is_named(server, role, database, said):
    refused = pytest.raises(Unavailable, match=f'"{said}" does not exist')
    with closing(make_backend(server.url(database, role))) as backend, refused as error:
        backend.read_totals()
    assert "user and password" in error.value.hint


def test_a_wrong_password_is_said_and_a_right_one_is_taken_from_where_it_may_be(
    own_server, own_database, monkeypatch, tmp_path
):
    own_server.run("DROP ROLE IF EXISTS locked")
    own_server.run("CREATE ROLE locked LOGIN PASSWORD 'right-word' IN ROLE irdaemon_reader")
    own_server.allow("host all locked 127.0.0.1/32 scram-sha-256")
    place = f"127.0.0.1:{own_server.port}/{own_database}"
    refused = pytest.raises(Unavailable, match="password authentication failed")
    wrong = make_backend(f"postgresql://locked:wrong-word@{place}")
    with closing(wrong), refused as error:
        wrong.read_totals()
    assert "wrong-word" not in f"{error.value}{error.value.hint}{error.value.__cause__}"
    monkeypatch.setenv("SECRET", "right-word")
    with closing(make_backend(f"postgresql://locked@{place}", "SECRET")) as backend:
        assert backend.read_totals() == {}
    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:{own_server.port}:*:locked:right-word\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    with closing(make_backend(f"postgresql://locked@{place}")) as backend:
        assert backend.read_totals() == {}


def test_a_query_that_takes_too_long_ends_with_the_time_of_its_request(server, database, backend):
    assert backend.read_totals() == {}
    with psycopg.connect(server.url(database)) as holder:
        holder.execute("LOCK irdaemon.corpora IN ACCESS EXCLUSIVE MODE")
        with soon(), pytest.raises(Unavailable, match="in time"):
            backend.read_totals()
        holder.rollback()
    assert backend.read_totals() == {}


def test_a_network_that_drops_is_said_in_time_and_passes(through, proxy):
    assert owners(through.find_candidates("c", wanted([1]))) == [1]
    proxy.down()
    for _ in range(2):  # on a connection that there was, and on none
        with soon(), pytest.raises(Unavailable):
            through.find_candidates("c", wanted([1]))
    proxy.up()
    assert owners(eventually(lambda: through.find_candidates("c", wanted([1])))) == [1]


def test_connections_that_were_cut_are_made_again_without_a_word(through, proxy):
    assert owners(through.find_candidates("c", wanted([1]))) == [1]
    proxy.cut()
    assert owners(through.find_candidates("c", wanted([1]))) == [1]


def test_a_server_that_is_stopped_and_goes_on_is_waited_for_no_longer_than_asked(
    own_server, own_database, through
):
    with signals_stopped(own_server), soon(), pytest.raises(Unavailable):
        through.read_totals()
    assert set(eventually(through.read_totals)) == {"c"}


def test_a_server_that_starts_again_is_found_again(own_server, own_database, through):
    own_server.stop(signal.SIGINT)
    with pytest.raises(Unavailable):
        through.read_totals()
    own_server.start()
    assert set(eventually(through.read_totals)) == {"c"}


def test_too_many_connections_are_said_to_be(server, database, backend):
    server.run("ALTER ROLE writer CONNECTION LIMIT 0")
    try:
        with pytest.raises(Unavailable, match="too many connections"):
            backend.read_totals()
    finally:
        server.run("ALTER ROLE writer CONNECTION LIMIT -1")
    assert eventually(backend.read_totals) == {}


def test_a_full_disk_is_said_and_nothing_of_the_delta_is_left():
    shared_server()
    with small_disk() as disk:
        server = PostgresServer("-c", "fsync=off", disk=disk)
        server.start()
        try:
            check_full_disk(server, disk)
        finally:
            server.remove()


def check_full_disk(server, disk):
    with closing(make_backend(server.url(server.new_database(), "writer"))) as backend:
        corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
        backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])]))
        filler = disk / "filler"
        room = shutil.disk_usage(disk).free - 8_000_000
        filler.write_bytes(b"\0" * room)
        large = [corpus.add([{2: 1.0}], body=os.urandom(20_000).hex()) for _ in range(1_500)]
        delta = corpus.delta(fence, large)
        with pytest.raises(Unavailable, match="no room left on its disk") as error:
            backend.apply(delta)
        assert "free space on the server" in error.value.hint
        filler.unlink()
        totals = backend.read_totals()
        assert (totals["c"].generation, totals["c"].n_records) == (1, 1)
        small = replace(delta, artifacts=delta.artifacts[:5], records=delta.records[:5])
        assert backend.apply(small) == 2
        assert owners(backend.find_candidates("c", wanted([2]))) == [2, 3, 4, 5, 6]


@contextlib.contextmanager
def small_disk():
    path = Path(tempfile.mkdtemp(prefix="irdaemon-pg-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", path])
    if mounted.returncode:
        pytest.skip("no file system can be mounted here, so none can be full")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)
        path.rmdir()


@contextlib.contextmanager
def signals_stopped(server):
    server.signal_all(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal_all(signal.SIGCONT)


def eventually(work):
    """Return what `work` does once it no longer fails for want of the server."""
    for _ in range(100):
        try:
            return work()
        except Unavailable:
            time.sleep(0.1)
    return work()
