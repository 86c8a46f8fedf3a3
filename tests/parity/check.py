"""Check docs/parity.md and ir_0_1_61.csv: the rows, and that every test they name exists.

    python -m tests.parity.check

Prints what is wrong, one problem a line, and exits with 1 if anything is.
"""

import ast
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache

from tests.support.modules import ROOT

STATES = {"works", "better", "different", "missing"}
# How far the ids of each letter run.
LAST = {"A": 22, "B": 18, "C": 7, "D": 11, "E": 10, "F": 17, "M": 12}
# The number of tests of ir 0.1.61, and the judgements on them.
THEIR_TESTS = 679
JUDGEMENTS = {"holds", "missing", "by design", "internal"}
_ID = re.compile(r"[A-Z]\d+")


def parse_rows(text: str) -> list[list[str]]:
    """Return the cells of each row that begins with an id."""
    lines = (line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| "))
    stripped = ([cell.strip() for cell in cells] for cells in lines)
    return [cells for cells in stripped if _ID.fullmatch(cells[0])]


@cache
def list_tests(path: str) -> frozenset[str] | None:
    """Return the names of the tests in a file below tests/, None if there is no such file."""
    file = ROOT / (path if path.startswith("tests/") else f"tests/{path}")
    if not file.is_file():
        return None
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    functions = (n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return frozenset(each.name for each in functions if each.name.startswith("test_"))


def exists(test: str) -> bool:
    path, _, function = test.partition("::")
    tests = list_tests(path)
    return bool(tests) and (not function or function in tests)


def check_page(text: str) -> Iterator[str]:
    """Yield what is wrong with docs/parity.md."""
    rows = parse_rows(text)
    expected = [f"{letter}{n}" for letter, last in LAST.items() for n in range(1, last + 1)]
    if [row[0] for row in rows] != expected:
        yield "docs/parity.md: ids are missing, doubled or out of order"
    for row in rows:
        at = f"docs/parity.md: {row[0]}"
        if len(row) != 5 or not row[1] or row[2] not in STATES:
            yield f"{at}: not a behaviour, a known state, a reason and tests"
            continue
        names = Counter(name for name in row[4].split(", ") if name)
        if row[2] != "works" and not row[3]:
            yield f"{at}: no reason beside {row[2]!r}"
        if row[2] != "missing" and not names:
            yield f"{at}: no test"
        yield from (f"{at}: no such test: {name}" for name in names if not exists(name))
        yield from (f"{at}: named twice: {name}" for name in names if names[name] > 1)


def check_judgements(judged: list[dict[str, str]]) -> Iterator[str]:
    """Yield what is wrong with the judgements on the other library's tests."""
    if not len({row["theirs"] for row in judged}) == len(judged) == THEIR_TESTS:
        yield f"ir_0_1_61.csv: not {THEIR_TESTS} tests, each judged once"
    for row in judged:
        at = f"ir_0_1_61.csv: {row['theirs']}"
        if row["judgement"] not in JUDGEMENTS:
            yield f"{at}: unknown judgement {row['judgement']!r}"
        if not row["ours" if row["judgement"] == "holds" else "reason"]:
            yield f"{at}: no test, or no reason"
        ours = row["ours"].split()
        yield from (f"{at}: no such test: {name}" for name in ours if not exists(name))


def main() -> int:
    """Print every problem; return the exit code."""
    with (ROOT / "tests/parity/ir_0_1_61.csv").open(encoding="utf-8", newline="") as file:
        judged = list(csv.DictReader(file))
    page = (ROOT / "docs/parity.md").read_text("utf-8")
    problems = [*check_page(page), *check_judgements(judged)]
    print("\n".join(problems) or "docs/parity.md and ir_0_1_61.csv name tests that exist")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
