"""What a corpus in PostgreSQL holds after deltas, and what is found in it."""

from dataclasses import replace

import psycopg
import pytest

from irdaemon.contrib.backends.state import limit_scope
from irdaemon.index.backend import LeaseLost, OutOfStep
from tests.support.filled import HOLDER, MadeCorpus, owners, vector_of, wanted, word_of

TABLES = "artifacts naming records slots vectors waiting postings frequencies field_values".split()


def rows(server, database, *tables):
    """Count the rows of tables of a backend."""
    return [server.run(f"SELECT count(*) FROM irdaemon.{t}", database)[0][0] for t in tables]


def test_what_is_removed_leaves_no_row_and_no_word_behind(server, database, backend):
    corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
    kept = corpus.add([{1: 1.0}], fields={"team": "docs"})
    gone = corpus.add([{1: 2.0, 2: 1.0}, {3: 1.0}], fields={"team": "ops"}, name_terms=(9,))
    backend.apply(corpus.delta(fence, [kept, gone]))
    assert backend.find_term_ids("c", [word_of(t) for t in (1, 2, 3, 9)]).keys() == {
        "word1", "word2", "word3", "word9",
    }  # fmt: skip
    backend.apply(corpus.delta(fence, gone=[gone.number]))
    counts = dict(zip(TABLES, rows(server, database, *TABLES), strict=True))
    one_each = {"artifacts", "records", "slots", "vectors", "postings", "frequencies"}
    assert {table for table, n in counts.items() if n == 1} == one_each
    # Of the one that is left: its asset type, its kind and its team.
    assert (counts["field_values"], counts["naming"], counts["waiting"]) == (3, 0, 0)
    assert backend.find_term_ids("c", [word_of(t) for t in (1, 2, 3, 9)]) == {"word1": 1}
    assert b"ops" not in b"".join(
        bytes(value) for (value,) in server.run("SELECT value FROM irdaemon.field_values", database)
    )


def test_a_word_that_another_corpus_of_the_ledger_holds_stays(backend):
    one, other = MadeCorpus("one"), MadeCorpus("other")
    for corpus in (one, other):
        item = corpus.add([{1: 1.0, 2: 1.0}])
        backend.apply(corpus.delta(backend.take_lease(corpus.name, HOLDER), [item]))
    backend.apply(one.delta(backend.take_lease("one", HOLDER), gone=[1]))
    assert backend.find_term_ids("one", ["word1"]) == {"word1": 1}
    assert backend.list_words_like("one", ["w"], range(1, 9)) == []
    backend.drop("other", backend.take_lease("other", HOLDER))
    assert backend.find_term_ids("one", ["word1"]) == {}


def test_texts_that_postgresql_cannot_hold_come_back_as_they_were(backend):
    corpus = MadeCorpus()
    odd = "nul \0 half \ud800 \U0001f600 \\x00 {} %s"
    item = corpus.add([{1: 1.0}], name=odd, body=odd, fields={"a\0b": "c\0d"})
    delta = corpus.delta(backend.take_lease("c", HOLDER), [item])
    backend.apply(delta)
    found = backend.find_candidates("c", wanted([1]))
    assert found.artifacts == [delta.artifacts[0].row]
    assert found.records == [each.row for each in delta.records]
    text = backend.read_texts("c", [item.artifact_id])[item.artifact_id]
    assert (text.body, text.name, text.fields) == (odd, odd, {"a\0b": "c\0d"})
    assert text.records[0]["text"] == delta.records[0].text
    assert backend.find_candidates("c", wanted([1], where={"a\0b": "c\0d"})).eligible == 1
    assert backend.find_candidates("c", wanted([1], where={"a\0b": "cd"})).eligible == 0


def test_a_record_that_comes_without_a_vector_gets_one_by_its_digest(backend):
    corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
    item = corpus.add([{1: 1.0}, {1: 1.0}], embedded=False)
    backend.apply(corpus.delta(fence, [item]))
    waiting = set(backend.list_unembedded("c"))
    assert waiting == {each.row[5] for each in item.records()}
    assert backend.find_candidates("c", wanted([1])).vectors == [None, None]
    later = corpus.delta(fence)
    vectors = {digest: vector_of(at).tobytes() for at, digest in enumerate(sorted(waiting))}
    later = replace(later, vectors=vectors)
    backend.apply(later)
    assert backend.find_candidates("c", wanted([], vector_of(0))).vectors == [*vectors.values()]
    assert list(backend.list_unembedded("c")) == []


