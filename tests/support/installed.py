"""Manifests and installed packages, as a test wants them to the letter, and what is read of one."""

import json
from pathlib import Path

from irdaemon.source.packages import Packages
from irdaemon.types import Artifact, Root


def write(path: Path, content: object = "") -> Path:
    """Write a file, and the directories above it; anything but a text as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def install(directory: Path, name: str, version: str = "1.0.0", **more: object) -> Path:
    """Install a package of npm in a directory's node_modules; return where it lies."""
    home = directory / "node_modules" / name
    write(home / "package.json", {"name": name, "version": version, **more})
    return home


def read_only_artifact(directory: Path) -> Artifact:
    """Return the artifact of the one package that a directory is or holds."""
    source = Packages((Root(str(directory)),), {})
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts
    return artifact
