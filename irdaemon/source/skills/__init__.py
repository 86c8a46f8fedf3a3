"""Skills: directories with a SKILL.md, in every agent's layout."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from typing import ClassVar

from irdaemon.source import lenient_yaml
from irdaemon.source.affected import EVERYTHING, affected
from irdaemon.source.expected import Expected, SeenPath, directory_of, why_not_below
from irdaemon.source.frontmatter import Front, decode, front
from irdaemon.source.markdown import first_paragraph
from irdaemon.source.opening import (
    at_or_under,
    followed,
    read_regular,
    resolved,
    same_name,
    target_of,
)
from irdaemon.source.options import checked, number
from irdaemon.source.plugin_store import (
    control_files,
    plugin_at,
    settings_roots,
    store_of,
    why_not_in_use,
)
from irdaemon.source.skills import fields as f
from irdaemon.source.skills.skill_finder import (
    CODEX_FILE,
    RANKS,
    SKILL_NAMES,
    SkillFinder,
    SkillTop,
    known_places,
    known_roots,
    rank,
)
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import PRUNED
from irdaemon.types import Artifact, Entry, Reading, Refused, Root, Scan, SourceError

__all__ = ["Skills", "known_places", "known_roots"]

_OPTIONS = {"max_depth": int, "max_bytes": int}


class Skills:
    """Enumerate and read skills below directories and in plugin stores.

    Options: `max_depth` (8), how far below a root a skill may lie; `max_bytes` (4,000,000), the
    largest SKILL.md to read. A skill reached through several links or roots is one entry, in the
    scope that wins: project, user, plugin, other. In a root that is a plugin store, only plugins
    that are installed and enabled count.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_bytes",)

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        given = checked("skills", options, _OPTIONS)
        self._roots = roots
        self._depth = number(given, "max_depth", 8)
        self._max_bytes = number(given, "max_bytes", 4_000_000)

    def roots(self) -> tuple[Root, ...]:
        """Return the given directories, and the settings that enable the plugins in them."""
        settings = settings_roots(self._stores())
        return (*self._roots, *settings)

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate skills; of plugin stores, the deciding JSON files are read.

        A change to what a link leads to is recognised when it is a SKILL.md, a directory that
        holds one, or a directory that vanished.
        """
        where = EVERYTHING if under is None else self._affected(under)
        if where is None:
            return Scan((), ())
        tops = self._tops_for(where)
        if not tops and where != EVERYTHING and os.path.isdir(where):
            return Scan((), ())
        symlinks = Symlinks.of(self._roots)
        near, far = SkillFinder(symlinks), SkillFinder(symlinks)
        for top in tops:
            (near if at_or_under(top.path, where) else far).search(top)
        return _joined(where, near, far)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one skill, whatever state its frontmatter is in."""
        plugin = plugin_at(entry.path, self._stores()) if entry.scope == "plugin" else ""
        return Reading((skill(entry, plugin, self._max_bytes),))

    def expected(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.expected."""

        def directory(seen: SeenPath) -> str:
            return why_not_below(seen, self._depth)

        return Expected(_why_no_skill, directory, directory_of)

    def _affected(self, under: str) -> str | None:
        """Return the directory a change is confined to; None when it is no concern of ours."""
        tops = tuple(top.path for top in self._tops())
        if self._decides_plugins(under):
            return EVERYTHING
        if directory := _skill_directory(under):
            return affected(directory, tops)
        where = affected(under, tops)
        if where == EVERYTHING or any(at_or_under(under, top) for top in tops):
            return None if os.path.isfile(under) else where
        return where if _may_be_a_linked_skill(under) else None

    def _decides_plugins(self, path: str) -> bool:
        if os.path.basename(path) == "plugin.json":
            return bool(store_of(path))
        return any(path in control_files(store) for store in self._stores())

    def _tops(self) -> tuple[SkillTop, ...]:
        tops: dict[str, SkillTop] = {}
        for root in sorted(self._roots, key=lambda root: rank(root.scope)):
            path = resolved(root.path)
            tops.setdefault(path, SkillTop(path, root.scope, self._depth))
        return tuple(tops.values())

    def _tops_for(self, where: str) -> list[SkillTop]:
        """Narrow the roots around a changed path, and add those that could link to it."""
        if where == EVERYTHING:
            return list(self._tops())
        if not os.path.isdir(where):
            return []
        around = [top for top in self._tops() if at_or_under(where, top.path)]
        near = [top for top in (_narrowed(top, where) for top in around) if top]
        if around and not near:
            return []
        best = min((rank(top.scope) for top in near), default=len(RANKS) + 1)
        rest = (top for top in self._tops() if top not in around)
        return near + [t for t in rest if rank(t.scope) < best or at_or_under(t.path, where)]

    def _stores(self) -> list[str]:
        return [top.path for top in self._tops() if store_of(top.path) == top.path]


def _why_no_skill(seen: SeenPath) -> str | None:
    return why_not_in_use(seen.path, "skills") if seen.name in SKILL_NAMES else None


def _skill_directory(path: str) -> str:
    """Return the skill directory a path is a telling file of, "" when it is none."""
    if os.path.basename(path) in SKILL_NAMES:
        return os.path.dirname(path)
    return path.removesuffix("/" + CODEX_FILE) if path.endswith("/" + CODEX_FILE) else ""


def _may_be_a_linked_skill(path: str) -> bool:
    if os.path.lexists(path):
        return any(os.path.lexists(os.path.join(path, name)) for name in SKILL_NAMES)
    return not os.path.splitext(path)[1]


def _narrowed(top: SkillTop, where: str) -> SkillTop | None:
    """Start a search at `where` instead of above it; None when it would not get there."""
    store = store_of(where)
    if store and at_or_under(store, top.path):
        return top
    inside = os.path.relpath(where, top.path).split(os.sep)
    if len(inside) > top.depth or not PRUNED.isdisjoint(inside):
        return None
    return SkillTop(where, top.scope, top.depth - len(inside))


def _joined(where: str, near: SkillFinder, far: SkillFinder) -> Scan:
    for entry in far.entries.values():
        if at_or_under(entry.path, where) or entry.key in near.entries:
            near.keep(entry)
    problems = [
        problem
        for problem in dict.fromkeys([*near.problems, *far.problems])
        if at_or_under(problem.path, where) or at_or_under(where, problem.path)
    ]
    entries = sorted(near.entries.values(), key=lambda entry: entry.key)
    return Scan(tuple(entries), (where,), tuple(problems))


# Turn a SKILL.md into an artifact: leniently read, every oddity flagged.

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_NAME = 64
_MAX_DESCRIPTION = 1024


def skill(entry: Entry, plugin: str, max_bytes: int) -> Artifact:
    """Read one skill. `plugin` is its plugin's id or "".

    Raises FileNotFoundError when it has no SKILL.md any more, SourceError when it cannot be read.
    """
    path, data = _skill_file(entry.path, max_bytes)
    text, decoding = decode(data)
    parts = front(text)
    name = f.text(parts.fields, "name") or os.path.basename(entry.path)
    flags = (*decoding, *parts.flags, *_oddities(name, entry.path, parts.fields))
    parent = os.path.basename(os.path.dirname(entry.path))
    place = {"parent": parent, "scope": entry.scope, "plugin": plugin, "flags": list(flags)}
    description = _description(parts)
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "description": description, "text": parts.body, "parent": parent},
        name=name,
        pointer=path,
        metadata=f.metadata(parts.fields, _codex(entry.path)) | f.stated(place),
        digest=hashlib.sha256(data).hexdigest(),
        flags=flags,
    )


def _description(parts: Front) -> str:
    described = f.text(parts.fields, "description") or first_paragraph(parts.body)
    return f"{described} {f.text(parts.fields, 'when_to_use')}".strip()


def _skill_file(directory: str, max_bytes: int) -> tuple[str, bytes]:
    for name in SKILL_NAMES:
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            return path, read_regular(_target(path), max_bytes)
    raise FileNotFoundError(os.path.join(directory, SKILL_NAMES[0]))


def _target(path: str) -> str:
    """Return the real path of a SKILL.md; refuse a link that passes off another file as one."""
    target = target_of(path) or path
    if not same_name(path, target):
        raise Refused(f"{path}: a link to {target}, which is no SKILL.md", "remove the link")
    return target


def _oddities(name: str, directory: str, fields: f.Fields) -> tuple[str, ...]:
    description = f.text(fields, "description")
    found = {
        "name_mismatch": name != os.path.basename(directory),
        "bad_name": len(name) > _MAX_NAME or not _NAME.fullmatch(name),
        "missing_description": not description,
        "long_description": len(description) > _MAX_DESCRIPTION,
        "hidden": f.is_hidden(fields),
    }
    return tuple(flag for flag, is_so in found.items() if is_so)


def _codex(directory: str) -> dict[str, object]:
    """Return how Codex displays a skill; a file of that which is not valid gives nothing."""
    beside = os.path.join(directory, CODEX_FILE)
    if not os.path.lexists(beside):  # which most have not
        return {}
    try:
        path = followed(beside, by_name=True)
        data = read_regular(path, lenient_yaml.MAX_CHARS)
    except (FileNotFoundError, SourceError):
        return {}
    value, _ = lenient_yaml.load(decode(data)[0])
    interface = value.get("interface") if isinstance(value, dict) else None
    return interface if isinstance(interface, dict) else {}
