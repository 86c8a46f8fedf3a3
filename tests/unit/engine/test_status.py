"""What is held can be gone through a page at a time."""

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.engine.observer import Observer
from irdaemon.engine.queue import Job
from irdaemon.ledger import ArtifactPage
from irdaemon.source.files import Files
from irdaemon.strategy import WholeText
from irdaemon.types import Root
from tests.support.corpora import engine, mapped, skills

TOOLS = {"b/git": "commit with git", "a": "fill in pdf forms", "c": "peel potatoes"}


def built(*corpora):
    made = engine(*corpora)
    for corpus in corpora:
        made.request(Job("reconcile", corpus.name))
    made.drain()
    return made


def references(made, **wanted):
    return [
        f"{held['corpus']}/{held['artifact_id']}" for held in made.artifacts(ArtifactPage(**wanted))
    ]


def test_artifacts_come_in_the_order_of_their_references_page_by_page():
    made = built(mapped(TOOLS, "m"), mapped({"x": "text"}, "l"))
    assert references(made) == ["l/x", "m/a", "m/b/git", "m/c"]
    assert references(made, limit=2) == ["l/x", "m/a"]
    assert references(made, after=("m", "a"), limit=2) == ["m/b/git", "m/c"]
    assert references(made, after=("m", "c")) == []
    assert references(made, corpus="l") == ["l/x"]


def test_artifacts_can_be_asked_for_by_the_path_they_lie_at_or_under(tmp_path):
    for name in ("one", "one-more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\n---\n")
    made = built(skills(tmp_path))
    under = str(tmp_path.resolve() / "one")
    (held,) = made.artifacts(ArtifactPage(under=under))
    assert held["name"] == "one"
    assert made.artifacts(ArtifactPage(under=held["pointer"])) == [held]
    assert made.artifacts(ArtifactPage(under=under + "/SKILL")) == []


def test_what_a_corpus_leaves_out_is_in_its_info_until_a_whole_scan_finds_otherwise(tmp_path):
    for name in ("a.md", "b.docx"):
        (tmp_path / name).write_text("text")
    made = built(
        Corpus("notes", "files", Files((Root(str(tmp_path)),), {}), WholeText(), "hashing")
    )
    assert made.info("notes")["skipped"] == {"outside the pattern: .docx": 1}
    (tmp_path / "b.docx").unlink()
    made.request(Job("reconcile", "notes"))
    made.drain()
    assert made.info("notes")["skipped"] == {}


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_a_size(limit):
    with pytest.raises(QueryError, match="1 to 1,000"):
        built(mapped(TOOLS)).artifacts(ArtifactPage(limit=limit))


@pytest.mark.parametrize("after", [("garbage", ""), ("", "garbage")])
def test_a_page_begins_after_a_reference_and_nothing_else(after):
    made = built(mapped({"a": "x"}))
    with pytest.raises(QueryError, match="after must be CORPUS/ID, not 'garbage'"):
        made.artifacts(ArtifactPage(after=after))


def test_an_unknown_corpus_has_no_artifacts_and_the_nearest_is_named():
    with pytest.raises(NotFound, match="did you mean 'tools'"):
        built(mapped(TOOLS, "tools")).artifacts(ArtifactPage(corpus="tolls"))


def test_whoever_asks_while_corpora_are_taken_up_is_told_of_those_before(monkeypatch):
    made = built(mapped(TOOLS, "m"))
    told = []

    def advance_generation(advance=made.ledger.advance_generation):
        told.append([each["name"] for each in made.status()["corpora"]])
        made.maintain(dry_run=True)
        with pytest.raises(NotFound):
            made.info("l")
        return advance()

    monkeypatch.setattr(made.ledger, "advance_generation", advance_generation)
    made.reconfigure([mapped(TOOLS, "m"), mapped({"x": "text"}, "l")])
    made.step()
    assert told == [["m"]]
    assert [each["name"] for each in made.status()["corpora"]] == ["m", "l"]


@pytest.mark.parametrize("requested", ["before", "meanwhile"])
def test_a_scan_that_ends_while_the_status_is_made_is_not_said_to_have_found_nothing(
    monkeypatch, requested
):
    made, scan = engine(mapped(TOOLS, "tools")), Job("reconcile", "tools")
    if requested == "before":
        made.request(scan)

    class Meanwhile(Observer):
        def describe(self):
            if requested == "meanwhile":
                made.request(scan)
            made.drain()
            return {}

    monkeypatch.setattr(made.state, "addons", {"meanwhile": Meanwhile()})
    told = made.status()
    (corpus,) = told["corpora"]
    assert corpus["artifacts"] == 3 or told["queue"] or corpus["last_reconcile"] is None
