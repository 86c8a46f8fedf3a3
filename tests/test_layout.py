"""Unit tests stay pure, and no test imports from another."""

from collections import defaultdict

import pytest

from tests.support.modules import ROOT, imports

TESTS = ROOT / "tests"
KINDS = ("unit", "integration", "e2e")

# What tests in tests/unit may not import: they start no thread, no process and no connection.
OUTSIDE = ("threading", "socket", "subprocess", "multiprocessing", "concurrent", "zmq", "http")
OUTSIDE_TOO = ("irclient.testing.FakeDaemon", "tests.support.running")


def unit_tests():
    yield from sorted((TESTS / "unit").rglob("*.py"))


def below_tests(path):
    return path.relative_to(TESTS).as_posix()


def test_no_test_imports_from_a_module_of_tests():
    for path in TESTS.rglob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            taken = set(parts[1:2]) & set(KINDS) or any(part.startswith("test_") for part in parts)
            where = f"{below_tests(path)} imports {name}: what tests share belongs to tests/support"
            assert parts[0] != "tests" or not taken, where


def test_a_unit_test_starts_no_thread_no_process_and_no_connection():
    guilty = defaultdict(set)
    for test in unit_tests():
        for name in imports(test):
            if name.split(".")[0] in OUTSIDE or name.startswith(OUTSIDE_TOO):
                guilty[below_tests(test)].add(name)
    assert not guilty, f"these belong to tests/integration: {dict(guilty)}"


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (test_no_test_imports_from_a_module_of_tests, "imports tests.unit.ledger.test_check.ITEMS"),
        (test_a_unit_test_starts_no_thread_no_process_and_no_connection, "test_planted.*threading"),
    ],
)
def test_a_planted_violation_is_named(monkeypatch, tmp_path, rule, named):
    planted = tmp_path / "unit" / "novel" / "test_planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("import threading\nfrom tests.unit.ledger.test_check import ITEMS\n")
    monkeypatch.setitem(globals(), "TESTS", tmp_path)
    with pytest.raises(AssertionError, match=named):
        rule()
