from irdaemon.contrib.backends.qdrant.points import hash_fields, hash_value, pack, unpack
from irdaemon.contrib.backends.state import dump_totals, load_totals
from tests.support.qdrant import totals


def test_numbers_that_are_equal_have_one_code_and_true_has_another():
    assert hash_value("n", 1) == hash_value("n", 1.0)
    assert hash_value("n", 1) != hash_value("n", True)
    assert hash_value("n", 1) != hash_value("n", "1")
    assert hash_value("n", 1) != hash_value("m", 1)


def test_a_list_is_found_by_its_items_and_as_a_whole():
    codes = hash_fields({"tags": ["a", "b"]})
    assert {hash_value("tags", ["a", "b"]), hash_value("tags", "a", "item")} < set(codes)


def test_totals_are_read_as_they_were_written():
    assert load_totals(unpack(pack(dump_totals(totals(3, 2))))) == totals(3, 2)
