import os
import sqlite3
import stat
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.ledger import Failure, Ledger, LedgerError, hash_version
from irdaemon.ledger.rows import pack
from irdaemon.types import Artifact, Entry, Problem, Scan
from tests.support.corpora import contents, ledger, upsert

NOW = 4e9


def fail(ledger, key, stamp="1", since=1.0):
    ledger.failures.put(Failure("c", f"/{key}", key, "broken", stamp, since))


def scan(*entries, covered=("",), problems=()):
    return Scan(tuple(entries), covered, problems)


def entry(key, stamp="1", mtime_ns=0):
    return Entry(key, f"/{key}", stamp, mtime_ns)


def stale(ledger, *entries, recipe="r", **how):
    return [e.key for e in ledger.entries.diff("c", scan(*entries), recipe, **how).stale]


def texts(ledger):
    ids = [row[1] for row in ledger.index_rows.list_artifacts("c")]
    return {id: ledger.artifacts.list_records("c", id)[0]["text"] for id in ids}


KEYS = st.sampled_from("abcd")
WORDS = st.lists(st.sampled_from(["red", "green", "blue"]), min_size=1, max_size=4).map(" ".join)
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, WORDS),
    st.tuples(st.just("broken put"), KEYS, WORDS),
    st.tuples(st.just("forget"), KEYS, st.none()),
    st.tuples(st.just("fail"), KEYS, st.none()),
)


@given(st.lists(STEPS, max_size=25))
def test_after_any_steps_the_ledger_holds_what_a_dict_would(steps):
    held, failed, store = {}, set(), ledger()
    for what, key, text in steps:
        if what == "put":
            store.entries.put("c", upsert(key, {key: text}), NOW)
            held[key] = text
            failed.discard(key)
        elif what == "broken put":
            before = dict(store.terms.get_table())
            good = upsert(key, {key: text + " unheard"}).artifacts[0]
            bad = replace(good.records[0], granularity=None)
            wish = upsert(key, {})
            wish = replace(wish, artifacts=(replace(good, records=(good.records[0], bad)),))
            with pytest.raises(sqlite3.IntegrityError):
                store.entries.put("c", wish, NOW)
            assert store.terms.get_table() == before
        elif what == "forget":
            store.entries.forget("c", [key])
            held.pop(key, None)
            failed.discard(key)
        else:
            fail(store, key)
            failed.add(key)
    assert texts(store) == held
    assert {failure.key for failure in store.failures.list_all("c")} == failed
    spelled = {id: set(row[4][0][5]) for id, row in contents(store, "c").items()}
    assert spelled == {key: set(text.split()) for key, text in held.items()}


def test_an_entry_is_stale_when_it_is_new_or_its_stamp_or_the_recipe_changed():
    store = ledger()
    assert stale(store, entry("a")) == ["a"]
    store.entries.put("c", upsert("a", {"a": "x"}), NOW)
    assert stale(store, entry("a")) == []
    assert stale(store, entry("a", stamp="2")) == ["a"]
    assert stale(store, entry("a"), recipe="other") == ["a"]
    assert stale(store, entry("a"), full=True) == ["a"]


def test_an_entry_written_moments_before_it_was_read_is_read_again():
    store = ledger()
    fresh = replace(upsert("a", {"a": "x"}), entry=entry("a", mtime_ns=int((NOW - 1) * 1e9)))
    store.entries.put("c", fresh, NOW)
    assert stale(store, fresh.entry) == ["a"]
    store.entries.put("c", fresh, NOW + 5)
    assert stale(store, fresh.entry) == []


def test_a_failed_entry_is_left_alone_until_its_stamp_or_the_recipe_changes_or_a_retry():
    store = ledger()
    fail(store, "a")
    assert stale(store, entry("a")) == []
    assert stale(store, entry("a", stamp="2")) == ["a"]
    store.failures.retry()
    assert stale(store, entry("a")) == ["a"]
    fail(store, "a")
    store.corpora.declare("c", "files", "r", "e")
    assert stale(store, entry("a")) == []
    store.corpora.declare("c", "files", "another recipe", "e")
    assert stale(store, entry("a")) == ["a"]


