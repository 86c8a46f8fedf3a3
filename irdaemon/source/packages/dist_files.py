"""Further files of a distribution, beside its metadata."""

from __future__ import annotations

import os
from collections.abc import Callable

from irdaemon.source.packages.links import web_url
from irdaemon.source.packages.manifest import Manifest, merged, table, text, texts
from irdaemon.source.packages.parse import read_ini, read_json
from irdaemon.types import SourceError

SUFFIXES = (".dist-info", ".egg-info")
METADATA = ("METADATA", "PKG-INFO")
BESIDE = ("entry_points.txt", "direct_url.json")


def load(path: str) -> Manifest:
    """Read the programs a distribution installs and where it was installed from.

    A file that cannot be parsed flags the result `broken_manifest`.
    """
    commands = _read(_entry_points, os.path.join(path, "entry_points.txt"))
    return merged((commands, _read(_direct_url, os.path.join(path, "direct_url.json"))))


def _read(reader: Callable[[str], Manifest], path: str) -> Manifest:
    try:
        return reader(path)
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    except SourceError:
        return Manifest(flags=("broken_manifest",))


def _entry_points(path: str) -> Manifest:
    groups = read_ini(path)
    scripts = [g for g in ("console_scripts", "gui_scripts") if groups.has_section(g)]
    return Manifest(commands=texts([name for group in scripts for name in groups.options(group)]))


def _direct_url(path: str) -> Manifest:
    content = read_json(path)
    editable = table(content.get("dir_info")).get("editable") is True
    return Manifest(origin=web_url(text(content.get("url"))), editable=editable)
