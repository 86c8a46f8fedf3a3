"""What belongs to a hit: beside it, never in its way."""

from dataclasses import replace

import pytest

import irdaemon as ir
from irclient.types import Query
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.links import LinkScope, add_related
from irdaemon.engine.queue import Job
from irdaemon.source.sessions import Sessions
from irdaemon.strategy import ClaudeTurn, Package, Skill
from irdaemon.types import Root
from tests.support.claude_session import Session
from tests.support.corpora import engine, mapped

SKILLS = {
    "pdf": {"name": "pdf-forms", "description": "fill in a pdf form", "parent": "office",
            "text": "Run `pip install pypdf` and `pip install not-indexed`."},
    "sheet": {"name": "sheet", "description": "clean up a spreadsheet", "parent": "office"},
}  # fmt: skip
PACKAGES = {
    "~/code/pypdf": {"name": "PyPDF", "description": "read and write pdf files", "deps": ["rich"]},
    "~/code/rich": {"name": "rich", "description": "colours on a terminal", "deps": ["gone"]},
    "~/code/pdf_forms": {"name": "pdf_forms", "description": "a package like a skill", "deps": []},
}


def session(directory, name, prompt, *, skill="pdf-forms", answered=True, day=1, turns=1):
    made = Session(sessionId=name, timestamp=f"2026-09-{day:02}T10:00:00Z")
    for turn in range(turns):
        made.user(f"{name}-u{turn}", f"{prompt} {turn}")
        made.calls(f"{name}-c{turn}", "Skill", {"skill": skill})
        if answered:
            made.says(f"{name}-a{turn}", "It is filled in.", "end_turn")
        else:
            made.user(f"{name}-s{turn}", "[Request interrupted by user]")
    made.read(directory, f"{name}.jsonl")


def started(directory, skills=SKILLS, packages=PACKAGES):
    directory.mkdir(exist_ok=True)
    turns = Sessions((Root(str(directory)),), {})
    made = engine(
        mapped(skills, "skills", Skill()),
        mapped(packages, "packages", Package()),
        Corpus("sessions", "sessions", turns, ClaudeTurn(), "hashing"),
    )
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()
    return made


@pytest.fixture
def made(tmp_path):
    session(tmp_path, "old", "an old form", day=1)
    session(tmp_path, "newer", "a newer form", day=2, turns=3)
    session(tmp_path, "newest", "the newest form", day=3)
    session(tmp_path, "vain", "a form in vain", answered=False, day=4)
    return started(tmp_path)


def only(made, text, corpus, **more):
    (hit,) = made.discover(Query(text, corpora=(corpus,), related=True), **more).results
    return hit


def beside(hit):
    return [(each.relation, each.corpus, each.name) for each in hit.related]


def test_beside_a_skill_are_its_package_and_the_sessions_where_it_worked(made):
    hit = only(made, "pdf-forms", "skills")
    assert [(each.relation, each.kind) for each in hit.related] == [
        ("names", "package"), ("used_in", "session"), ("used_in", "session")
    ]  # fmt: skip
    package, *sessions = hit.related
    assert (package.artifact_id, package.name) == ("~/code/pypdf", "PyPDF")
    # Of a session one turn; none that was broken off; the newest first.
    assert [each.artifact_id.partition(":")[0] for each in sessions] == ["newest", "newer"]
    assert [each.at[:10] for each in sessions] == ["2026-09-03", "2026-09-02"]


def test_beside_a_package_are_the_skill_that_names_it_where_that_worked_and_what_it_needs(made):
    assert [each[0] for each in beside(only(made, "PyPDF", "packages"))] == [
        "named_by", "used_in", "used_in", "needs"
    ]  # fmt: skip
    skill, used, _, needed = only(made, "PyPDF", "packages").related
    assert (skill.name, used.via, needed.name) == ("pdf-forms", "pdf-forms", "rich")


