"""What a reference means: an id, a name or the end of a path, where that is one artifact's."""

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.disclose import resolve_reference
from irdaemon.engine.queue import Job
from irdaemon.source.skills import Skills
from irdaemon.strategy import Skill
from irdaemon.types import Query, Root
from tests.support.corpora import engine, ledger, upsert, write_skill


@pytest.fixture
def held():
    made = ledger("notes", "other")
    made.entries.put("notes", upsert("k", {each: f"text of {each}" for each in IDS}), 1.0)
    return made


IDS = ("docs/fill.md", "a/merge.md", "b/merge.md", "merge")


def test_an_id_is_itself_even_where_others_end_like_it(held):
    assert resolve_reference(held, "notes/merge", ("notes",)) == ("notes", "merge")
    assert resolve_reference(held, "notes/docs/fill.md", ("notes",)) == ("notes", "docs/fill.md")


def test_the_end_of_a_path_is_enough_where_one_artifact_has_it(held):
    assert resolve_reference(held, "notes/fill.md", ("notes",)) == ("notes", "docs/fill.md")
    with pytest.raises(NotFound):
        resolve_reference(held, "notes/ill.md", ("notes",))


def test_what_several_have_is_refused_with_all_of_them(held):
    with pytest.raises(QueryError, match="not one artifact but 2") as raised:
        resolve_reference(held, "notes/merge.md", ("notes",))
    assert raised.value.hint == "one of: notes/a/merge.md, notes/b/merge.md"


def test_of_several_with_one_content_the_one_that_answers_show_is_meant(tmp_path):
    scopes = {"a-plugin": "plugin", "z-user": "user", "user": "user"}
    for place in scopes:
        write_skill(tmp_path / place / "fill", "Fill a form")
    roots = [Root(str(tmp_path / place), scope) for place, scope in scopes.items()]
    made = engine(Corpus("s", "skills", Skills(tuple(roots), {}), Skill(), "hashing"))
    made.request(Job("reconcile", "s"))
    made.drain()
    (hit,) = made.discover(Query("fill a form")).results
    assert hit.artifact_id.endswith("/user/fill")
    (disclosed,) = made.disclose([f"s/{hit.name}"])
    assert disclosed.artifact_id == hit.artifact_id


def test_a_misspelt_name_is_answered_with_what_is_spelt_nearly_so():
    made = ledger("notes")
    names = ("@a/code-review", "@b/code-reviewer", "@b/brew-coffee")
    made.entries.put("notes", upsert("k", {each: each for each in names}), 1.0)
    for wanted in ("@a/code-reveiw", "code-revew", "~/.claude/skills/Code-reviw"):
        with pytest.raises(NotFound) as raised:
            resolve_reference(made, f"notes/{wanted}", ("notes",))
        assert raised.value.hint == ("the nearest are notes/@a/code-review, notes/@b/code-reviewer")


@pytest.mark.parametrize("reference", ["notes", "notes/"])
def test_a_corpus_alone_is_no_artifact(held, reference):
    with pytest.raises(QueryError, match="names no artifact"):
        resolve_reference(held, reference, ("notes",))


def test_what_nothing_is_called_is_not_found_and_the_hint_is_a_search(held):
    with pytest.raises(NotFound, match="no artifact 'flil' in corpus 'notes'") as raised:
        resolve_reference(held, "notes/flil", ("notes", "other"))
    assert raised.value.hint == "irc search 'flil' -c notes lists similar items"


def test_an_unknown_corpus_is_told_with_the_nearest_and_all_there_are(held):
    with pytest.raises(NotFound, match="unknown corpus 'note'; did you mean 'notes'") as raised:
        resolve_reference(held, "note/merge", ("notes", "other"))
    assert raised.value.hint.startswith("corpora here: notes, other;")


def test_a_name_without_a_corpus_is_told_with_how_to_find_the_item(held):
    with pytest.raises(NotFound, match="unknown item 'merge'") as raised:
        resolve_reference(held, "merge", ("notes", "other"))
    assert raised.value.hint == "write CORPUS/ID; irc search merge lists similar items"


def test_a_corpus_that_may_not_be_asked_is_as_one_that_is_not_there(held):
    with pytest.raises(NotFound, match="unknown corpus 'notes'"):
        resolve_reference(held, "notes/merge", ("other",))
