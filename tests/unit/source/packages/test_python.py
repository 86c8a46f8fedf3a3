"""Python packages: pyproject.toml, setup.cfg and setup.py, one package together."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.packages import Packages
from irdaemon.source.packages.manifest import split_requirements
from irdaemon.types import Root, SourceError
from tests.support.installed import read_only_artifact, write

PYPROJECT = """
[project]
name = "acme-pdf"
version = "1.2"
description = "Fill PDF forms"
license = "Apache-2.0"
keywords = ["pdf", "forms"]
authors = [{name = "Ann", email = "ann@acme.io"}]
dependencies = ["pypdf>=4; python_version>='3.10'", "rich"]
[project.optional-dependencies]
ocr = ["tesserocr>=2"]
[project.urls]
Homepage = "https://acme.io/pdf"
"Source Code" = "https://github.com/acme/pdf.git"
[project.scripts]
acme-pdf = "acme_pdf.cli:main"
[dependency-groups]
test = ["pytest>=8", {include-group = "lint"}]
"""


def failure(directory: Path) -> SourceError:
    source = Packages((Root(str(directory)),), {})
    (entry,) = source.scan().entries
    with pytest.raises(SourceError) as caught:
        source.read(entry)
    return caught.value


def test_a_pyproject_gives_every_part_the_strategy_and_the_filters_need(tmp_path):
    write(tmp_path / "pyproject.toml", PYPROJECT)
    write(tmp_path / "README.md", "# PDF\n\nFills forms.")

    artifact = read_only_artifact(tmp_path)

    assert artifact.artifact_id == str(tmp_path)
    assert artifact.pointer == str(tmp_path)
    assert artifact.raw == {
        "name": "acme-pdf",
        "description": "Fill PDF forms",
        "readme": "# PDF\n\nFills forms.",
        "owner": "Ann",
        "deps": ["pypdf>=4; python_version>='3.10'", "rich"],
    }
    assert artifact.metadata == {
        "ecosystem": "pypi",
        "version": "1.2",
        "license": "Apache-2.0",
        "homepage": "https://acme.io/pdf",
        "repository": "https://github.com/acme/pdf",
        "keywords": ["pdf", "forms"],
        "commands": ["acme-pdf"],
        "optional_deps": ["tesserocr>=2"],
        "dev_deps": ["pytest>=8"],
        "installed": False,
        "private": False,
        "path": str(tmp_path),
        "scope": "user",
    }


def test_what_pyproject_calls_dynamic_is_found_in_setup_cfg_and_then_in_setup_py(tmp_path):
    write(
        tmp_path / "pyproject.toml", '[project]\nname = "a"\ndynamic = ["version", "description"]'
    )
    write(tmp_path / "setup.cfg", "[metadata]\nversion = attr: a.VERSION\ndescription = From cfg")
    write(tmp_path / "setup.py", "from setuptools import setup\nsetup(name='b', version='3')")

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.metadata["version"]) == ("a", "3")
    assert artifact.raw["description"] == "From cfg"


def test_beside_a_pyproject_of_a_build_system_alone_a_setup_cfg_counts_with_its_markers(tmp_path):
    write(tmp_path / "pyproject.toml", '[build-system]\nrequires = ["setuptools"]\n')
    needs = "    networkx>=3\n    dol ; python_version >= '3.10'"
    metadata = "[metadata]\nname = old\ndescription = An older package"
    write(tmp_path / "setup.cfg", f"{metadata}\n[options]\ninstall_requires =\n{needs}\n")

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.raw["description"]) == ("old", "An older package")
    assert artifact.raw["deps"] == ["networkx>=3", "dol ; python_version >= '3.10'"]


def test_a_poetry_table_is_read_without_the_interpreter_among_its_dependencies(tmp_path):
    write(
        tmp_path / "pyproject.toml",
        """
