"""Skills: directories with a SKILL.md, in every agent's layout."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

from irdaemon.source import frontmatter as f
from irdaemon.source import lenient_yaml
from irdaemon.source.author_prompts import find_author_prompts, hides_text
from irdaemon.source.markdown import find_paragraph
from irdaemon.source.opening import (
    find_target,
    follow_link,
    has_same_name,
    is_within,
    read_head,
    read_regular,
)
from irdaemon.source.plugin_store import PluginSource, explain_unused, find_plugin, find_store
from irdaemon.source.skills.skill_finder import (
    CODEX_FILE,
    RANKS,
    SKILL_NAMES,
    UNREAD,
    EvalFiles,
    SkillFinder,
    SkillTop,
    find_skill_around,
    list_known_places,
    rank_scope,
)
from irdaemon.source.tree import (
    EVERYTHING,
    PRUNED,
    Expected,
    SeenPath,
    Symlinks,
    confine_change,
    explain_skip,
    find_inside,
    get_directory,
    make_scan,
    resolve_root,
)
from irdaemon.types import Artifact, Entry, Reading, Refused, Root, Scan, SourceError

__all__ = ["Skills", "list_known_places"]


class Skills(PluginSource):
    """Enumerate and read skills below directories and in plugin stores.

    Options: `max_depth` (8), how far below a root a skill may lie; `max_bytes` (4,000,000), the
    largest SKILL.md to read. A skill reached through several links or roots is one entry, in the
    scope that wins: project, user, plugin, other. In a root that is a plugin store, only plugins
    that are installed and enabled count.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_bytes",)

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__("skills", roots, options, 8, 4_000_000)
        self._reads_heads = False

    def make_head_source(self) -> Skills:
        """Return a source that reads only the head of each SKILL.md, name and description in it.

        That takes a fifth of the time. Eval files and what Codex keeps beside it are not read.
        """
        source = copy(self)
        source._reads_heads = True
        return source

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate skills; of plugin stores, the deciding JSON files are read.

        A change to the target of a link is recognised when it is a SKILL.md, a directory that
        holds one, or a directory that vanished.
        """
        where = EVERYTHING if under is None else self._confine(under)
        if where is None:
            return Scan((), ())
        tops = self._choose_tops(where)
        if not tops and where != EVERYTHING and os.path.isdir(where):
            return Scan((), ())
        symlinks = Symlinks.from_roots(self._roots)
        near, far = SkillFinder(symlinks), SkillFinder(symlinks)
        for top in tops:
            (near if is_within(top.path, where) else far).search(top)
        return _merge_scans(where, near, far)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one skill, even with invalid frontmatter."""
        plugin = find_plugin(entry.path, self._list_stores()) if entry.scope == "plugin" else ""
        path = _find_skill_file(entry.path, self._project)
        file = (_read_head if self._reads_heads else _read_whole)(path, self._max_bytes)
        return Reading((make_skill(entry, plugin, file, self._project),), is_head=not file.is_whole)

    def expect_files(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.tree.Expected."""

        def file(seen: SeenPath) -> str | None:
            if seen.name not in SKILL_NAMES:
                return None
            return "" if self._project else explain_unused(seen.path, "skills")

        return Expected(file, lambda seen: explain_skip(seen, self._depth), get_directory)

    def _confine(self, under: str) -> str | None:
        """Return the directory that a change affects; None when it affects no skill."""
        tops = tuple(top.path for top in self._list_tops())
        if self._decides_plugins(under):
            return EVERYTHING
        if directory := _find_skill_directory(under):
            return confine_change(directory, tops)
        where = confine_change(under, tops)
        if where == EVERYTHING or any(is_within(under, top) for top in tops):
            return None if os.path.isfile(under) else where
        return where if _may_be_a_linked_skill(under) else None

    def _list_tops(self) -> tuple[SkillTop, ...]:
        tops: dict[str, SkillTop] = {}
        for root in sorted(self._roots, key=lambda root: rank_scope(root.scope)):
            if path := resolve_root(root):
                tops.setdefault(path, SkillTop(path, root.scope, self._depth))
        return tuple(tops.values())

    def _choose_tops(self, where: str) -> list[SkillTop]:
        """Narrow the roots around a changed path, and add those that could link to it."""
        if where == EVERYTHING:
            return list(self._list_tops())
        if not os.path.isdir(where):
            return []
        around = [top for top in self._list_tops() if is_within(where, top.path)]
        near = [top for top in (self._narrow_top(top, where) for top in around) if top]
        if around and not near:
            return []
        best = min((rank_scope(top.scope) for top in near), default=len(RANKS) + 1)
        rest = (top for top in self._list_tops() if top not in around)
        return near + [t for t in rest if rank_scope(t.scope) < best or is_within(t.path, where)]

    def _narrow_top(self, top: SkillTop, where: str) -> SkillTop | None:
        """Start a search at `where` instead of above it; None when it would not get there."""
        store = "" if self._project else find_store(where)
        if store and is_within(store, top.path):
            return top
        inside = os.path.relpath(where, top.path).split(os.sep)
        if len(inside) > top.depth or not PRUNED.isdisjoint(inside):
            return None
        return SkillTop(where, top.scope, top.depth - len(inside))


def _find_skill_directory(path: str) -> str:
    """Return the directory of the skill that a file belongs to, "" for no such file."""
    if os.path.basename(path) in SKILL_NAMES:
        return os.path.dirname(path)
    if path.endswith("/" + CODEX_FILE):
        return path.removesuffix("/" + CODEX_FILE)
    return find_skill_around(path)


def _may_be_a_linked_skill(path: str) -> bool:
    if os.path.lexists(path):
        return any(os.path.lexists(os.path.join(path, name)) for name in SKILL_NAMES)
    return not os.path.splitext(path)[1]


def _merge_scans(where: str, near: SkillFinder, far: SkillFinder) -> Scan:
    for entry in far.entries.values():
        if is_within(entry.path, where) or entry.key in near.entries:
            near.add(entry)
    return make_scan(near.entries.values(), where, [*near.problems, *far.problems])


# Turn a SKILL.md into an artifact: parse it leniently, and flag every oddity.

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_NAME = 64
_MAX_DESCRIPTION = 1024


# More than all but a few have for front matter, and less than nearly all files.
_HEAD_BYTES = 2_048
_RULE, _BOM = b"---", b"\xef\xbb\xbf"
_CLOSING_RULE = re.compile(rb"^---[ \t]*\r?$", re.M)


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A SKILL.md: where it is, its bytes, and whether those are all or its head alone."""

    path: str
    data: bytes
    is_whole: bool = True


def make_skill(entry: Entry, plugin: str, file: SkillFile, project: str = "") -> Artifact:
    """Make an artifact of a skill. `plugin` and `project`, its project's root, may be "".

    Of a head it has neither body nor digest, and nothing of other files.
    """
    text, decoding = f.decode(file.data)
    parts = f.split_front(text)
    name = f.get_text(parts.fields, "name") or os.path.basename(entry.path)
    evals = EvalFiles(entry.path, project) if file.is_whole else None
    stated = {} if hides_text(parts.head) else parts.fields
    told = find_author_prompts((name, os.path.basename(entry.path)), stated, evals or ())
    flags = (*decoding, *parts.flags, *_find_oddities(name, entry.path, parts.fields))
    if evals and not evals.is_whole:
        flags += (UNREAD,)
    parent = os.path.basename(os.path.dirname(entry.path))
    place = {"parent": parent, "scope": entry.scope, "plugin": plugin, "flags": list(flags)}
    described = f.get_text(parts.fields, "description") or find_paragraph(parts.body)
    description = f"{described} {f.get_text(parts.fields, 'when_to_use')}".strip()
    body = parts.body if file.is_whole else ""
    codex = _read_codex(entry.path, project) if file.is_whole else {}
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "description": description, "text": body, "parent": parent},
        name=name,
        pointer=file.path,
        metadata=_make_metadata(parts.fields, codex) | f.drop_empty(place),
        digest=hashlib.sha256(file.data).hexdigest() if file.is_whole else "",
        flags=flags,
        prompts=told.prompts,
        misses=told.misses,
    )


