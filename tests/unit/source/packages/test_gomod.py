"""Go modules: go.mod, and doc.go beside it."""

import pytest

from irdaemon.source.packages import Packages
from irdaemon.types import Root, SourceError
from tests.support.installed import read_only_artifact, write

GOMOD = """
module github.com/acme/forms/v2 // the module

go 1.22

require golang.org/x/text v0.3.0
require (
	"github.com/spf13/cobra" v1.8.0
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	example.org/odd v0.0.1 // indirect; pinned
)
replace example.org/odd => ../odd
"""


def test_a_go_mod_gives_path_owner_and_requirements_with_the_indirect_ones_apart(tmp_path):
    write(tmp_path / "go.mod", GOMOD)

    artifact = read_only_artifact(tmp_path)

    assert artifact.artifact_id == f"{tmp_path}#go"
    assert artifact.name == "github.com/acme/forms/v2"
    assert artifact.raw["owner"] == "acme"
    assert artifact.raw["deps"] == ["golang.org/x/text v0.3.0", "github.com/spf13/cobra v1.8.0"]
    assert artifact.metadata["indirect_deps"] == [
        "github.com/inconshreveable/mousetrap v1.1.0",
        "example.org/odd v0.0.1",
    ]
    assert artifact.metadata["repository"] == "https://github.com/acme/forms"


@pytest.mark.parametrize(
    "source",
    [
        "// Copyright.\n\n// Package forms fills\n// PDF forms.\n//\n// More.\npackage forms\n",
        "//go:build unix\n\n/*\nPackage forms fills\nPDF forms.\n\nMore.\n*/\npackage forms\n",
    ],
)
def test_the_package_comment_describes_the_module(tmp_path, source):
    write(tmp_path / "go.mod", GOMOD)
    write(tmp_path / "doc.go", source)

    assert read_only_artifact(tmp_path).raw["description"] == "Package forms fills PDF forms."


def test_without_a_package_comment_the_readme_describes_the_module(tmp_path):
    write(tmp_path / "go.mod", GOMOD)
    write(tmp_path / "doc.go", "// Detached.\n\npackage forms\n")
    write(tmp_path / "README.md", "# forms\n\n[![ci](x.svg)](y)\n\nFills *PDF* forms\nquickly.\n")

    assert read_only_artifact(tmp_path).raw["description"] == "Fills PDF forms quickly."


def test_a_go_mod_without_a_module_line_is_an_error(tmp_path):
    write(tmp_path / "go.mod", "go 1.22\n")
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries

    with pytest.raises(SourceError, match="no module line"):
        source.read(entry)
