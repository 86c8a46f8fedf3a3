"""Find directories that hold a SKILL.md, each once in its best scope; read the evals there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import yaml

from irdaemon.source.author_prompts import hides_text
from irdaemon.source.frontmatter import decode
from irdaemon.source.ignores import Ignores
from irdaemon.source.lenient_yaml import parse_strictly
from irdaemon.source.opening import follow_link, open_directory, read_regular, resolve_path
from irdaemon.source.places import list_places
from irdaemon.source.plugin_store import Plugin, find_places, find_store, visit_plugins
from irdaemon.source.tree import (
    Symlinks,
    Walk,
    check_root,
    find_inside,
    is_directory,
    is_link,
    is_regular,
    is_searched,
    make_entry,
)
from irdaemon.types import Entry, Problem, Refused, Root, SourceError

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


# The directories where agents keep skills, and the names of files in them.

# The specification's spelling first: it wins where both exist.
SKILL_NAMES = ("SKILL.md", "skill.md")
# Codex keeps a skill's display texts beside it.
CODEX_FILE = os.path.join("agents", "openai.yaml")

# Below the home directory; the first is the path most agents share.
_HOME = """.agents/skills .agents/plugins .augment/skills .cline/skills .codeium/windsurf/skills
    .continue/skills .cursor/skills .cursor/plugins .factory/skills .gemini/skills
    .gemini/extensions .gemini/antigravity/skills .junie/skills .kilocode/skills .kiro/skills
    .openclaw/skills .openhands/skills .pi/agent/skills .qwen/skills .roo/skills .trae/skills
    .vibe/skills .zencoder/skills""".split()
_MOVABLE = (
    ("claude", "skills", "user"),
    ("claude", "plugins", "plugin"),
    ("codex", "skills", "user"),
    ("copilot", "skills", "user"),
    ("config", "agents/skills", "user"),  # Amp, Kimi
    ("config", "crush/skills", "user"),
    ("config", "goose/skills", "user"),
    ("config", "opencode/skills", "user"),
)

# Installed by the administrator of the machine.
_MANAGED = (
    ("/etc/claude-code", ".claude/skills", "other"),
    ("/Library/Application Support/ClaudeCode", ".claude/skills", "other"),
    ("/etc/codex", "skills", "other"),
)
_PLACES = (
    *_MOVABLE,
    *(("home", path, "user" if path.endswith("skills") else "plugin") for path in _HOME),
    *_MANAGED,
)
# User level first. Project directories are not among them: a daemon has no working directory, so
# they come from its configuration.
list_known_places = partial(list_places, _PLACES)


RANKS = ("project", "user", "plugin", "other")


@dataclass(frozen=True, slots=True)
class SkillTop:
    """A real directory to search, for skills at most `depth` levels below."""

    path: str
    scope: str
    depth: int


@dataclass(slots=True)
class SkillFinder:
    """The results of one scan so far; `symlinks` decides which links it follows."""

    symlinks: Symlinks
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def search(self, top: SkillTop) -> None:
        """Search below a directory; in a plugin store, only the plugins in use."""
        if problem := check_root(Root(top.path)):
            self.problems.append(problem)
        elif not self.symlinks.limit and find_store(top.path) == top.path:
            self._search_store(top.path, top.depth)
        else:
            self._walk(top)

    def _walk(self, top: SkillTop, plugin: str = "") -> None:
        walk = Walk(self.symlinks.add_top(plugin) if plugin else self.symlinks)
        stores: list[str] = []

        def descend(entry: os.DirEntry[str]) -> bool:
            if self.symlinks.limit:  # no project brings plugins
                return is_searched(entry)
            if entry.name == "plugins" and find_store(entry.path) == entry.path:
                stores.append(walk.enter(entry))
                return False
            return is_searched(entry)

        for directory, found in walk.walk_directories(top.path, descend, top.depth):
            self._add_skill(walk, directory, found, top.scope)
        self.problems.extend([*walk.problems, *map(_make_problem, filter(_is_skill, walk.passed))])
        for store in filter(None, stores):
            self._search_store(store, top.depth)

    def _search_store(self, store: str, depth: int) -> None:
        def visit(plugin: Plugin) -> None:
            self._walk(SkillTop(plugin.path, "plugin", 0), plugin.path)
            for place in filter(os.path.isdir, find_places(plugin, "skills")):
                self._walk(SkillTop(place, "plugin", depth), plugin.path)

        visit_plugins(store, self.problems, visit)

    def _add_skill(
        self, walk: Walk, directory: str, found: list[os.DirEntry[str]], scope: str
    ) -> None:
        named = {entry.name: entry for entry in found}
        file = next((named[name] for name in SKILL_NAMES if name in named), None)
        if file is None:
            return
        if not is_regular(file):
            reason = f"{file.name} is not a regular file or leads nowhere"
            self.problems.append(Problem(directory, reason))
            return
        try:
            stats = [file.stat(), *self._stat_codex(directory, "agents" in named)]
            stats += _stat_evals(walk, found, named.get(EVAL_FOLDER))
            self.add(make_entry(directory, scope, *stats))
        except OSError as error:
            self.problems.append(Problem(directory, error.strerror or str(error)))

    def _stat_codex(self, directory: str, has_agents: bool) -> list[os.stat_result]:
        codex, limit = os.path.join(directory, CODEX_FILE), self.symlinks.limit
        if has_agents and (not limit or find_inside(codex, limit)) and os.path.isfile(codex):
            return [os.stat(codex)]
        return []

    def add(self, entry: Entry) -> None:
        """Add an entry unless it is known in a better scope."""
        known = self.entries.get(entry.key)
        if known is None or rank_scope(entry.scope) < rank_scope(known.scope):
            self.entries[entry.key] = entry


def _stat_evals(
    walk: Walk, beside: list[os.DirEntry[str]], folder: os.DirEntry[str] | None
) -> list[os.stat_result]:
    """Return the status of a skill's eval files: beside it, and in its folder of them."""
    files = [entry for entry in beside if EVAL_FILE.fullmatch(entry.name)]
    if folder and is_directory(folder) and not is_link(folder):
        below = walk.list_entries(folder.path)
        files += [entry for entry in below if EVAL_FILE.fullmatch(entry.name)]
    stats = []
    for entry in filter(is_regular, files):
        with suppress(FileNotFoundError):
            stats.append(entry.stat())
    return stats


def _is_skill(directory: str) -> bool:
    return any(os.path.lexists(os.path.join(directory, name)) for name in SKILL_NAMES)


def _make_problem(link: str) -> Problem:
    reason = (
        f"a link out of the roots, to {resolve_path(link)}, is followed only directly in a root"
    )
    return Problem(link, f"{reason}; add that directory to the roots")


def rank_scope(scope: str) -> int:
    """Order scopes by precedence: project, user, plugin, other."""
    return RANKS.index(scope) if scope in RANKS else len(RANKS)
