"""Read a Python package directory: pyproject.toml, setup.cfg and setup.py are one package.

A field is taken from the first of the three that fills it, in this order, so that fields
`[project]` declares dynamic are found where setuptools keeps them. What it states to be empty is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from irdaemon.source.packages import pyproject, setup_cfg, setup_py
from irdaemon.source.packages.manifest import Manifest, merged
from irdaemon.types import SourceError

_READERS: dict[str, Callable[[str], Manifest | None]] = {
    "pyproject.toml": pyproject.read,
    "setup.cfg": setup_cfg.read,
    "setup.py": setup_py.read,
}


@dataclass(slots=True)
class _Found:
    manifests: list[Manifest] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)
    present: bool = False

    def add(self, directory: str, name: str) -> None:
        try:
            manifest = _READERS[name](os.path.join(directory, name))
        except FileNotFoundError:
            return
        except SourceError as error:
            self.errors.append(error)
        else:
            self.manifests += [manifest] if manifest else []
        self.present = True


def load(directory: str) -> Manifest | None:
    """Read the package in `directory`; None when its files define none.

    A broken file beside one that names the package only flags it `broken_manifest`; without
    such a one its SourceError is raised. Raises FileNotFoundError when all three are gone.
    """
    found = _Found()
    for name in _READERS:
        found.add(directory, name)
    if not found.present:
        raise FileNotFoundError(directory)
    package = merged(found.manifests) if found.manifests else None
    if found.errors and not (package and package.name):
        raise found.errors[0]
    return replace(package, flags=("broken_manifest",)) if package and found.errors else package
