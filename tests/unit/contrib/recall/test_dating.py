"""What is found out of turns beside the writer: by the projects that are known, as they are now."""

from contextlib import closing
from dataclasses import replace

import pytest

from irdaemon.config.sections import Config
from irdaemon.contrib.recall.dating import DatingWork
from irdaemon.contrib.recall.observer import RecallObserver
from irdaemon.contrib.recall.store import RecallStore
from irdaemon.engine.projects import Projects
from irdaemon.ledger import KnownProject
from irdaemon.types import Project
from tests.support.corpora import engine
from tests.support.recall import NOW, Checkout, done_turn


class Dated:
    """An engine that knows projects, its file of what turns did, and the work on that."""

    def __init__(self, directory):
        self.path, self.now = str(directory / "recall.sqlite"), NOW
        path = str(directory / "ledger.sqlite")
        self.engine = engine(path=path, clock=lambda: self.now, addons={"recall": self.path})
        projects = Projects(lambda: 1.0, lambda: self.engine.snapshot, lambda root: None)
        projects.config = Config("irdaemon.toml", "/state")
        self.engine.state.projects = projects
        self.known = []
        self.work = DatingWork(self.engine.state, RecallObserver.find_in(self.engine.state.addons))

    def know(self, *checkouts, gone_at=0.0):
        """Have projects be known besides the others, there or gone since a time."""
        for root in (str(each.root) for each in checkouts):
            self.known = [each for each in self.known if each.project.root != root]
            project = KnownProject(Project(root, "p"), "asked from", 1.0)
            self.known.append(replace(project, gone_at=gone_at))
        self.engine.state.projects.load(self.known)

    def put(self, *turns):
        with closing(RecallStore(self.path)) as store:
            store.put_turns("sessions", "S.jsonl", turns, False)

    def state(self, turn_id):
        with closing(RecallStore(self.path, read_only=True)) as store:
            return store.find_state("sessions", turn_id)


@pytest.fixture
def dated(tmp_path):
    made = Dated(tmp_path)
    yield made
    made.engine.ledger.close()


@pytest.fixture
def nested(tmp_path):
    """Give a repository and one within it, each with a commit, and the hashes of these."""
    outer, inner = Checkout(tmp_path / "outer"), Checkout(tmp_path / "outer" / "libs" / "inner")
    inner.write("q.py", "q")
    of_inner = inner.commit(NOW)
    outer.write(".gitignore", "libs\n")
    return outer, inner, outer.commit(NOW), of_inner


def test_the_commits_of_a_repository_in_another_are_looked_for_in_their_own(dated, nested):
    outer, inner, of_outer, of_inner = nested
    dated.put(
        done_turn("out", place=str(outer.root), commits=(of_outer[:7], "0123456")),
        done_turn("in", place=f"{inner.root}/src", commits=(of_inner[:7], "89abcde")),
    )
    for checkouts in ((outer, inner), (inner, outer)):
        dated.know(*checkouts)
        dated.now += 1_000
        dated.work.tick()
        assert [dated.state(each).gone for each in ("out", "in")] == [("0123456",), ("89abcde",)]


def test_the_commits_of_a_project_that_is_not_there_are_not_looked_for_in_another(dated, nested):
    outer, inner, _, of_inner = nested
    dated.know(outer)
    dated.know(inner, gone_at=NOW)
    dated.put(done_turn("in", place=str(inner.root), commits=(of_inner,)))
    dated.work.tick()
    assert dated.state("in").gone == ()


def test_commits_are_listed_once_a_tick_and_not_before_that_is_due(dated, nested, monkeypatch):
    listed = []
    list_all = RecallStore.list_commits
    monkeypatch.setattr(
        RecallStore, "list_commits", lambda store: listed.append(dated.now) or list_all(store)
    )
    outer, inner, of_outer, of_inner = nested
    dated.know(outer, inner)
    turn = done_turn("a", place=str(outer.root), commits=(of_outer,))
    dated.put(turn)
    for _ in range(3):
        dated.work.tick()
    assert listed == [NOW]
    dated.put(turn, done_turn("b", place=str(inner.root), commits=(of_inner,)))
    dated.work.tick()
    dated.now += 1_000
    dated.work.tick()
    assert listed == [NOW, NOW, NOW + 1_000]


def test_what_files_were_like_stays_while_their_project_is_not_there(dated, tmp_path):
    app = Checkout(tmp_path / "app")
    path = app.write("p.py", "1")
    app.commit(NOW)
    dated.know(app)
    dated.put(done_turn("a", files={path: False}))
    dated.work.tick()
    before = dated.state("a").files
    assert before
    app.root.rename(tmp_path / "unmounted")
    dated.know(app, gone_at=NOW + 5)
    dated.work.tick()
    (tmp_path / "unmounted").rename(app.root)
    app.write("p.py", "2", NOW + 3_600)
    dated.know(app)
    dated.work.tick()
    assert dated.state("a").files == before


def test_what_files_were_like_goes_with_a_project_that_is_forgotten(dated, tmp_path):
    app = Checkout(tmp_path / "app")
    dated.know(app)
    dated.put(done_turn("a", files={app.write("p.py", "1"): False}))
    dated.work.tick()
    assert dated.state("a").files
    dated.engine.state.projects.forget(str(app.root))
    dated.work.tick()
    assert dated.state("a").files == ()
