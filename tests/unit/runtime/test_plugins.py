"""Parts are chosen by a name of ours or by "module:attr" of one's own."""

import json

import pytest

from irclient.errors import QueryError
from irdaemon.runtime.plugins import load

TABLE = {"dumps": "json:dumps", "loads": "json:loads"}


def test_a_known_name_and_a_name_of_ones_own_are_loaded_alike():
    assert load("part", "dumps", TABLE) is json.dumps
    assert load("part", "json:JSONDecodeError", TABLE) is json.JSONDecodeError


def test_a_name_of_ones_own_may_hide_none_of_ours():
    with pytest.raises(QueryError, match="cannot be loaded"):
        load("part", "dumps", {"dumps": "json:gone"})


def test_an_unknown_name_is_told_with_the_nearest_and_with_all_there_are():
    with pytest.raises(QueryError, match="unknown part 'dump'; did you mean 'dumps'") as raised:
        load("part", "dump", TABLE)
    assert "use one of: dumps, loads" in raised.value.hint


@pytest.mark.parametrize("name", ["no_such_module:x", "json:no_such_attribute", "json.decoder:"])
def test_what_cannot_be_imported_is_told_by_name(name):
    with pytest.raises(QueryError, match="part"):
        load("part", name, TABLE)
