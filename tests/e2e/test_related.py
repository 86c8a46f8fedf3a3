"""`irc discover --related`: a skill, the package it needs and where it worked, from real files."""

import json
from contextlib import contextmanager

import pytest

from irclient import Query
from tests.support.claude_session import Session
from tests.support.installed import write
from tests.support.running import Running

CONFIG = """\
known = false
[corpora.skills]
roots = ["~/skills"]
[corpora.packages]
roots = ["~/code"]
[corpora.sessions]
roots = ["~/sessions"]
"""
FORM = "fill in a pdf form"


@contextmanager
def serving(home):
    home.config.write_text(CONFIG)
    head = f"---\nname: pdf-forms\ndescription: {FORM}\n---\n"
    write(home.path / "skills/pdf-forms/SKILL.md", head + "\nRun `pip install pypdf` first.\n")
    write(
        home.path / "code/pypdf/pyproject.toml",
        '[project]\nname = "PyPDF"\ndescription = "read pdf files"\n',
    )
    # Of a root in which nothing is left what was there is kept, as of one that is not mounted.
    write(home.path / "code/lathe/pyproject.toml", '[project]\nname = "lathe"\n')
    session = Session(timestamp="2026-09-01T10:00:00Z").user("u1", "the tax form of this year")
    session.calls("a1", "Skill", {"skill": "pdf-forms"}).says("a2", "Filled in.", "end_turn")
    session.read(home.path / "sessions")
    with Running(home) as running:
        running.wait_idle()
        yield home


@pytest.fixture(scope="module")
def served(module_home):
    with serving(module_home) as home:
        yield home


def test_beside_a_skill_are_its_package_and_the_session_where_it_worked(served):
    plain = served.answer("discover", "-c", "skills", FORM)
    told = served.answer("discover", "-c", "skills", "--related", FORM)
    (hit,) = told["results"]
    assert [(each["relation"], each["corpus"], each["name"]) for each in hit["related"]] == [
        ("names", "packages", "PyPDF"),
        ("used_in", "sessions", "the tax form of this year"),
    ]
    assert hit["related"][1]["at"] == "2026-09-01T10:00:00Z"
    del hit["related"]
    assert told["results"] == plain["results"]
    with served.client() as client:
        (found,) = client.discover(Query(FORM, corpora=("skills",), related=True)).results
        assert [each.kind for each in found.related] == ["package", "session"]
        # What is named can be disclosed as it is named.
        named = [f"{each.corpus}/{each.artifact_id}" for each in found.related]
        assert [each.name for each in client.disclose(named)] == [
            "PyPDF",
            "the tax form of this year",
        ]


def test_the_terminal_names_them_below_the_hit(served):
    shown = served.irc("discover", "-c", "skills", "--related", FORM).stdout
    assert "names the package PyPDF" in shown
    assert "used in the session the tax form of this year" in shown
    assert "names the package" not in served.irc("discover", "-c", "skills", FORM).stdout


def test_an_abstention_has_nothing_beside_it_and_its_exit_code(served):
    answered = served.irc("discover", "--related", "knit a warm woollen sock", "--json")
    assert answered.returncode == 1
    assert json.loads(answered.stdout)["results"] == []


def test_a_package_that_is_gone_is_named_no_more(home):
    asked = Query(FORM, corpora=("skills", "packages"), related=True, fresh=True, wait_ms=20_000)
    with serving(home), home.client(timeout=30) as client:
        (home.path / "code/pypdf/pyproject.toml").unlink()
        (hit,) = client.discover(asked).results
        assert [each.kind for each in hit.related] == ["session"]
