"""A term has one id, whichever way it is looked up, and none of a transaction that was lost."""

import numpy as np
import pytest

from irdaemon.ledger.terms import TermTable, Vocabulary
from tests.support.corpora import ledger

PLACES = np.array([2, 0, 1], np.int32)


def tabled(*terms):
    table = TermTable()
    table += terms
    return table


def test_a_table_of_terms_has_the_ids_that_each_term_has():
    made, table = ledger(), tabled("fill", "forms", "pdf")
    with made.transaction():
        assert made.terms.give_table_ids(table, PLACES).tolist() == [0, 1, 2]
        assert made.terms.give_ids(["fill", "forms", "pdf"]) == [1, 2, 0]
        table += ["peel"]
        assert made.terms.give_table_ids(table, np.array([3, 0], np.int32)).tolist() == [3, 1]


def test_a_term_of_a_table_that_no_record_holds_gets_no_id():
    made = ledger()
    with made.transaction():
        table = tabled("fill", "forms", "pdf")
        assert made.terms.give_table_ids(table, np.array([1], np.int32)).tolist() == [0]
    assert list(made.terms.get_table()) == ["forms"]


def test_ids_of_a_table_that_a_lost_transaction_gave_out_are_given_out_anew():
    made, table = ledger(), tabled("fill", "forms", "pdf")

    def lost():
        with made.transaction():
            made.terms.give_table_ids(table, PLACES)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lost()
    with made.transaction():
        assert made.terms.give_ids(["peel"]) == [0]
        assert made.terms.give_table_ids(table, PLACES).tolist() == [1, 2, 3]
    assert made.terms.find_words(np.arange(4).tolist()) == {
        "peel": 0,
        "pdf": 1,
        "fill": 2,
        "forms": 3,
    }


WORDS = ["apple", "=apples", "b", "über", "=übers", "äx", "banana", *(f"w{n}" for n in range(3000))]


@pytest.mark.parametrize("initials", [["a"], ["b", "ü"], ["ä"], ["z"]])
@pytest.mark.parametrize("lengths", [range(1, 4), range(4, 8), range(-1, 3)])
def test_the_words_that_begin_with_a_letter_are_found_packed_or_not(initials, lengths):
    vocabulary = Vocabulary(WORDS)
    added = [vocabulary.add(word) for word in ("apply", "=applied")]

    def is_like(word):
        plain = word.removeprefix("=")
        return plain[0] in initials and len(plain) in lengths

    found = [word for word in vocabulary.find_like(initials, lengths, "=") if is_like(word)]
    assert found == [word for word in vocabulary if is_like(word)]
    assert added == [len(WORDS), len(WORDS) + 1]


def test_an_empty_vocabulary_has_no_words_like_others():
    assert list(Vocabulary().find_like(["a"], range(1, 3), "=")) == []