[tool.poetry]
name = "old"
description = "Older style"
authors = ["Bob <bob@b.org>"]
[tool.poetry.dependencies]
python = "^3.8"
requests = "^2.0"
redis = {version = "^5", optional = true}
mine = {git = "https://example.org/mine.git"}
[tool.poetry.group.dev.dependencies]
pytest = "*"
""",
    )

    artifact = read_only_artifact(tmp_path)

    assert artifact.raw["owner"] == "Bob"
    assert artifact.raw["deps"] == ["requests ^2.0", "mine"]
    assert artifact.metadata["optional_deps"] == ["redis ^5"]
    assert artifact.metadata["dev_deps"] == ["pytest *"]


def test_a_setup_cfg_alone_is_a_package_and_what_it_keeps_in_other_files_is_left_out(tmp_path):
    write(
        tmp_path / "setup.cfg",
        """
[metadata]
name = cfg-only
description = 100% declarative
long_description = file: README.rst
author = Cleo
keywords = one, two
[options]
install_requires =
    attrs>=22
    file: more.txt
[options.entry_points]
console_scripts =
    cfg = cfg.cli:main
""",
    )

    artifact = read_only_artifact(tmp_path)

    assert artifact.raw["description"] == "100% declarative"
    assert artifact.raw["readme"] == ""
    assert artifact.raw["deps"] == ["attrs>=22"]
    assert artifact.metadata["commands"] == ["cfg"]
    assert artifact.metadata["keywords"] == ["one", "two"]


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        ("a; b>=1", ["a", "b>=1"]),
        ("a;b; python_version<'3.12' ;c", ["a", "b; python_version<'3.12'", "c"]),
        ("a; sys_platform == 'linux'", ["a; sys_platform == 'linux'"]),
        ("a; (os_name == 'nt')", ["a; (os_name == 'nt')"]),
        ("\n    a; extra == 'x'\n    b", ["a; extra == 'x'", "b"]),
        (";", []),
    ],
)
def test_requirements_on_one_line_of_a_setup_cfg_are_split_at_semicolons(tmp_path, stated, wanted):
    extras = f"[options.extras_require]\nall = {stated}\n"
    options = f"[metadata]\nname = a\n[options]\ninstall_requires = {stated}\n"
    write(tmp_path / "setup.cfg", options + extras)
    artifact = read_only_artifact(tmp_path)
    assert artifact.raw["deps"] == wanted
    assert artifact.metadata.get("optional_deps", []) == wanted


def test_what_pyproject_states_to_be_empty_is_not_looked_for_elsewhere(tmp_path):
    stated = '[project]\nname = "a"\ndependencies = []\nkeywords = []\n'
    write(tmp_path / "pyproject.toml", stated + "[project.optional-dependencies]\n")
    elsewhere = "[metadata]\nname = a\nkeywords = k\n[options]\ninstall_requires = b\n"
    write(tmp_path / "setup.cfg", elsewhere + "[options.extras_require]\nx = c\n")
    artifact = read_only_artifact(tmp_path)
    assert artifact.raw["deps"] == []
    assert not artifact.metadata.get("optional_deps")
    assert not artifact.metadata.get("keywords")


def test_a_setup_py_is_read_and_never_run(tmp_path):
    touched = tmp_path / "touched"
    write(
        tmp_path / "setup.py",
        f"""
import setuptools
open({str(touched)!r}, "w")
NAME = "literal"
BASE: list = ["attrs"]
EXTRA = BASE + ["rich>=13"]
common = {{"license": "MIT"}}
if __name__ == "__main__":
    setuptools.setup(
        name=NAME,
        version=open("VERSION").read(),
        description="Says " + "hello",
        install_requires=EXTRA,
        entry_points={{"console_scripts": ["hello=literal:main"]}},
        **common,
    )
