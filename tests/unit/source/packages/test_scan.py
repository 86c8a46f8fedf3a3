"""What a full scan finds, by file names and stats alone."""

import hashlib
import os
from pathlib import Path

import pytest

from irclient.errors import QueryError
from irdaemon.source.packages import Packages
from irdaemon.types import Root, Scan

PYPROJECT = '[project]\nname = "x"\n'


def package(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pyproject.toml").write_text(PYPROJECT)
    return directory


def scan(root: Path, **options: object) -> Scan:
    return Packages((Root(str(root)),), options).scan()


def names(found: Scan, root: Path) -> list[str]:
    return [entry.path.removeprefix(f"{root}/") for entry in found.entries]


def test_packages_of_a_tree_are_found_in_order_and_the_scan_covers_everything(tmp_path):
    package(tmp_path / "b")
    package(tmp_path / "a" / "deep" / "er")

    found = scan(tmp_path)

    assert names(found, tmp_path) == ["a/deep/er", "b"]
    assert (found.covered, found.problems) == (("",), ())


@pytest.mark.parametrize(
    "skipped",
    ["node_modules", ".venv", "venv", ".hidden", "vendor", "third_party", "lib/site-packages"],
)
def test_other_peoples_packages_in_a_tree_are_not_entered(tmp_path, skipped):
    package(tmp_path / "mine")
    package(tmp_path / skipped / "theirs")

    assert names(scan(tmp_path), tmp_path) == ["mine"]


@pytest.mark.parametrize("output", ["build", "dist", "target"])
def test_build_output_is_skipped_beside_a_manifest_but_a_package_of_that_name_is_found(
    tmp_path, output
):
    package(tmp_path / "mine")
    package(tmp_path / "mine" / output)
    package(tmp_path / "packages" / output)

    assert names(scan(tmp_path), tmp_path) == ["mine", f"packages/{output}"]


def test_excluded_names_and_directories_too_deep_are_left_out(tmp_path):
    package(tmp_path / "one" / "two")
    package(tmp_path / "fixtures-old" / "p")
    package(tmp_path / "p")

    assert names(scan(tmp_path, exclude=["fixt*"]), tmp_path) == ["one/two", "p"]
    assert names(scan(tmp_path, max_depth=1), tmp_path) == ["p"]


@pytest.mark.parametrize("options", [{"depth": 3}, {"max_depth": -1}, {"exclude": [1]}])
def test_an_unknown_or_impossible_option_is_a_query_error(tmp_path, options):
    with pytest.raises(QueryError):
        Packages((Root(str(tmp_path)),), options)


def test_a_second_manifest_in_a_directory_adds_a_key_and_changes_none(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "x"}')
    before = [entry.key for entry in scan(tmp_path).entries]
    package(tmp_path)

    entries = scan(tmp_path).entries

    assert before == [f"{tmp_path}#npm"]
    assert [entry.key for entry in entries] == [str(tmp_path), f"{tmp_path}#npm"]
    assert {entry.path for entry in entries} == {str(tmp_path)}


def test_a_key_under_the_home_directory_is_relative_to_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    package(tmp_path / "src" / "x")

    assert [entry.key for entry in scan(tmp_path / "src").entries] == ["~/src/x"]


def test_a_scan_opens_no_file_and_lists_manifests_it_could_not_understand(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "README.md")
    package(tmp_path)
    (tmp_path / "package.json").write_text("{ broken")

    def refuse(*_: object) -> int:
        raise AssertionError("a scan opened a file")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr("builtins.open", refuse)

    assert len(scan(tmp_path).entries) == 2


def test_a_changed_readme_changes_the_stamp_and_other_files_do_not(tmp_path):
    package(tmp_path)
    readme = tmp_path / "ReadMe.rst"
    readme.write_text("one")
    (before,) = scan(tmp_path).entries
    (tmp_path / "code.py").write_text("x = 1")
    (same,) = scan(tmp_path).entries
    readme.write_text("other text")
    (after,) = scan(tmp_path).entries

    assert same == before
    assert after.stamp != before.stamp
    assert after.mtime_ns == readme.stat().st_mtime_ns


def test_the_markdown_readme_wins_and_is_what_the_digest_is_of(tmp_path):
    package(tmp_path)
    (tmp_path / "README.txt").write_text("plain")
    (tmp_path / "readme.md").write_bytes(b"first\r\n\r\n" + b"x" * 30_000)
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts

    assert artifact.raw["readme"].startswith("first\n\nx")
    assert len(artifact.raw["readme"]) == 20_000
    assert artifact.digest == hashlib.sha256((tmp_path / "readme.md").read_bytes()).hexdigest()


def test_a_readme_too_large_to_read_flags_the_package(tmp_path):
    package(tmp_path)
    (tmp_path / "README.md").write_text("x" * (4 * 1024 * 1024 + 1))
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts

    assert (artifact.raw["readme"], artifact.digest) == ("", "")
    assert artifact.flags == ("unreadable_readme",)


def test_a_missing_root_is_a_problem_and_the_others_are_scanned(tmp_path):
    package(tmp_path / "here")
    roots = (Root(str(tmp_path / "gone")), Root(str(tmp_path / "here")))

    found = Packages(roots, {}).scan()

    assert [problem.path for problem in found.problems] == [str(tmp_path / "gone")]
    assert [entry.path for entry in found.entries] == [str(tmp_path / "here")]


def test_a_package_in_two_roots_is_found_once_with_the_scope_of_the_inner_one(tmp_path):
    package(tmp_path / "group" / "x")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "group")
    roots = (Root(str(tmp_path), "user"), Root(str(link), "project"))

    (entry,) = Packages(roots, {}).scan().entries

    assert (entry.path, entry.scope) == (str(tmp_path / "group" / "x"), "project")
