import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.mapping import InMemory, stamp_content
from irdaemon.types import Scan, SourceError


def read(items, key):
    source = InMemory(items)
    entry = next(entry for entry in source.scan().entries if entry.key == key)
    (artifact,) = source.read(entry).artifacts
    return artifact


def test_items_are_enumerated_in_order_and_everything_is_covered():
    scan = InMemory({"b": "x", "a": {"text": "y"}}).scan()
    assert [(entry.key, entry.path) for entry in scan.entries] == [("a", ""), ("b", "")]
    assert scan.covered == ("",)


def test_a_path_that_changed_is_no_concern():
    assert InMemory({"a": "x"}).scan("/somewhere") == Scan((), ())


def test_a_text_is_its_own_body():
    artifact = read({"a": "some text"}, "a")
    assert (artifact.raw, artifact.body, artifact.name) == ("some text", "some text", "a")


def test_further_keys_of_a_mapping_become_metadata():
    artifact = read({"a": {"name": "N", "description": "D", "text": "T", "topic": "x"}}, "a")
    assert (artifact.name, artifact.body) == ("N", "T")
    assert artifact.metadata == {"topic": "x"}


def test_a_mapping_without_a_name_is_named_by_its_id():
    assert read({"a": {"text": "T"}}, "a").raw == {"name": "a", "text": "T"}


def test_without_a_text_the_body_is_name_and_description():
    assert read({"a": {"name": "N", "description": "D"}}, "a").body == "N\n\nD"


@pytest.mark.parametrize("value", [3, None, ["x"], {"text": 3}, {"name": None}])
def test_a_value_of_another_type_is_an_error_naming_its_id(value):
    with pytest.raises(SourceError, match="odd"):
        read({"odd": value, "fine": "x"}, "odd")


def test_an_id_that_is_no_string_is_a_problem():
    scan = InMemory({1: "x", "a": "y"}).scan()
    assert [entry.key for entry in scan.entries] == ["a"]
    assert [problem.path for problem in scan.problems] == ["1"]


def test_metadata_can_be_written_as_json_whatever_it_holds():
    circle = []
    circle.append(circle)
    artifact = read(
        {"a": {"text": "T", "when": object(), "circle": circle, "keys": {(1,): 2}}}, "a"
    )
    json.dumps(artifact.metadata)


def test_the_mapping_may_change_between_scans():
    items = {"a": "x"}
    source = InMemory(items)
    before = source.scan().entries[0]
    items["a"] = "y"
    assert source.scan().entries[0].stamp != before.stamp
    items.clear()
    with pytest.raises(FileNotFoundError):
        source.read(before)


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_the_order_of_keys_does_not_change_a_stamp(value):
    assert stamp_content(value) == stamp_content(dict(reversed(value.items())))
