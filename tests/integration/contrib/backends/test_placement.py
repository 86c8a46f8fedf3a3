"""Corpora on several servers: each on one, few of them moved when a server comes."""

from contextlib import closing

import pytest

from irclient.errors import Unavailable
from irdaemon.config.backends import BackendAddress
from irdaemon.contrib.backends.making import PlacedBackend, open_backend, rank_servers
from irdaemon.index.backend import OutOfStep
from tests.support.filled import HOLDER, MadeCorpus
from tests.support.memory_backend import MemoryBackend

NAMES = [f"corpus-{number}" for number in range(3_000)]


def test_a_server_that_is_added_takes_its_share_and_nothing_else_moves():
    before = {name: rank_servers(name, "abc")[0] for name in NAMES}
    after = {name: rank_servers(name, "abcd")[0] for name in NAMES}
    moved = [name for name in NAMES if before[name] != after[name]]
    assert {after[name] for name in moved} == {"d"}
    assert 0.2 < len(moved) / len(NAMES) < 0.3
    for server in "abc":
        share = sum(each == server for each in before.values()) / len(NAMES)
        assert 0.28 < share < 0.39


def test_the_order_in_which_servers_are_named_does_not_matter():
    assert all(rank_servers(n, "abc") == rank_servers(n, "cba") for n in NAMES[:100])


def filled(backend, names):
    made = {name: MadeCorpus(name) for name in names}
    for name, corpus in made.items():
        item = corpus.add([{1: 1.0}])
        backend.apply(corpus.delta(backend.take_lease(name, HOLDER), [item]))
    return made


def test_each_corpus_lies_on_one_server_and_all_are_found_through_the_whole():
    servers = {"a": MemoryBackend(), "b": MemoryBackend()}
    backend = PlacedBackend(servers)
    filled(backend, NAMES[:12])
    assert set(backend.read_totals()) == set(NAMES[:12])
    assert all(len(server.read_totals()) for server in servers.values())
    assert sum(len(server.read_totals()) for server in servers.values()) == 12
    assert all(list(backend.list_row_numbers(name)) == [1] for name in NAMES[:12])


def test_a_corpus_whose_place_is_on_a_new_server_is_where_it_was_until_it_is_sent_there():
    servers = {"a": MemoryBackend(), "b": MemoryBackend()}
    made = filled(PlacedBackend(servers), NAMES[:20])
    servers["c"] = MemoryBackend()
    backend = PlacedBackend(servers)
    assert set(backend.read_totals()) == set(made)
    (name, *_) = (name for name in made if rank_servers(name, "abc")[0] == "c")
    assert list(backend.list_row_numbers(name)) == [1]
    fence = backend.take_lease(name, HOLDER)
    with pytest.raises(OutOfStep):
        backend.apply(made[name].delta(fence, [made[name].add([{1: 1.0}])]))
    backend.apply(made[name].delta(fence, base=0))
    assert [name in server.read_totals() for server in servers.values()] == [False, False, True]
    assert list(backend.list_row_numbers(name)) == [1, 2]


def test_two_servers_of_postgresql_share_corpora_and_one_that_is_away_leaves_the_others(server):
    urls = [server.url(server.new_database(), "writer") for _ in range(2)]
    with closing(open_backend(BackendAddress(tuple(urls)))) as backend:
        made = filled(backend, NAMES[:6])
        assert set(backend.read_totals()) == set(made)
        assert "writer" in repr(backend)
        away, there = (rank_servers(NAMES[0], backend.servers)[at] for at in (0, -1))
        for name in made:
            assert list(backend.list_row_numbers(name)) == [1]
        gone = urls[list(backend.servers).index(away)].split("/")[3].split("?")[0]
        backend.close()
        server.run(f"ALTER DATABASE {gone} RENAME TO {gone}_away")
        kept = [name for name in made if rank_servers(name, backend.servers)[0] == there]
        assert all(list(backend.list_row_numbers(name)) == [1] for name in kept)
        with pytest.raises(Unavailable, match=gone):
            backend.list_row_numbers(NAMES[0])
        with pytest.raises(Unavailable, match=gone):
            backend.read_totals()
