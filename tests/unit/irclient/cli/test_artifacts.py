"""`irc artifacts`: a page, and whether it is the last one."""

import argparse
import json

import pytest

from irclient.cli.corpora import list_artifacts
from irclient.errors import QueryError
from irclient.results import IndexedArtifact

HELD = [
    IndexedArtifact(corpus="notes", artifact_id=artifact_id, name=artifact_id.upper())
    for artifact_id in ("a", "ann's b", "c")
]

NOWHERE = {"here": "", "everywhere": True}


class Daemon:
    """Answers with a page of what is held, as the daemon does."""

    def artifacts(self, corpus, under, after, limit, place):
        self.corpus = corpus
        beyond = [each for each in HELD if f"notes/{each.artifact_id}" > after]
        return beyond[:limit]


def printed(capsys, k, as_json=False):
    options = argparse.Namespace(
        **NOWHERE, corpus=None, c="", under="", after="", k=k, json=as_json
    )
    assert list_artifacts.run(Daemon(), options) == 0
    return capsys.readouterr()


def test_a_page_that_is_not_the_last_says_so_and_how_to_go_on(capsys):
    said = printed(capsys, 2)
    assert said.out == "notes/a  A\nnotes/ann's b  ANN'S B\n"
    assert said.err == "irc: there are more; go on with --after 'notes/ann'\"'\"'s b'\n"


@pytest.mark.parametrize("k", [3, 100])
def test_the_last_page_ends_without_a_word(capsys, k):
    assert printed(capsys, k).err == ""


def test_as_json_the_page_alone_is_on_stdout(capsys):
    said = printed(capsys, 1, as_json=True)
    assert [each["artifact_id"] for each in json.loads(said.out)] == ["a"]
    assert "there are more" in said.err


@pytest.mark.parametrize(
    ("width", "line"), [("20", "notes/ann's b"), ("23", "notes/ann's b  ANN'S B")]
)
def test_a_reference_stays_whole_and_a_name_is_left_out_where_it_has_no_room(
    capsys, monkeypatch, width, line
):
    monkeypatch.setenv("COLUMNS", width)
    assert printed(capsys, 2).out.splitlines()[1] == line


@pytest.mark.parametrize(("corpus", "c"), [("notes", ""), (None, "notes"), ("notes", "notes")])
def test_the_corpus_is_named_with_the_option_of_discover_or_without(corpus, c):
    options = argparse.Namespace(
        **NOWHERE, corpus=corpus, c=c, under="", after="", k=100, json=False
    )
    daemon = Daemon()
    assert list_artifacts.run(daemon, options) == 0
    assert daemon.corpus == "notes"


def test_two_corpora_are_refused():
    options = argparse.Namespace(
        **NOWHERE, corpus="notes", c="skills", under="", after="", k=9, json=False
    )
    with pytest.raises(QueryError, match="two corpora"):
        list_artifacts.run(Daemon(), options)
