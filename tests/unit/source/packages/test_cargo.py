"""Cargo crates, alone and in workspaces."""

from irdaemon.source.packages import Packages
from irdaemon.types import Root
from tests.support.installed import read_only_artifact, write

WORKSPACE = """
[workspace]
members = ["crates/*"]
[workspace.package]
version = "0.4.0"
license = "MIT"
repository = "https://github.com/acme/acme"
[workspace.dependencies]
serde = { version = "1.0", features = ["derive"] }
tokio = "1.53"
"""
MEMBER = """
[package]
name = "acme-core"
description = "The core"
version.workspace = true
license = { workspace = true }
repository.workspace = true
publish = false
[dependencies]
serde.workspace = true
real = { package = "really", version = "2" }
gzip = { version = "3", optional = true }
sibling = { path = "../sibling" }
[target.'cfg(unix)'.dependencies]
tokio = { workspace = true, features = ["net"] }
[dev-dependencies]
quickcheck = "1"
[[bin]]
name = "acme"
"""


def test_a_crate_inherits_from_the_nearest_workspace_above_it(tmp_path):
    write(tmp_path / "Cargo.toml", WORKSPACE)
    crate = write(tmp_path / "crates" / "core" / "Cargo.toml", MEMBER).parent

    artifact = read_only_artifact(crate)

    assert artifact.artifact_id == f"{crate}#cargo"
    assert artifact.raw["owner"] == "acme"
    assert artifact.raw["deps"] == ["serde 1.0", "really 2", "sibling", "tokio 1.53"]
    assert artifact.metadata["version"] == "0.4.0"
    assert artifact.metadata["license"] == "MIT"
    assert artifact.metadata["optional_deps"] == ["gzip 3"]
    assert artifact.metadata["dev_deps"] == ["quickcheck 1"]
    assert artifact.metadata["commands"] == ["acme"]
    assert artifact.metadata["private"] is True


def test_a_crate_whose_workspace_is_broken_is_loaded_and_flagged(tmp_path):
    write(tmp_path / "Cargo.toml", "[workspace")
    crate = write(tmp_path / "core" / "Cargo.toml", MEMBER).parent

    artifact = read_only_artifact(crate)

    assert (artifact.name, artifact.flags) == ("acme-core", ("broken_manifest",))
    assert artifact.raw["deps"] == ["serde", "really 2", "sibling", "tokio"]


def test_a_workspace_root_is_no_crate_unless_it_has_a_package_table_too(tmp_path):
    manifest = write(tmp_path / "Cargo.toml", '[workspace]\nmembers = ["a"]\n')
    source = Packages((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries

    assert source.read(entry).skipped == {"no_package": 1}
    manifest.write_text('[workspace]\nmembers = ["a"]\n[package]\nname = "both"\n')
    assert read_only_artifact(tmp_path).name == "both"


def test_a_crate_is_stale_when_the_workspace_manifest_it_inherits_from_changes(tmp_path):
    workspace = write(tmp_path / "Cargo.toml", "[workspace]\n")
    crate = write(tmp_path / "core" / "Cargo.toml", MEMBER).parent
    source = Packages((Root(str(tmp_path)),), {})
    before = {entry.key: entry.stamp for entry in source.scan().entries}
    workspace.write_text("[workspace]\n[workspace.package]\nversion = '9'\n")

    after = {entry.key: entry.stamp for entry in source.scan(str(workspace)).entries}

    assert set(after) == set(before)
    assert after[f"{crate}#cargo"] != before[f"{crate}#cargo"]
