from tests.golden.coroutines import STUB, stub


def test_the_types_of_the_coroutines_are_those_of_the_operations():
    assert STUB.read_text("utf-8") == stub(), "python -m tests.golden.coroutines makes them again"
