"""Filter columns: looking values up finds what asking every value finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.discovery.where import parse_filter
from irdaemon.index.columns import Column, _make_predicate

scalars = (
    st.sampled_from(
        [0, 1, True, False, 1.0, 0.5, None, "1", "a", 2**60, float(2**60), 2**60 + 1, 10**400]
    )
    | st.integers(-3, 3)
    | st.floats()
)
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=1), scalars)


def column_of(held):
    column = Column(np.zeros(len(held), np.int32))
    for position, value in enumerate(held):
        column.codes[position] = column.encode_value(value)
    return column


class Columns:
    def __init__(self, held):
        self.made = column_of(held)

    def get_column(self, name):
        return self.made


@given(st.lists(values, max_size=12), st.lists(scalars, max_size=4))
def test_looking_values_up_finds_what_asking_every_value_finds(held, wanted):
    columns = Columns(held)
    for condition in ({"$in": wanted}, *({"$eq": each} for each in wanted), *wanted):
        found = parse_filter({"field": condition}).masks[0](columns)
        assert found.tolist() == columns.made.mask(_make_predicate(condition)).tolist()


def test_a_missing_field_is_never_what_is_looked_for():
    column = Column(np.zeros(2, np.int32))
    assert not column.match_scalars([None, 0, ""], _make_predicate({"$in": [None, 0, ""]})).any()
