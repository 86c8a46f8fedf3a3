"""Standbys answer, the primary is written, and where it dies another takes its place."""

import threading
import time
from contextlib import closing

import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.backends.making import make_admin, make_backend
from tests.support.filled import HOLDER, MadeCorpus, owners, wanted
from tests.support.postgres import PostgresServer, shared_server, url_of

_PLAIN = ("-c", "fsync=off", "-c", "hot_standby_feedback=on")
_SYNCHRONOUS = ("-c", "synchronous_standby_names=*", "-c", "synchronous_commit=remote_apply")


@pytest.fixture
def pair():
    """Give a primary and its standby, which has what is acknowledged."""
    shared_server()
    primary = PostgresServer(*_PLAIN).start()
    database = primary.new_database()
    primary.stop()
    primary.options = (*_PLAIN, *_SYNCHRONOUS)
    primary.start()
    standby = primary.standby(*_PLAIN)
    yield primary, standby, database
    for each in (primary, standby):
        each.remove()


def is_read_from_standby(backend):
    ask = "SELECT pg_is_in_recovery()"
    return backend._reading.run(lambda connection: connection.execute(ask).fetchone()[0], 5)


def test_reads_go_to_a_standby_which_has_what_was_acknowledged_and_can_be_waited_for(pair):
    primary, standby, database = pair
    with closing(make_backend(url_of([primary, standby], database, "writer"))) as backend:
        corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
        for number in (1, 2, 3):
            assert backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])])) == number
            assert len(owners(backend.find_candidates("c", wanted([1])))) == number
        assert is_read_from_standby(backend)
        check_waiting(primary, standby, backend, corpus, fence)
        state = make_admin(url_of([primary, standby], database, "writer")).check()
        assert state.ok
        assert [host.writable for host in state.hosts] == [True, False]
        assert "a standby, 0.0 s behind" in [line.text for line in state.hosts[1].lines]
        standby.kill()
        assert len(owners(eventually(lambda: backend.find_candidates("c", wanted([1]))))) == 4
        assert not is_read_from_standby(backend)
        assert not make_admin(url_of([primary, standby], database, "writer")).check().ok
        primary.kill()
        with pytest.raises(Unavailable) as error:
            backend.take_lease("c", HOLDER)
        assert all(str(each.directory) in error.value.message for each in (primary, standby))


def check_waiting(primary, standby, backend, corpus, fence):
    primary.stop()
    primary.options = _PLAIN
    primary.start()
    standby.run("SELECT pg_wal_replay_pause()")
    delta = corpus.delta(fence, [corpus.add([{1: 1.0}])])
    assert eventually(lambda: backend.apply(delta)) == 4
    assert backend.wait("c", 4, 0.2) == 3
    standby.run("SELECT pg_wal_replay_resume()")
    assert backend.wait("c", 4, 20) == 4


def test_a_primary_that_dies_among_writes_loses_none_that_was_acknowledged(pair):
    fail_over(pair, 60)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_primary_that_dies_among_ten_thousand_writes_loses_none(pair):
    fail_over(pair, 10_000)


def fail_over(pair, n_writes):
    """Write, kill the primary in the middle, promote the standby, and go on to the end."""
    primary, standby, database = pair
    acknowledged, half = [], threading.Event()

    def write():
        with closing(make_backend(url_of([primary, standby], database, "writer"))) as backend:
            corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
            for number in range(1, n_writes + 1):
                item = corpus.add([{number % 50: 1.0, 99: 1.0}], fields={"n": number})
                delta = corpus.small_delta(fence, item)
                acknowledged.append(eventually(lambda delta=delta: backend.apply(delta)))
                if number == n_writes // 2:
                    half.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert half.wait(3000)
    primary.kill()
    done = len(acknowledged)
    before = counted(standby, database)
    standby.run("SELECT pg_promote()")
    writer.join(3000)
    after = counted(standby, database)
    print(f"acknowledged before the primary was killed: {done}; on the standby: {before}")
    print(f"acknowledged in the end: {len(acknowledged)}; on the promoted standby: {after}")
    assert before["artifacts"] >= done
    assert acknowledged == list(range(1, n_writes + 1))
    whole = {"artifacts": n_writes, "records": n_writes, "vectors": n_writes}
    assert after == {**whole, "postings": 2 * n_writes, "twice": 0}
    with closing(make_backend(standby.url(database, "reader"))) as backend:
        assert backend.read_totals()["c"].n_artifacts == n_writes
        assert list(backend.list_row_numbers("c")) == list(range(1, n_writes + 1))
        last = backend.find_candidates("c", wanted([99], where={"n": n_writes}))
        assert (owners(last), last.eligible, last.df[99]) == ([n_writes], 1, n_writes)


def counted(server, database):
    """Count the rows of a corpus, and those that are there twice."""
    tables = ("artifacts", "records", "vectors", "postings")
    rows = {t: server.run(f"SELECT count(*) FROM irdaemon.{t}", database)[0][0] for t in tables}
    twice = "SELECT count(*) - count(DISTINCT (term, record)) FROM irdaemon.postings"
    return {**rows, "twice": server.run(twice, database)[0][0]}


def eventually(work):
    """Return what `work` does once it no longer fails for want of a server."""
    for _ in range(300):
        try:
            return work()
        except Unavailable:
            time.sleep(0.1)
    return work()
