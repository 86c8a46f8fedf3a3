"""Installed packages: *.dist-info, *.egg-info and global node_modules."""

import hashlib
import json
from pathlib import Path

import pytest

from irdaemon.source.packages import Packages
from irdaemon.types import Artifact, Root, SourceError
from tests.support.installed import write

METADATA = """Metadata-Version: 2.4
Name: acme-pdf
Version: 1.2
Summary: Fill PDF forms
Author-email: Ann Lee <ann@acme.io>
License-Expression: MIT
Keywords: pdf,forms
Project-URL: Homepage, https://acme.io/pdf
Project-URL: Repository, https://github.com/acme/pdf
Requires-Dist: pypdf>=4
Requires-Dist: tesserocr>=2; extra == 'ocr'

# PDF

Fills forms.
"""


def scanned(root: Path) -> tuple[str, ...]:
    entries = Packages((Root(str(root)),), {}).scan().entries
    return tuple(entry.path.removeprefix(f"{root}/") for entry in entries)


def read_only_artifact(root: Path) -> Artifact:
    source = Packages((Root(str(root)),), {})
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts
    return artifact


def test_a_dist_info_gives_what_its_metadata_says_and_points_at_it(tmp_path):
    site = tmp_path / "site-packages"
    metadata = write(site / "acme_pdf-1.2.dist-info" / "METADATA", METADATA)

    artifact = read_only_artifact(site)

    assert artifact.artifact_id == str(metadata.parent)
    assert artifact.pointer == str(metadata)
    assert artifact.digest == hashlib.sha256(metadata.read_bytes()).hexdigest()
    assert artifact.raw == {
        "name": "acme-pdf",
        "description": "Fill PDF forms",
        "readme": "# PDF\n\nFills forms.",
        "owner": "Ann Lee",
        "deps": ["pypdf>=4"],
    }
    assert artifact.metadata["installed"] is True
    assert artifact.metadata["keywords"] == ["pdf", "forms"]
    assert artifact.metadata["optional_deps"] == ["tesserocr>=2; extra == 'ocr'"]
    assert artifact.metadata["homepage"] == "https://acme.io/pdf"
    assert artifact.metadata["repository"] == "https://github.com/acme/pdf"


def test_an_editable_install_tells_its_programs_and_where_it_comes_from(tmp_path):
    info = write(tmp_path / "a-1.dist-info" / "METADATA", METADATA).parent
    write(info / "entry_points.txt", "[console_scripts]\nPdf = a:main\n[pytest11]\nx = y\n")
    origin = {"url": "file:///home/ann/a", "dir_info": {"editable": True}}
    write(info / "direct_url.json", json.dumps(origin))

    metadata = read_only_artifact(tmp_path).metadata

    assert metadata["commands"] == ["Pdf"]
    assert (metadata["editable"], metadata["origin"]) == (True, "file:///home/ann/a")


def test_the_origin_of_an_install_never_shows_credentials(tmp_path):
    info = write(tmp_path / "a-1.dist-info" / "METADATA", METADATA).parent
    write(info / "direct_url.json", '{"url": "https://ann:secret@git.acme.io/a.git"}')

    assert read_only_artifact(tmp_path).metadata["origin"] == "https://git.acme.io/a"


def test_a_broken_file_beside_the_metadata_only_flags_the_distribution(tmp_path):
    info = write(tmp_path / "a-1.dist-info" / "METADATA", METADATA).parent
    write(info / "direct_url.json", "{")

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.flags) == ("acme-pdf", ("broken_manifest",))


def test_metadata_without_a_name_goes_by_its_directory_and_is_flagged(tmp_path):
    write(tmp_path / "acme_pdf-1.2.dist-info" / "METADATA", "Summary: x\n\n")

    artifact = read_only_artifact(tmp_path)

    assert (artifact.name, artifact.flags) == ("acme_pdf", ("unnamed",))


def test_a_dist_info_without_metadata_is_an_error_and_one_that_vanished_is_gone(tmp_path):
    info = tmp_path / "left-1.dist-info"
    info.mkdir()
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries

    with pytest.raises(SourceError, match="has no METADATA"):
        source.read(entry)
    info.rmdir()
    with pytest.raises(FileNotFoundError):
        source.read(entry)


def test_old_egg_infos_are_read_whether_directory_or_file(tmp_path):
    site = tmp_path / "dist-packages"
    write(site / "dir.egg-info" / "PKG-INFO", "Name: dir\nVersion: 1\nSummary: d\n")
    write(site / "file-1.0.egg-info", "Name: file\nVersion: 1.0\nDescription: One\n        two\n")
    source = Packages((Root(str(site)),), {})

    artifacts = [a for e in source.scan().entries for a in source.read(e).artifacts]

    assert [(a.name, a.raw["readme"]) for a in artifacts] == [("dir", ""), ("file", "One\ntwo")]


def test_a_site_packages_yields_its_distributions_and_nothing_below(tmp_path):
    site = tmp_path / "lib"
    write(site / "a-1.dist-info" / "METADATA", METADATA)
    write(site / "~a-0.dist-info" / "METADATA", METADATA)
    write(site / "a" / "pyproject.toml", "[project]\nname = 'inner'\n")
    write(site / "a" / "_vendor" / "b-1.dist-info" / "METADATA", METADATA)

    assert scanned(site) == ("a-1.dist-info",)


def test_a_global_node_modules_yields_its_packages_and_scopes_and_nothing_below(tmp_path):
    modules = tmp_path / "node_modules"
    for name in ("web", "@acme/pdf", "web/node_modules/inner", "web/examples", ".store/x"):
        write(modules / name / "package.json", '{"name": "x"}')
    write(modules / "web" / "pyproject.toml", "[project]\nname = 'not npm'\n")

    assert scanned(modules) == ("@acme/pdf", "web")
    source = Packages((Root(str(modules)),), {})
    readings = [source.read(entry) for entry in source.scan().entries]
    assert all(r.artifacts[0].metadata["installed"] for r in readings)
