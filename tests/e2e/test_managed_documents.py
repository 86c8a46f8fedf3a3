"""Managed documents: written, changed and removed through the real daemon."""

import os
import threading

import pytest

from irclient import Client, Conflict, Query
from irclient.errors import Denied, NotFound, QueryError, Unavailable
from tests.support.running import Running

ON = 'embedder = "hashing"\n[documents]\nwrite = true\n'


@pytest.fixture
def writing(home):
    home.config.write_text(ON)
    with Running(home) as running:
        running.wait_idle()
        yield running


def managed(home):
    return home.path / ".local/share/irdaemon/documents"


def found(client, words):
    answer = client.search(Query(words, mode="lexical"))
    return [f"{hit.corpus}/{hit.artifact_id}" for hit in answer.results]


def test_a_document_is_added_updated_and_removed_and_every_answer_is_served(writing, home):
    with home.client() as client:
        added = client.doc_add("Night shift", "The quagga feeds.", "zoo", tags=["animals"])
        assert added.status == "stored"
        assert managed(home).stat().st_mode & 0o777 == 0o700
        assert added.path == str(managed(home).resolve() / "zoo/night-shift.md")
        assert found(client, "quagga") == [added.document_id]
        changed = client.doc_update(added.path, "The okapi sleeps.", added.digest)
        assert (changed.status, found(client, "quagga")) == ("stored", [])
        assert found(client, "okapi") == [added.document_id]
        removed = client.doc_remove(added.document_id, delete_file=True)
        assert (removed.status, found(client, "okapi")) == ("removed", [])
        assert os.path.exists(removed.trash)


def test_of_two_updates_at_once_one_wins_and_the_other_is_told(writing, home):
    with home.client() as client:
        added = client.doc_add("Shared", "first")
    told, ready = [], threading.Barrier(2)

    def update(text):
        with home.client() as client:
            ready.wait()
            try:
                told.append(client.doc_update(added.path, text, added.digest).status)
            except Conflict as error:
                told.append(error.code)

    threads = [threading.Thread(target=update, args=(text,)) for text in ("second", "third")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["conflict", "stored"]
    with open(added.path) as file:
        assert file.read() in ("second", "third")


def test_a_removed_document_stays_out_after_a_restart_and_its_file_stays(writing, home):
    with home.client() as client:
        added = client.doc_add("Night shift", "The quagga feeds.")
        client.doc_remove(added.path)
    writing.process.terminate()
    writing.process.wait(15)
    with Running(home) as again, home.client() as client:
        again.wait_idle()
        client.build("documents", full=True)
        again.wait_idle()
        assert os.path.exists(added.path)
        assert found(client, "quagga") == []


def test_where_it_is_not_switched_on_nothing_is_written(daemon, home):
    with home.client() as client, pytest.raises(Unavailable, match="switched off") as caught:
        client.doc_add("Note", "x")
    assert "write = true" in caught.value.hint
    assert not managed(home).exists()


def test_a_path_out_of_the_directory_by_dots_link_or_case_is_refused(writing, home):
    secret = home.path / "secret.md"
    secret.write_text("mine")
    with home.client() as client:
        client.doc_add("Note", "x", "Work")
        (managed(home) / "linked.md").symlink_to(secret)
        (managed(home) / "away").symlink_to(home.path)
        for path in ("../secret.md", "linked.md", "away/secret.md", str(secret), "work/note.md"):
            for run in (
                lambda path=path: client.doc_update(path, "theirs"),
                lambda path=path: client.doc_remove(path, True),
            ):
                with pytest.raises((QueryError, NotFound)):
                    run()
    assert secret.read_text() == "mine"


def test_a_client_that_may_only_read_writes_nothing(home):
    token = home.config.parent / "reader.token"
    token.write_text("a token for reading\n")
    token.chmod(0o600)
    table = f'[[client]]\nname = "reader"\ntoken = "{token}"\nread_only = true\n'
    home.config.write_text(ON + table)
    with Running(home) as running, Client(str(home.socket), token=str(token)) as reader:
        running.wait_idle()
        with pytest.raises(Denied):
            reader.doc_add("Note", "x")
        with home.client() as client:
            assert client.doc_add("Note", "x").status == "stored"


def test_the_commands_write_read_and_list_documents(writing, home):
    note = home.path / "note.txt"
    note.write_text("The quagga feeds at night.\n")
    added = home.answer("docs", "add", "Night shift", str(note), "--tag", "zoo")
    assert added["status"] == "stored"
    assert "quagga" in home.irc("docs", "read", "night-shift.md").stdout
    assert "quagga" in home.irc("docs", "read", added["path"]).stdout
    assert home.irc("docs", "ls").stdout.split("  ")[0] == "night-shift.md"
    note.write_text("The okapi sleeps.\n")
    changed = ("docs", "update", "night-shift.md", str(note), "--if-digest")
    assert home.irc(*changed, added["digest"]).returncode == 0
    again = home.irc(*changed, added["digest"])
    assert (again.returncode, "has changed" in again.stderr) == (2, True)
    gone = home.irc("docs", "rm", "night-shift.md", "--delete-file")
    assert gone.stdout.startswith("removed: ")
    assert home.irc("docs", "ls").stdout == ""
