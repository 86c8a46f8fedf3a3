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
