"""What is seen from a place: who finds what, whose it is, and what of it can be read."""

from dataclasses import replace

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config, ProjectsConfig
from irdaemon.discovery.decision import FORMULA
from irdaemon.engine.projects import Projects, Tended, name_part
from irdaemon.engine.queue import Job
from irdaemon.ledger import KnownProject
from irdaemon.source.mapping import InMemory
from irdaemon.source.skills import Skills
from irdaemon.strategy import Skill
from irdaemon.types import Floor, Project, Query, Root, SelectSpec
from tests.support.corpora import engine

TURN = {"session_id": "s", "timestamp": "2026-09-01T12:00:00Z"}


def write(directory, description):
    directory.mkdir(parents=True)
    text = f"---\nname: {directory.name}\ndescription: {description}\n---\n{description}\n"
    (directory / "SKILL.md").write_text(text)


def skills(name, *roots, **more):
    source = Skills(tuple(Root(str(root)) for root in roots), {})
    return replace(Corpus(name, "skills", source, Skill(), "hashing"), **more)


def mapped(name, items, kind="mapping", **more):
    return replace(Corpus(name, kind, InMemory(items), Skill(), "hashing"), **more)


def project_at(path):
    return Project(str(path), path.name, (".git",))


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "code" / "shop"
    write(root / ".claude/skills/deploy", "deploy the shop to its cloud")
    write(root / ".claude/skills/stripe", "take payments with stripe")
    write(root / "apps/web/.claude/skills/deploy", "deploy the web front of the shop to a cloud")
    return project_at(root)


@pytest.fixture
def blog(tmp_path):
    root = tmp_path / "code" / "blog"
    write(root / ".claude/skills/deploy", "deploy the blog to its cloud")
    write(root / ".claude/skills/donate", "take donations with stripe")
    return project_at(root)


def part(project, corpus, made):
    return replace(made, name=name_part(corpus, project.root), project=project, part_of=corpus)


@pytest.fixture
def made(tmp_path, shop, blog):
    write(tmp_path / "home/deploy", "deploy anything to any cloud")
    write(tmp_path / "home/pdf", "fill in pdf forms")
    sessions = {
        "one": {"description": "deploy it to the cloud", "cwd": blog.root, **TURN},
        "two": {"description": "deploy it to the cloud.", "cwd": f"{shop.root}/apps", **TURN},
    }
    for each, session in zip(sessions.values(), ("s1", "s2"), strict=True):
        each |= {"name": "turn", "project": each["cwd"].rpartition("/")[2], "session_id": session}
    held = [skills("skills", tmp_path / "home"), mapped("sessions", sessions)]
    made = engine(*held, calibrating=False)
    # One that does not look whether the projects are there, and has nothing tended to.
    projects = made.state.projects = Projects(lambda: 1.0, lambda: made.snapshot, lambda root: None)
    projects.config = Config("irdaemon.toml", "/state")
    projects.load([KnownProject(each, "asked from", 1.0) for each in (shop, blog)])
    of_skills = {
        shop: [f"{shop.root}/.claude/skills", f"{shop.root}/apps/web/.claude/skills"],
        blog: [f"{blog.root}/.claude/skills"],
    }
    for project, roots in of_skills.items():
        packages = {f"{project.root}#npm/stripe": {"name": "stripe", "description": "pay by card"}}
        readme = {f"{project.root}/README": {"name": "README", "description": "the cloud of it"}}
        parts = [
            part(project, "skills", skills("", *roots)),
            part(project, "packages", mapped("", packages, "packages")),
            part(project, "docs", mapped("", readme, "files")),
        ]
        made.writer.publisher.set_parts(project.root, parts)
    for name in (*made.corpora, *made.state.parts):
        made.request(Job("reconcile", name))
    made.drain()
    yield made
    made.ledger.close()


def found(answer):
    return {f"{hit.corpus}/{hit.artifact_id}" for hit in answer.results}


def summaries(answer, name):
    return [hit.summary for hit in answer.results if hit.name == name]


