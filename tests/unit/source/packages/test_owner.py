"""Whom a package belongs to when its manifest names no person."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.packages import find_owner
from irdaemon.source.packages.manifest import Manifest, clean_url, find_organisation

GIT_CONFIG = """[core]
\trepositoryformatversion = 0
[remote "upstream"]
\turl = https://github.com/upstream/pdf.git
[remote "origin"]
\turl = git@github.com:acme/pdf.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
"""


def repository(path: Path) -> Path:
    (path / ".git").mkdir()
    (path / ".git" / "config").write_text(GIT_CONFIG)
    package = path / "packages" / "pdf"
    package.mkdir(parents=True)
    return package


def test_a_named_author_owns_the_package_whatever_the_repository_says(tmp_path):
    assert find_owner(str(repository(tmp_path)), Manifest(owner="Ann")) == "Ann"


def test_the_last_matching_line_of_codeowners_decides(tmp_path):
    package = repository(tmp_path)
    rules = "* @acme/all\n/packages/ @acme/pdf @acme/more # first one\n*.js @acme/web\n"
    (tmp_path / "CODEOWNERS").write_text(rules)

    assert find_owner(str(package), Manifest()) == "@acme/pdf"
    assert find_owner(str(tmp_path), Manifest()) == "@acme/all"


def test_without_codeowners_the_organisation_of_origin_owns_the_package(tmp_path):
    assert find_owner(str(repository(tmp_path)), Manifest(email="ann@example.org")) == "acme"


def test_a_worktree_is_followed_to_the_config_of_its_repository(tmp_path):
    repository(tmp_path)
    linked = tmp_path / ".git" / "worktrees" / "w"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    worktree = tmp_path.parent / f"{tmp_path.name}-worktree"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {linked}\n")

    assert find_owner(str(worktree), Manifest()) == "acme"


def test_outside_a_repository_the_manifest_url_and_then_the_mail_domain_decide(tmp_path):
    url = "https://github.com/acme/pdf"
    assert find_owner(str(tmp_path), Manifest(repository=url, email="ann@example.org")) == "acme"
    assert find_owner(str(tmp_path), Manifest(email="ann@example.org")) == "example.org"


def test_a_mail_carrier_owns_nothing(tmp_path):
    assert find_owner(str(tmp_path), Manifest(email="ann@gmail.com")) == ""


@pytest.mark.parametrize("config", ["[remote", "no section\n", '[remote "origin"]\n', "\x00"])
def test_a_git_config_that_says_nothing_gives_no_owner(tmp_path, config):
    package = repository(tmp_path)
    (tmp_path / ".git" / "config").write_text(config)

    assert find_owner(str(package), Manifest()) == ""


@pytest.mark.parametrize(
    ("remote", "owner"),
    [
        ("git@github.com:acme/pdf.git", "acme"),
        ("https://ann:secret@gitlab.com/acme/team/pdf", "acme"),
        ("ssh://git@host.example:2222/acme/pdf", "acme"),
        ("../pdf.git", ""),
        ("/srv/git/pdf.git", ""),
        ("file:///srv/git/pdf.git", ""),
        ("https://[broken/acme/pdf", ""),
    ],
)
def test_the_owner_of_a_remote_is_the_first_part_of_its_path(remote, owner):
    assert find_organisation(remote) == owner


@given(st.text(max_size=60) | st.from_regex(r"[a-z]{1,5}://[\w@:/\[\].]{0,40}"))
def test_any_text_has_a_web_url_and_an_organisation_or_none(value):
    assert isinstance(clean_url(value), str)
    assert "/" not in find_organisation(value)
