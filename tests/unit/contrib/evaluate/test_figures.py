"""The figures of an evaluation: SVG of the page's own colours, with nothing to load."""

import re
from xml.etree import ElementTree

import pytest

from irdaemon.contrib.evaluate import page

CELLS = [
    {"max_k": 1, "rel": 0.9, "recall": 0.4, "precision": 1.0},
    {"max_k": 3, "rel": 0.5, "recall": 0.9, "precision": 0.6},
    {"max_k": 2, "rel": 0.7, "recall": 0.4, "precision": 0.5},
    {"max_k": 8, "rel": 0.4, "recall": None, "precision": None},
]
CASES = [
    {"gold": {"a": 1.0}, "rank": 1, "top_score": 0.8},
    {"gold": {}, "rank": None, "top_score": 0.1},
    {"gold": {}, "rank": None, "top_score": None},
]
DRAWN = {
    "frontier": lambda: page.draw_frontier(CELLS),
    "scores": lambda: page.draw_scores(CASES, 0.4),
    "curve": lambda: page.draw_curve([{"size": 1, "first": 1.0}, {"size": 8, "first": 0.5}]),
    "differences": lambda: page.draw_differences([0.5, -0.2, 0.0], "ndcg@10"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_an_element_whose_colours_are_variables_of_the_page(name):
    drawn = DRAWN[name]()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert set(re.findall(r"var\(--(\w+)\)", drawn)) <= set(page.VARIABLES)
    assert "var(--ink)" in drawn
    assert re.findall(r"#[0-9a-f]{6}\b", drawn) == []


@pytest.mark.parametrize("name", DRAWN)
def test_every_reference_of_a_figure_is_to_an_element_of_its_own(name):
    drawn = DRAWN[name]()
    defined = set(re.findall(r'\bid="([^"]+)"', drawn))
    used = re.findall(r'(?:href="|url\()#([^")]+)', drawn)
    assert all(each.startswith(f"{name}-") for each in defined)
    assert used
    assert set(used) <= defined


def test_the_same_figures_are_drawn_alike_each_time():
    assert DRAWN["scores"]() == DRAWN["scores"]()


def test_only_the_selectors_that_none_beats_are_named():
    drawn = DRAWN["frontier"]()
    assert "1 / 0.9" in drawn
    assert "3 / 0.5" in drawn
    assert "2 / 0.7" not in drawn


def test_a_case_whose_gold_was_not_found_says_nothing_about_the_floor():
    missed = {"gold": {"z": 1.0}, "rank": None, "top_score": 0.05}
    assert page.draw_scores([*CASES, missed], 0.4) == page.draw_scores(CASES, 0.4)


def test_a_class_without_cases_and_a_missing_floor_leave_the_rest():
    drawn = page.draw_scores(CASES[:1], None)
    assert "gold found" in drawn
    assert "no gold" not in drawn
    assert "best floor" not in drawn
