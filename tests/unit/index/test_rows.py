"""A corpus in columns is brought level with the ledger, change by change."""

import msgpack
import numpy as np
import pytest

from irclient.errors import Unavailable
from irdaemon.index.rows import Card, Rows, hash_name
from tests.support.corpora import ledger, upsert

DIM = 4


@pytest.fixture
def held():
    return ledger("c")


def put(held, **texts):
    for name, text in texts.items():
        held.entries.put("c", upsert(name, {name: text}), 1.0)


def shown(rows):
    """Return what the rows hold: the text of each artifact that is there."""
    owner = rows.artifact_of.array
    cards, records = rows.cards, rows.shown
    return {cards[int(owner[at])].artifact_id: records[at].summary for at in rows.list_positions()}


def test_what_is_new_is_appended_and_what_is_gone_disappears(held):
    put(held, a="one", b="two")
    first = Rows.make_empty(DIM).sync(held, "c", "e")
    assert shown(first) == {"a": "one", "b": "two"}
    put(held, c="three")
    held.entries.forget("c", ["a"])
    second = first.sync(held, "c", "e")
    assert shown(second) == {"b": "two", "c": "three"}
    assert (second.n_artifacts, second.n_records) == (2, 2)
    assert shown(first) == {"a": "one", "b": "two"}


def test_positions_stay_while_little_is_gone(held):
    put(held, a="one", b="two")
    first = Rows.make_empty(DIM).sync(held, "c", "e")
    held.entries.forget("c", ["a"])
    second = first.sync(held, "c", "e")
    assert (second.epoch, second.list_positions()) == (first.epoch, [1])


def test_when_much_is_gone_the_rows_are_laid_out_anew(held):
    names = [f"n{number}" for number in range(300)]
    put(held, **{name: "text of " + name for name in names})
    first = Rows.make_empty(DIM).sync(held, "c", "e")
    held.entries.forget("c", names[:-3])
    second = first.sync(held, "c", "e")
    assert second.epoch == first.epoch + 1
    assert second.list_positions() == [0, 1, 2]
    assert shown(second) == {name: "text of " + name for name in names[-3:]}


def test_without_a_change_nothing_is_made_anew(held):
    put(held, a="one")
    rows = Rows.make_empty(DIM).sync(held, "c", "e")
    assert rows.sync(held, "c", "e") is rows


def test_the_words_of_a_record_are_counted(held):
    put(held, a="to be or not to be")
    rows = Rows.make_empty(DIM).sync(held, "c", "e")
    words = {number: term for term, number in held.terms.get_table().items()}
    counts = {words[number]: count for number, count in rows.count_terms(0).items()}
    assert counts == {"to": 2, "be": 2, "or": 1, "not": 1}
    assert rows.lengths.array.tolist() == [6]
    assert rows.get_kind(0) == "document"


def test_vectors_are_taken_up_once_they_are_there(held):
    put(held, a="one", b="two")
    rows = Rows.make_empty(DIM).sync(held, "c", "e")
    assert not rows.embedded.any()
    vector = np.arange(DIM, dtype=np.float32)
    held.vectors.put("e", [rows.shown[1].digest], vector[None])
    again = rows.sync(held, "c", "e")
    assert again.embedded.tolist() == [False, True]
    assert again.vectors.array[1].tolist() == vector.tolist()


def test_vectors_of_another_length_are_refused_with_the_reason(held):
    put(held, a="one")
    rows = Rows.make_empty(DIM).sync(held, "c", "e")
    held.vectors.put("e", [rows.shown[0].digest], np.zeros((1, DIM + 1), np.float32))
    with pytest.raises(Unavailable, match="another dimension than its own, 4"):
        rows.sync(held, "c", "e")


def test_a_name_has_one_number_in_either_letter_case():
    assert hash_name("Fill-PDF") == hash_name("fill-pdf")
    assert hash_name("straße") == hash_name("STRASSE")
    assert hash_name("fill") != hash_name("full")
    hash_name("half \ud800")


def test_one_field_of_a_card_is_read_as_all_of_them_are():
    fields = {"author": "ann", "tags": ["scope"], "session_id": None}
    card = Card("a", "a", "/a", msgpack.packb(fields), "hash")
    names = ("author", "tags", "scope", "session_id", "elsewhere")
    assert [card.get_field(name) for name in names] == [card.fields.get(name) for name in names]
