"""What git ignores is left out, wherever its rules come from."""

import os

from irdaemon.source.ignores import Ignores


def test_the_rules_of_a_directory_are_found_however_deep_it_lies(tmp_path):
    (tmp_path / ".gitignore").write_text("secret.md\n")
    deep = str(tmp_path) + "/a" * 1_900
    ignores = Ignores((str(tmp_path),), str(tmp_path))
    assert ignores.ignores_file(f"{deep}/secret.md")
    assert not ignores.ignores_file(f"{deep}/plain.md")


def test_rules_from_above_a_repository_do_not_hold_in_it(tmp_path):
    (tmp_path / ".gitignore").write_text("x.md\n")
    inner = tmp_path / "inner"
    os.makedirs(inner / ".git" / "info")
    (inner / ".git" / "info" / "exclude").write_text("y.md\n")
    ignores = Ignores((str(tmp_path),))
    assert ignores.ignores(f"{tmp_path}/x.md", False)
    assert not ignores.ignores(f"{inner}/x.md", False)
    assert ignores.ignores(f"{inner}/y.md", False)


def test_the_person_s_own_ignore_file_holds_in_every_project(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    (tmp_path / "config" / "git").mkdir(parents=True)
    (tmp_path / "config" / "git" / "ignore").write_text("mine.md\n")
    assert Ignores((), str(project)).ignores_file(f"{project}/docs/mine.md")
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesfile = ~/elsewhere\n")
    (tmp_path / "elsewhere").write_text("other.md\n")
    ignores = Ignores((), str(project))
    assert ignores.ignores_file(f"{project}/docs/other.md")
    assert not ignores.ignores_file(f"{project}/docs/mine.md")


def worktree(home, back=None):
    """Make a worktree of a repository that excludes x.md; `back` is what that says of it."""
    tree, own = home / "tree", home / "shop" / ".git" / "worktrees" / "tree"
    for each in (tree, own, home / "shop" / ".git" / "info"):
        each.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{back or tree / '.git'}\n")
    (own / "commondir").write_text("../..\n")
    (home / "shop" / ".git" / "info" / "exclude").write_text("x.md\n")
    return tree


def test_a_worktree_has_the_exclude_file_of_its_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    tree = worktree(tmp_path)
    assert Ignores((), str(tree)).ignores_file(f"{tree}/x.md")


def test_a_checkout_that_names_a_repository_which_does_not_name_it_has_nothing_of_that(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    tree = worktree(tmp_path, back=tmp_path / "another" / ".git")
    assert not Ignores((), str(tree)).ignores_file(f"{tree}/x.md")
    monkeypatch.setenv("HOME", str(tmp_path / "shop"))
    assert not Ignores((), str(worktree(tmp_path / "b"))).ignores_file(f"{tmp_path}/b/tree/x.md")
