"""The vocabulary is a dict of words to numbers, whatever of it is packed."""

from hypothesis import given
from hypothesis import strategies as st

from irdaemon.ledger import Ledger, terms
from irdaemon.ledger.terms import PackedWords, Vocabulary

words = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=8), unique=True)


@given(words)
def test_packed_words_have_their_places(given_words):
    packed = PackedWords.pack(given_words)
    assert [packed.find(word) for word in given_words] == list(range(len(given_words)))
    assert list(packed.iterate()) == given_words
    assert packed.find("not\nhere") == -1


@given(words, st.lists(st.integers(1, 9), max_size=8))
def test_words_packed_bit_by_bit_have_the_places_of_words_packed_at_once(given_words, steps):
    packed, rest = PackedWords.pack(()), list(given_words)
    for step in [*steps, len(rest)]:
        packed = packed.extend(rest[:step])
        del rest[:step]
    assert list(packed.iterate()) == given_words
    assert [packed.find(word) for word in given_words] == list(range(len(given_words)))
    assert packed.find("not\nhere") == -1


def test_many_words_are_found_and_no_others():
    known = [f"word{n}" for n in range(30_000)]
    made = Vocabulary(known)
    assert len(made) == 30_000
    assert all(made[word] == number for number, word in enumerate(known))
    assert not any(f"other{n}" in made for n in range(30_000))
    assert made.get("other", -1) == -1
    assert made.get("word7") == 7


@given(words, words)
def test_packing_changes_nothing_that_is_found(before, added):
    made = Vocabulary(before)
    new = [word for word in added if word not in before]
    numbers = [made.add(word) for word in new]
    assert numbers == list(range(len(before), len(before) + len(new)))
    expected = dict(zip([*before, *new], range(len(made)), strict=True))
    assert dict(made) == expected
    _pack(made)
    assert dict(made) == expected
    assert all(made.find(word) == number for word, number in expected.items())
    assert list(made) == [*before, *new], "what is at hand is not there twice"
    assert dict(Vocabulary.from_numbers(made)) == expected


def _pack(made):
    worth, terms._WORTH_PACKING = terms._WORTH_PACKING, 0
    try:
        made.pack()
    finally:
        terms._WORTH_PACKING = worth


def test_a_reader_finds_what_it_found_before_while_words_are_packed():
    made = Vocabulary(["a", "b"])
    reading = iter(made)
    assert next(reading) == "a"
    made.add("c")
    _pack(made)
    assert [*reading][:1] == ["b"]
    assert made["c"] == 2


def test_few_words_stay_where_they_are():
    made = Vocabulary(["a"])
    made.add("b")
    assert not made.pack()
    assert made["b"] == 1


def test_a_ledger_whose_vocabulary_has_gaps_is_read_with_blanks_for_them(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    ledger = Ledger(path)
    ledger._store.run_many("INSERT INTO terms(id, term) VALUES (?, ?)", [(0, "a"), (2, "c")])
    table = ledger.terms.get_table()
    assert (table["a"], table["c"]) == (0, 2)
    assert ledger.terms.give_ids(["d"]) == [3]
    ledger.close()


def test_terms_are_known_by_the_same_ids_after_their_memory_was_given_back(tmp_path):
    ledger = Ledger(str(tmp_path / "ledger.sqlite"))
    terms = [f"t{n}" for n in range(5_000)]
    ids = ledger.terms.give_ids(terms)
    ledger.release_memory()
    assert ledger.terms.give_ids([*terms, "new"]) == [*ids, 5_000]
    ledger.close()


def test_a_long_build_packs_its_words_as_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(terms, "_MOST_BESIDE", 2_000)
    ledger = Ledger(str(tmp_path / "ledger.sqlite"))
    wanted = [f"t{n}" for n in range(9_000)]
    for start in range(0, len(wanted), 500):
        part = wanted[start : start + 500]
        assert ledger.terms.give_ids(part) == list(range(start, start + 500))
        assert len(ledger.terms.get_table()._parts[1]) <= 2_000
    assert ledger.terms.give_ids(wanted) == list(range(9_000))
    assert list(ledger.terms.get_table()) == wanted
    ledger.close()


def test_many_words_are_found_as_each_is_and_are_at_hand_from_then_on():
    words = Vocabulary(f"word{number}" for number in range(3_000))
    words.add("added")
    asked = ["word7", "added", "unknown", "word7", "word2999"]
    assert words.find_all(asked) == [words.find(word) for word in asked] == [7, 3000, None, 7, 2999]
    assert words.find_all(asked) == [7, 3000, None, 7, 2999]


def test_a_term_that_is_new_twice_in_one_record_gets_one_id():
    held = Ledger(":memory:")
    with held.transaction():
        assert held.terms.give_ids(["a", "b", "a", "c"]) == [0, 1, 0, 2]
    assert dict(held.terms.get_table()) == {"a": 0, "b": 1, "c": 2}