def test_all_that_tie_with_the_last_of_the_top_come_too(backend):
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}]) for _ in range(260)]
    backend.apply(corpus.delta(backend.take_lease("c", HOLDER), items))
    assert len(backend.find_candidates("c", wanted([1])).records) == 260


def test_all_vectors_that_tie_with_the_last_of_the_top_come_too(backend):
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}]) for _ in range(260)]
    delta = corpus.delta(backend.take_lease("c", HOLDER), items)
    same = [each._replace(vector=vector_of(0).tobytes()) for each in delta.records]
    delta = replace(delta, records=same)
    backend.apply(delta)
    assert len(backend.find_candidates("c", wanted([], vector_of(0))).records) == 260


def test_a_corpus_that_is_sent_whole_again_takes_the_place_of_what_there_was(
    server, database, backend
):
    corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
    backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}]) for _ in range(3)]))
    backend.apply(corpus.delta(fence, gone=[1], base=0))
    assert owners(backend.find_candidates("c", wanted([1]))) == [2, 3]
    parts = (
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'irdaemon' AND tablename ~ '_[0-9]+$'"
    )
    assert server.run(parts, database) == [(10,)]
    assert rows(server, database, "spaces") == [1]


def test_a_delta_that_fails_in_the_middle_changes_nothing(server, database, backend):
    corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
    backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])]))
    before = rows(server, database, *TABLES, "words", "spaces")
    for base in (None, 0):
        delta = corpus.delta(fence, [corpus.add([{5: 1.0}]), corpus.add([{6: 1.0}])], base=base)

        def failing(records=delta.records):
            yield records[0]
            raise RuntimeError("the ledger ended")

        delta = replace(delta, records=failing())
        with pytest.raises(RuntimeError, match="the ledger ended"):
            backend.apply(delta)
        assert rows(server, database, *TABLES, "words", "spaces") == before
        assert backend.read_totals()["c"].generation == 1
        corpus.generation = 1


def test_numbers_of_another_dimension_or_ledger_are_out_of_step(backend):
    corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
    backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])]))
    corpus.ledger = "another"
    with pytest.raises(OutOfStep):
        backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])]))


def test_through_a_graph_the_nearest_are_found_and_with_a_filter_exactly(connect, monkeypatch):
    backend = connect("writer")
    monkeypatch.setattr(backend, "_hnsw_above", 200)
    corpus, fence = MadeCorpus(), backend.take_lease("c", HOLDER)
    backend.apply(corpus.delta(fence, [corpus.add([{1: 1.0}]) for _ in range(150)]))
    more = [corpus.add([{2: 1.0}], fields={"few": number % 50 == 0}) for number in range(600)]
    backend.apply(corpus.delta(fence, more))
    vector = vector_of(7)
    ranked = sorted(corpus.items, key=lambda n: -float(vector_of(n * 100) @ vector))
    found = owners(backend.find_candidates("c", wanted([], vector, depth=20)))
    assert set(ranked[:20]) <= set(found)
    assert len(found) == 40  # twice as many are asked of the graph
    assert owners(backend.find_candidates("c", wanted([], vector, where={"few": True}))) == [
        item.number for item in more if item.fields["few"]
    ]


@pytest.mark.parametrize("dim", [0, 1, 1_900, 2_001, 4_000])
def test_vectors_of_any_length_are_kept(connect, monkeypatch, dim):
    backend = connect("writer")
    monkeypatch.setattr(backend, "_hnsw_above", 2)
    corpus = MadeCorpus()
    items = [corpus.add([{1: 1.0}]) for _ in range(3)]
    delta = corpus.delta(backend.take_lease("c", HOLDER), items)
    vectors = [vector_of(at, dim).tobytes() if dim else None for at in range(3)]
    records = [r._replace(vector=v) for r, v in zip(delta.records, vectors, strict=True)]
    backend.apply(replace(delta, totals=replace(delta.totals, dim=dim), records=records))
    asked = vector_of(1, dim) if dim else None
    assert backend.find_candidates("c", wanted([1], asked)).vectors == vectors


