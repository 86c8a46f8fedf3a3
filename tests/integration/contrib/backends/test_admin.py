"""Those who look after a backend see what it lacks, and make its tables."""

import psycopg
import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.backends.making import make_admin
from tests.support.filled import HOLDER, MadeCorpus

_NO_RIGHT = psycopg.errors.InsufficientPrivilege


def said(state):
    return [line.text for host in state.hosts for line in host.lines]


@pytest.fixture
def empty(server):
    """Give a database without any table."""
    (number,) = server.run("SELECT count(*) FROM pg_database")[0]
    server.run(f"CREATE DATABASE e{number}")
    return f"e{number}"


def test_a_database_without_tables_says_so_until_it_is_migrated(server, empty, connect):
    url = server.url(empty)
    with pytest.raises(Unavailable, match="no irdaemon tables") as error:
        connect("owner", empty).read_totals()
    assert "irdaemon backend migrate" in error.value.hint
    state = make_admin(url).check()
    assert not state.ok
    assert "the extension pgvector is not in this database" in said(state)
    assert make_admin(url).migrate() == make_admin(url).migrate() == 1
    assert make_admin(url).check().ok
    assert connect("owner", empty).read_totals() == {}


def test_a_role_that_may_not_make_tables_is_told_so_and_nothing_is_left(server, empty, database):
    with pytest.raises(Unavailable, match="permission denied"):
        make_admin(server.url(empty, "writer")).migrate()
    assert server.run("SELECT to_regnamespace('irdaemon')", empty) == [(None,)]


def test_tables_of_a_later_format_are_refused_unless_they_are_said_to_suit(
    server, database, connect
):
    server.run("UPDATE irdaemon.format SET number = 2", database)
    assert connect("reader").read_totals() == {}
    server.run("UPDATE irdaemon.format SET number = 3, least = 2", database)
    with pytest.raises(Unavailable, match="format 3, this version knows formats up to 1"):
        connect("reader").read_totals()
    with pytest.raises(Unavailable, match="format 3"):
        make_admin(server.url(database)).migrate()
    assert any("format 3" in line for line in said(make_admin(server.url(database)).check()))


def test_a_migration_that_fails_leaves_the_tables_as_they_were(server, empty):
    server.run("CREATE SCHEMA irdaemon; CREATE TABLE irdaemon.leases (x int)", empty)
    with pytest.raises(Unavailable):
        make_admin(server.url(empty)).migrate()
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'irdaemon'"
    assert server.run(tables, empty) == [(1,)]


def test_sizes_are_told_by_corpus(server, database, backend):
    corpus = MadeCorpus()
    item = corpus.add([{1: 2.0, 2: 1.0}, {2: 1.0}])
    backend.apply(corpus.delta(backend.take_lease("c", HOLDER), [item]))
    (size,) = make_admin(server.url(database, "reader")).measure_corpora()
    assert (size.corpus, size.generation, size.artifacts, size.records) == ("c", 1, 1, 2)
    assert (size.vectors, size.postings, size.graph) == (2, 3, False)
    assert size.size > 50_000


def test_a_check_tells_what_a_role_may_do(server, database, connect):
    for role, text in (
        ("reader", "this role may read"),
        ("writer", "this role may read and write"),
    ):
        lines = said(make_admin(server.url(database, role)).check())
        assert text in lines
        assert "row-level security applies to this role" in lines
    owner = said(make_admin(server.url(database)).check())
    assert any("row-level security does not apply" in line for line in owner)
    server.run("DROP ROLE IF EXISTS outsider")
    server.run("CREATE ROLE outsider LOGIN")
    state = make_admin(server.url(database, "outsider")).check()
    assert not state.ok
    with pytest.raises(Unavailable, match="lacks the permission") as error:
        connect("outsider").read_totals()
    assert "irdaemon_reader" in error.value.hint


def test_a_reader_cannot_write(server, database, connect):
    backend = connect("reader")
    with pytest.raises(Unavailable, match="lacks the permission"):
        backend.take_lease("c", HOLDER)
    statement = "SELECT irdaemon.create_space('c', 8)"
    with psycopg.connect(server.url(database, "reader")) as connection, pytest.raises(_NO_RIGHT):
        connection.execute(statement)
