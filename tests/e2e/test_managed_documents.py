"""Managed documents: written, changed and removed through the real daemon."""

import os
import threading

import anyio
import pytest
from mcp import Client as MCPClient

from irclient import Client, Conflict, Query
from irclient.errors import Denied, NotFound, QueryError, Unavailable
from irclient.mcp.daemon import DaemonCaller
from irclient.mcp.server import make_server
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
        assert file.read().rpartition("\n")[2] in ("second", "third")


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


def test_to_forget_what_was_indexed_leaves_the_documents(writing, home):
    with home.client() as client:
        added = client.doc_add("Night shift", "The quagga feeds.")
    assert home.run("irdaemon", "stop", "--forget").returncode == 0
    assert not (home.path / ".local/state/irdaemon/ledger.sqlite").exists()
    with open(added.path) as file:
        assert "quagga" in file.read()


@pytest.mark.shared_daemon
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


def test_a_model_adds_updates_and_removes_documents_of_the_library(writing, home):
    library = make_server("library", DaemonCaller(str(home.socket), 10.0))

    async def talk():
        async with MCPClient(library) as client:
            return [await step(client) for step in steps]

    async def add(client):
        given = {"title": "Night shift", "content": "The quagga feeds.", "tags": ["zoo"]}
        return kept(await client.call_tool("AddToLibrary", given))

    async def read(client):
        return kept(await client.call_tool("ReadFromLibrary", {"path": seen[0]["path"]}))

    async def update(client):
        given = {"content": "The okapi sleeps.", "if_digest": seen[0]["digest"]}
        given["path"] = seen[0]["document_id"]
        return kept(await client.call_tool("UpdateLibraryDoc", given))

    async def update_again(client):
        given = {"content": "Mine.", "if_digest": seen[0]["digest"], "path": seen[0]["path"]}
        return await client.call_tool("UpdateLibraryDoc", given)

    async def remove(client):
        given = {"path": seen[0]["path"], "delete_file": True}
        return kept(await client.call_tool("RemoveFromLibrary", given))

    async def outside(client):
        return await client.call_tool("RemoveFromLibrary", {"path": "/etc/passwd"})

    def kept(result):
        assert not result.is_error, result.content[0].text
        seen.append(result.structured_content)
        return result

    seen, steps = [], (add, read, update, update_again, remove, outside)
    _, document, _, conflict, _, refused = anyio.run(talk)
    assert "quagga" in document.structured_content["text"]
    assert [each.get("status") for each in seen] == ["stored", None, "stored", "removed"]
    assert conflict.is_error
    assert "has changed" in conflict.content[0].text
    assert refused.is_error
    assert "not in the managed directory" in refused.content[0].text
    assert os.path.exists(seen[3]["trash"])


@pytest.mark.shared_daemon
def test_a_model_is_told_how_writing_is_switched_on(daemon, home):
    library = make_server("library", DaemonCaller(str(home.socket), 10.0))

    async def talk():
        async with MCPClient(library) as client:
            return await client.call_tool("AddToLibrary", {"title": "x", "content": "y"})

    result = anyio.run(talk)
    assert result.is_error
    assert "write = true under [documents]" in result.content[0].text


# -- roots of the person's own ---------------------------------------------------------------------


@pytest.fixture
def garden(home):
    """Serve a directory of notes that is marked as writable; give it."""
    root = home.path / "notes" / "garden"
    root.mkdir(parents=True)
    (root / "compost.md").write_text("# Compost\n\nTurn the compost weekly.\n")
    table = f'[corpora.notes]\nkind = "files"\nroots = ["{root.parent}"]\nwritable = true\n'
    home.config.write_text(ON + table)
    with Running(home) as running:
        running.wait_idle()
        yield root


def test_the_commands_write_into_a_writable_root_and_say_where_documents_lie(garden, home):
    note = home.path / "note.txt"
    note.write_text("Water the compost in dry summers.\n")
    (first, *_) = home.answer("docs", "suggest", "How to water the compost")
    assert (first["path"], first["writable"]) == (str(garden), True)
    added = home.answer("docs", "add", "Watering", str(note), "--directory", first["path"])
    assert added["document_id"] == "notes/garden/watering.md"
    assert "dry summers" in home.irc("docs", "read", added["path"]).stdout
    sections = home.answer("docs", "overview")
    held = {each["source"]: each["documents"] for each in sections["sources"]}
    assert held == {"documents": 0, "notes": 2}
    assert {"path": str(garden), "documents": 2} in home.answer(
        "docs", "overview", "--view", "tree"
    )["directories"]
    assert home.answer("docs", "overview", "--view", "stats")["asset_types"] == {"text": 2}
    assert (
        f"{garden}  (notes, writable: near Compost"
        in home.irc("docs", "suggest", "Turn the compost").stdout
    )
    none = home.irc("docs", "suggest", "Tax return of a bakery")
    assert "no document is similar" in none.stderr
    assert {line[:4] for line in none.stdout.splitlines()} == {"0.00"}
    assert "notes (files, ready, writable): 2" in home.irc("docs", "overview").stdout
    assert home.irc("docs", "overview", "--view", "tree", "--depth", "0").returncode == 2


@pytest.mark.shared_daemon
def test_where_there_are_no_documents_nothing_is_suggested(daemon, home):
    told = home.irc("docs", "suggest", "x")
    assert (told.returncode, "irc add NAME files" in told.stderr) == (4, True)


def test_a_new_directory_is_indexed_where_the_configuration_allows_it(home):
    projects = home.path / "projects"
    for name in ("tickets/one.md", "tickets/closed/two.md"):
        (projects / name).parent.mkdir(parents=True, exist_ok=True)
        (projects / name).write_text(f"The quagga of {name} feeds at night.\n")
    home.config.write_text(f'{ON}roots = ["{projects}"]\n')
    library = make_server("library", DaemonCaller(str(home.socket), 10.0))

    def asked(**given):
        async def talk():
            async with MCPClient(library) as client:
                return await client.call_tool("IndexDirectoryToLibrary", given)

        return anyio.run(talk)

    with Running(home) as running, home.client() as client:
        running.wait_idle()
        told = home.answer("docs", "index", str(projects / "tickets"), "--dry-run", "--flat")
        assert (told["files"], told["jobs"], found(client, "quagga")) == (1, [], [])
        new = {"directory": str(projects / "tickets")}
        dry = asked(**new, dry_run=True).structured_content
        assert (dry["files"], dry["sources"]) == (2, ["tickets"])
        assert asked(**new).structured_content["finished"]
        assert sorted(found(client, "quagga")) == ["tickets/closed/two.md", "tickets/one.md"]
        again = asked(**new, pattern="*.txt")
        assert (again.is_error, "already" in again.content[0].text) == (True, True)
        outside = asked(directory="/etc")
        assert "irc add NAME files" in outside.content[0].text
        refused = home.irc("docs", "index", "/etc")
        assert (refused.returncode, "irc add NAME files" in refused.stderr) == (4, True)
