"""What an index is built from: rows beyond those it has, and tombstones of those deleted."""

from tests.support.corpora import ledger, upsert


def test_only_rows_beyond_the_last_are_given_in_their_order():
    store = ledger()
    store.entries.put("c", upsert("e", {"a": "one", "b": "two"}), 1.0)
    first, second = store.index_rows.list_artifacts("c")
    assert [first[1], second[1]] == ["a", "b"]
    assert store.index_rows.list_artifacts("c", limit=1) == [first]
    assert store.index_rows.list_artifacts("c", after=first[0]) == [second]
    assert [row[0] for row in store.index_rows.list_records("c", first[0])] == [second[0]]
    assert store.index_rows.find_last_record() == 2


def test_a_deleted_artifact_leaves_a_tombstone_until_every_index_has_applied_it():
    store = ledger("c", "d")
    store.entries.put("c", upsert("e", {"a": "one"}), 1.0)
    (row,) = (each[0] for each in store.index_rows.list_artifacts("c"))
    assert store.index_rows.list_tombstones("c", 0) == ([], 0)
    store.entries.forget("c", ["e"])
    numbers, last = store.index_rows.list_tombstones("c", 0)
    assert (numbers, store.index_rows.list_tombstones("c", last)) == ([row], ([], last))
    assert store.index_rows.list_tombstones("d", 0) == ([], 0)
    store.index_rows.drop_tombstones("c", last)
    assert store.index_rows.list_tombstones("c", 0) == ([], 0)
