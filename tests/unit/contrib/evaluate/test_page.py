"""The page of an evaluation: whole, of its own, and true to the data."""

import io
import json
import re

import pytest

from irdaemon.contrib.evaluate.evaluation import EvaluationRequest, evaluate_corpora
from irdaemon.contrib.evaluate.page import main, page
from irdaemon.discovery.cases import Case
from irdaemon.types import Query
from tests.support.searching import engine_of, tool

HOSTILE = "</title><script>alert(1)</script>"
CASES = [
    Case("fill in a pdf form", ("fill",)),
    Case("merge some files", ("deploy",)),
    Case(f"clouds {HOSTILE}", ("gone",)),
    Case("bake bread"),
]


@pytest.fixture(scope="module")
def made():
    engine = engine_of(
        {
            "fill": tool("Fill a pdf form"),
            "merge": tool("Merge pdf files"),
            "deploy": tool("Deploy to the cloud"),
        }
    )
    now = evaluate_corpora(engine, CASES, Query(""), EvaluationRequest(baseline=True, curve=True))
    before = evaluate_corpora(engine, CASES[:2], Query("", mode="lexical"))
    return json.loads(json.dumps({"evaluation": now, "before": before}))


def test_a_page_has_every_part_and_loads_nothing(made):
    shown = page(made)
    for heading in (
        *("Ranking", "Selection", "Selectors", "Scores and the floor"),
        *("Accuracy as the catalogue grows", "Comparison", "What went wrong"),
    ):
        assert f"<h2>{heading}</h2>" in shown
    assert len(re.findall("<svg ", shown)) == 4
    assert not re.findall(r"(?:src|href)=[\"'](?!#)", shown)
    assert "default-src 'none'" in shown
    assert "<script" not in shown
    assert "@media (prefers-color-scheme: dark)" in shown


def test_figures_in_the_tables_are_those_of_the_data(made):
    shown, found = page(made), made["evaluation"]
    for name, mean in found["discovery"]["measures"].items():
        assert f"<td>{name}</td><td class=figure>{mean:.3f}</td>" in shown
    assert f"over {found['compared']['n']} pairs" in shown
    assert "over 2 pairs" in shown  # the cases that the evaluation before had as well


def test_what_another_program_ranked_is_compared_case_by_case(made):
    ranked = {"q00000": ["fill"], "q00001": ["deploy"], "q00002": ["gone"]}
    shown = page({**made, "against": ranked})
    (told,) = re.findall("Against the run that was given: ([^<]*)", shown)
    assert told.startswith("ndcg@10 -")
    assert "over 3 pairs: 0 better, 2 worse" in told
    assert "the run that was given" not in page({**made, "against": None})


def test_failures_are_told_with_what_was_expected_and_what_came(made):
    shown = page(made)
    rows = re.findall(r"<tr><td>(?:merge some files|clouds).*?</tr>", shown)
    assert "the gold is not among the first ten</td><td>gone" in rows[0]
    assert "Gold that is not in the corpus: gone." in shown
    assert HOSTILE not in shown


def test_what_was_not_measured_is_left_out():
    engine = engine_of({"fill": tool("Fill a pdf form")})
    shown = page(
        {"evaluation": evaluate_corpora(engine, [Case("bread")], Query("")), "before": None}
    )
    assert "No floor can be found: no answerable queries." in shown
    assert "Comparison" not in shown
    assert "distractors" not in shown
    assert "there is nothing to select" in shown


def test_an_evaluation_of_other_cases_is_not_compared(made):
    other = {**made["before"], "cases": []}
    shown = page({**made, "before": other})
    assert "had none of these cases" in shown


def run(made, path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(made)))
    return main([str(path)])


def test_the_program_writes_the_page(made, tmp_path, monkeypatch):
    assert run(made, tmp_path / "r.html", monkeypatch) == 0
    assert (tmp_path / "r.html").read_text("utf-8") == page(made)


def test_what_keeps_the_program_from_it_is_told_and_is_a_fault(made, tmp_path, monkeypatch, caplog):
    assert run(made, tmp_path / "no" / "r.html", monkeypatch) == 70
    assert run({}, tmp_path / "r.html", monkeypatch) == 70
    assert "r.html was not written" in caplog.text
    assert not (tmp_path / "r.html").exists()
