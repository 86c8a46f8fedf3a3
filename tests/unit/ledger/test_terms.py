"""A term has one id, whichever way it is looked up, and none of a transaction that was lost."""

import numpy as np
import pytest

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