def test_a_project_sees_what_is_the_person_s_and_its_own_and_nothing_of_another(made, shop, blog):
    every = Query("deploy stripe cloud pdf", k=50)
    from_shop = made.search(replace(every, place=shop.root))
    assert not any(blog.root in each for each in found(from_shop) if "sessions" not in each)
    assert {"skills", "packages", "docs", "sessions"} == {h.corpus for h in from_shop.results}
    nowhere = made.search(every)
    assert {hit.corpus for hit in nowhere.results} == {"skills", "sessions"}
    assert not any("/code/" in each for each in found(nowhere))


def test_an_answer_says_which_project_it_was_asked_from(made, shop, tmp_path):
    assert made.discover(Query("take payments", place=f"{shop.root}/apps")).project == "shop"
    assert made.search(Query("take payments", place=f"{shop.root}/apps")).project == "shop"
    assert made.search(Query("take payments", place=str(tmp_path))).project == ""
    assert made.search("take payments").project == ""


def test_a_place_that_is_no_clean_path_is_refused_and_one_that_is_not_clean_is_cleaned(made, shop):
    with pytest.raises(QueryError):
        made.search(Query("take payments", place="shop"))
    assert made.search(Query("pay", place=f"{shop.root}/apps/../")).project == "shop"


def test_discover_over_all_corpora_offers_dependencies_and_no_docs(made, shop):
    every = SelectSpec(min_score=None, strategy="top_k", max_k=20)
    query = Query("pay by card stripe", place=shop.root, select=every)
    offered = {hit.corpus for hit in made.discover(query).results}
    assert "packages" in offered
    assert "docs" not in offered
    named = made.discover(replace(query, corpora=("packages",)))
    assert {hit.corpus for hit in named.results} == {"packages"}
    assert "packages" in {hit.corpus for hit in made.search(query).results}


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("", "deploy the shop to its cloud"),
        ("apps", "deploy the shop to its cloud"),
        ("apps/web/src", "deploy the web front of the shop to a cloud"),
    ],
)
def test_of_a_name_the_nearest_item_stands_for_the_others(made, shop, below, expected):
    answer = made.search(Query("deploy to a cloud", place=f"{shop.root}/{below}", k=20))
    assert summaries(answer, "deploy") == [expected]
    (hit,) = [hit for hit in answer.results if hit.name == "deploy"]
    assert len(hit.duplicates) == 2
    assert any(each.endswith("home/deploy") for each in hit.duplicates)


def test_without_a_place_items_of_a_name_are_served_as_ever(made):
    answer = made.search(Query("deploy to a cloud", k=20))
    assert summaries(answer, "deploy") == ["deploy anything to any cloud"]


def test_a_session_of_the_project_wins_a_tie_and_another_s_says_whose_it_is(made, shop, blog):
    query = Query("deploy it to the cloud", corpora=("sessions",))
    assert [hit.artifact_id for hit in made.search(query).results] == ["one", "two"]
    here = made.search(replace(query, place=shop.root)).results
    assert [hit.artifact_id for hit in here] == ["two", "one"]
    assert [hit.fields.get("other_project") for hit in here] == [None, "blog"]
    there = made.search(replace(query, place=blog.root)).results
    assert [hit.fields.get("other_project") for hit in there] == [None, "apps"]


def test_a_hit_of_a_part_brings_its_body_under_the_name_of_its_corpus(made, shop):
    query = Query("take payments with stripe", place=shop.root, level="body", expand="artifact")
    hits = made.discover(replace(query, related=True)).results
    (hit,) = [hit for hit in hits if hit.name == "stripe"]
    assert hit.disclosure.corpus == hit.corpus == "skills"
    assert "take payments" in hit.disclosure.body
    assert hit.disclosure.root.startswith(shop.root)


def test_a_reference_means_what_is_nearest_to_the_place(made, shop, tmp_path):
    (own,) = made.disclose(["skills/deploy"])
    assert own.pointer == str(tmp_path / "home/deploy/SKILL.md")
    (web,) = made.disclose(["skills/deploy"], place=f"{shop.root}/apps/web")
    assert web.pointer == f"{shop.root}/apps/web/.claude/skills/deploy/SKILL.md"
    assert web.corpus == "skills"
    (root,) = made.disclose(["skills/deploy"], place=shop.root)
    assert root.pointer == f"{shop.root}/.claude/skills/deploy/SKILL.md"
    assert made.records("skills/stripe", place=shop.root)


