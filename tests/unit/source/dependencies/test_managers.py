"""Checkouts as each package manager leaves them give the same answers."""

import pytest

from irdaemon.source.dependencies import Dependencies
from irdaemon.types import Root
from tests.support.checkouts import Package, make_project

ECOSYSTEMS = {"npm": "npm", "pnpm": "npm", "yarn": "npm", "cargo": "cargo", "go": "go"}
PYTHON = {"uv": "pypi", "poetry": "pypi", "pip": "pypi"}
MANAGERS = ECOSYSTEMS | PYTHON


@pytest.fixture(params=MANAGERS)
def manager(request):
    return request.param


def read(root):
    source = Dependencies((Root(str(root), "project", "none"),), {})
    read = (source.read(entry).artifacts[0] for entry in source.scan().entries)
    return {artifact.name: artifact for artifact in read}


@pytest.fixture
def make(tmp_path, monkeypatch, manager):
    """Return what makes a checkout with one dependency, and the name of that."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CARGO_HOME", "GOPATH", "GOMODCACHE"):
        monkeypatch.delenv(name, raising=False)
    name = "example.com/pdfform" if manager == "go" else "pdfform"
    package = Package("1.2.3", "Fill PDF forms", "# PDF\n\nIt fills them.\n", ("pdf",), ("Fill",))

    def make(**more):
        root = make_project(
            tmp_path / "code", "shop", manager=manager, packages={name: package}, **more
        )
        return read(root), name

    return make


def test_what_is_installed_is_read_with_its_words_and_names(make, manager):
    found, name = make()

    artifact = found[name]
    assert artifact.artifact_id == f"~/code/shop#{MANAGERS[manager]}/{name}"
    assert artifact.metadata["version"].removeprefix("v") == "1.2.3"
    assert artifact.metadata["origin"] == "installed"
    assert artifact.raw["description"] == "Fill PDF forms"
    assert artifact.raw["readme"] == "# PDF\n\nIt fills them."
    assert "Fill" in artifact.raw["exports"]


def test_what_is_only_locked_has_its_version(make, manager):
    found, name = make(installed=False)

    assert found[name].metadata["version"].removeprefix("v") == "1.2.3"
    assert not found[name].metadata["installed"]
    assert found[name].body
