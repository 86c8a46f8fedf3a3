"""The figures of labelled homes, from made-up answers."""

import importlib
from pathlib import Path

import pytest

from irclient.types import Hit

BENCH = Path(__file__).parents[2] / "bench"
SKILL = {"corpus": "skills", "path": "pdf/SKILL.md"}
PACKAGE = {"corpus": "packages", "name": "zod"}


@pytest.fixture
def homes(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("homes")


def hit(corpus, name, pointer=""):
    return Hit(corpus, name, name, corpus, 0.5, {}, "", pointer, {})


def label(group, gold, **more):
    return {"id": f"{group}-1", "group": group, "prompt": "private", "gold": gold, **more}


PDF = hit("skills", "pdf", "/h/.claude/skills/pdf/SKILL.md")
OTHER = hit("skills", "other", "/h/.claude/skills/other/SKILL.md")
ZOD = hit("packages", "zod")


def test_gold_behind_the_third_place_is_not_ranked(homes):
    late = homes.score("web", label("task", [SKILL]), [OTHER, OTHER, OTHER, PDF], [PDF], "")
    assert homes.row("web", "task", [late]) == {
        **{"home": "web", "group": "task", "n": 1, "ranked": 0.0, "offered": 1.0},
        **{"answered": 1.0, "noise": 0.0, "packages of the first three": 0.0},
    }


def test_all_gold_that_is_needed_must_be_there(homes):
    both = [SKILL, PACKAGE]
    some = [
        homes.score("web", label("task", both, need=need), [PDF], [PDF], "")
        for need in ("any", "all")
    ]
    assert [homes.row("web", "task", [each])["ranked"] for each in some] == [1.0, 0.0]


def test_noise_is_what_is_neither_gold_nor_ok_by_answered_prompt(homes):
    asked = label("task", [SKILL], ok=[PACKAGE])
    noisy = homes.score("web", asked, [], [PDF, ZOD, OTHER, OTHER], "")
    silent = homes.score("web", asked, [], [], "no_match")
    figures = homes.row("web", "task", [noisy, silent])
    assert (figures["noise"], figures["answered"]) == (2.0, 0.5)


def test_prompts_without_gold_are_told_apart_and_count_as_answered_only(homes):
    answers = [
        homes.score("web", label("lang", [SKILL]), [PDF], [PDF], ""),
        homes.score("web", label("lang", []), [PDF, ZOD], [OTHER], ""),
    ]
    rows = {each["group"]: each for each in homes.table(answers)}
    assert set(rows) == {"lang", "lang, silence", "all with gold", "all silence"}
    assert "ranked" not in rows["lang, silence"]
    assert rows["lang, silence"]["answered"] == 1.0
    assert rows["lang, silence"]["packages of the first three"] == 1.0


def test_figures_are_held_against_an_earlier_run(homes):
    rows = homes.table([homes.score("web", label("task", [SKILL]), [PDF], [], "")])
    homes.compare(rows, [{"home": "web", "group": "task", "ranked": 0.5, "offered": 0.0}])
    assert rows[0]["ratios"] == {"ranked": 2.0, "offered": "+0"}


def test_prompts_that_are_offered_something_else_are_counted_by_group(homes):
    answer = homes.score("web", label("task", [SKILL]), [], [PDF], "")
    old = {"home": "web", "id": "task-1", "shown": ["0.50 skills/pdf"]}
    assert homes.count_changes([answer], [{"answers": [old]}]) == {}
    assert homes.count_changes([answer], [{"answers": [{**old, "shown": []}]}]) == {"web, task": 1}


def test_no_text_of_a_prompt_is_kept(homes):
    answer = homes.score("web", label("task", [SKILL]), [PDF], [PDF], "")
    assert "private" not in repr(answer)


def test_the_project_is_the_only_directory_below_code(homes, tmp_path):
    assert homes.find_project(tmp_path) == ""
    (tmp_path / "code" / "shop").mkdir(parents=True)
    assert homes.find_project(tmp_path) == str(tmp_path / "code" / "shop")
    (tmp_path / "code" / "blog").mkdir()
    assert homes.find_project(tmp_path) == ""
