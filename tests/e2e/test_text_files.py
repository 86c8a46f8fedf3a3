"""Documents: a single file as a root, PDFs and images, and what in a tree is no document."""

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from tests.support.pdfs import encrypt, write_pdf
from tests.support.running import finds, until


def save_by_rename(path, text):
    """Save as editors do: write beside the file, then put that in its place."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)


def test_a_single_file_is_indexed_and_followed_however_it_is_saved(home, daemon):
    todo = home.path / "todo.list"
    todo.write_text("buy quillstone ink\n")
    added = home.irc("add", "todo", "files", str(todo))
    assert (added.returncode, added.stderr) == (0, "")
    assert finds(home, "quillstone", "todo.list")
    todo.write_text("write to marrowfield\n")
    until(lambda: finds(home, "marrowfield", "todo.list"))
    save_by_rename(todo, "call on thistledown\n")
    until(lambda: finds(home, "thistledown", "todo.list"))
    save_by_rename(todo, "and on ravensgate\n")
    until(lambda: finds(home, "ravensgate", "todo.list"))
    assert not finds(home, "quillstone", "todo.list")
    assert home.irc("status").returncode == 0


def test_a_single_file_keeps_what_it_held_while_it_is_away(home, daemon):
    todo = home.path / "todo.list"
    todo.write_text("buy quillstone ink\n")
    home.irc("add", "todo", "files", str(todo))
    todo.rename(home.path / "away")
    until(lambda: home.irc("status").returncode == 5)
    assert f"offline: todo: {todo}: nothing is at this path" in home.irc("status").stdout
    assert finds(home, "quillstone", "todo.list")
    todo.write_text("write to marrowfield\n")
    until(lambda: finds(home, "marrowfield", "todo.list"))
    until(lambda: home.irc("status").returncode == 0)


def test_a_file_as_the_root_of_a_kind_that_wants_directories_is_said_in_words(home, daemon):
    (home.path / "one.md").write_text("text")
    home.irc("add", "mine", "skills", str(home.path / "one.md"))
    status = home.irc("status")
    assert status.returncode == 5
    assert "one.md: a file, where a directory is expected" in status.stdout


def test_what_documents_leave_out_is_counted_by_reason_in_the_status(home, daemon):
    notes = home.path / "notes"
    for name in ("a.md", "b.py", "c.py", "x.docx", "node_modules/d.md", "drafts/e.md"):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text("text")
    (notes / ".gitignore").write_text("drafts/")
    home.irc("add", "notes", "files", str(notes))
    (line,) = [
        line for line in home.irc("status").stdout.splitlines() if line.startswith("skipped: notes")
    ]
    assert line.startswith("skipped: notes: 6: outside the pattern: .py 2, ")
    assert line.endswith("; irc info notes lists all")
    assert home.answer("info", "notes")["skipped"] == {
        "outside the pattern: .py": 2,
        "outside the pattern: .docx": 1,
        "outside the pattern: no suffix": 1,
        "directory: version control, dependencies, caches": 1,
        "directory: ignored by git": 1,
    }


@pytest.fixture
def own_imports(home):
    """Have the daemon of a home import for itself."""
    home.forks = False


def test_pdfs_and_images_that_arrive_are_found_and_no_parser_is_loaded(own_imports, home, daemon):
    notes = home.path / "notes"
    notes.mkdir()
    home.irc("add", "notes", "files", str(notes))
    write_pdf(notes / "sowing.pdf", "quillstone in march", "marrowfield in may")
    Image.new("RGB", (64, 48)).save(notes / "bed.png")
    (notes / "bed.txt").write_text("thistledown by the wall")
    encrypt(write_pdf(notes / "locked.pdf", "ravensgate"), "a password")
    until(lambda: finds(home, "marrowfield", "sowing.pdf"))
    until(lambda: finds(home, "thistledown", "bed.png"))
    with home.client() as client:
        until(client.failures)
        (failed,) = client.failures()
    assert failed.path == str(notes / "locked.pdf")
    assert "encrypted with a password" in failed.reason
    found = home.irc("search", "in", "--where", "asset_type=image", "--json")
    assert [hit["artifact_id"] for hit in json.loads(found.stdout)["results"]] == ["bed.png"]
    body = home.irc("disclose", "notes/sowing.pdf").stdout
    assert "[page 2]\nmarrowfield in may" in body
    (notes / "bed.txt").write_text("quillstone by the wall")
    until(lambda: not finds(home, "thistledown", "bed.png"))
    assert finds(home, "quillstone", "bed.png")
    maps = Path(f"/proc/{daemon.process.pid}/maps").read_text()
    assert "/PIL/" not in maps
    assert "cryptography" not in maps
