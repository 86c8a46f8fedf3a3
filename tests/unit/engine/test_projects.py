import gc
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from irclient.errors import QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config, CorpusConfig, ProjectsConfig
from irdaemon.contrib.prompts.observer import Drop, PromptsObserver
from irdaemon.engine.projects import ADDED, name_part
from irdaemon.engine.queue import Job
from irdaemon.index import CorpusIndex
from irdaemon.ledger import Expected
from irdaemon.ledger.prompts import AUTHOR, PERSON, USE
from irdaemon.source.packages import Packages
from irdaemon.source.projects import Located
from irdaemon.strategy import WholeText
from irdaemon.types import Project, Query, Root, RootWatch
from tests.support.clocks import Clock
from tests.support.corpora import LATER, contents, engine, locate_by_git, skills, write_skill
from tests.support.hosts import Writing
from tests.support.installed import install, write

DAY = 86_400.0


@pytest.fixture
def clock():
    return Clock(LATER)


@pytest.fixture(autouse=True)
def located(monkeypatch):
    """Projects are located by their .git alone, in this process."""
    for module in ("projects", "project_parts"):
        monkeypatch.setattr(f"irdaemon.engine.{module}.locate_project", locate_by_git)


def write_project(root, *names):
    (root / ".git").mkdir(parents=True)
    for name in names:
        write_skill(root / ".claude" / "skills" / name, f"what {name} is for")
    return str(root)


def start(tmp_path, clock, corpora=(), **settings):
    config = Config("irdaemon.toml", str(tmp_path / "state"), embedder="hashing", corpora=corpora)
    config = replace(config, projects=ProjectsConfig(**settings))
    (tmp_path / "home").mkdir(exist_ok=True)
    own = skills(tmp_path / "home", name="skills")
    return engine(own, path=str(tmp_path / "l.sqlite"), clock=clock, projects=config)


@pytest.fixture
def made(tmp_path, clock):
    made = start(tmp_path, clock, max_projects=2)
    yield made
    made.ledger.close()


def count(made, root, corpus="skills"):
    index = made.snapshot.parts.get(name_part(corpus, root))
    return index.rows.n_artifacts if index else None


