"""Tasks of sub-agents wait for the sub-agents that take them."""

import pytest

from irdaemon.contrib.moments.tasks import Task, Tasks, strip_orders


def note_tasks(*tasks):
    held = Tasks()
    for at, agent_type, text in tasks:
        held.note("S", Task(at, agent_type, text))
    return held


def test_a_task_is_taken_once_by_a_sub_agent_of_its_type():
    held = note_tasks((0.0, "Explore", "find the parser"))
    assert held.take("S", "Plan", 1.0) == []
    assert held.take("T", "Explore", 1.0) == []
    assert held.take("S", "Explore", 1.0) == ["find the parser"]
    assert held.take("S", "Explore", 1.0) == []


def test_a_type_that_is_not_known_is_any():
    assert note_tasks((0.0, "", "a")).take("S", "general-purpose", 1.0) == ["a"]
    assert note_tasks((0.0, "general-purpose", "a")).take("S", "", 1.0) == ["a"]


def test_of_tasks_given_together_each_sub_agent_may_have_any():
    held = note_tasks((0.0, "X", "a"), (1.0, "X", "b"), (1.5, "X", "a"))
    assert [held.take("S", "X", 2.0) for _ in range(3)] == [["a", "b"]] * 3
    assert held.take("S", "X", 2.0) == []


def test_an_earlier_task_whose_sub_agent_never_started_is_gone():
    held = note_tasks((0.0, "X", "refused"), (60.0, "X", "b"))
    assert held.take("S", "X", 61.0) == ["b"]
    assert held.take("S", "X", 61.0) == []


def test_what_nobody_takes_in_ten_minutes_is_gone():
    assert note_tasks((0.0, "X", "a")).take("S", "X", 601.0) == []


def test_few_sessions_and_few_tasks_of_each_are_kept():
    held = Tasks()
    assert [held.note("S", Task(float(n), f"T{n}", str(n))) for n in range(20)][-1] == 16
    assert held.take("S", "T3", 20.0) == []
    for n in range(64):
        held.note(f"other{n}", Task(0.0, "X", "x"))
    assert held.take("S", "T19", 20.0) == []


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("Fill in the PDF form.", "Fill in the PDF form."),
        ("Task: Fill in the form. Report back what you did.", "Fill in the form."),
        (
            "You are working in /w. Tune the slow query.\n\nReturn a list. Do not commit.",
            "Tune the slow query.",
        ),
        ("Your task is the following.\n\nWrite a changelog\n", "Write a changelog"),
        ("Report on the sales of May.", "Report on the sales of May."),
        ("", ""),
    ],
)
def test_what_a_task_says_of_reporting_is_left_out_unless_that_is_all(text, task):
    assert strip_orders(text) == task
