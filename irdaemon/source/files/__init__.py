"""Files: text documents, program texts, PDFs and images below directories, chosen by patterns."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from irdaemon.source.asset_types import CODE, IMAGES, PDFS, get_suffix
from irdaemon.source.files.asset import (
    MAX_BYTES,
    is_caption,
    is_extracted,
    list_unreadable_suffixes,
    read_asset,
    stamp_captions,
)
from irdaemon.source.files.document import read_text
from irdaemon.source.ignores import Ignores, compile_patterns, ignore_case
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.tree import (
    EVERYTHING,
    PRUNED,
    PRUNED_REASON,
    Expected,
    LeftOut,
    SeenPath,
    Symlinks,
    Walk,
    check_root,
    confine_change,
    is_directory,
    is_regular,
    is_repository,
    make_entry,
    make_scan,
    resolve_root,
    shorten_path,
)
from irdaemon.types import Entry, Problem, Reading, Root, Scan

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["Files"]

_TEXTS = (
    "**/*.md", "**/*.markdown", "**/*.mdx", "**/*.rst", "**/*.txt", "**/*.adoc", "**/*.asciidoc",
    "**/*.org", "**/README",
)  # fmt: skip
_BY_DEFAULT = (*_TEXTS, *(f"**/*{ignore_case(suffix)}" for suffix in sorted(PDFS | IMAGES)))
DEFAULTS = {"pattern": _BY_DEFAULT, "exclude": (), "gitignore": True, "max_bytes": 2_000_000}


class Files(RootSource):
    """Enumerate and read the files of directory trees, and roots that are files themselves.

    PDFs and images are read where the extras for them are installed. Options: `pattern`, a glob or
    a list of globs on the path below the root, in gitignore's syntax (Markdown and other text
    files, PDFs, images); `exclude`, the same for files to leave out; `gitignore` (true), leave out
    files that git ignores; `max_bytes` (2,000,000; of PDFs and images 16,000,000), the largest file
    to read.
    With one root a file's id is its path below it, or the name of a root that is a file; else, and
    in a project, its path in the home directory.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_bytes",)
    kind: ClassVar[str] = "files"
    defaults: ClassVar[Mapping[str, object]] = DEFAULTS

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots)
        given = read_options(self.kind, options, self.defaults)
        # Patterns of files to leave out, by reason.
        self._unwanted: Mapping[str, GitIgnoreSpec] = {}
        self._wanted = compile_patterns(given["pattern"])
        self._excluded = compile_patterns(given["exclude"])
        self._gitignore: bool = given["gitignore"]
        self._max_bytes: int = given["max_bytes"]
        self._max_asset_bytes: int = self._max_bytes if "max_bytes" in options else MAX_BYTES

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate matching files; of those, only the ignore files are opened."""
        tops = self._list_tops()
        where = EVERYTHING if under is None else self._confine(under, tops)
        if where is None:
            return Scan((), ())
        finder = FileFinder(self._make_filter(tops), Symlinks.from_roots(self._roots))
        searched = [_search(finder, top, where) for top in tops]
        if tops and not any(searched):
            return Scan((), ())
        found = [file for file in finder.files.values() if is_within(file.path, where)]
        left_out = finder.left_out.counts if where == EVERYTHING else {}
        return make_scan(map(self._name_entry, found), where, finder.problems, left_out)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one file: its text, or that of a PDF or an image."""
        top = next((t.path for t in self._list_tops() if is_within(entry.path, t.path)), "")
        place = {"path": entry.key, "root": shorten_path(top)} if top else {"path": entry.key}
        if is_extracted(get_suffix(entry.path)):
            return Reading((read_asset(entry, place, self._max_asset_bytes),))
        return Reading((read_text(entry, place, self._max_bytes),))

    def expect_files(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.tree.Expected."""
        wanted = self._make_filter(self._list_tops())

        def file(seen: SeenPath) -> str:
            return "" if seen.path == seen.top else wanted.explain_file(seen.path, seen.relative)

        return Expected(file, lambda seen: wanted.explain_directory(seen.path, seen.relative))

    def _make_filter(self, tops: tuple[Root, ...]) -> Filter:
        ignores = Ignores(top.path for top in tops) if self._gitignore else None
        unreadable = list_unreadable_suffixes()
        is_in_project = any(top.within for top in tops)
        return Filter(
            self._wanted, self._excluded, ignores, unreadable, self._unwanted, is_in_project
        )

    def _list_tops(self) -> tuple[Root, ...]:
        real = [replace(r, path=path) for r in self._roots if (path := resolve_root(r))]
        return tuple({root.path: root for root in reversed(real)}.values())[::-1]

    def _confine(self, under: str, tops: tuple[Root, ...]) -> str | None:
        """Return the path that a change affects; None when it affects no file of the corpus."""
        if os.path.isfile(under) and any(under == top.path for top in tops):
            return under
        if self._gitignore and os.path.basename(under) == ".gitignore":
            under = os.path.dirname(under)
        if is_caption(under):
            under = os.path.dirname(under)
        where = confine_change(under, tuple(top.path for top in tops))
        inside = [top.path for top in tops if is_within(where, top.path)]
        if where == EVERYTHING or os.path.isdir(where) or (inside and not os.path.lexists(where)):
            return where
        names = [os.path.relpath(where, top) for top in inside] or [os.path.basename(where)]
        return where if any(map(self._wanted.match_file, names)) else None

    def _name_entry(self, found: Entry) -> Entry:
        # A project's documents have one root today and two tomorrow.
        alone = len(self._roots) == 1 and self._roots[0].scope != "project"
        top = resolve_root(self._roots[0]) if alone else ""
        inside = top and is_within(found.path, top)
        above = os.path.dirname(top) if found.path == top else top
        key = os.path.relpath(found.path, above) if inside else shorten_path(found.path)
        entry = replace(found, key=key)
        return stamp_captions(entry) if get_suffix(found.path) in IMAGES else entry


def _search(finder: FileFinder, top: Root, where: str) -> bool:
    """Search the part of a root that a change can affect; False when it hides the changed path."""
    if where == top.path or not is_within(where, top.path):
        finder.search(top, top.path)
        return True
    is_directory = os.path.isdir(where)
    passes = finder.filter.may_search(top.path, where if is_directory else os.path.dirname(where))
    if is_directory:
        if passes:
            finder.search(top, where)
        return passes
    if passes and not finder.filter.explain_file(where, os.path.relpath(where, top.path)):
        finder.add(where, top.scope)
        return True
    return not os.path.lexists(where)


# Find files that match, below directories that are neither excluded nor ignored.

_OUTSIDE = "outside the pattern"
_NEEDS = "needs "
_EXCLUDED = "excluded"
_IGNORED = "ignored by git"
_APART = "a repository of its own"


@dataclass(frozen=True, slots=True)
class Filter:
    """The relative paths that count, and the ignore rules that apply on top (None: none).

    `unreadable` has the suffixes without a reader, each with the command that installs it,
    `unwanted` patterns of files to leave out by their reasons. A project ends where another
    repository begins.
    """

    wanted: GitIgnoreSpec
    excluded: GitIgnoreSpec
    ignores: Ignores | None
    unreadable: Mapping[str, str]
    unwanted: Mapping[str, GitIgnoreSpec] = field(default_factory=dict)
    is_in_project: bool = False

    def explain_file(self, path: str, relative: str) -> str:
        """Return why a file does not count, "" where it does."""
        if not self.wanted.match_file(relative):
            return _OUTSIDE
        if self.excluded.match_file(relative):
            return _EXCLUDED
        if self.ignores and self.ignores.ignores(path, is_directory=False):
            return _IGNORED
        for why, spec in self.unwanted.items():
            if spec.match_file(relative):
                return why
        cure = self.unreadable.get(get_suffix(path))
        return f"{_NEEDS}{cure}" if cure else ""

    def explain_directory(self, path: str, relative: str) -> str:
        """Return why a directory is not searched, "" where it is."""
        if os.path.basename(path) in PRUNED:
            return PRUNED_REASON
        if self.excluded.match_file(relative + "/"):
            return _EXCLUDED
        if self.is_in_project and is_repository(path):
            return _APART
        ignored = self.ignores and self.ignores.ignores(path, is_directory=True)
        return _IGNORED if ignored else ""

    def may_search(self, top: str, path: str) -> bool:
        """Return whether every directory from a root (exclusive) down to `path` may be searched."""
        inside = os.path.relpath(path, top).split(os.sep) if path != top else []
        steps = ["/".join(inside[: i + 1]) for i in range(len(inside))]
        return not any(self.explain_directory(os.path.join(top, step), step) for step in steps)


@dataclass(slots=True)
class FileFinder:
    """The results of one scan so far, by real path; the first root to reach a file has it."""

    filter: Filter
    symlinks: Symlinks
    files: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)

    def search(self, root: Root, start: str) -> None:
        """Search from `start`, a real directory at or below the root's real path, downwards.

        A root that is a file was named itself: it counts whatever the patterns say.
        """
        if os.path.isfile(start):
            return self.add(start, root.scope)
        if problem := check_root(Root(start)):
            return self.problems.append(problem)
        walk = Walk(self.symlinks)

        def find_prefix(directory: str) -> str:
            """Return the path of a directory below the root, through the links to it."""
            return os.path.join(walk.reached[directory], "")[len(os.path.join(root.path, "")) :]

        def descend(entry: os.DirEntry[str]) -> bool:
            relative = find_prefix(os.path.dirname(entry.path)) + entry.name
            why_not = self.filter.explain_directory(entry.path, relative)
            if why_not:
                self.left_out.counts[f"directory: {why_not}"] += 1
            return not why_not

        for directory, found in walk.walk_directories(start, descend):
            prefix = find_prefix(directory)
            for entry in found:
                why_not = self.filter.explain_file(entry.path, prefix + entry.name)
                if not is_regular(entry):
                    if not why_not and not is_directory(entry):
                        reason = "not a regular file, or a link that leads nowhere"
                        self.problems.append(Problem(entry.path, reason))
                elif not why_not:
                    self.add(entry.path, root.scope)
                elif why_not == _OUTSIDE or why_not.startswith(_NEEDS):
                    self.left_out.count_suffix(why_not, entry.name)
                else:
                    self.left_out.counts[why_not] += 1
        self.problems.extend(walk.problems)

    def add(self, path: str, scope: str) -> None:
        """Add a regular file, unless it has vanished."""
        try:
            status = os.stat(path)
        except OSError:
            return
        # The directory is real already, and it is slow to resolve a whole path.
        real = resolve_path(path) if os.path.islink(path) else path
        self.files.setdefault(real, make_entry(real, scope, status))


# Program texts, without those that a program wrote: they are recognised by their names in a scan,
# and by their texts when they are read: they say so, or have lines that no person writes.

_CODE = tuple(f"**/*{ignore_case(suffix)}" for suffix in sorted(CODE))
_UNWANTED = {
    "generated": (
        "*.generated.*", "*_generated.*", "*.gen.go", "*.gen.ts", "*_pb2.py", "*_pb2_grpc.py",
        "*.pb.go", "*_pb.js", "*_pb.d.ts", "*.pb.cc", "*.pb.h", "*.g.dart", "*.g.cs",
        "*.designer.cs", "zz_generated.*",
    ),
    "minified": ("*.min.*", "*-min.js", "*-min.css", "*.bundle.js", "*.chunk.js"),
}  # fmt: skip
_HEAD_LINES = 20
_IN_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|<!--|\"\"\"|''')")
_NOTICE = re.compile(
    r"@generated\b|<auto-generated|\bcode generated\b.*\bdo not edit"
    r"|generated by the protocol buffer"
    r"|\b(?:auto(?:matically|-)? ?generated|generated by)\b.*\b(?:do not|don't) (?:edit|modify)",
    re.IGNORECASE,
)
# Characters: a text by a person has 40 to a line, one of a minifier thousands.
_LONG_LINES = 250
_SHORTEST = 2_000


class CodeFiles(Files):
    """Enumerate and read the program texts of directory trees, and roots that are files.

    Options: those of files, `pattern` by default the suffixes of program texts; `generated`
    (false), also read generated and minified files.
    """

    kind: ClassVar[str] = "code"
    defaults: ClassVar[Mapping[str, object]] = {
        **DEFAULTS,
        "pattern": _CODE,
        "generated": False,
    }

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots, options)
        self._generated = bool(options.get("generated"))
        if not self._generated:
            self._unwanted = {why: compile_patterns(names) for why, names in _UNWANTED.items()}

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one file; a generated or minified one is skipped."""
        reading = super().read(entry, cursor)
        reasons = [detect_machine_text(artifact.raw) for artifact in reading.artifacts]
        why = next(filter(None, reasons), "")
        return Reading((), skipped={why: 1}) if why and not self._generated else reading


def detect_machine_text(raw: object) -> str:
    """Return "generated" or "minified" for a text by a program, "" for one by a person."""
    text = str(raw.get("text") or "") if isinstance(raw, Mapping) else ""
    if len(text) >= _SHORTEST and len(text) > _LONG_LINES * (text.count("\n") + 1):
        return "minified"
    head = text.split("\n", _HEAD_LINES)[:_HEAD_LINES]
    has_notice = any(_IN_COMMENT.match(line) and _NOTICE.search(line[:500]) for line in head)
    return "generated" if has_notice else ""