def test_a_place_that_was_never_seen_is_located_and_its_project_read(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe", "refund")
    projects = made.state.projects
    place = os.path.join(root, ".claude")
    assert projects.find(place) is None
    assert not projects.is_known(place)
    project = projects.locate(place)
    assert (project.root, project.name) == (root, "shop")
    assert projects.is_reading(project)
    made.drain()
    assert not projects.is_reading(project)
    assert count(made, root) == 2
    assert projects.find(root) == project
    assert projects.is_known(place)


def test_what_agents_need_is_read_before_packages_and_before_whole_scans_that_wait(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    made.request(Job("reconcile", "skills"))
    made.state.projects.locate(root)
    order = []
    made.state.notify = lambda topic, data: topic == "job" and order.append(data)
    made.drain()
    scans = [each["corpus"].partition("@")[0:2] for each in order if each["kind"] == "reconcile"]
    # What takes longest of packages, their own words, comes last.
    assert scans == [("skills", "@"), ("packages", "@"), ("skills", ""), ("packages", "@")]


def test_a_place_without_a_project_is_known_for_half_a_minute(made, tmp_path, clock):
    place = str(tmp_path / "home")
    assert made.state.projects.locate(place) is None
    assert made.state.projects.is_known(place)
    assert made.state.projects.explain(place) == "nothing marks a project"
    clock.now += 31
    assert not made.state.projects.is_known(place)
    (tmp_path / "home" / ".git").mkdir()
    assert made.state.projects.locate(place).root == place


def test_a_place_that_does_not_exist_is_an_error_that_names_it(made):
    with pytest.raises(QueryError, match="'/nowhere': it does not exist"):
        made.state.projects.locate("/nowhere")
    with pytest.raises(QueryError, match="absolute"):
        made.state.projects.locate("code/shop")


def test_a_project_within_a_project_is_one_of_its_own(made, tmp_path):
    outer = write_project(tmp_path / "mono", "one")
    made.state.projects.locate(outer)
    inner = write_project(tmp_path / "mono" / "vendor" / "lib", "two")
    assert not made.state.projects.is_known(inner)
    assert made.state.projects.locate(inner).root == inner
    made.drain()
    assert (count(made, outer), count(made, inner)) == (1, 1)


def ask_late(made, clock, place):
    """Ask from a place half a minute later, and once more when the writer has looked at it."""
    clock.now += 31
    first = made.state.projects.find(place)
    made.drain()
    return first, made.state.projects.find(place)


def test_a_link_that_leads_elsewhere_by_now_is_looked_at_again_by_the_writer(
    made, tmp_path, clock, monkeypatch
):
    roots = [write_project(tmp_path / name, name) for name in ("a", "b")]
    link = tmp_path / "current"
    link.symlink_to(roots[0])
    monkeypatch.setattr(
        "irdaemon.engine.projects.locate_project",
        lambda place, rules: Located(Project(os.path.realpath(place), "it", (".git",))),
    )
    assert made.state.projects.locate(str(link)).root == roots[0]
    made.drain()
    link.unlink()
    link.symlink_to(roots[1])
    before, after = ask_late(made, clock, str(link))
    assert (before.root, after.root) == tuple(roots)


def test_a_repository_made_below_a_place_that_was_asked_from_is_found(made, tmp_path, clock):
    outer = write_project(tmp_path / "mono", "one")
    inner = tmp_path / "mono" / "sub"
    inner.mkdir()
    projects = made.state.projects
    assert projects.locate(str(inner)).root == outer
    made.drain()
    write_project(inner, "two")
    before, after = ask_late(made, clock, str(inner))
    assert (before.root, after.root) == (outer, str(inner))


def test_a_project_found_from_below_is_that_of_the_places_above_it_at_once(made, tmp_path):
    outer = write_project(tmp_path / "mono", "one")
    inner = tmp_path / "mono" / "sub"
    (inner / "src").mkdir(parents=True)
    projects = made.state.projects
    assert projects.locate(str(inner)).root == outer
    write_project(inner, "two")
    assert projects.locate(str(inner / "src")).root == str(inner)
    assert projects.locate(str(inner)).root == str(inner)


def test_a_place_that_is_gone_is_an_error_once_it_was_looked_at_again(made, tmp_path, clock):
    root = write_project(tmp_path / "shop", "stripe")
    place = tmp_path / "shop" / "src"
    place.mkdir()
    made.state.projects.locate(str(place))
    made.drain()
    place.rmdir()
    ask_late(made, clock, str(place))
    with pytest.raises(QueryError, match="does not exist"):
        made.state.projects.locate(str(place))
    assert made.state.projects.locate(root).root == root


def test_from_a_link_into_a_project_the_nearest_of_a_name_is_that_of_where_it_leads(
    made, tmp_path, monkeypatch
):
    root = write_project(tmp_path / "shop", "dup")
    near = tmp_path / "shop" / "apps" / "web"
    write_skill(near / ".claude" / "skills" / "dup", "what dup is for")
    link = tmp_path / "current"
    link.symlink_to(root)
    monkeypatch.setattr(
        "irdaemon.engine.projects.locate_project",
        lambda place, rules: Located(
            Project(root, "shop", (".git",)), place=os.path.realpath(place)
        ),
    )
    place = str(link / "apps" / "web")
    made.state.projects.locate(place)
    made.drain()
    assert made.state.projects.find_last_place(root) == str(near)
    found = made.search(Query("what dup is for", ("skills",), place=place)).results
    assert [hit.artifact_id.partition("/shop/")[2] for hit in found] == [
        "apps/web/.claude/skills/dup"
    ]


def test_a_look_that_fails_hides_no_known_project_and_is_not_remembered(
    made, tmp_path, clock, monkeypatch
):
    root = write_project(tmp_path / "shop", "stripe")
    projects, place = made.state.projects, os.path.join(root, ".claude")
    projects.locate(root)
    failed = Located(reason="it could not be looked at: killed after 0.2 s", failed=True)
    elsewhere = str(tmp_path / "home")
    with monkeypatch.context() as patch:
        patch.setattr("irdaemon.engine.projects.locate_project", lambda place, rules: failed)
        assert projects.locate(place).root == root
        assert projects.locate(elsewhere) is None
        assert projects.explain(elsewhere) == failed.reason
    assert not projects.is_known(elsewhere)
    (tmp_path / "home" / ".git").mkdir()
    assert projects.locate(elsewhere).root == elsewhere


def test_the_projects_least_recently_asked_from_are_put_aside_and_come_back(made, tmp_path, clock):
    roots = [write_project(tmp_path / name, name) for name in ("a", "b", "c")]
    for root in roots:
        clock.now += 60
        made.state.projects.locate(root)
        made.drain()
    assert [count(made, root) for root in roots] == [None, 1, 1]
    assert made.ledger.artifacts.count(name_part("skills", roots[0])) == 1
    clock.now += 60
    made.state.projects.find(roots[0])
    made.drain()
    assert [count(made, root) for root in roots] == [1, None, 1]


def test_rows_of_a_project_that_was_put_aside_are_dropped_after_a_month(made, tmp_path, clock):
    roots = [write_project(tmp_path / name, name) for name in ("a", "b", "c")]
    for root in roots:
        clock.now += 60
        made.state.projects.locate(root)
        made.drain()
    clock.now += 29 * DAY
    made.request(Job("projects"))
    made.drain()
    assert made.state.projects.get(roots[0])
    clock.now += 2 * DAY
    made.request(Job("projects"))
    made.drain()
    assert made.state.projects.get(roots[0]) is None
    assert made.ledger.artifacts.count(name_part("skills", roots[0])) == 0
    assert made.state.projects.get(roots[1])


@pytest.mark.parametrize("kind", ["forgotten", "put aside"])
def test_no_answer_kept_for_budgets_shows_what_a_project_had(made, tmp_path, kind):
    root = write_project(tmp_path / "shop", "stripe")
    projects = made.state.projects
    projects.locate(root)
    made.drain()
    asked = Query("what stripe is for", ("skills",), mode="lexical", place=root, budget_ms=1e-6)
    answers = [made.search(asked) for _ in range(3)]
    assert answers[-1].tier == "cached"
    assert [hit.name for hit in answers[-1].results] == ["x"]
    if kind == "forgotten":
        made.request(Job("forget", root))
        made.drain()
    else:
        made.writer.publisher.put_aside(root)
    projects.locate(root)
    assert [hit.name for hit in made.search(asked).results] == []


def list_live_indexes(name):
    """Return the indexes of a corpus that are still in memory."""
    gc.collect()
    held = [each for each in gc.get_objects() if type(each) is CorpusIndex]
    return [each for each in held if each.corpus == name]


@pytest.mark.parametrize("kind", ["forgotten", "put aside"])
def test_the_index_of_a_project_that_is_served_no_longer_is_released(made, tmp_path, kind):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    made.search(Query("stripe", place=root))
    assert list_live_indexes(name_part("skills", root))
    if kind == "forgotten":
        made.request(Job("forget", root))
        made.drain()
    else:
        made.writer.publisher.put_aside(root)
    assert not list_live_indexes(name_part("skills", root))


def test_a_marker_against_indexing_has_all_of_a_project_forgotten_at_once(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    Path(root, ".noirdaemon").touch()
    made.request(Job("project", root))
    made.drain()
    assert made.state.projects.get(root) is None
    assert made.ledger.known_projects.list_all() == []
    assert made.ledger.corpora.list_names() == ["skills"]


def test_prompts_of_a_project_outlive_a_restart_where_it_keeps_no_items(made, tmp_path, clock):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    part, away = name_part("skills", root), tmp_path / "away"
    (item,) = (card.artifact_id for card in made.snapshot.parts[part].rows.cards)
    given = {item: Expected.from_prompts(["charge a card"])}
    made.ledger.prompts.publish(part, given, PERSON)
    made.ledger.prompts.publish(part, given, USE)
    made.ledger.close()
    shutil.move(f"{root}/.claude", away)
    for is_there in (False, True):
        if is_there:
            shutil.move(away, f"{root}/.claude")
        again = start(tmp_path, clock)
        again.state.projects.find(root)
        again.drain()
        assert again.ledger.prompts.list_all(part, PERSON) == given
        assert again.ledger.prompts.list_all(part, USE) == {}
        assert not [each for each in again.ledger.check() if each.severe]
        assert (part in again.ledger.corpora.list_names()) is is_there
        words = [each[4][0][5] for each in contents(again.ledger, part).values()]
        assert ["card" in each for each in words] == [True] * is_there
        again.ledger.close()


def test_authors_prompts_that_are_taken_back_are_found_in_no_project_either(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    stated = "---\nname: stripe\ndescription: a shop\ntriggers: [charge my submarine]\n---\n"
    Path(root, ".claude", "skills", "stripe", "SKILL.md").write_text(stated)
    made.state.projects.locate(root)
    made.drain()
    part = name_part("skills", root)
    PromptsObserver.find_in(made.state.addons).take_back(
        Drop("skills", "", AUTHOR, is_forgotten=True)
    )
    generation = made.snapshot.generation
    made.drain()
    assert made.snapshot.generation > generation
    assert made.snapshot.parts[part].unembedded == 0
    (words,) = [each[4][0][5] for each in contents(made.ledger, part).values()]
    assert not [word for word in words if word.startswith("submar")]


def test_prompts_of_a_project_go_when_it_is_forgotten(made, tmp_path):
    roots = [write_project(tmp_path / name, name) for name in ("a", "b")]
    for root in roots:
        made.ledger.prompts.publish(
            name_part("skills", root), {"x": Expected.from_prompts(["charge a card"])}, PERSON
        )
        made.state.projects.locate(root)
    made.drain()
    made.request(Job("forget", roots[0]))
    made.drain()
    held = [made.ledger.prompts.count(name_part("skills", root), PERSON) for root in roots]
    assert held == [(0, 0), (1, 1)]


def test_a_project_that_was_renamed_is_put_aside_then_forgotten(made, tmp_path, clock):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    shutil.move(root, tmp_path / "store")
    made.request(Job("projects"))
    made.drain()
    assert count(made, root) is None
    assert made.state.projects.get(root).gone_at == clock.now
    clock.now += 31 * DAY
    made.request(Job("projects"))
    made.drain()
    assert made.ledger.known_projects.list_all() == []


def test_known_projects_are_there_after_a_restart(made, tmp_path, clock):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    clock.now += 90
    made.state.projects.find(root)
    made.drain()
    made.ledger.close()
    again = start(tmp_path, clock)
    (known,) = again.state.projects.list_known()
    assert known.project.root == root
    assert known.asked_at == clock.now
    assert again.ledger.artifacts.count(name_part("skills", root)) == 1
    again.state.projects.find(f"{root}/src")
    again.step()
    assert count(again, root) == 1
    again.ledger.close()


def test_when_a_project_was_asked_from_is_stored_once_a_minute_and_by_the_writer(
    made, tmp_path, clock
):
    root = write_project(tmp_path / "shop")
    made.state.projects.locate(root)
    made.drain()
    first = clock.now
    clock.now += 20
    made.state.projects.find(root)
    made.step()
    assert made.ledger.known_projects.list_all()[0].asked_at == first
    clock.now += 45
    made.step()
    assert made.ledger.known_projects.list_all()[0].asked_at == first + 20


def test_a_corpus_that_the_person_disabled_has_no_part(tmp_path, clock):
    disabled = CorpusConfig("skills", "skills", enabled=False)
    made = start(tmp_path, clock, (disabled,))
    root = write_project(tmp_path / "shop", "stripe")
    project = made.state.projects.locate(root)
    made.drain()
    assert "skills" not in made.state.projects.list_parts(project)
    made.ledger.close()


def test_nothing_is_located_or_read_where_projects_are_switched_off(tmp_path, clock):
    made = start(tmp_path, clock, enabled=False)
    root = write_project(tmp_path / "shop", "stripe")
    assert made.state.projects.is_known(root)
    assert made.state.projects.locate(root) is None
    made.drain()
    assert not made.snapshot.parts
    made.ledger.close()


def test_what_is_ignored_within_a_project_is_not_read_whatever_link_names_it(tmp_path, clock):
    (tmp_path / "link").symlink_to(tmp_path)
    inside = (".claude/skills/closed", "docs/hidden", "apps", "packages/closed")
    made = start(tmp_path, clock, ignore=tuple(f"{tmp_path}/link/shop/{each}" for each in inside))
    shop = tmp_path / "shop"
    root = write_project(shop, "open", "closed")
    write_skill(shop / "apps" / ".claude" / "skills" / "web", "what lies in apps")
    for path in ("docs/open.md", "docs/hidden/closed.md"):
        (shop / path).parent.mkdir(parents=True, exist_ok=True)
        (shop / path).write_text("# How it is deployed\n\nBy a script.")
    for name in ("open", "closed"):
        write_manifest(shop / "packages" / name, name)
    write(shop / "package.json", {"name": "shop", "workspaces": ["packages/*"]})
    made.state.projects.locate(root)
    made.drain()
    held = {corpus: count(made, root, corpus) for corpus in ("skills", "docs", "packages")}
    assert held == {"skills": 1, "docs": 1, "packages": 2}
    made.ledger.close()


def test_a_project_holds_no_more_artifacts_than_it_may(tmp_path, clock):
    made = start(tmp_path, clock, max_artifacts=3)
    root = write_project(tmp_path / "shop", *"abcdef")
    made.state.projects.locate(root)
    made.drain()
    assert count(made, root) == 3
    made.ledger.close()


def test_a_project_has_no_more_documents_than_people_read(made, tmp_path, monkeypatch):
    monkeypatch.setattr("irdaemon.source.projects.MOST_DOCS", 2)
    root = write_project(tmp_path / "shop")
    docs = tmp_path / "shop/docs"
    docs.mkdir()
    for number in range(5):
        (docs / f"{number}.md").write_text(f"# Decision {number}\n\nIt is decided: {number}.")
    made.state.projects.locate(root)
    made.drain()
    assert count(made, root, "docs") == 2


def test_nothing_of_a_project_may_leave_it_or_teach(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    write_skill(tmp_path / "elsewhere", "of another")
    os.symlink(tmp_path / "elsewhere", Path(root, ".claude", "skills", "linked"))
    made.state.projects.locate(root)
    made.drain()
    assert count(made, root) == 1
    part = made.state.parts[name_part("skills", root)]
    assert (part.redaction, part.learns, part.backend, part.may_leave_roots) == (
        "all",
        False,
        None,
        False,
    )


def test_a_project_that_a_person_added_is_known_as_such(made, tmp_path):
    root = write_project(tmp_path / "shop")
    made.state.projects.register(Project(root, "shop", (".git",)), ADDED)
    made.drain()
    assert [each.why for each in made.ledger.known_projects.list_all()] == [ADDED]


def test_watched_are_agent_directories_manifests_and_the_marker_and_no_tree(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    Path(root, "package.json").write_text("{}")
    os.makedirs(f"{root}/src/deep/tree")
    made.state.projects.locate(root)
    made.drain()
    watched = {each.path for each in made.state.projects.get_tended(root).watched}
    assert watched == {f"{root}/.noirdaemon", f"{root}/.claude/skills", f"{root}/package.json"}


def test_what_a_project_has_is_calibrated_beside_the_persons_own(tmp_path, clock):
    for number in range(10):
        write_skill(tmp_path / "home" / f"own{number}", f"what own thing {number} is good for")
    made = start(tmp_path, clock)
    made.request(Job("reconcile", "skills"))
    root = write_project(tmp_path / "shop", *(f"skill{number}" for number in range(10)))
    made.state.projects.locate(root)
    made.drain()
    clock.now += 60
    made.state.projects.find(root)
    made.drain()
    part = made.snapshot.parts[name_part("skills", root)]
    assert part.floors
    assert {floor.artifacts for floor in part.floors.values()} == {20}
    assert {floor.artifacts for floor in made.snapshot.corpora["skills"].floors.values()} == {10}
    made.ledger.close()


def test_a_fresh_answer_includes_places_that_are_new(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    write_skill(Path(root, "apps", "web", ".claude", "skills", "new"), "peel potatoes")
    asked = Query("peel potatoes", place=root, fresh=True)
    made.search(asked)
    assert count(made, root) == 2


def test_asking_from_here_and_there_makes_no_part_anew_and_loses_nothing(made, tmp_path, clock):
    root = write_project(tmp_path / "shop", "stripe")
    deep = tmp_path / "shop" / "a/b/c/d/e/f"
    for at in (deep, tmp_path / "shop" / "libs"):
        write_skill(at / ".claude" / "skills" / "deep", "what lies deep")
    projects, parts = made.state.projects, []
    for place in (root, str(deep), f"{root}/libs", str(deep), root):
        clock.now += 60
        assert (projects.find(place) or projects.locate(place)).root == root
        made.drain()
        parts.append(made.state.parts[name_part("skills", root)])
    assert count(made, root) == 3
    assert len({id(part) for part in parts}) == 2
    assert all(part is parts[-1] for part in parts[1:])


def test_links_out_of_a_project_are_not_watched(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    (tmp_path / "outside").write_text("{}")
    Path(root, "package.json").symlink_to(tmp_path / "outside")
    made.state.projects.locate(root)
    made.drain()
    watched = made.state.projects.get_tended(root).watched
    assert {each.path for each in watched} == {f"{root}/.noirdaemon", f"{root}/.claude/skills"}
    assert {each.within for each in watched} == {root}


def write_manifest(directory, name):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "package.json").write_text(f'{{"name": "{name}", "description": "does {name}"}}')


def found_packages(top, **more):
    source = Packages((Root(str(top), "project"),), {})
    return Corpus("packages", "packages", source, WholeText(), "hashing", **more)


@pytest.mark.parametrize("written", [False, True])
def test_packages_found_in_a_project_that_is_read_are_its_own(tmp_path, clock, written):
    top = tmp_path / "code"
    root = write_project(top / "shop")
    write_manifest(top / "shop", "shop")
    write_manifest(top / "alone", "alone")
    made = start(tmp_path, clock)
    found = found_packages(top, found=() if written else (Root(str(top), "project"),))
    made.reconfigure([found])
    made.drain()
    assert made.snapshot.corpora["packages"].rows.n_artifacts == 2
    made.state.projects.locate(root)
    made.drain()
    assert made.snapshot.corpora["packages"].rows.n_artifacts == (2 if written else 1)
    assert count(made, root, "packages") == 1
    (coverage,) = made.coverage()
    assert (coverage.missing, coverage.ratio) == (0, 1.0)
    made.request(Job("forget", root))
    made.drain()
    assert made.snapshot.corpora["packages"].rows.n_artifacts == 2
    made.ledger.close()


def test_a_project_that_others_may_write_by_now_is_forgotten(made, tmp_path, clock, monkeypatch):
    root = write_project(tmp_path / "shop", "stripe")
    projects = made.state.projects
    projects.locate(root)
    made.drain()
    for located in (
        Located(reason="it could not be looked at: killed after 0.2 s", failed=True),
        Located(problem="it cannot be read"),
    ):
        monkeypatch.setattr(
            "irdaemon.engine.project_parts.locate_project", lambda *_, it=located: it
        )
        clock.now += 60
        assert projects.find(root)
        made.drain()
        assert count(made, root) == 1
    refused = Located(reason=f"{root} may be written by everybody")
    for module in ("projects", "project_parts"):
        monkeypatch.setattr(f"irdaemon.engine.{module}.locate_project", lambda *_: refused)
    clock.now += 60
    projects.find(root)
    made.drain()
    assert count(made, root) is None
    assert projects.find(root) is None
    assert projects.locate(root) is None
    assert projects.explain(root) == f"{root} may be written by everybody"


def test_a_project_that_is_gone_is_not_called_still_read(made, tmp_path, clock):
    root = write_project(tmp_path / "shop", "stripe")
    project = made.state.projects.locate(root)
    made.drain()
    shutil.rmtree(root)
    clock.now += 60
    made.state.projects.find(root)
    made.drain()
    assert not made.state.projects.is_reading(project)


def test_what_a_project_has_nothing_at_to_watch_is_not_unwatched_for_a_corpus(made, tmp_path):
    root = write_project(tmp_path / "shop", "stripe")
    made.state.projects.locate(root)
    made.drain()
    own = RootWatch(str(tmp_path / "gone"), "missing")
    seen = RootWatch(f"{root}/.claude/skills", "inotify")
    marker = RootWatch(f"{root}/.noirdaemon", "missing", "nothing is at this path")
    assert made.state.projects.leave_out((own, seen, marker)) == (own, seen)


def test_the_status_counts_projects_and_what_they_hold(made, tmp_path):
    assert "projects" not in made.status()
    made.state.projects.locate(write_project(tmp_path / "shop", "stripe", "refund"))
    assert made.status()["projects"]["known"] == 1
    made.drain()
    assert made.status()["projects"] == {"known": 1, "in_step": 1, "reading": 0, "items": 2}


def test_what_a_dependency_says_itself_is_read_after_the_rest_and_not_taken_back(
    made, tmp_path, clock
):
    root = write_project(tmp_path / "shop")
    write(Path(root) / "package.json", {"dependencies": {"barline": "1"}})
    home = install(Path(root), "barline", description="Bars for the web")
    write(home / "index.js", "throw new Error('quiet zone is too narrow')")
    part, kinds = name_part("packages", root), []

    def note(topic, data):
        if topic == "generation" and data["corpus"] == part:
            rows = made.snapshot.parts[part].rows
            if held := rows.list_positions():
                kinds.append([rows.get_kind(position) for position in held])

    made.state.notify = note
    made.state.projects.locate(root)
    made.drain()
    whole = ["description", "own_words"]
    assert (kinds[0], kinds[-1]) == (["description"], whole)
    (hit, *_) = made.search(Query("zone too narrow", ("packages",), place=root)).results
    assert (hit.name, hit.summary) == ("barline", "Bars for the web")
    kinds.clear()
    clock.now += 400
    write(home / "README.md", "# Bars\n")
    made.request(Job("project", root))
    made.drain()
    assert kinds
    assert all(each == whole for each in kinds)


@pytest.mark.parametrize("kind", ["project", "forget", "reconcile"])
def test_a_project_that_cannot_be_read_is_put_aside_and_ends_nothing(
    made, tmp_path, clock, monkeypatch, kind
):
    made.state.host = Writing()
    root = write_project(tmp_path / "odd", "deploy")
    made.state.projects.locate(root)
    made.drain()
    assert count(made, root) == 1

    def mistaken(*_, **__):
        raise RecursionError("a checkout of 600 levels")

    with monkeypatch.context() as patched:
        for what in ("engine.project_parts:_bring_in_step", "engine.project_parts:forget_project"):
            patched.setattr(f"irdaemon.{what}".replace(":", "."), mistaken)
        patched.setattr(made.ledger.entries, "diff", mistaken)
        job = Job(kind, name_part("skills", root) if kind == "reconcile" else root)
        made.request(job)
        for _ in range(8):
            made.drain()
            clock.now += 60
    (note,) = made.state.projects.get_tended(root).notes
    assert "put aside, it could not be read: RecursionError" in note
    assert count(made, root) is None
    assert made.state.projects.locate(root)  # asked again later, it is read
    made.drain()
    assert count(made, root) == 1
