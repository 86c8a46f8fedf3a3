import pytest

from irclient.errors import QueryError
from irdaemon.source.options import read_options

DEFAULTS = {"max_bytes": 7, "exclude": [], "pattern": ("*.md",), "deep": True, "name": ""}


def test_known_options_of_the_right_type_pass_through():
    given = {"max_bytes": 3, "pattern": ["*.md", "*.rst"], "deep": False, "name": "a"}
    read = read_options("files", given, DEFAULTS)
    assert read == {**given, "exclude": (), "pattern": ("*.md", "*.rst")}


def test_an_unknown_option_is_refused_and_the_nearest_valid_one_is_named():
    with pytest.raises(QueryError, match="unknown option 'max_byte'") as caught:
        read_options("files", {"max_byte": 3}, DEFAULTS)
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
        read_options("files", {name: value}, DEFAULTS)


def test_a_missing_option_takes_its_default():
    assert read_options("files", {}, DEFAULTS) == {**DEFAULTS, "exclude": ()}


def test_one_string_stands_for_a_list_of_one():
    assert read_options("files", {"pattern": "*.md"}, DEFAULTS)["pattern"] == ("*.md",)
