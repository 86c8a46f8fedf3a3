import pytest

from irclient.errors import QueryError
from irdaemon.source.options import check_options, get_number, get_strings, get_switch

VALID = {"max_bytes": int, "exclude": list, "pattern": str | list, "deep": bool, "ratio": float}


def test_known_options_of_the_right_type_pass_through():
    given = {"max_bytes": 3, "exclude": ["a"], "pattern": "*.md", "deep": True, "ratio": 1}
    assert check_options("files", given, VALID) == given


def test_an_unknown_option_is_refused_and_the_nearest_valid_one_is_named():
    with pytest.raises(QueryError, match="unknown option 'max_byte'") as caught:
        check_options("files", {"max_byte": 3}, VALID)
    assert "did you mean 'max_bytes'?" in caught.value.hint
    assert "exclude" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("max_bytes", "3", "a whole number"),
        ("max_bytes", True, "a whole number"),
        ("exclude", "a", "a list of strings"),
        ("exclude", ["a", 1], "a list of strings"),
        ("pattern", 1, "a string or a list of strings"),
        ("deep", 1, "true or false"),
    ],
)
def test_an_option_of_another_type_is_refused_saying_what_it_must_be(name, value, wanted):
    with pytest.raises(QueryError, match=f"{name!r} must be {wanted}"):
        check_options("files", {name: value}, VALID)


def test_a_missing_option_takes_its_default():
    assert get_number({}, "max_bytes", 7) == 7
    assert get_switch({}, "deep", True) is True
    assert get_strings({}, "pattern", ("*.md",)) == ("*.md",)


def test_one_string_stands_for_a_list_of_one():
    assert get_strings({"pattern": "*.md"}, "pattern") == ("*.md",)
    assert get_strings({"pattern": ["*.md", "*.rst"]}, "pattern") == ("*.md", "*.rst")