""",
    )

    artifact = read_only_artifact(tmp_path)

    assert not touched.exists()
    assert artifact.raw["name"] == "literal"
    assert artifact.raw["description"] == "Says hello"
    assert artifact.raw["deps"] == ["attrs", "rich>=13"]
    assert artifact.metadata["commands"] == ["hello"]
    assert artifact.metadata["license"] == "MIT"
    assert "version" not in artifact.metadata


def test_a_setup_py_that_doubles_a_list_forever_does_not_fill_the_memory(tmp_path):
    doublings = "a = a + a\n" * 60
    write(tmp_path / "setup.py", f"a = ['x']\n{doublings}setup(name='bomb', install_requires=a)")

    assert read_only_artifact(tmp_path).raw["deps"] == []


def test_a_broken_pyproject_beside_a_good_setup_cfg_is_loaded_and_flagged(tmp_path):
    write(tmp_path / "pyproject.toml", "[project\n")
    write(tmp_path / "setup.cfg", "[metadata]\nname = survivor\n")

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.flags) == ("survivor", ("broken_manifest",))


def test_a_project_that_is_no_table_leaves_what_setup_cfg_says(tmp_path):
    write(tmp_path / "pyproject.toml", "project = 3\n")
    write(tmp_path / "setup.cfg", "[metadata]\nname = old\ndescription = An older package\n")

    artifact = read_only_artifact(tmp_path)

    assert artifact.raw["description"] == "An older package"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("pyproject.toml", '[project]\nname = "x"\nname = "y"\n', "line 3"),
        ("setup.cfg", "[metadata]\nname = x\n= nothing\n", "line 3"),
        ("setup.cfg", "name = x\n", "line 1"),
        ("setup.py", "from setuptools import setup\nprint 'x'\nsetup()\n", "line 2"),
        ("pyproject.toml", "a = " + "[" * 5000, "not valid TOML"),
        ("pyproject.toml", "a." * 5000 + "b = 1", "too many parts"),
        ("setup.py", "x = " + "-" * 60_000 + "1", "not valid Python"),
    ],
)
def test_a_broken_manifest_alone_is_an_error_that_names_file_and_line(
    tmp_path, name, content, reason
):
    write(tmp_path / name, content)

    error = failure(tmp_path)

    assert str(tmp_path / name) in error.message
    assert reason in error.message
    assert error.hint


def test_a_manifest_that_is_not_utf8_is_an_error(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b'[project]\nname = "\xff"')

    assert "UTF-8" in failure(tmp_path).message


def test_a_manifest_larger_than_the_limit_is_an_error(tmp_path):
    write(tmp_path / "pyproject.toml", "#" * (4 * 1024 * 1024 + 1))

    assert "limit" in failure(tmp_path).message


def test_a_package_without_a_name_goes_by_its_directory_and_is_flagged(tmp_path):
    write(tmp_path / "thing" / "setup.py", "setup(version='1')")

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.flags) == ("thing", ("unnamed",))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n"),
        ("setup.cfg", "[flake8]\nmax-line-length = 100\n"),
        ("setup.py", "print('sets something else up')\n"),
    ],
)
def test_a_file_that_only_configures_tools_defines_no_package(tmp_path, name, content):
    write(tmp_path / name, content)
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries

    reading = source.read(entry)

    assert (reading.artifacts, reading.skipped) == ((), {"no_package": 1})


def test_a_package_that_vanished_since_the_scan_is_gone_and_not_broken(tmp_path):
    manifest = write(tmp_path / "pyproject.toml", PYPROJECT)
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries
    manifest.unlink()

    with pytest.raises(FileNotFoundError):
        source.read(entry)


@given(
    name=st.sampled_from(["pyproject.toml", "setup.cfg", "setup.py", "package.json", "go.mod"]),
    content=st.binary(max_size=300) | st.text(max_size=300).map(lambda t: t.encode()),
)
def test_any_bytes_in_a_manifest_are_a_package_or_nothing_or_a_source_error(
    tmp_path_factory, name, content
):
    directory = tmp_path_factory.mktemp("any")
    (directory / name).write_bytes(content)
    source = Packages((Root(str(directory)),), {})
    (entry,) = source.scan().entries

    try:
        told = [artifact.name for artifact in source.read(entry).artifacts]
    except SourceError as error:
        told = [error.message] if name in error.message else [""]

    assert all(told)


def test_a_long_setup_py_is_refused_by_its_size_and_not_parsed(tmp_path):
    write(tmp_path / "setup.py", "x = f'" + "{a}" * 100_000 + "'")
    assert "300,007 bytes, more than the limit of 65,536" in failure(tmp_path).message


def test_requirements_apart_by_much_white_space_are_split_in_time_linear_in_it():
    assert split_requirements("one;" + " " * 200_000 + "two") == ("one", "two")
    assert split_requirements("one; python_version > '3'") == ("one; python_version > '3'",)
