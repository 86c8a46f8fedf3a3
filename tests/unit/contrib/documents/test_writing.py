"""Documents that clients write: switched on, stored, served, and by whom."""

import errno
import os

import pytest

from irclient.errors import Conflict, Denied, LimitError, NotFound, QueryError, Unavailable
from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpora
from irdaemon.contrib.documents import writing
from irdaemon.serve.access import Scope
from irdaemon.serve.ops import OPS, fill_args, filter_result, narrow_args
from tests.support.corpora import engine, mapped
from tests.support.serving import run

TOKEN = "ghp_" + "a1B2" * 9
ON = 'known = false\nembedder = "hashing"\n[documents]\nwrite = true\n'


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Give an engine over the managed directory."""
    return engine(*corpora(tmp_path, monkeypatch, ON), path=str(tmp_path / "ledger"))


def corpora(tmp_path, monkeypatch, text):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return make_corpora(parse_config(text, "/c.toml"))


def add(made, title="Night shift", content="The quagga feeds at night.", **more):
    return run("doc_add", made, {"title": title, "content": content, **more})


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
        done = run(
            "doc_update",
            made,
            {"path": path, "content": f"An okapi, {path}", "if_digest": done.digest},
        )
        assert done.status == "stored"
    assert found(made, "okapi") == ["night-shift.md"]
    with pytest.raises(Conflict):
        run("doc_update", made, {"path": done.path, "content": "x", "if_digest": "0" * 64})


def test_a_second_request_for_a_document_that_is_being_written_is_told(made):
    done = add(made)
    with writing._CLAIMS.hold_path(done.path):
        for op, args in (
            ("doc_update", {"path": "night-shift.md", "content": "other"}),
            ("doc_remove", {"path": done.document_id}),
        ):
            with pytest.raises(Conflict, match="is being written"):
                run(op, made, args)
    assert found(made, "quagga") == ["night-shift.md"]


def test_a_removed_document_is_out_of_the_index_and_its_file_stays(made):
    done = add(made)
    removed = run("doc_remove", made, {"path": done.path})
    assert (removed.status, removed.trash) == ("removed", "")
    assert os.path.exists(done.path)
    assert found(made, "quagga") == []
    again = run("doc_update", made, {"path": done.path, "content": "The quagga is back."})
    assert again.status == "stored"
    assert found(made, "quagga") == ["night-shift.md"]


def test_a_deleted_document_is_in_the_trash(made):
    done = add(made)
    removed = run("doc_remove", made, {"path": done.document_id, "delete_file": True})
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
        run("doc_remove", nothing, {"path": "x"})


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
    args = fill_args("doc_add", {"title": "t", "content": "x"})
    op = OPS["doc_add"]
    with pytest.raises(Denied):
        narrow_args(Scope("reader", read_only=True), op, args, made.corpora)
    limited = narrow_args(Scope("agent", frozenset({"notes"})), op, args, made.corpora)
    with pytest.raises(NotFound):
        op.run(made, limited)
    assert not any(names for _, _, names in os.walk(tmp_path / "irdaemon"))
    allowed = narrow_args(Scope("agent", frozenset({"documents"})), op, args, made.corpora)
    assert filter_result(Scope(), op, op.run(made, allowed))["status"] == "stored"


# -- roots of the person's own ---------------------------------------------------------------------


@pytest.fixture
def garden(tmp_path):
    """Give a directory of notes that the configuration marks as writable."""
    root = tmp_path / "notes" / "garden"
    root.mkdir(parents=True)
    (root / "compost.md").write_text("Turn the compost weekly.\n")
    return root


@pytest.fixture
def roots(tmp_path, monkeypatch, garden):
    """Give an engine over the managed directory and the notes."""
    return engine(*corpora(tmp_path, monkeypatch, ON + notes(garden.parent)))


def notes(root, more=""):
    table = f'[corpora.notes]\nkind = "files"\nroots = ["{root}"]\nwritable = true\n'
    return f"{table}{more}\n"


def test_a_document_is_added_into_a_directory_at_or_under_a_writable_root(roots, garden):
    done = add(roots, directory=str(garden / "beds"))
    assert (done.path, done.status) == (str(garden / "beds/night-shift.md"), "stored")
    assert done.document_id == "notes/garden/beds/night-shift.md"
    assert found(roots, "quagga") == ["garden/beds/night-shift.md"]
    assert add(roots, directory=str(garden.parent)).path == str(garden.parent / "night-shift.md")
    assert add(roots).document_id == "documents/night-shift.md"


def test_a_persons_own_document_is_written_anew_and_deleted_but_no_ignore_file_is_made(
    roots, garden, tmp_path
):
    path = str(garden / "compost.md")
    done = run("doc_update", roots, {"path": path, "content": "The okapi sleeps."})
    assert done.document_id == "notes/garden/compost.md"
    assert found(roots, "okapi") == ["garden/compost.md"]
    with pytest.raises(QueryError, match="your own file") as caught:
        run("doc_remove", roots, {"path": path})
    assert "delete_file" in caught.value.hint
    gone = run("doc_remove", roots, {"path": done.document_id, "delete_file": True})
    assert gone.status == "removed"
    assert gone.trash.startswith(str(tmp_path / "irdaemon" / "trash"))
    assert os.listdir(garden) == []
    assert not os.path.exists(garden.parent / ".gitignore")


def test_what_a_writable_root_refuses_leaves_nothing_behind(roots, garden, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (garden / "away").symlink_to(outside)
    for args, error in (
        ({"directory": str(outside)}, QueryError),
        ({"directory": f"{garden}/../../outside"}, QueryError),
        ({"directory": str(garden / "away")}, QueryError),
        ({"directory": str(garden.parent / "Garden")}, QueryError),
        ({"directory": str(garden / ".git")}, QueryError),
        ({"directory": str(garden), "content": f"the token is {TOKEN}"}, QueryError),
        ({"directory": str(garden), "content": "\ud800"}, QueryError),
        ({"directory": str(garden), "content": "x" * 2_000_001}, LimitError),
    ):
        with pytest.raises(error):
            add(roots, **args)
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == ["compost.md"]


def test_a_link_in_a_writable_root_is_neither_written_through_nor_deleted(roots, garden, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("mine")
    (garden / "linked.md").symlink_to(secret)
    for path in (str(garden / "linked.md"), f"{garden}/../../secret.md", str(secret)):
        for op, more in (
            ("doc_update", {"content": "theirs"}),
            ("doc_remove", {"delete_file": True}),
        ):
            with pytest.raises(QueryError):
                run(op, roots, {"path": path, **more})
    assert (secret.read_text(), (garden / "linked.md").is_symlink()) == ("mine", True)


def test_where_the_disk_is_full_a_writable_root_stays_as_it_is(roots, garden, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="No space left"):
        add(roots, directory=str(garden))
    with pytest.raises(Unavailable, match="No space left"):
        run("doc_update", roots, {"path": str(garden / "compost.md"), "content": "x"})
    monkeypatch.undo()
    assert os.listdir(garden) == ["compost.md"]
    assert (garden / "compost.md").read_text() == "Turn the compost weekly.\n"


def test_what_the_corpus_would_not_index_is_not_written(tmp_path, monkeypatch, garden):
    text = ON + notes(garden.parent, 'exclude = ["garden/"]')
    made = engine(*corpora(tmp_path, monkeypatch, text))
    with pytest.raises(QueryError, match="does not index"):
        add(made, directory=str(garden))
    with pytest.raises(QueryError, match="does not index"):
        run("doc_update", made, {"path": str(garden / "compost.md"), "content": "x"})
    assert os.listdir(garden) == ["compost.md"]
    assert (garden / "compost.md").read_text() == "Turn the compost weekly.\n"


def test_a_writable_root_that_is_not_there_is_not_made(tmp_path, monkeypatch):
    made = engine(*corpora(tmp_path, monkeypatch, ON + notes(tmp_path / "unmounted")))
    with pytest.raises(NotFound):
        add(made, directory=str(tmp_path / "unmounted"))
    assert not (tmp_path / "unmounted").exists()


def test_a_root_is_writable_only_where_writing_is_switched_on_and_for_who_sees_it(
    tmp_path, monkeypatch, garden, roots
):
    off = corpora(tmp_path, monkeypatch, "known = false\n" + notes(garden.parent))
    assert [each.writable for each in off] == [()]
    op = OPS["doc_add"]
    args = fill_args("doc_add", {"title": "t", "content": "x", "directory": str(garden)})
    with pytest.raises(Denied):
        narrow_args(Scope("reader", read_only=True), op, args, roots.corpora)
    limited = narrow_args(Scope("agent", frozenset({"documents"})), op, args, roots.corpora)
    with pytest.raises(QueryError, match="nor in a writable root"):
        op.run(roots, limited)
    assert os.listdir(garden) == ["compost.md"]
