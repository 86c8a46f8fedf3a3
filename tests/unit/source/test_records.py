import sys
import types

import pytest

from irclient.errors import QueryError
from irdaemon.source.mapping import Records
from irdaemon.types import Scan


@pytest.fixture
def records(monkeypatch):
    def make(fetcher, **options):
        module = types.ModuleType("my_records")
        module.fetch = fetcher
        monkeypatch.setitem(sys.modules, "my_records", module)
        return Records((), {"fetcher": "my_records:fetch", **options})

    return make


def keys(scan):
    return [entry.key for entry in scan.entries]


def test_records_of_a_callable_become_artifacts(records):
    source = records(lambda: iter([{"id": "b", "text": "T"}, {"id": "a", "text": "U"}]))
    scan = source.scan()
    assert (keys(scan), scan.covered, scan.problems) == (["a", "b"], ("",), ())
    (artifact,) = source.read(scan.entries[1]).artifacts
    assert (artifact.artifact_id, artifact.body) == ("b", "T")


def test_an_iterable_serves_as_well(records):
    assert keys(records([{"id": 7, "text": "T"}]).scan()) == ["7"]


def test_keys_are_named_by_options(records):
    source = records(
        [{"key": "a", "content": "T", "topic": "x", "secret": "y", "title": "N"}],
        id_key="key",
        text_key="content",
        metadata_keys=["topic", "absent"],
    )
    (artifact,) = source.read(source.scan().entries[0]).artifacts
    assert (artifact.raw["text"], artifact.name) == ("T", "N")
    assert artifact.metadata == {"topic": "x"}


def test_a_repeated_id_is_a_problem_and_the_first_record_counts(records):
    source = records([{"id": "a", "text": "first"}, {"id": "a", "text": "second"}])
    scan = source.scan()
    assert source.read(scan.entries[0]).artifacts[0].body == "first"
    assert [problem.path for problem in scan.problems] == ["a"]


def test_records_without_an_id_or_of_another_type_are_problems(records):
    scan = records([{"text": "T"}, "words", {"id": ""}, {"id": "a"}]).scan()
    assert keys(scan) == ["a"]
    assert len(scan.problems) == 3


def failing():
    yield {"id": "a"}
    raise ConnectionError("no route")


@pytest.mark.parametrize("fetcher", [failing, lambda: 3, lambda: "words", lambda: []])
def test_a_fetcher_that_fails_or_returns_nothing_says_nothing_about_what_is_gone(records, fetcher):
    scan = records(fetcher).scan()
    assert (scan.entries, scan.covered) == ((), ())
    assert [problem.path for problem in scan.problems] == ["my_records:fetch"]


def test_a_module_that_cannot_be_imported_is_a_problem():
    scan = Records((), {"fetcher": "no_such_module_here:fetch"}).scan()
    assert "no_such_module_here" in scan.problems[0].reason


def test_the_fetcher_is_asked_once_for_a_scan_and_its_reads(records):
    calls = []

    def fetch():
        calls.append(1)
        return [{"id": "a"}, {"id": "b"}]

    source = records(fetch)
    for entry in source.scan().entries:
        source.read(entry)
    assert len(calls) == 1


def test_a_changed_record_changes_its_stamp_alone(records):
    data = [{"id": "a", "n": 1}, {"id": "b", "n": 1}]
    source = records(lambda: data)
    before = source.scan().entries
    data[0]["n"] = 2
    after = source.scan().entries
    assert before[0].stamp != after[0].stamp
    assert before[1] == after[1]


def test_a_changed_path_is_no_concern(records):
    assert records([{"id": "a"}]).scan("/somewhere") == Scan((), ())


@pytest.mark.parametrize("options", [{}, {"fetcher": "no_colon"}, {"fetcher": "a:b", "idkey": "x"}])
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(QueryError):
        Records((), options)
