"""Documents that clients write: switched on, stored, served, and by whom."""

import os

import pytest

from irclient.errors import Conflict, Denied, LimitError, NotFound, QueryError, Unavailable
from irdaemon.config.config import parse_config
from irdaemon.config.corpus import corpora_of
from irdaemon.serve import writing
from irdaemon.serve.access import Scope
from irdaemon.serve.ops import OPS, narrowed, shown
from tests.support.corpora import engine, mapped

TOKEN = "ghp_" + "a1B2" * 9
ON = 'known = false\nembedder = "hashing"\n[documents]\nwrite = true\n'


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Give an engine over the managed directory."""
    return engine(*corpora(tmp_path, monkeypatch, ON), path=str(tmp_path / "ledger"))


def corpora(tmp_path, monkeypatch, text):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return corpora_of(parse_config(text, "/c.toml"))


def add(made, title="Night shift", content="The quagga feeds at night.", **more):
    return writing.doc_add(made, {"title": title, "content": content, **more})


def found(made, text):
    return [hit.artifact_id for hit in made.search(text).results]


def test_an_added_document_is_found_when_the_answer_comes(made, tmp_path):
    done = add(made, directory="zoo", tags=["animals"], source="a keeper")
    assert done.path == str(tmp_path / "irdaemon/documents/zoo/night-shift.md")
    assert (done.document_id, done.status) == ("documents/zoo/night-shift.md", "stored")
    assert done.generation == made.snapshot.generation
    assert found(made, "quagga") == ["zoo/night-shift.md"]
    (told,) = made.disclose([done.document_id])
    assert 'source: "a keeper"' in told.body


def test_front_matter_is_found_by_its_words_and_is_in_no_passage_and_no_summary(made):
    done = add(made, tags=["giraffe"], source="a keeper")
    (hit,) = made.search("giraffe").results
    assert hit.artifact_id == "night-shift.md"
    assert hit.summary == "The quagga feeds at night."
    (record,) = made.records(done.document_id)
    assert record["text"] == "The quagga feeds at night."


def test_where_it_cannot_be_embedded_a_document_is_found_by_its_words(tmp_path, monkeypatch):
    nowhere = ON.replace('"hashing"', '"openai:http://127.0.0.1:9/v1#none"')
    made = engine(*corpora(tmp_path, monkeypatch, nowhere))
    assert add(made).status == "stored_partial"
    assert found(made, "quagga") == ["night-shift.md"]


def test_an_updated_document_is_found_by_what_it_holds_now(made):
    done = add(made)
    for path in (done.path, "night-shift.md", done.document_id):
        done = writing.doc_update(
            made, {"path": path, "content": f"An okapi, {path}", "if_digest": done.digest}
        )
        assert done.status == "stored"
    assert found(made, "okapi") == ["night-shift.md"]
    with pytest.raises(Conflict):
        writing.doc_update(made, {"path": done.path, "content": "x", "if_digest": "0" * 64})


def test_a_second_request_for_a_document_that_is_being_written_is_told(made):
    done = add(made)
    with writing._CLAIMS.of(done.path):
        for run, args in (
            (writing.doc_update, {"path": "night-shift.md", "content": "other"}),
            (writing.doc_remove, {"path": done.document_id}),
        ):
            with pytest.raises(Conflict, match="is being written"):
                run(made, args)
    assert found(made, "quagga") == ["night-shift.md"]


def test_a_removed_document_is_out_of_the_index_and_its_file_stays(made):
    done = add(made)
    removed = writing.doc_remove(made, {"path": done.path})
    assert (removed.status, removed.trash) == ("removed", "")
    assert os.path.exists(done.path)
    assert found(made, "quagga") == []
    again = writing.doc_update(made, {"path": done.path, "content": "The quagga is back."})
    assert again.status == "stored"
    assert found(made, "quagga") == ["night-shift.md"]


def test_a_deleted_document_is_in_the_trash(made):
    done = add(made)
    removed = writing.doc_remove(made, {"path": done.document_id, "delete_file": True})
    assert removed.status == "removed"
    assert not os.path.exists(done.path)
    assert os.path.exists(removed.trash)
    assert found(made, "quagga") == []


def test_where_writing_is_switched_off_it_says_so_and_documents_are_still_found(
    made, tmp_path, monkeypatch
):
    add(made)
    off = engine(*corpora(tmp_path, monkeypatch, 'embedder = "hashing"\n'))
    assert "documents" in off.corpora
    with pytest.raises(Unavailable, match="switched off"):
        add(off)
    nothing = engine(mapped({"a": "x"}))
    with pytest.raises(Unavailable, match="switched off"):
        writing.doc_remove(nothing, {"path": "x"})


def test_what_is_refused_leaves_nothing_behind(made, tmp_path):
    for args, error in (
        ({"content": f"the token is {TOKEN}"}, QueryError),
        ({"title": f"see {TOKEN}"}, QueryError),
        ({"content": "%PDF-1.4\n\0"}, QueryError),
        ({"content": "x" * 2_000_001}, LimitError),
        ({"directory": "../../other"}, QueryError),
        ({"directory": "/tmp"}, QueryError),
        ({"tags": [1]}, QueryError),
        ({"wait_ms": -1}, QueryError),
    ):
        with pytest.raises(error):
            add(made, **args)
    assert not any(names for _, _, names in os.walk(tmp_path / "irdaemon"))


def test_a_smaller_limit_of_files_holds_for_documents(tmp_path, monkeypatch):
    (corpus,) = corpora(tmp_path, monkeypatch, f"{ON}[limits]\nfile_bytes = 90\n")
    assert (corpus.name, corpus.document_bytes) == ("documents", 90)


def test_a_client_that_may_only_read_and_one_without_that_corpus_write_nothing(made, tmp_path):
    args = {"title": "t", "content": "x"}
    op = OPS["doc_add"]
    with pytest.raises(Denied):
        narrowed(Scope("reader", read_only=True), op, args, made.corpora)
    limited = narrowed(Scope("agent", frozenset({"notes"})), op, args, made.corpora)
    with pytest.raises(NotFound):
        op.run(made, limited)
    assert not any(names for _, _, names in os.walk(tmp_path / "irdaemon"))
    allowed = narrowed(Scope("agent", frozenset({"documents"})), op, args, made.corpora)
    assert shown(Scope(), op, op.run(made, allowed))["status"] == "stored"
