"""Projects: the one that a place lies in, and the places where agents keep files for it alone.

A checkout is another person's text. What is a project is decided by a child process, so that no
file system can hold up the daemon; what it must be like is written at `locate_project`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice

from irclient.errors import QueryError, Unavailable
from irclient.invisible import drop_hidden
from irdaemon.runtime.pool import ProcessLimits, run_program
from irdaemon.source.ignores import Ignores
from irdaemon.source.locate_project import MARKER, REPOSITORIES
from irdaemon.source.opening import is_text, is_within, list_entries
from irdaemon.source.tree import PRUNED, find_inside, is_repository, list_mounts_inside
from irdaemon.types import Project, Root

MAX_PLACE = 4096

_PROGRAM = os.path.join(os.path.dirname(__file__), "locate_project.py")
_MEMORY = 512 << 20
_OUTPUT = 64 << 10
_LIMITS = ProcessLimits(0.2, _MEMORY)
# To start an interpreter is no part of looking at a place, and takes long on a busy machine.
_START = ProcessLimits(5.0, _MEMORY)
_NAME_CHARS = 100

# Where agents keep what is for one project, below any directory of it. What hosts load whole by
# themselves (CLAUDE.md, AGENTS.md and their like) and what runs or enables something (plugins,
# settings, servers) is not among it.
_SKILLS = """.agents .claude .codex .cursor .gemini .github .opencode .agent .augment .cline
    .continue .crush .factory .goose .junie .kilocode .kiro .openhands .pi .qwen .roo .trae
    .vibe .windsurf .zencoder"""
_AGENTS = """.claude/agents .codex/agents .cursor/agents .gemini/agents .github/agents
    .opencode/agent .opencode/agents .factory/droids .qwen/agents"""
_COMMANDS = """.claude/commands .codex/prompts .cursor/commands .gemini/commands .github/prompts
    .opencode/command .opencode/commands .windsurf/workflows .agent/workflows .augment/commands
    .factory/commands .kilocode/workflows .qwen/commands .roo/commands"""
_RULES = """.claude/rules .cursor/rules .github/instructions .windsurf/rules .clinerules
    .agent/rules .augment/rules .continue/rules .kilocode/rules .kiro/steering
    .roo/rules .trae/rules"""
AGENT_PLACES: Mapping[str, tuple[str, ...]] = {
    "skills": tuple(f"{agent}/skills" for agent in _SKILLS.split()),
    "agents": tuple(_AGENTS.split()),
    "commands": tuple(_COMMANDS.split()),
    "rules": tuple(_RULES.split()),
}
_FOLDERS = {place.partition("/")[0] for places in AGENT_PLACES.values() for place in places}
# What makes a directory below the root another project, or keeps it out.
_FOREIGN = {MARKER, *REPOSITORIES}
_PRUNED = PRUNED | {"bower_components", "build", "dist", "site-packages", "target", "vendor"}
_MOST_LEVELS = 4
_MOST_DIRECTORIES = 2_000
# Of one directory: more are made by programs.
_MOST_NAMES = 10_000
_MOST_ROOTS = 200


@dataclass(frozen=True, slots=True)
class PlaceRules:
    """Where projects may lie.

    Below `home`, and in `roots`, which may be anywhere; not in `ignore`. `uid` is that of their
    owner. All are absolute paths.
    """

    home: str
    uid: int
    roots: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Located:
    """The project that a place lies in, or the reason why it lies in none.

    `place` is the real path of a place that lies in one, as far as it is valid UTF-8. `problem` is
    what is wrong with the place itself: it does not exist, is no directory, or cannot be read.
    `failed` is whether nobody could look, which says nothing about the place.
    """

    project: Project | None = None
    reason: str = ""
    problem: str = ""
    failed: bool = False
    place: str = ""


def clean_place(place: str) -> str:
    """Return a place as a path without `.`, `..` and repeated slashes; no file is touched.

    Raises QueryError unless it is an absolute path.
    """
    hint = "pass the absolute path of a directory"
    if not isinstance(place, str):
        raise QueryError("place is not a text", hint)
    if "\0" in place:
        raise QueryError("place has a NUL in it", hint)
    try:
        size = len(place.encode())
    except UnicodeEncodeError as error:
        raise QueryError("place is not valid UTF-8", hint) from error
    if size > MAX_PLACE:
        raise QueryError(f"place has {size:,} bytes; the most is {MAX_PLACE:,}", hint)
    if not place.startswith("/"):
        raise QueryError("place is not an absolute path", hint)
    return "/" + os.path.normpath(place).lstrip("/")


def locate_project(place: str, rules: PlaceRules) -> Located:
    """Return the project that a cleaned place lies in, or the reason why it lies in none.

    A child process looks, for 200 ms at most. Raises nothing.
    """
    request = json.dumps({"place": place, **asdict(rules)}).encode()
    try:
        run_program(_PROGRAM, b"{}", _START, _OUTPUT)
        found = json.loads(run_program(_PROGRAM, request, _LIMITS, _OUTPUT))
        if root := found.get("root"):
            project = Project(root, name_project(root), tuple(found["marks"]))
            real = found.get("place", "")
            return Located(project, place=real if is_text(real) else "")
        return Located(reason=found.get("reason", ""), problem=found.get("problem", ""))
    except Unavailable as error:
        return Located(reason=f"it could not be examined: {error.message}", failed=True)
    except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
        return Located(reason=f"it could not be examined: {error}", failed=True)


def name_project(root: str) -> str:
    """Return the name of a project: that of its directory, without invisible characters."""
    name = " ".join(drop_hidden(os.path.basename(root)).split())
    return name[:_NAME_CHARS] or "project"


def find_agent_roots(
    project: Project,
    place: str = "",
    ignore: Collection[str] = (),
    before: Iterable[str] = (),
) -> Mapping[str, tuple[Root, ...]]:
    """Return the roots that agents have in a project, by kind, those nearest to `place` first.

    Searched are the directories from `place` up to the root, and those a few levels below that, but
    for those that git ignores, other projects within, mounts, and those in `ignore`. Links out of
    the project are left out. `before` are the paths of roots found before: deeper ones are searched
    again.
    """
    search = _AgentSearch(project.root, frozenset(ignore))
    above = search.list_above(place)
    below = sorted(search.walk(), key=lambda each: (not is_within(each, place), each.count("/")))
    deeper = (each for path in before for each in search.list_above(_find_holder(path))[:1])
    nearest = list(dict.fromkeys([*above, *below, *deeper]))
    return {
        kind: tuple(islice(search.find_roots(nearest, inside), _MOST_ROOTS))
        for kind, inside in AGENT_PLACES.items()
    }


def _find_holder(path: str) -> str:
    """Return the directory that holds the agent's directory around a root."""
    parts = path.split("/")
    inside = (at for at, part in enumerate(parts) if part in _FOLDERS)
    return "/".join(parts[: next(inside, 0)])