def test_a_failure_that_goes_on_keeps_the_time_it_began():
    store = ledger()
    fail(store, "a", since=1.0)
    fail(store, "a", stamp="2", since=9.0)
    (failure,) = store.failures.list_all()
    assert (failure.since, failure.stamp, failure.path) == (1.0, "2", "/a")


def test_what_a_scan_does_not_cover_or_has_a_problem_with_is_not_gone():
    store = ledger()
    for key in ("a/x", "b/x", "b0"):
        store.entries.put("c", upsert(key, {key: "t"}), NOW)

    def gone(**how):
        return set(store.entries.diff("c", scan(**how), "r").gone)

    assert gone() == {"a/x", "b/x", "b0"}
    assert gone(covered=("/b",)) == {"b/x"}
    assert gone(problems=(Problem("/b", "unreadable"),)) == {"a/x", "b0"}
    assert gone(covered=()) == set()


def test_an_unchanged_artifact_is_not_written_again():
    store = ledger()
    assert store.entries.put("c", upsert("a", {"a": "x", "b": "y"}), NOW) == (2, 0)
    rows = store.index_rows.list_artifacts("c")
    assert store.entries.put("c", upsert("a", {"a": "x", "b": "y"}, stamp="2"), NOW) == (0, 0)
    assert store.index_rows.list_artifacts("c") == rows
    assert store.entries.put("c", upsert("a", {"a": "z"}), NOW) == (1, 1)


def test_a_partial_reading_only_adds():
    store = ledger()
    store.entries.put("c", upsert("a", {"1": "x"}), NOW)
    store.entries.put("c", upsert("a", {"2": "y"}, partial=True, cursor=b"2"), NOW)
    assert texts(store) == {"1": "x", "2": "y"}


def test_an_artifact_two_entries_have_goes_to_the_other_when_its_holder_goes():
    store = ledger()
    store.entries.put("c", upsert("first", {"shared": "x"}), NOW)
    store.entries.put("c", upsert("second", {"shared": "x", "own": "y"}), NOW)
    assert store.entries.count_skipped("c") == {"held_by_another_entry": 1}
    store.entries.put("c", upsert("second", {"more": "z"}, partial=True), NOW)
    assert store.entries.forget("c", ["first"]) == 1
    assert stale(store, entry("second")) == ["second"]


def test_an_artifact_two_entries_have_goes_to_the_other_when_its_holder_drops_it():
    store = ledger()
    store.entries.put("c", upsert("first", {"shared": "x"}), NOW)
    store.entries.put("c", upsert("second", {"shared": "x"}), NOW)
    store.entries.put("c", upsert("first", {}, stamp="2"), NOW)
    assert stale(store, entry("second")) == ["second"]


def test_metadata_is_part_of_the_version():
    one = Artifact("a", "text", "a", metadata={"project": "x"})
    assert hash_version(one, {}, "r") != hash_version(replace(one, metadata={}), {}, "r")


def test_copies_have_one_content_wherever_they_lie():
    store = ledger()
    store.entries.put("c", upsert("a", {"a": "same", "b": "same", "c": "other"}), NOW)
    contents_ = {row[1]: row[5] for row in store.index_rows.list_artifacts("c")}
    assert contents_["a"] == contents_["b"] != contents_["c"]


def test_fields_of_every_kind_can_be_read_back():
    store = ledger()
    fields = {"n": 2**70, "years": {2020: 1}, "tags": {"a"}, "half": "\ud800"}
    wish = upsert("a", {"a": "x"})
    wish = replace(wish, artifacts=(replace(wish.artifacts[0], fields=fields),))
    store.entries.put("c", wish, NOW)
    stored = store.artifacts.get("c", "a").fields
    assert stored == {"n": str(2**70), "years": {"2020": 1}, "tags": ["a"], "half": "?"}
    assert pack({"a": (1,)}) == pack({"a": [1]})


