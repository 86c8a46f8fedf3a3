"""Gold as people write it, and the artifacts that it means."""

from irdaemon.contrib.evaluate.cases import Catalogue
from irdaemon.discovery.cases import Case
from tests.support.searching import engine_of


def test_a_grade_goes_with_the_artifact_that_its_reference_means():
    catalogue = Catalogue()
    catalogue.add([("docs/fill", "Fill")])
    case = catalogue.resolve_case(Case("q", ("Fill", "gone"), grades={"Fill": 3.0, "gone": 1.0}))
    assert case.relevance == {"docs/fill": 3.0, "gone": 1.0}


def test_gold_may_be_a_name_or_the_end_of_a_path_where_that_is_one_artifacts():
    catalogue = Catalogue()
    catalogue.add([("docs/fill", "Fill"), ("a/merge", "m"), ("b/merge", "n")])
    meant = catalogue.resolve_case(Case("q", ("fill", "Fill", "merge", "b/merge", "gone")))
    assert meant.gold == ("docs/fill", "docs/fill", "merge", "b/merge", "gone")


def test_an_id_is_itself_even_where_another_artifact_is_called_like_it():
    catalogue = Catalogue()
    catalogue.add([("fill", "Fill a form"), ("docs/x", "fill")])
    assert catalogue.resolve_case(Case("q", ("fill",))).gold == ("fill",)


def test_a_case_that_nothing_answers_stays_one():
    assert Catalogue().resolve_case(Case("q")).gold == ()


def test_gold_may_be_any_end_of_a_path_and_begin_with_the_corpus():
    catalogue = Catalogue()
    catalogue.add([("~/.claude/skills/fill", "Fill"), ("~/work/fill", "Fill")])
    assert catalogue.find_id("skills/fill") == "~/.claude/skills/fill"
    assert catalogue.find_id("fill") == "fill"
    engine = engine_of({"docs/fill": "fill in a form", "docs/merge": "merge two files"})
    (corpus,) = engine.snapshot.corpora
    held = Catalogue.from_indexes(engine.snapshot.corpora.values())
    assert held.find_id(f"{corpus}/merge") == held.find_id(f"{corpus}/docs/merge") == "docs/merge"
    assert held.list_unknown(["docs/merge", f"{corpus}/gone"]) == (f"{corpus}/gone",)


def test_a_name_of_copies_means_them_and_one_of_different_artifacts_none():
    same = {"name": "fill", "description": "Fill in a form"}
    other = {"name": "merge", "description": "Merge two files"}
    another = {**other, "description": "Merge two branches"}
    engine = engine_of({"a/x": same, "b/y": same, "a/z": other, "b/z": another})
    held = Catalogue.from_indexes(engine.snapshot.corpora.values())
    assert [held.find_id(each) for each in ("fill", "merge")] == ["a/x", "merge"]


def test_gold_may_be_a_reference_as_disclose_takes_it():
    catalogue = Catalogue()
    artifacts = [("~/s/docs/fill", "Fill"), ("~/t/docs/fill", "m"), ("~/t/docs/merge", "n")]
    catalogue.add(artifacts, "skills")
    asked = ("skills/Fill", "skills/~/t/docs/fill", "docs/merge", "skills/docs/merge", "docs/fill")
    assert catalogue.resolve_case(Case("q", asked)).gold == (
        "~/s/docs/fill",
        "~/t/docs/fill",
        "~/t/docs/merge",
        "~/t/docs/merge",
        "docs/fill",
    )
    assert catalogue.resolve_case(Case("q", ("notes/Fill",))).gold == ("notes/Fill",)
