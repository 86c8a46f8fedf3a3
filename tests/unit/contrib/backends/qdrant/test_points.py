from irdaemon.contrib.backends.qdrant.points import (
    codes_of,
    item_code,
    packed_totals,
    unpacked_totals,
    value_code,
)
from tests.support.qdrant import totals


def test_numbers_that_are_equal_have_one_code_and_true_has_another():
    assert value_code("n", 1) == value_code("n", 1.0)
    assert value_code("n", 1) != value_code("n", True)
    assert value_code("n", 1) != value_code("n", "1")
    assert value_code("n", 1) != value_code("m", 1)


def test_a_list_is_found_by_its_items_and_as_a_whole():
    codes = codes_of({"tags": ["a", "b"]})
    assert {value_code("tags", ["a", "b"]), item_code("tags", "a")} < set(codes)


def test_totals_are_read_as_they_were_written():
    assert unpacked_totals(packed_totals(totals(3, 2))) == totals(3, 2)
