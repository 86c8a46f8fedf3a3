"""`irc coverage`: what it prints, and how it ends."""

import argparse
import json

import pytest

from irclient.cli.corpora import measure_coverage
from irclient.results import CorpusCoverage
from irclient.terminal.exits import COMMITTED, UNHEALTHY


class Covered:
    """A client that answers with what it was given."""

    timeout = 10.0

    def __init__(self, *found):
        self.found = list(found)

    def coverage(self, corpus):
        return self.found


def run(*found, as_json=False):
    return measure_coverage.run(
        Covered(*found), argparse.Namespace(clashes=False, corpus=None, json=as_json)
    )


WHOLE = CorpusCoverage("notes", 12, 10, 0, 1.0, {"excluded": 2, "directory: ignored by git": 4})
PATHS = [f"/notes/{number:02}.md" for number in range(30)]
LACKING = CorpusCoverage("notes", 40_000, 39_970, 30, 39_970 / 40_000, {}, PATHS)


def test_what_is_indexed_as_a_whole_ends_well(capsys):
    assert run(WHOLE) == COMMITTED
    assert capsys.readouterr().out.splitlines() == [
        "corpus  on disk  indexed  excluded  missing  coverage",
        "notes        12       10         2        0  100%",
        "notes: left out: excluded 2",
        "notes: left out: directory: ignored by git 4",
    ]


def test_what_is_missing_is_named_ends_as_incomplete_and_is_never_rounded_to_all(capsys):
    assert run(LACKING) == UNHEALTHY
    printed = capsys.readouterr().out
    assert "99.9%" in printed
    assert printed.count("notes: missing: /notes/") == 20
    assert "notes: missing: 10 more; --json lists them" in printed
    assert "irc build notes" in printed


def test_json_has_every_path(capsys):
    assert run(LACKING, as_json=True) == UNHEALTHY
    (found,) = json.loads(capsys.readouterr().out)
    assert found["missing_paths"] == PATHS


@pytest.mark.parametrize(
    ("ratio", "code"),
    [(1.0, UNHEALTHY), (None, COMMITTED)],
    ids=["a directory that cannot be walked", "a corpus without directories"],
)
def test_what_could_not_be_compared_is_said(ratio, code, capsys):
    found = CorpusCoverage("notes", ratio=ratio, unchecked="/notes/x: Permission denied")
    assert run(found) == code
    assert "notes: /notes/x: Permission denied" in capsys.readouterr().out