def test_what_is_another_project_s_is_not_found_and_the_error_says_whose_it_is(made, shop, blog):
    for place in ("", blog.root):
        with pytest.raises(NotFound, match="belongs to shop") as error:
            made.disclose(["skills/stripe"], place=place)
        assert f"--here {shop.root}" in error.value.hint
        with pytest.raises(NotFound, match="belongs to shop"):
            made.records("skills/stripe", place=place)


def test_who_is_told_nothing_of_projects_is_told_nothing(made):
    for ask in (made.disclose, lambda each, place: made.records(each[0], place)):
        with pytest.raises(NotFound) as error:
            ask(["skills/stripe"], place=None)
        assert "shop" not in f"{error.value.message} {error.value.hint}"


def test_explain_shows_the_project_and_what_of_it_was_searched(made, shop):
    explained = made.explain(Query("take payments", place=shop.root))
    assert explained["project"] == {
        "name": "shop",
        "root": shop.root,
        "artifacts": {"skills": 3, "packages": 1},
    }
    assert explained["selection"]["project"] == "shop"
    assert "project" not in made.explain("take payments")


def test_explain_says_that_an_item_is_another_project_s(made, shop, blog):
    query = Query("take payments", place=blog.root)
    item = made.explain(query, "skills/stripe")["item"]
    assert (item["stage"], item["why"]) == ("out_of_scope", "out of scope: belongs to shop")
    assert made.explain(replace(query, place=shop.root), "skills/stripe")["item"]["rank"] == 1
    with pytest.raises(NotFound, match="no artifact 'stripe'"):
        made.explain(query, "skills/stripe", of_projects=False)


def strip(answer):
    """Return all of an answer that may not change by what another project holds."""
    kept = {**answer.to_dict(), "generation": 0, "took_ms": 0.0}
    return repr(kept)


def test_a_hostile_project_changes_no_answer_outside_of_it(made, shop, blog, tmp_path):
    corpus = made.corpora["skills"]
    modes = ("hybrid", "lexical")
    n, last = made.snapshot.corpora["skills"].n_artifacts, 10**6
    floors = {
        mode: Floor(mode, "hashing-512", corpus.recipe, 0.5, 0.9, 9, 9, 0.0, n, last, FORMULA)
        for mode in modes
    }
    made.ledger.corpora.put_floors("skills", floors)
    made.writer.publisher.publish(corpus)
    assert made.snapshot.corpora["skills"].floors
    asked = [
        Query(text, place=place, k=50, mode=mode)
        for mode in modes
        for text in ("deploy stripe cloud", "zyzzyva kumquat", "wie bezahle ich mit zyzzyva karte")
        for place in ("", str(tmp_path), shop.root)
    ]
    before = [[strip(ask(query)) for ask in (made.search, made.discover)] for query in asked]
    texts = {f"x{n}": {"description": f"deploy zyzzyva karte {n} kumquat"} for n in range(300)}
    hostile = part(blog, "skills", mapped("", texts))
    made.writer.publisher.set_parts(blog.root, [hostile])
    made.request(Job("reconcile", hostile.name))
    made.drain()
    assert made.snapshot.parts[hostile.name].n_artifacts == 300
    after = [[strip(ask(query)) for ask in (made.search, made.discover)] for query in asked]
    assert after == before
    assert made.search(Query("zyzzyva", place=blog.root)).results


def test_an_answer_says_while_the_project_is_still_read(made, shop):
    query = Query("take payments", place=shop.root)
    made.state.projects.note_tended(shop.root, None)
    assert made.discover(query).freshness["reading"] == "shop"
    made.state.projects.note_tended(shop.root, Tended(1.0))
    assert "reading" not in made.discover(query).freshness


def test_packages_are_not_offered_where_the_configuration_says_so(made, shop):
    made.state.projects.config = Config(
        "irdaemon.toml", "/state", projects=ProjectsConfig(offer_packages=False)
    )
    every = SelectSpec(min_score=None, strategy="top_k", max_k=20)
    hits = made.discover(Query("pay by card stripe", place=shop.root, select=every)).results
    assert {"packages", "docs"}.isdisjoint(hit.corpus for hit in hits)
