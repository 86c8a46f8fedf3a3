"""A project is located by a child process, whatever becomes of that."""

import os

import pytest

from irdaemon.runtime.pool import ProcessLimits, end_all
from irdaemon.source import projects
from irdaemon.source.projects import Located, PlaceRules, locate_project
from irdaemon.types import Project


@pytest.fixture(autouse=True)
def no_child_left():
    yield
    end_all()


@pytest.fixture
def rules(tmp_path, monkeypatch):
    # How long it takes says how busy the machine is.
    monkeypatch.setattr(projects, "_LIMITS", ProcessLimits(30.0, 512 << 20))
    home = tmp_path / "home"
    home.mkdir()
    return PlaceRules(str(home), os.getuid())


def test_the_project_around_a_place_is_found_and_the_next_one_by_the_same_child(rules, tmp_path):
    for name in ("shop", "blog\n"):
        root = tmp_path / "home" / name
        (root / ".git").mkdir(parents=True, mode=0o755)
        root.chmod(0o755)
        (root / "a").mkdir()
        found = locate_project(str(root / "a"), rules)
        project = Project(str(root), name.strip(), (".git",))
        assert found == Located(project, place=str(root / "a"))


def test_a_place_without_a_project_has_a_reason_and_a_bad_one_a_problem(rules, tmp_path):
    assert locate_project(rules.home, rules).reason == f"{rules.home} is the home directory itself"
    gone = locate_project(rules.home + "/gone", rules)
    assert gone == Located(problem="there is no such directory")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys, time; time.sleep(60 if 'home' in sys.stdin.read() else 0)", "killed after"),
        ("raise SystemExit(3)", "failed"),
        ("print('no JSON')", "it could not be examined"),
        ("print('[]')", "it could not be examined"),
        ("print('{\"root\": 7}')", "it could not be examined"),
    ],
)
def test_a_child_that_hangs_fails_or_lies_is_a_reason(
    rules, tmp_path, monkeypatch, program, reason
):
    (tmp_path / "program.py").write_text(program)
    monkeypatch.setattr(projects, "_PROGRAM", str(tmp_path / "program.py"))
    monkeypatch.setattr(projects, "_LIMITS", ProcessLimits(0.2, 512 << 20))
    found = locate_project(rules.home, rules)
    assert found.project is None
    assert reason in found.reason
