"""Parts are chosen by a name of ours or by "module:attr" of one's own."""

import json
import logging
import sys

import pytest

from irclient.errors import QueryError
from irdaemon.library.inmemory import build_index, search
from irdaemon.runtime.plugins import load, load_quiet

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


@pytest.mark.parametrize(("before", "after"), [(0, logging.WARNING), (logging.INFO, logging.INFO)])
def test_a_package_that_would_tell_everything_does_not_and_a_level_of_the_hosts_stays(
    before, after, tmp_path, monkeypatch
):
    name = f"talkative{before}"
    text = f"import logging\nlogging.getLogger({name!r}).setLevel(logging.DEBUG)\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    logging.getLogger(name).setLevel(before)
    assert load_quiet(name).__name__ == name
    assert logging.getLogger(name).level == after
    logging.getLogger(name).setLevel(logging.DEBUG)  # the host asks for everything later
    load_quiet(name)
    assert logging.getLogger(name).level == logging.DEBUG


def test_documents_as_a_tool_write_no_line_into_a_hosts_log(caplog):
    for name in [each for each in sys.modules if each.split(".")[0] == "bm25s"]:
        del sys.modules[name]
    logging.getLogger("bm25s").setLevel(logging.NOTSET)
    caplog.set_level(logging.DEBUG)
    search(build_index(["fill a form", "peel potatoes"]), "form", 1)
    assert not [each for each in caplog.records if each.name == "bm25s"]
