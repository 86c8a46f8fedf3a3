"""docs/parity.md has a row for each behaviour, and the tests that its rows name exist.

So it is of tests/parity/ir_0_1_61.csv, with a row for each test of that release of `ir`.
"""

import ast
import csv
import re
from collections import Counter
from functools import cache

import pytest

from tests.support.modules import ROOT

STATES = {"works", "better", "different", "missing"}
# How far the ids of each letter run.
LAST = {"A": 22, "B": 18, "C": 7, "D": 11, "E": 10, "F": 17, "M": 12}
# The tests of the other library, and what may be said of each.
OF_THEIRS = 679
JUDGEMENTS = {"holds", "missing", "by design", "internal"}
_ID = re.compile(r"[A-Z]\d+")


def rows(text):
    """Return the cells of each row that begins with an id."""
    lines = (line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| "))
    parted = ([cell.strip() for cell in cells] for cells in lines)
    return [cells for cells in parted if _ID.fullmatch(cells[0])]


def named(row):
    """Return the tests that a row names."""
    return [each for each in row[4].split(", ") if each]


@cache
def functions(path):
    """Return the names of the tests in a file below tests/, None where there is no such file."""
    file = ROOT / (path if path.startswith("tests/") else f"tests/{path}")
    if not file.is_file():
        return None
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    found = (n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return frozenset(each.name for each in found if each.name.startswith("test_"))


def exists(test):
    path, _, function = test.partition("::")
    there = functions(path)
    return bool(there) and (not function or function in there)


ROWS = rows((ROOT / "docs" / "parity.md").read_text("utf-8"))


def test_every_behaviour_has_one_row_and_the_rows_are_in_order():
    expected = [f"{letter}{n}" for letter, last in LAST.items() for n in range(1, last + 1)]
    assert [row[0] for row in ROWS] == expected


def test_every_row_says_what_it_is_about_and_its_state_in_a_known_word():
    odd = [row[0] for row in ROWS if len(row) != 5 or not row[1] or row[2] not in STATES]
    assert odd == []


def test_what_is_not_the_same_is_said_in_words():
    assert [row[0] for row in ROWS if row[2] != "works" and not row[3]] == []


def test_every_row_that_is_not_missing_names_a_test():
    assert [row[0] for row in ROWS if row[2] != "missing" and not named(row)] == []


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_test_that_a_row_names_exists_and_is_named_once(row):
    assert [each for each in named(row) if not exists(each)] == []
    assert [each for each, times in Counter(named(row)).items() if times > 1] == []


with (ROOT / "tests" / "parity" / "ir_0_1_61.csv").open(encoding="utf-8", newline="") as _file:
    JUDGED = list(csv.DictReader(_file))


def test_every_test_of_the_other_library_is_judged_once():
    assert len({row["theirs"] for row in JUDGED}) == len(JUDGED) == OF_THEIRS
    assert {row["judgement"] for row in JUDGED} == JUDGEMENTS


def test_what_holds_there_names_a_test_and_everything_else_a_reason():
    bare = [r["theirs"] for r in JUDGED if not r["ours" if r["judgement"] == "holds" else "reason"]]
    assert bare == []


def test_every_test_that_holds_in_place_of_theirs_exists():
    ours = {test for row in JUDGED for test in row["ours"].split()}
    assert sorted(test for test in ours if not exists(test)) == []


def test_a_test_that_is_not_there_would_be_noticed():
    here = "tests/test_parity_page.py"
    assert exists(here)
    assert exists(f"{here}::test_a_test_that_is_not_there_would_be_noticed")
    assert not exists(f"{here}::test_nothing_of_this_name")
    assert not exists("unit/test_nowhere.py")
    assert named(rows("| A1 | b | works | | unit/a.py, unit/b.py::test_c |")[0]) == [
        "unit/a.py",
        "unit/b.py::test_c",
    ]
