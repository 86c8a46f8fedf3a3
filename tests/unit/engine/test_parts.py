import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from irclient.errors import NotFound
from irdaemon.config.sections import Config
from irdaemon.engine.due import maintain
from irdaemon.engine.projects import Projects, is_part_of, name_part
from irdaemon.engine.queue import Job
from irdaemon.index import Snapshot
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import ArtifactPage, KnownProject
from irdaemon.types import Project
from tests.support.corpora import engine, skills, write_skill


def part(project, *roots, corpus="s"):
    made = skills(*roots, name=name_part(corpus, project.root))
    return replace(made, project=project, part_of=corpus)


def _below(project, skill):
    return Path(project.root, ".claude", "skills", skill)


@pytest.fixture
def shop(tmp_path):
    write_skill(tmp_path / "home" / "own", "fill in pdf forms")
    root = tmp_path / "code" / "shop"
    write_skill(root / ".claude" / "skills" / "stripe", "take payments")
    return Project(str(root), "shop", (".git",))


@pytest.fixture
def made(tmp_path, shop):
    made = engine(skills(tmp_path / "home", name="s"), path=str(tmp_path / "l.sqlite"))
    made.state.projects.load([KnownProject(shop, "asked from", 1.0)])
    made.writer.publisher.set_parts(shop.root, [part(shop, f"{shop.root}/.claude/skills")])
    for name in ("s", name_part("s", shop.root)):
        made.request(Job("reconcile", name))
    made.drain()
    yield made
    made.ledger.close()


def test_the_innermost_known_project_is_found_by_its_path_alone():
    projects = Projects(lambda: 1.0, Snapshot, lambda root: None)
    projects.config = Config("irdaemon.toml", "/state")
    outer, inner = Project("/home/a/code", "code"), Project("/home/a/code/shop", "shop")
    projects.load([KnownProject(each, "asked from", 1.0) for each in (outer, inner)])
    assert projects.find("/home/a/code/shop/apps/web") == inner
    assert projects.find("/home/a/code/shopping") == outer
    assert projects.find("/home/a") is None
    projects.forget(inner.root)
    assert projects.find("/home/a/code/shop") == outer


def test_a_part_is_named_after_its_corpus_and_its_project_alone():
    name = name_part("skills", "/home/a/shop")
    assert is_part_of(name, "/home/a/shop")
    assert not is_part_of(name, "/home/a/blog")
    assert not is_part_of("skills", "/home/a/shop")
    assert name.startswith("skills@")
    assert len(name) == len("skills@") + 10


def test_a_part_is_scanned_embedded_and_followed_like_a_corpus(made, shop):
    name = name_part("s", shop.root)
    assert made.state.projects.list_parts(shop) == {"s": name}
    index = made.snapshot.parts[name]
    assert (index.rows.n_artifacts, index.unembedded) == (1, 0)
    changed = write_skill(_below(shop, "refund"), "give it back")
    made.request(Job("reconcile", name, ScanRequest(under=(str(changed),))))
    made.drain()
    assert made.snapshot.parts[name].rows.n_artifacts == 2


def test_each_artifact_of_a_part_has_the_name_and_the_root_of_its_project(made, shop):
    columns = made.snapshot.parts[name_part("s", shop.root)].columns
    assert {"project", "project_root"} <= set(columns.list_names())
    assert "project_root" not in made.snapshot.corpora["s"].columns.list_names()


def test_nothing_that_lists_corpora_shows_a_part(made, shop):
    (_below(shop, "torn") / "SKILL.md").mkdir(parents=True)
    name = name_part("s", shop.root)
    assert list(made.corpora) == list(made.snapshot.corpora) == ["s"]
    assert [each["name"] for each in made.status()["corpora"]] == ["s"]
    assert [each.name for each in made.judge_health().corpora] == ["s"]
    assert [each.corpus for each in made.coverage()] == ["s"]
    assert {each.corpus for each in maintain(made.state)} == {"s", ""}
    assert {row["corpus"] for row in made.artifacts(ArtifactPage())} == {"s"}
    assert not [*made.failures(), *made.audit(), *made.secrets()]
    with pytest.raises(NotFound):
        made.info(name)
    answer = made.search("take payments")
    assert {hit.name for hit in answer.results} <= {"x"}
    assert all("stripe" not in hit.artifact_id for hit in answer.results)


def test_a_new_configuration_keeps_the_parts_of_projects(made, shop, tmp_path):
    name = name_part("s", shop.root)
    made.reconfigure([skills(tmp_path / "home", name="other")])
    made.drain()
    assert list(made.corpora) == ["other"]
    assert made.snapshot.parts[name].rows.n_artifacts == 1
    assert list(made.state.parts) == [name]


def test_what_another_branch_does_not_have_goes_while_the_project_is_there(made, shop):
    shutil.rmtree(f"{shop.root}/.claude")
    made.request(Job("reconcile", name_part("s", shop.root)))
    made.drain()
    assert made.snapshot.parts[name_part("s", shop.root)].rows.n_artifacts == 0


def test_a_project_that_cannot_be_seen_keeps_what_it_had(made, shop):
    shutil.rmtree(shop.root)
    made.request(Job("reconcile", name_part("s", shop.root)))
    made.drain()
    assert made.snapshot.parts[name_part("s", shop.root)].rows.n_artifacts == 1


def test_a_part_that_is_put_aside_is_unloaded_and_served_again_without_a_scan(made, shop):
    publisher, name = made.writer.publisher, name_part("s", shop.root)
    publisher.put_aside(shop.root)
    assert not made.snapshot.parts
    assert not made.state.projects.list_parts(shop)
    assert made.ledger.artifacts.count(name) == 1
    publisher.set_parts(shop.root, [part(shop, f"{shop.root}/.claude/skills")])
    assert made.snapshot.parts[name].rows.n_artifacts == 1


def test_a_part_that_is_forgotten_leaves_nothing_in_the_ledger(made, shop):
    made.writer.publisher.set_parts(shop.root, [])
    assert not made.snapshot.parts
    assert made.ledger.corpora.list_names() == ["s"]
    assert made.ledger.artifacts.count(name_part("s", shop.root)) == 0


def test_parts_survive_a_restart_while_their_project_is_known(made, shop, tmp_path):
    name = name_part("s", shop.root)
    made.writer.publisher.set_corpora([skills(tmp_path / "home", name="s")])
    assert name in made.ledger.corpora.list_names()
    made.state.projects.forget(shop.root)
    made.writer.publisher.set_parts(shop.root, [])
    made.writer.publisher.set_corpora([skills(tmp_path / "home", name="s")])
    assert name not in made.ledger.corpora.list_names()
