"""Scope: many projects in one engine, asked at random, none of which sees another's items."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from irdaemon.config.sections import Config
from irdaemon.engine.projects import name_part
from irdaemon.engine.queue import Job
from irdaemon.ledger import KnownProject
from irdaemon.strategy import Skill
from irdaemon.types import Project
from tests.support.checkouts import add_skill
from tests.support.corpora import engine, skills
from tests.support.projects import WORDS, is_foreign, random_queries

PROJECTS = 20


def add_part(made, project):
    """Have a project's skills read."""
    name = name_part("skills", project.root)
    source = skills(Path(project.root, ".claude", "skills"), name=name, strategy=Skill())
    made.state.projects.load([KnownProject(project, "asked from", 1.0)])
    part = replace(source, project=project, part_of="skills")
    made.writer.publisher.set_parts(project.root, [part])
    made.request(Job("reconcile", part.name))
    made.drain()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Give an engine with skills of the person's and of twenty projects, in the same few words."""
    top, chance = tmp_path_factory.mktemp("home"), random.Random(3)

    def fill(root, count):
        for word in chance.sample(WORDS, count):
            add_skill(root, f"{word}-it", " ".join(chance.sample(WORDS, 8)))

    fill(top, 8)
    made = engine(skills(top / ".claude" / "skills", name="skills", strategy=Skill()))
    made.request(Job("reconcile", "skills"))
    made.state.projects.config = Config("irdaemon.toml", "/state")
    made.roots = [top / "code" / f"p{number}" for number in range(PROJECTS)]
    for root in made.roots:
        fill(root, 6)
        add_part(made, Project(str(root), root.name, (".git",)))
    yield made
    made.ledger.close()


def ask(made, asked, place, number):
    run = made.discover if number % 2 else made.search
    return run(replace(asked, corpora=(), rounds=None, place=str(place or "")))


def test_of_2000_random_questions_none_is_answered_with_an_item_of_another_project(made):
    places, own = [None, *made.roots], 0
    for number, asked in enumerate(random_queries(4, 2_000)):
        root = places[number % len(places)]
        place = root and (root, root / "apps" / "web")[number % 3 == 0]
        found = ask(made, asked, place, number).results
        assert not [hit for hit in found if is_foreign(hit, root)], (asked, place)
        own += sum(bool(hit.fields.get("project")) for hit in found)
    assert own > 2_000
