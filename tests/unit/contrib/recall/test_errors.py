"""By what an error and a command are recognised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.contrib.recall.errors import (
    find_key,
    find_program,
    list_signatures,
    normalize_line,
)

RAISED = """Traceback (most recent call last):
  File "{path}", line {n}, in <module>
    import requests
ModuleNotFoundError: No module named 'requests'
"""
SAME = (
    RAISED,
    "{path}({n},{n}): error TS2307: Cannot find module 'vitest' or its type declarations.",
    "error[E0432]: unresolved import `serde_json`\n --> {path}:{n}:{n}",
    "{when} ERROR alembic: Can't locate revision identified by '{hash}'",
    "Error response from daemon: Bind for 0.0.0.0:{n} failed: port is already allocated ({hash})",
    "\x1b[31mE   sqlalchemy.exc.OperationalError: no such table: orders\x1b[0m\n{n} failed in {n}s",
    "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree for {path}",
    "{path}:{n}:{n}: F401 `os` imported but unused",
)


def fill(text, at):
    return text.format(
        path=("/home/ann/app/src/a.py", "lib/deep/(group)/b.test.ts")[at],
        n=(3, 4711)[at],
        hash=("0a1b2c3d4e5f", "ffee0011" * 5)[at],
        when=("2026-02-03T14:05:06Z", "2026-11-24 01:02:03,456")[at],
    )


@pytest.mark.parametrize("text", SAME)
def test_an_error_is_the_same_with_other_paths_numbers_hashes_and_times(text):
    assert list_signatures(fill(text, 0)) == list_signatures(fill(text, 1)) != []


def test_errors_of_different_things_are_different():
    signed = [list_signatures(fill(text, 0))[0] for text in SAME]
    other = list_signatures(fill(RAISED, 0).replace("requests", "numpy"))[0]
    assert len({*signed, other}) == len(SAME) + 1


def test_the_exception_that_was_raised_comes_first():
    said = f"error: cannot open display of the host\n{fill(RAISED, 0)}"
    assert list_signatures(said)[0] == list_signatures(fill(RAISED, 0))[0]
    assert len(list_signatures(said)) == 2


@pytest.mark.parametrize(
    "output",
    [
        "",
        "Error",
        "make: *** [Makefile:3: test] Error 1",
        "Command failed with exit code 1.",
        "npm ERR! code ELIFECYCLE",
        "Found 3 errors.",
        "2 failed, 3 passed in 0.12s",
        "E   assert 3 == 4",
        "npm warn deprecated glob@7: old versions are not supported",
        "all is well",
    ],
)
def test_what_only_says_that_something_failed_tells_nothing(output):
    assert list_signatures(output) == []


def test_at_most_three_lines_tell_an_error():
    lines = [f"error: cannot resolve import of {name}" for name in ("one", "two", "three", "four")]
    assert len(list_signatures("\n".join(lines))) == 3


@given(st.text(max_size=2_000))
def test_any_text_has_signatures_or_none(text):
    assert len(list_signatures(text)) <= 3
    normalize_line(text)
    find_key(text)


@pytest.mark.parametrize(
    ("command", "key", "program"),
    [
        ("cd /app && npm run build 2>&1 | tail -5", "npm build", "npm build"),
        ("uv run pytest tests/a.py -q", "pytest tests/a.py", "pytest"),
        ("python3 -m pytest tests", "pytest tests", "pytest"),
        ("FOO=1 sudo make test", "make test", "make test"),
        ("git push -u origin main", "git push origin main", "git push"),
        ("npx tsc --noEmit", "tsc", "tsc"),
        ("/usr/bin/cargo build --release", "cargo build", "cargo build"),
        ("git status && cat a.py | grep x", "", ""),
        ("ls -la", "", ""),
        ("echo 'not closed", "", ""),
        ("", "", ""),
    ],
)
def test_a_command_is_known_by_what_it_does(command, key, program):
    assert find_key(command) == key
    assert find_program(key) == program
