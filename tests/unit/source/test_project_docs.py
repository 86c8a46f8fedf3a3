"""Documents of a project: which are found, and what a corpus of files reads of them."""

import os

import pytest

from irdaemon.source.files import Files
from irdaemon.source.projects import DOC_OPTIONS, find_doc_roots
from irdaemon.types import Project
from tests.support.installed import write


@pytest.fixture
def shop(tmp_path):
    root = tmp_path / "code/shop"
    (root / ".git").mkdir(parents=True)
    return root


def read(root):
    """Return the documents that a corpus reads of a project, by their paths below its root."""
    source = Files(find_doc_roots(Project(str(root), "shop", (".git",))), DOC_OPTIONS)
    entries = source.scan().entries
    for entry in entries:
        source.read(entry)
    return {os.path.relpath(entry.path, root) for entry in entries}


def test_what_people_read_before_they_work_is_found(shop):
    there = {
        "README.md", "readme.de.md", "CONTRIBUTING.rst", "docs/guide/start.md", "docs/adr/1.md",
        "adr/2.md", "runbooks/db.txt", "ARCHITECTURE",
    }  # fmt: skip
    for path in there:
        write(shop / path, "# Text")
    for path in ("src/notes.md", "CLAUDE.md", "docs/AGENTS.md", "docs/a.png", "LICENSE", "main.py"):
        write(shop / path, "x")
    assert read(shop) == there


def test_what_git_ignores_and_secrets_are_not_read(shop):
    write(shop / ".gitignore", "/doc\ndocs/private/\nCONTRIBUTING.md\n")
    for path in ("doc/a.md", "docs/private/b.md", "docs/.env.md", "docs/.hidden/c.md", "docs/d.md"):
        write(shop / path, "x")
    write(shop / "CONTRIBUTING.md", "x")
    write(shop / ".env", "KEY=1")
    assert read(shop) == {"docs/d.md"}


def test_links_are_not_followed(tmp_path, shop):
    write(tmp_path / "secret/a.md", "x")
    write(shop / "docs/b.md", "x")
    os.symlink(tmp_path / "secret", shop / "adr")
    os.symlink(tmp_path / "secret/a.md", shop / "README.md")
    os.symlink(tmp_path / "secret", shop / "docs/out")
    assert read(shop) == {"docs/b.md"}


def test_a_project_that_opts_out_has_no_documents(shop):
    write(shop / "README.md", "x")
    write(shop / ".noirdaemon", "")
    assert read(shop) == set()


def test_a_document_is_called_by_its_path_in_the_home_directory(monkeypatch, tmp_path, shop):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(shop / "README.md", "x")
    source = Files(find_doc_roots(Project(str(shop), "shop")), DOC_OPTIONS)
    assert [entry.key for entry in source.scan().entries] == ["~/code/shop/README.md"]


def test_a_root_that_is_gone_has_no_documents(tmp_path):
    assert find_doc_roots(Project(str(tmp_path / "gone"), "gone")) == ()


def test_documents_of_a_repository_inside_are_that_ones(shop):
    write(shop / "docs/b.md", "x")
    write(shop / "docs/inner/README.md", "x")
    write(shop / "docs/inner/deep/c.md", "x")
    write(shop / "adr/a.md", "x")
    for inner in ("docs/inner", "adr"):
        write(shop / inner / ".git", "gitdir: elsewhere")
    assert read(shop) == {"docs/b.md"}
    source = Files(find_doc_roots(Project(str(shop), "shop")), DOC_OPTIONS)
    assert not source.scan(str(shop / "docs/inner/deep/c.md")).entries