class _AgentSearch:
    """Look through a project for directories in which agents keep things."""

    def __init__(self, root: str, ignore: frozenset[str]):
        self._root = root
        self._ignores = Ignores((root,), root)
        self._closed = list_mounts_inside(root) | ignore
        self._looked_at = 0

    def list_above(self, place: str) -> list[str]:
        """Return the directories from a place up to the root, those of other projects left out."""
        found = [self._root]
        inside = place[len(self._root) :].split("/")[1:] if is_within(place, self._root) else []
        for name in inside:
            directory = os.path.join(found[-1], name)
            if os.path.islink(directory) or not self._may_enter(directory):
                break
            if any(os.path.lexists(os.path.join(directory, each)) for each in _FOREIGN):
                break  # another project
            found.append(directory)
        return found[::-1]

    def walk(self) -> Iterator[str]:
        """Yield the directories that hold an agent's directory, level by level."""
        level = [self._root]
        for depth in range(_MOST_LEVELS + 1):
            below: list[str] = []
            for directory in level[: max(0, _MOST_DIRECTORIES - self._looked_at)]:
                self._looked_at += 1
                names, directories = self._list(directory)
                if names.isdisjoint(_FOREIGN) or directory == self._root:
                    if not names.isdisjoint(_FOLDERS):
                        yield directory
                    below += [each for each in directories if depth < _MOST_LEVELS]
            level = below

    def find_roots(self, directories: Iterable[str], inside: tuple[str, ...]) -> Iterator[Root]:
        """Yield the roots that exist in directories, each once, by their real paths."""
        seen: set[str] = set()
        for path in (os.path.join(directory, each) for directory in directories for each in inside):
            if not os.path.lexists(os.path.dirname(path)):
                continue
            real = find_inside(path, self._root)
            if real and real not in seen and self._is_open(real) and os.path.isdir(real):
                seen.add(real)
                yield Root(real, "project", "none", self._root)

    def _is_open(self, real: str) -> bool:
        closed = any(is_within(real, each) for each in self._closed)
        named = real != self._root and is_text(real)
        return named and not closed and not self._ignores.ignores_around(real)

    def _list(self, directory: str) -> tuple[set[str], list[str]]:
        """Return the names in a directory, and the directories there that may be searched."""
        names: set[str] = set()
        below: list[str] = []
        try:
            with os.scandir(directory) as entries:
                for entry in islice(entries, _MOST_NAMES):
                    names.add(entry.name)
                    if entry.is_dir(follow_symlinks=False) and self._may_enter(entry.path):
                        below.append(entry.path)
        except OSError:  # it vanished, or may not be read
            pass
        return names, sorted(below)

    def _may_enter(self, directory: str) -> bool:
        name = os.path.basename(directory)
        if name.startswith(".") or name in _PRUNED or directory in self._closed:
            return False
        return is_text(name) and not self._ignores.ignores(directory, is_directory=True)