def test_clients_see_nothing_of_corpora_out_of_their_scope(connect, server, database):
    writer, reader = connect("writer"), connect("reader")
    for name in ("mine", "others"):
        corpus = MadeCorpus(name, ledger=f"ledger-{name}")
        item = corpus.add([{1: 1.0, 2 if name == "mine" else 3: 1.0}], fields={"of": name})
        writer.apply(corpus.delta(writer.take_lease(name, HOLDER), [item]))
    for backend in (reader, writer):
        with limit_scope(["mine"]):
            assert set(backend.read_totals()) == {"mine"}
            assert owners(backend.find_candidates("mine", wanted([1]))) == [1]
            with pytest.raises(Exception, match="no corpus 'others'"):
                backend.find_candidates("others", wanted([1]))
            with pytest.raises(Exception, match="no corpus 'others'"):
                backend.read_texts("others", ["item/1"])
        with limit_scope([]):
            assert backend.read_totals() == {}
        assert set(backend.read_totals()) == {"mine", "others"}


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_the_server_itself_keeps_a_scope_whatever_is_asked(connect, server, database, role):
    writer = connect("writer")
    for name in ("mine", "others"):
        corpus = MadeCorpus(name, ledger=f"ledger-{name}")
        writer.apply(corpus.delta(writer.take_lease(name, HOLDER), [corpus.add([{1: 1.0}])]))
    tables = [*TABLES, "fields", "corpora", "words"]
    with psycopg.connect(server.url(database, role)) as connection:
        for scope, share in (("mine", 1), ("mine,others", 2), ("", 0), ("*", 2), (None, 0)):
            if scope is not None:
                connection.execute("SELECT set_config('irdaemon.corpora', %s, true)", (scope,))
            for table in tables:
                asked = f"SELECT count(*) FROM irdaemon.{table}".encode()
                (n,) = connection.execute(asked).fetchone()
                assert share or not n, (table, scope)
                assert table not in ("corpora", "artifacts", "words") or n == share
            connection.rollback()
        part = server.run("SELECT 'records_' || space FROM irdaemon.corpora LIMIT 1", database)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT * FROM irdaemon.{part[0][0]}".encode())


def test_a_lease_is_kept_by_its_holder_and_refused_to_others(connect):
    one, other = connect("writer"), connect("writer")
    fence = one.take_lease("c", "one@host")
    assert one.take_lease("c", "one@host") == fence
    with pytest.raises(LeaseLost, match="written by one@host") as error:
        other.take_lease("c", "other@host")
    assert "in 15 s" in error.value.hint
    one.release("c", "one@host")
    assert other.take_lease("c", "other@host") == fence + 1


def test_a_holder_that_was_stopped_and_comes_back_is_refused_by_name(connect, server, database):
    one, other = connect("writer"), connect("writer")
    corpus = MadeCorpus()
    fence = one.take_lease("c", "one@host")
    one.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])]))
    minute = "UPDATE irdaemon.leases SET until = until - interval '1 minute'"
    server.run(minute, database)
    assert other.take_lease("c", "other@host") == fence + 1
    with pytest.raises(LeaseLost, match="other@host"):
        one.apply(corpus.delta(fence, [corpus.add([{1: 1.0}])]))
    with pytest.raises(LeaseLost, match="other@host"):
        one.take_lease("c", "one@host")
    with pytest.raises(LeaseLost, match="other@host"):
        one.drop("c", fence)
    assert one.read_totals()["c"].n_artifacts == 1


def test_a_program_that_starts_again_takes_its_own_lease_at_once(connect):
    before, after = connect("writer"), connect("writer")
    fence = before.take_lease("c", "one@host")
    assert after.take_lease("c", "one@host") == fence + 1
    with pytest.raises(LeaseLost):
        before.take_lease("c", "one@host")


def test_a_lease_that_is_lost_while_a_delta_is_sent_stops_it(connect, server, database):
    one, other = connect("writer"), connect("writer")
    corpus = MadeCorpus()
    delta = corpus.delta(one.take_lease("c", "one@host"), [corpus.add([{1: 1.0}])])

    def slow(records=delta.records):
        server.run("UPDATE irdaemon.leases SET until = '-infinity'", database)
        other.take_lease("c", "other@host")
        yield from records

    delta = replace(delta, records=slow())
    with pytest.raises(LeaseLost, match="other@host"):
        one.apply(delta)
    assert one.read_totals() == {}


def test_two_corpora_are_told_in_the_order_in_which_they_came(backend):
    for name in ("b", "a", "c"):
        corpus = MadeCorpus(name)
        backend.apply(corpus.delta(backend.take_lease(name, HOLDER), [corpus.add([{1: 1.0}])]))
    assert list(backend.read_totals()) == ["b", "a", "c"]
