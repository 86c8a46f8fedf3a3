"""A question with a place is answered without a look at any file, whatever its place is."""

import builtins
import os
from contextlib import contextmanager

import pytest

from irclient.types import Query
from irdaemon.config.sections import Config
from irdaemon.engine.projects import Projects
from irdaemon.engine.queue import Job
from irdaemon.index import Snapshot
from irdaemon.ledger import KnownProject
from irdaemon.types import Project
from tests.support.corpora import engine, skills, write_skill

PLACES = [
    "/srv/code/shop/apps",
    "/srv/code",
    "/srv/code/shopping",
    "/net/gone/x",
    "/",
    "/" + "x" * 4_000,
]


@contextmanager
def note_touches():
    """Give the list of all looks at files in the meantime."""
    seen = []

    def wrap(patch, module, name):
        asked = getattr(module, name)

        def note(*args, **options):
            seen.append((name, args))
            return asked(*args, **options)

        patch.setattr(module, name, note)

    with pytest.MonkeyPatch.context() as patch:
        for name in "stat lstat readlink scandir listdir access open getcwd".split():
            wrap(patch, os, name)
        wrap(patch, builtins, "open")
        yield seen


def make_known(projects):
    projects.config = Config("irdaemon.toml", "/state")
    shop = Project("/srv/code/shop", "shop", (".git",))
    projects.load([KnownProject(shop, "asked from", 1.0)])
    return shop


def test_a_known_project_is_found_by_the_text_of_a_place_alone():
    requested = []
    projects = Projects(lambda: 1.0, Snapshot, requested.append)
    shop = make_known(projects)
    with note_touches() as touched:
        found = [projects.find(place) for place in PLACES]
        known = [projects.is_known(place) for place in PLACES]
    assert found == [shop, None, None, None, None, None]
    assert known == [False] * len(PLACES)
    assert touched == []
    assert requested == [shop.root]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("op", ["discover", "search"])
def test_a_question_touches_no_file(tmp_path, op, place):
    write_skill(tmp_path / "own" / "refund", "give customers their money back")
    made = engine(skills(tmp_path / "own"))
    made.request(Job("reconcile", "s"))
    made.drain()
    make_known(made.state.projects)
    getattr(made, op)(Query("money back"))  # what is imported at the first question is there
    with note_touches() as touched:
        answer = getattr(made, op)(Query("give customers their money back", place=place))
    assert touched == []
    results = getattr(answer, "results", answer)
    assert [hit.name for hit in results] == ["x"]
