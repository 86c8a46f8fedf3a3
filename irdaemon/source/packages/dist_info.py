"""Read an installed Python distribution: the METADATA of a *.dist-info, or an egg's PKG-INFO.

`importlib.metadata` would open the files by itself, past the limits of `source.opening`, and what
it gives of these headers is the same email message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from email.message import Message
from email.parser import Parser
from email.policy import compat32
from email.utils import parseaddr

from irdaemon.source.packages.manifest import (
    Manifest,
    Person,
    as_table,
    clean_prose,
    clean_text,
    clean_texts,
    clean_url,
    make_manifest,
    merge_manifests,
    parse_ini,
    parse_json,
    read_text,
)
from irdaemon.types import SourceError

# Further files of a distribution, beside its metadata.

SUFFIXES = (".dist-info", ".egg-info")
METADATA = ("METADATA", "PKG-INFO")
BESIDE = ("entry_points.txt", "direct_url.json")


def _read_sibling_manifest(path: str) -> Manifest:
    """Read the programs a distribution installs and where it was installed from.

    A file that cannot be parsed flags the result `broken_manifest`.
    """
    commands = _read_file(_read_entry_points, os.path.join(path, "entry_points.txt"))
    return merge_manifests(
        (commands, _read_file(_read_direct_url, os.path.join(path, "direct_url.json")))
    )


def _read_file(reader: Callable[[str], Manifest], path: str) -> Manifest:
    try:
        return reader(path)
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    except SourceError:
        return Manifest(flags=("broken_manifest",))


def _read_entry_points(path: str) -> Manifest:
    groups = parse_ini(read_text(path), path)
    scripts = [g for g in ("console_scripts", "gui_scripts") if groups.has_section(g)]
    return Manifest(
        commands=clean_texts([name for group in scripts for name in groups.options(group)])
    )


def _read_direct_url(path: str) -> Manifest:
    content = parse_json(read_text(path), path)
    editable = as_table(content.get("dir_info")).get("editable") is True
    return Manifest(origin=clean_url(clean_text(content.get("url"))), editable=editable)


_EXTRA = re.compile(r"\bextra\s*==")
_FOLD = re.compile(r"\n(?: {8}| {7}\|)")


def find_metadata(path: str) -> str:
    """Return the file that holds a distribution's metadata; an old egg-info is that file.

    Raises FileNotFoundError when the distribution is gone, SourceError when it has no such file.
    """
    if os.path.isfile(path):
        return path
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    held = (os.path.join(path, name) for name in METADATA)
    found = next((name for name in held if os.path.isfile(name)), None)
    if found is None:
        raise SourceError(f"{path}: has no METADATA", "reinstall or remove the distribution")
    return found


def load(path: str, source: str) -> Manifest:
    """Read the distribution in `path` from the text of its metadata file."""
    return merge_manifests((parse_metadata(source), _read_sibling_manifest(path)))


def parse_metadata(source: str) -> Manifest:
    """Return what the text of a METADATA or PKG-INFO says."""
    message = Parser(policy=compat32).parsestr(source)
    pairs = (value.partition(",") for value in message.get_all("Project-URL", []))
    urls = {"homepage": message.get("Home-page"), **{label: url.strip() for label, _, url in pairs}}
    required = clean_texts(message.get_all("Requires-Dist", []))
    optional = tuple(d for d in required if _EXTRA.search(d.partition(";")[2]))
    stated = {
        "name": message.get("Name"),
        "version": message.get("Version"),
        "description": message.get("Summary"),
        "license": message.get("License-Expression") or message.get("License"),
        "keywords": message.get("Keywords"),
        "classifiers": message.get_all("Classifier", []),
    }
    people = _read_contact(message, "Author"), _read_contact(message, "Maintainer")
    header = message.get("Description")
    return replace(
        make_manifest(stated, people, urls),
        readme=clean_prose(_FOLD.sub("\n", header) if header else message.get_payload()),
        deps=tuple(d for d in required if d not in optional),
        optional_deps=optional,
    )


def read_name(path: str) -> str:
    """Return the distribution's name as its file name spells it."""
    return os.path.splitext(os.path.basename(path))[0].partition("-")[0]


def _read_contact(message: Message, role: str) -> Person:
    """Read `Author` and `Author-email`; the latter may hold `Name <email>, ...` too."""
    named, address = parseaddr(message.get(f"{role}-email", ""))
    return Person(clean_text(message.get(role)) or clean_text(named), clean_text(address))
