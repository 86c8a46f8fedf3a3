"""What a request leaves behind, and what the explanation of a query tells of its time."""

import pytest

from irdaemon.engine.queue import Job
from tests.support.corpora import engine, mapped
from tests.support.serving import run


@pytest.fixture
def made():
    made = engine(mapped({"a": "fill in pdf forms", "b": "peel potatoes"}, "m"))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


def queries(made):
    return sum(run("status", made, {})["minutes"]["queries"])


def test_answers_are_counted_by_the_minute_and_explanations_are_not(made):
    run("discover", made, {"text": "fill a form"})
    run("search", made, {"text": "potatoes"})
    run("explain", made, {"text": "potatoes"})
    assert queries(made) == 2
    assert run("status", made, {})["minutes"]["p50"][-1] is not None


def test_an_explanation_has_the_stages_of_its_own_query(made):
    for _ in range(3):
        run("discover", made, {"text": "fill a form"})
    stages = run("explain", made, {"text": "fill a form"})["stages"]
    by_name = {each["stage"]: each["n"] for each in stages}
    assert {"analyse", "lexical", "fuse", "select"} <= set(by_name)
    assert set(by_name.values()) == {1}
    assert [each["at_ms"] for each in stages] == sorted(each["at_ms"] for each in stages)
    assert not any(name.startswith("tier") for name in by_name)
