"""What a request leaves behind, and what the explanation of a query tells of its time."""

import pytest

from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpora
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


def test_before_the_first_scan_an_answer_says_what_is_being_read_and_from_where(tmp_path):
    text = f"known = false\n[corpora.notes]\nkind = 'files'\nroots = ['{tmp_path}']\n"
    (corpus,) = make_corpora(parse_config(text, "irdaemon.toml"))
    found = run("discover", engine(corpus), {"text": "fill a form"})
    assert (found.abstained, found.reason) == (True, "building")
    assert found.freshness["building"] == ["notes"]
    assert found.freshness["roots"] == {"notes": [str(tmp_path)]}
