"""What one changed path makes the source look at again."""

import shutil
from pathlib import Path

import pytest

from irdaemon.source.packages import Packages
from irdaemon.types import Root, Scan

PYPROJECT = '[project]\nname = "x"\n'


def package(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pyproject.toml").write_text(PYPROJECT)
    return directory


def scan(root: Path, under: Path) -> Scan:
    return Packages((Root(str(root)),), {}).scan(str(under))


def keys(found: Scan) -> list[str]:
    return [entry.key for entry in found.entries]


@pytest.mark.parametrize("name", ["pyproject.toml", "README.md"])
def test_a_changed_manifest_or_readme_gives_its_package_and_ends_no_other(tmp_path, name):
    outer = package(tmp_path / "outer")
    package(outer / "inner")
    (outer / name).write_text(PYPROJECT)

    found = scan(tmp_path, outer / name)

    assert (keys(found), found.covered) == ([str(outer)], ())


def test_a_changed_directory_gives_and_covers_everything_below_it(tmp_path):
    package(tmp_path / "a" / "x")
    package(tmp_path / "a" / "y")
    package(tmp_path / "b")

    found = scan(tmp_path, tmp_path / "a")

    assert keys(found) == [str(tmp_path / "a" / "x"), str(tmp_path / "a" / "y")]
    assert found.covered == (str(tmp_path / "a"),)


def test_a_vanished_manifest_ends_its_package_and_keeps_those_below(tmp_path):
    outer = package(tmp_path / "outer")
    inner = package(outer / "inner")
    (outer / "package.json").write_text('{"name": "stays"}')
    (outer / "pyproject.toml").unlink()

    found = scan(tmp_path, outer / "pyproject.toml")

    assert keys(found) == [f"{outer}#npm", str(inner)]
    assert found.covered == (str(outer),)


@pytest.mark.parametrize("gone", ["a", "a/pyproject.toml"])
def test_a_vanished_directory_is_covered_and_no_problem_keeps_it(tmp_path, gone):
    package(tmp_path / "a")
    shutil.rmtree(tmp_path / "a")

    found = scan(tmp_path, tmp_path / gone)

    assert (found.entries, found.covered) == ((), (str(tmp_path / "a"),))
    assert found.problems == ()


@pytest.mark.parametrize(
    "under",
    [
        "a/code.py",
        "a/node_modules/x/package.json",
        "a/.git/config",
        "a/build/pyproject.toml",
        "a/node_modules",
        "../elsewhere/pyproject.toml",
    ],
)
def test_a_path_of_no_interest_gives_nothing_and_covers_nothing(tmp_path, under):
    root = tmp_path / "root"
    package(root / "a")
    path = root / under
    package(path.parent)
    path.touch() if path.suffix else path.mkdir(exist_ok=True)

    assert scan(root, Path(str(path).replace("root/../", ""))) == Scan((), ())


def test_a_directory_deeper_than_the_depth_limit_is_of_no_interest(tmp_path):
    package(tmp_path / "a" / "b" / "c")
    source = Packages((Root(str(tmp_path)),), {"max_depth": 2})

    assert source.scan(str(tmp_path / "a" / "b" / "c")) == Scan((), ())
    assert source.scan(str(tmp_path / "a")).entries == ()


def test_a_change_above_a_root_looks_at_the_whole_root_and_covers_only_it(tmp_path):
    root = tmp_path / "mounted" / "src"
    package(root / "x")

    found = scan(root, tmp_path / "mounted")

    assert (keys(found), found.covered) == ([str(root / "x")], (str(root),))


def test_a_root_that_vanished_is_a_problem_so_that_its_entries_are_kept(tmp_path):
    root = tmp_path / "src"

    found = scan(root, root)

    assert [problem.path for problem in found.problems] == [str(root)]


def test_a_file_of_an_installed_distribution_gives_that_distribution_alone(tmp_path):
    site = tmp_path / "site-packages"
    for name in ("a-1.dist-info", "b-1.dist-info"):
        (site / name).mkdir(parents=True)
        (site / name / "METADATA").write_text("Name: x\n")

    found = scan(site, site / "b-1.dist-info" / "RECORD")
    gone = scan(site, site / "b-0.dist-info")

    assert keys(found) == [f"{site}/b-1.dist-info"]
    assert found.covered == (f"{site}/b-1.dist-info",)
    assert (gone.entries, gone.covered) == ((), (f"{site}/b-0.dist-info",))
    assert scan(site, site / "b" / "module.py") == Scan((), ())


def test_a_global_npm_package_is_rescanned_for_its_own_files_only(tmp_path):
    modules = tmp_path / "node_modules"
    scoped = modules / "@acme" / "pdf"
    for directory in (scoped, modules / "web", scoped / "node_modules" / "inner"):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "package.json").write_text('{"name": "x"}')

    found = scan(modules, scoped / "package.json")

    assert (keys(found), found.covered) == ([f"{scoped}#npm"], (str(scoped),))
    assert keys(scan(modules, modules / "@acme")) == [f"{scoped}#npm"]
    assert scan(modules, scoped / "node_modules" / "inner" / "package.json") == Scan((), ())
    assert scan(modules, scoped / "lib" / "index.js") == Scan((), ())


def test_a_partial_scan_agrees_with_the_full_one_wherever_it_looks(tmp_path):
    for name in ("a", "a/b", "a/b/c", "d/packages/build", "d/packages/e"):
        package(tmp_path / name)
    source = Packages((Root(str(tmp_path)),), {})
    everything = source.scan().entries

    for entry in everything:
        below = [e for e in everything if (e.path + "/").startswith(entry.path + "/")]
        assert list(source.scan(entry.path).entries) == below