def test_beside_a_session_are_the_skill_it_used_and_the_package_of_that(made):
    found = made.search(Query("the newest form", corpora=("sessions",))).results
    hit, *_ = add_related(found[:1], [LinkScope(made.ledger.links, list(made.corpora))])
    assert beside(hit) == [("used", "skills", "pdf-forms"), ("names", "packages", "PyPDF")]
    assert [each.via for each in hit.related] == ["", "pdf-forms"]


def test_what_nothing_is_linked_with_has_none_and_says_so(made):
    assert only(made, "sheet", "skills").related == ()
    assert only(made, "sheet", "skills").to_dict()["related"] == []


def test_nothing_is_named_that_is_not_held_any_more(made, tmp_path):
    without = {key: PACKAGES[key] for key in PACKAGES if "pypdf" not in key}
    (tmp_path / "newest.jsonl").unlink()
    made.reconfigure((*list(made.corpora.values())[::2], mapped(without, "packages", Package())))
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()
    hit = only(made, "pdf-forms", "skills")
    assert [each.artifact_id.partition(":")[0] for each in hit.related] == ["newer", "old"]


@pytest.mark.parametrize(
    "text", ["pdf-forms", "fill in a pdf form", "a spreadsheet", "knitting socks", "zzz qqq"]
)
def test_neither_order_nor_silence_changes(made, text):
    plain, related = made.discover(Query(text)), made.discover(Query(text, related=True))
    assert (plain.abstained, plain.reason, plain.signals) == (
        related.abstained, related.reason, related.signals
    )  # fmt: skip
    assert [replace(hit, related=None) for hit in related.results] == list(plain.results)
    assert all(hit.related is None for hit in plain.results)


def test_where_it_was_not_asked_for_an_answer_is_what_it_was(made):
    (hit,) = made.discover("pdf-forms").results[:1]
    assert "related" not in hit.to_dict()
    assert all(hit.related is None for hit in made.search(Query("pdf", related=True)).results)


def test_no_more_than_two_of_a_kind_are_named_and_one_of_a_name(tmp_path):
    packages = {f"~/{at}/p{n}": {"name": f"p{n}", "description": f"package {n}", "deps": []}
                for n in range(9) for at in "ab"}  # fmt: skip
    text = "pip install " + " ".join(f"p{n}" for n in range(9))
    skills = {"many": {"name": "many", "description": "of all", "parent": "x", "text": text}}
    for n in range(9):
        session(tmp_path, f"s{n}", "do all", skill="many", day=n + 1)
    hit = only(started(tmp_path, skills, packages), "many", "skills")
    assert [each.artifact_id for each in hit.related[:2]] == ["~/a/p0", "~/a/p1"]
    assert [each.kind for each in hit.related] == 2 * ["package"] + 2 * ["session"]


def test_only_corpora_that_may_be_seen_are_looked_into(made):
    assert beside(only(made, "pdf-forms", "skills", visible=["skills", "packages"])) == [
        ("names", "packages", "PyPDF")
    ]
    assert only(made, "pdf-forms", "skills", visible=[]).related == ()


def test_a_name_that_a_package_and_a_skill_have_is_the_one_that_is_meant(tmp_path):
    session(tmp_path, "one", "a form", skill="pdf-forms")
    made = started(tmp_path)
    assert ("used_in", "sessions") not in [
        each[:2] for each in beside(only(made, "a package like a skill", "packages"))
    ]


def test_a_library_finds_what_belongs_to_a_hit_in_the_asked_corpora():
    def built(items, name, strategy):
        source = ir.CorpusSource.from_mapping(items, name=name, strategy=strategy)
        return ir.build(source, store=":memory:", embedder="hashing")

    skills, packages = built(SKILLS, "skills", Skill()), built(PACKAGES, "packages", Package())
    (hit, *_) = ir.discover([skills, packages], "pdf-forms", related=True).results
    assert beside(hit) == [("names", "packages", "PyPDF")]
    assert ir.discover(skills, "pdf-forms", related=True).results[0].related == ()
    assert ir.discover(skills, "pdf-forms").results[0].related is None