def _find_skill_file(directory: str, project: str) -> str:
    for name in SKILL_NAMES:
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            if project and not find_inside(path, project):
                raise Refused(f"{path}: a link leads out of the project", "remove the link")
            return path
    raise FileNotFoundError(os.path.join(directory, SKILL_NAMES[0]))


def _read_whole(path: str, max_bytes: int) -> SkillFile:
    return SkillFile(path, read_regular(_resolve_skill_file(path), max_bytes))


def _read_head(path: str, max_bytes: int) -> SkillFile:
    """Read whole lines from a file's beginning; all of it where its front matter goes on."""
    data, is_whole = read_head(_resolve_skill_file(path), max_bytes, _HEAD_BYTES)
    if is_whole:
        return SkillFile(path, data)
    lines = data[: data.rfind(b"\n") + 1]
    front = lines.removeprefix(_BOM).lstrip()
    if not lines or (front.startswith(_RULE) and not _CLOSING_RULE.search(front, len(_RULE))):
        return _read_whole(path, max_bytes)
    return SkillFile(path, lines, is_whole=False)


def _resolve_skill_file(path: str) -> str:
    """Return the real path of a SKILL.md; refuse a link that passes off another file as one."""
    target = find_target(path) or path
    if not has_same_name(path, target):
        raise Refused(f"{path}: a link to {target}, which is not a SKILL.md", "remove the link")
    return target


