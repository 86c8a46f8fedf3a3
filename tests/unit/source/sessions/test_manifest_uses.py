"""Packages that an edit adds to a manifest."""

import pytest

from irdaemon.source.sessions.item_uses import find_added_packages, is_manifest, read_patch


@pytest.mark.parametrize(
    ("path", "old", "new", "found"),
    [
        ("a/package.json", '"a": "^1"', '"a": "^2",\n "@b/c": "~2",\n "version": "1.0"', ["@b/c"]),
        ("pyproject.toml", 'dependencies = ["a"]', 'dependencies = ["a", "b[x]>=2"]', ["b"]),
        (
            "pyproject.toml",
            "[p]",
            '[p]\nhttpx = "^0.2"\nversion = "1"\n"rich>=1",',
            ["httpx", "rich"],
        ),
        ("requirements-dev.txt", "a", "a\n# c\n-r b.txt\nlxml~=5", ["lxml"]),
        ("Cargo.toml", "x", 'tokio = { version = "1" }\nedition = "2021"', ["tokio"]),
        ("go.mod", "x", "\tgithub.com/x/y v1.2.0", ["github.com/x/y"]),
        ("package.json", '"a": "^1"', '"a": "^2"', []),
    ],
)
def test_the_new_lines_name_what_the_old_ones_do_not(path, old, new, found):
    added = [use.what.partition(":")[2] for use in find_added_packages(path, old, new)]
    assert added == found


def test_a_patch_adds_to_the_manifests_in_it_and_to_no_other_file():
    patch = """*** Begin Patch
*** Update File: web/package.json
-    "a": "^1"
+    "a": "^1",
+    "zod": "^3"
*** Add File: notes.txt
+"left-pad": "^1"
*** End Patch"""
    assert [use.what for use in read_patch(patch)] == ["npm:zod"]


@pytest.mark.parametrize("path", ["package-lock.json", "requirements/x.md", "", "poetry.lock"])
def test_other_files_are_no_manifests(path):
    assert not is_manifest(path)


def test_a_line_longer_than_a_module_s_names_nothing():
    new = "require example.com/a/b v1.2.3\n" + "a." * 4_000_000
    assert [use.what for use in find_added_packages("go.mod", "", new)] == ["go:example.com/a/b"]
