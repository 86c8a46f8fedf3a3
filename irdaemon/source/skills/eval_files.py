"""The eval files beside a skill: its author's tests of what triggers it and what it does."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress

import yaml

from irdaemon.source.author_prompts import hides_text
from irdaemon.source.frontmatter import decode
from irdaemon.source.ignores import Ignores
from irdaemon.source.lenient_yaml import parse_strictly
from irdaemon.source.opening import follow_link, open_directory, read_regular
from irdaemon.source.tree import find_inside
from irdaemon.types import Refused, SourceError

EVAL_FOLDER = "evals"
EVAL_FILE = re.compile(
    r"(?:trigger[-_](?:evals?|cases|query|queries|tests?)|triggers|evals?|eval[-_]queries)"
    r"\.(?:json|ya?ml)"
)
# The flag of a skill with an eval file that cannot be read, or not in the format of its name.
UNREAD = "unread_evals"
_MAX_BYTES = 262_144
_MOST_FILES = 4


def find_skill_around(path: str) -> str:
    """Return the directory of the skill that an eval file, or a folder of them, tests; else ""."""
    directory, name = os.path.split(path)
    if name == EVAL_FOLDER:
        return directory
    if not EVAL_FILE.fullmatch(name):
        return ""
    is_folder = os.path.basename(directory) == EVAL_FOLDER
    return os.path.dirname(directory) if is_folder else directory


class EvalFiles:
    """The values of a skill's eval files, those about its triggers first.

    `is_whole` turns false where one cannot be read.
    """

    def __init__(self, directory: str, project: str = ""):
        self._directory = directory
        self._project = project
        self.is_whole = True

    def __iter__(self) -> Iterator[object]:
        for path in self._list_paths():
            try:
                text = self._read(path)
                if not hides_text(text):
                    yield json.loads(text) if path.endswith(".json") else parse_strictly(text)
            except FileNotFoundError:
                continue
            except (SourceError, ValueError, RecursionError, yaml.YAMLError):
                self.is_whole = False

    def _list_paths(self) -> list[str]:
        found: list[str] = []
        for directory in (os.path.join(self._directory, EVAL_FOLDER), self._directory):
            with suppress(FileNotFoundError, SourceError), open_directory(directory) as descriptor:
                names = filter(EVAL_FILE.fullmatch, os.listdir(descriptor))
                found += [os.path.join(directory, name) for name in names]
        if self._project and found:
            ignores = Ignores((self._project,), self._project)
            found = [path for path in found if not ignores.ignores_file(path)]
        return sorted(found, key=_rank)[:_MOST_FILES]

    def _read(self, path: str) -> str:
        if self._project and not find_inside(path, self._project):
            raise Refused(f"{path}: a link leads out of the project", "remove the link")
        return decode(read_regular(follow_link(path, by_name=True), _MAX_BYTES))[0]


def _rank(path: str) -> tuple[bool, str]:
    name = os.path.basename(path)
    return not ("trigger" in name or "quer" in name), path