def _make_metadata(fields: f.Fields, codex: f.Fields) -> dict[str, Any]:
    """Collect the fields worth filtering on; `codex` holds the display texts of Codex."""
    extra = f.get_table(fields, "metadata")
    found: dict[str, Any] = {
        "license": f.get_text(fields, "license"),
        "compatibility": f.get_text(fields, "compatibility"),
        "allowed_tools": f.get_words(fields, "allowed-tools", f.TOOL),
        "paths": f.get_words(fields, "paths"),
        "tags": f.get_words(extra, "tags") or f.get_words(fields, "tags"),
        "author": _get_author(extra) or _get_author(fields),
        "version": f.get_text(extra, "version") or f.get_text(fields, "version"),
        "category": f.get_text(extra, "category") or f.get_text(fields, "category"),
        "display_name": f.get_text(codex, "display_name"),
        "short_description": f.get_text(codex, "short_description")
        or f.get_text(extra, "short-description"),
    }
    return f.drop_empty(found) | {
        "user_invocable": f.get_truth(fields, "user-invocable", True),
        "model_invocable": not f.is_hidden(fields),
        "hidden": f.is_hidden(fields),
    }


def _get_author(fields: f.Fields) -> str:
    return f.get_text(f.get_table(fields, "author"), "name") or f.get_text(fields, "author")


def _find_oddities(name: str, directory: str, fields: f.Fields) -> tuple[str, ...]:
    description = f.get_text(fields, "description")
    found = {
        "name_mismatch": name != os.path.basename(directory),
        "bad_name": len(name) > _MAX_NAME or not _NAME.fullmatch(name),
        "missing_description": not description,
        "long_description": len(description) > _MAX_DESCRIPTION,
        "hidden": f.is_hidden(fields),
    }
    return tuple(flag for flag, is_so in found.items() if is_so)


def _read_codex(directory: str, project: str) -> f.Fields:
    """Return the display texts of a skill for Codex; an invalid file has none."""
    path = os.path.join(directory, CODEX_FILE)
    if (project and not find_inside(path, project)) or not os.path.lexists(path):
        return {}
    try:
        data = read_regular(follow_link(path, by_name=True), lenient_yaml.MAX_CHARS)
    except (FileNotFoundError, SourceError):
        return {}
    value, _ = lenient_yaml.load_yaml(f.decode(data)[0])
    return f.get_table(value, "interface") if isinstance(value, dict) else {}
