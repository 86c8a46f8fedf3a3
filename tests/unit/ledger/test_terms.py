"""A term has one id, whichever way it is looked up, and none of a transaction that was lost."""

import numpy as np
import pytest

from irdaemon.ledger.terms import Vocabulary
from tests.support.corpora import ledger

TABLE = ["fill", "forms", "pdf"]


def test_a_table_of_terms_has_the_ids_that_each_term_has():
    made = ledger()
    with made.transaction():
        ids = made.terms.give_table_ids(TABLE)
        assert ids.tolist() == made.terms.give_ids(TABLE) == [0, 1, 2]
        assert made.terms.give_table_ids(TABLE) is ids


def test_ids_of_a_table_that_a_lost_transaction_gave_out_are_given_out_anew():
    made = ledger()

    def lost():
        with made.transaction():
            made.terms.give_table_ids(TABLE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lost()
    with made.transaction():
        assert made.terms.give_ids(["peel"]) == [0]
        assert made.terms.give_table_ids(TABLE).tolist() == [1, 2, 3]
    assert made.terms.find_words(np.arange(4).tolist()) == {
        "peel": 0,
        "fill": 1,
        "forms": 2,
        "pdf": 3,
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