def test_vectors_belong_to_texts_and_stay_until_no_record_of_their_embedder_needs_them():
    store = ledger()
    store.entries.put("c", upsert("a", {"a": "x"}), NOW)
    ((_, digest, text, _),) = store.vectors.list_missing("c", "e", 9)
    assert text == "x"
    for embedder in ("e", "old"):
        store.vectors.put(embedder, [digest], np.ones((1, 2), np.float32))
    store.entries.forget("c", ["a"])
    store.entries.put("c", upsert("renamed", {"renamed": "x"}), NOW)
    assert store.vectors.list_missing("c", "e", 9) == []
    assert store.vectors.drop_unused() == 1
    assert set(store.vectors.get("e", [digest])) == {digest}
    store.entries.forget("c", ["renamed"])
    assert store.vectors.drop_unused() == 1


def test_a_forgotten_corpus_leaves_nothing_and_the_others_alone():
    store = ledger("c", "d")
    for corpus in ("c", "d"):
        store.entries.put(corpus, upsert("a", {"a": "x"}), NOW)
    fail(store, "b")
    store.corpora.forget("c")
    assert store.corpora.list_names() == ["d"]
    assert store.failures.list_all() == []
    assert contents(store, "c") == {}
    assert len(contents(store, "d")) == 1


def test_the_file_and_its_directory_are_private(tmp_path):
    path = tmp_path / "state" / "ledger.sqlite"
    Ledger(str(path)).close()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700


def test_a_reader_sees_what_was_committed_and_cannot_write(tmp_path):
    store = Ledger(str(tmp_path / "a?b#c%.sqlite"))
    store.corpora.declare("c", "files", "r", "e")
    store.entries.put("c", upsert("a", {"a": "x"}), NOW)
    with store.open_view() as view:
        assert texts(view) == {"a": "x"}
        with pytest.raises(sqlite3.OperationalError):
            view.corpora.forget("c")
    store.close()


def test_a_ledger_of_a_later_version_is_refused_with_advice(tmp_path):
    path = str(tmp_path / "l.sqlite")
    Ledger(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(LedgerError, match="99") as caught:
        Ledger(path)
    assert caught.value.hint


def test_a_file_that_is_no_ledger_is_a_ledger_error_naming_it(tmp_path):
    path = tmp_path / "l.sqlite"
    path.write_text("this is no database, only a text of some length\n" * 50)
    with pytest.raises(LedgerError, match=str(path)):
        Ledger(str(path))


def test_a_failure_counts_how_often_it_was_tried_until_it_is_read():
    made = ledger()
    for since in (1.0, 2.0, 3.0):
        fail(made, "a", since=since)
    (failure,) = made.failures.list_all("c")
    assert (failure.tries, failure.since) == (3, 1.0)
    made.entries.put("c", upsert("a", {"a": "red"}), NOW)
    fail(made, "a")
    assert made.failures.list_all("c")[0].tries == 1


def test_failures_can_be_told_a_few_at_a_time():
    made = ledger()
    for number in range(5):
        fail(made, f"k{number}", since=float(number))
    assert [failure.key for failure in made.failures.list_all("c", 2)] == ["k0", "k1"]


def test_a_ledger_in_memory_sorts_in_memory_too():
    in_memory = 2
    assert Ledger(":memory:")._store.fetch_one("PRAGMA temp_store") == (in_memory,)


def test_a_ledger_has_a_number_of_its_own_which_a_view_does_not_make(tmp_path):
    made = Ledger(str(tmp_path / "one.sqlite"))
    with made.open_view() as view:
        assert view.read_identity() == 0
    number = made.read_identity()
    assert number == made.read_identity() != Ledger(str(tmp_path / "two.sqlite")).read_identity()
    with made.open_view() as view:
        assert view.read_identity() == number
    made.close()


def test_the_words_of_some_terms_are_given_without_the_others_and_without_blanks():
    store = ledger()
    store.entries.put("c", upsert("e", {"a": "one two three"}), 1.0)
    table = store.terms.get_table()
    some = {word: table[word] for word in ("one", "three")}
    assert store.terms.find_words(some.values()) == some
    assert store.terms.find_words([10_000]) == store.terms.find_words([]) == {}
    store.entries.forget("c", ["e"])
    store.forget_unused_terms()
    assert store.terms.find_words(some.values()) == {}