# The documents of a project: those for people to read before they work on it.
#
# They are read by a corpus of kind `files`, as text alone. What hosts load by themselves
# (CLAUDE.md, AGENTS.md) is none, nor is what git ignores, nor what is not meant to be shown
# (`.env*`). A link at the root is not followed: what it leads to lies elsewhere in the project, or
# out of it.

# The options of that corpus, and how many documents are read of a project.
DOC_OPTIONS: Mapping[str, object] = {
    "pattern": [
        f"**/*{suffix}"
        for suffix in (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org")
    ],
    "exclude": [
        ".*/", ".env*", "node_modules/", "vendor/", "_build/", "_site/", "site/", "build/", "dist/",
        "requirements*.txt", "robots.txt", "LICENSE*", "CLAUDE*.md", "AGENTS*.md", "GEMINI.md",
    ],
    "gitignore": True,
    "max_bytes": 500_000,
}  # fmt: skip
MOST_DOCS = 2_000

_SUFFIXES = frozenset(
    {"", ".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org"}
)
_FILES = frozenset(
    """readme contributing architecture design development hacking install installation building
    testing deployment operations runbook security troubleshooting faq glossary conventions
    styleguide upgrading migration roadmap""".split()
)
_DIRECTORIES = frozenset(
    """docs doc documentation adr adrs decisions rfc rfcs runbook runbooks playbooks guides
    architecture design""".split()
)


def find_doc_roots(project: Project) -> tuple[Root, ...]:
    """Return the documents and directories of documents that lie at a project's root, sorted.

    None where the project opts out, or its root cannot be listed.
    """
    found = sorted(list_entries(project.root), key=lambda entry: entry.name)
    if any(entry.name == MARKER for entry in found):
        return ()
    ignores = Ignores((project.root,), project.root)
    return tuple(
        Root(entry.path, "project", "none", project.root)
        for entry in found
        if _is_wanted(entry, ignores)
    )


def _is_wanted(entry: os.DirEntry[str], ignores: Ignores) -> bool:
    try:
        is_directory = entry.is_dir(follow_symlinks=False)
        is_document = not is_directory and entry.is_file(follow_symlinks=False)
    except OSError:
        return False
    stem, suffix = os.path.splitext(entry.name.lower())
    if is_directory:
        wanted = entry.name.lower() in _DIRECTORIES and entry.name not in PRUNED
        wanted = wanted and not is_repository(entry.path)
    else:  # README.de.md is one, too
        first = stem.partition(".")[0].partition("-")[0].partition("_")[0]
        wanted = is_document and first in _FILES and suffix in _SUFFIXES
    return wanted and is_text(entry.name) and not ignores.ignores(entry.path, is_directory)
