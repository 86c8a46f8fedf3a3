"""Enumerate and read the files of one kind of guidance: what its three sources share."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from irdaemon.runtime import toml
from irdaemon.source.affected import EVERYTHING, affected
from irdaemon.source.expected import Expected, SeenPath, why_not_below
from irdaemon.source.frontmatter import Front, decode, front
from irdaemon.source.guidance.guidance_finder import GuidanceFinder, GuidanceTop, product_in
from irdaemon.source.guidance.kind import Kind
from irdaemon.source.opening import read_regular, resolved
from irdaemon.source.options import checked, number
from irdaemon.source.plugin_store import (
    control_files,
    plugin_at,
    settings_roots,
    store_of,
    why_not_in_use,
)
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import at_or_under
from irdaemon.types import Artifact, Entry, Reading, Root, Scan, SourceError

_OPTIONS = {"max_depth": int, "max_bytes": int}
_LONG_ENDINGS = (".agent.md", ".prompt.md", ".instructions.md")


@dataclass(frozen=True, slots=True)
class Written:
    """One file as read: in whose format, from which plugin, and its content.

    `path` is the one it is known by, through a link or not.
    """

    entry: Entry
    path: str
    product: str
    plugin: str
    parts: Front
    digest: str
    flags: tuple[str, ...]

    @property
    def stem(self) -> str:
        """Return the file's name without its ending."""
        name = os.path.basename(self.path)
        long = next((ending for ending in _LONG_ENDINGS if name.endswith(ending)), "")
        return name.removesuffix(long) if long else os.path.splitext(name)[0]

    def artifact(
        self, raw: Mapping[str, Any], stated: Mapping[str, Any], flags: tuple[str, ...] = ()
    ) -> Artifact:
        """Return the artifact of what was read; `stated` joins what is known of every file."""
        flags = (*self.flags, *flags)
        place = {"product": self.product, "scope": self.entry.scope, "plugin": self.plugin}
        return Artifact(
            artifact_id=self.entry.key,
            raw=raw,
            name=raw["name"],
            pointer=self.entry.path,
            metadata=_stated({**place, **stated, "flags": list(flags)}),
            digest=self.digest,
            flags=flags,
        )


class GuidanceFiles:
    """Enumerate and read guidance of one kind below directories and in plugin stores.

    Options: `max_depth` (8), how far below a root a file may lie; `max_bytes` (2,000,000), the
    largest file to read. `made` gives the artifact of a file, or why it is passed over.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        kind: Kind,
        made: Callable[[Written], Artifact | str],
        roots: tuple[Root, ...],
        options: Mapping[str, object],
    ):
        given = checked(kind.name, options, _OPTIONS)
        self._kind = kind
        self._made = made
        self._roots = roots
        self._depth = number(given, "max_depth", 8)
        self._max_bytes = number(given, "max_bytes", 2_000_000)

    def roots(self) -> tuple[Root, ...]:
        """Return the given places, and the settings that enable the plugins in them."""
        settings = settings_roots(self._stores())
        return (*self._roots, *settings)

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the files; of plugin stores, the deciding JSON files are read."""
        tops = self._tops()
        where = EVERYTHING if under is None else self._affected(under, tops)
        if where and os.path.isfile(where) and not self._kind.may_be(where):
            return Scan((), ())
        finder = GuidanceFinder(self._kind, tops, Symlinks.of(self._roots))
        for top in _narrowed(tops, where):
            if os.path.lexists(where) or not where:
                finder.search(top)
        return _scan(finder, where)

    def expected(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.expected."""
        tops = {top.path: top for top in self._tops()}

        def file(seen: SeenPath) -> str | None:
            top = tops.get(seen.top)  # none of a settings file beside the roots
            if top is None:
                return None
            known = top.given if seen.path == seen.top else os.path.join(top.given, seen.relative)
            if not self._kind.product(known, top.own):
                return None
            return why_not_in_use(seen.path, self._kind.name)

        def directory(seen: SeenPath) -> str:
            return why_not_below(seen, self._depth)

        return Expected(file, directory)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one file; what is not of this kind after all is counted as skipped."""
        made = self._made(self._written(entry))
        return Reading((), skipped={made: 1}) if isinstance(made, str) else Reading((made,))

    def _written(self, entry: Entry) -> Written:
        data = read_regular(entry.path, self._max_bytes)
        text, flags = decode(data)
        tops = [top for top in self._tops() if at_or_under(entry.path, top.path)]
        path = tops[0].known_as(entry.path) if tops else entry.path
        product = product_in(self._kind, entry.path, tops) or self._kind.product(path, own=True)
        plugin = plugin_at(entry.path, self._stores()) if entry.scope == "plugin" else ""
        parts = _parts(entry.path, text)
        digest = hashlib.sha256(data).hexdigest()
        return Written(entry, path, product, plugin, parts, digest, (*flags, *parts.flags))

    def _tops(self) -> tuple[GuidanceTop, ...]:
        tops: dict[str, GuidanceTop] = {}
        for root in self._roots:
            path = resolved(root.path)
            own = os.path.basename(root.path.rstrip("/")) in self._kind.folders
            tops.setdefault(
                path, GuidanceTop(path, root.path.rstrip("/"), root.scope, self._depth, own)
            )
        return tuple(tops.values())

    def _stores(self) -> list[str]:
        return [top.path for top in self._tops() if store_of(top.path) == top.path]

    def _affected(self, under: str, tops: tuple[GuidanceTop, ...]) -> str:
        stores = [store for store in [store_of(under), *self._stores()] if store]
        if any(under in control_files(store) for store in stores):
            return EVERYTHING
        if os.path.basename(under) == "plugin.json" and store_of(under):
            return EVERYTHING
        return affected(under, tuple(top.path for top in tops))


def _stated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is empty; false is a value."""
    return {key: value for key, value in fields.items() if value or value is False}


def _narrowed(tops: tuple[GuidanceTop, ...], where: str) -> list[GuidanceTop]:
    """Return what of the roots a change at `where` can affect.

    In a store, and where only a link can lead, that is all: the answer is then cut to `where`.
    """
    around = [top for top in tops if where and at_or_under(where, top.path)]
    if not around or store_of(where):
        return list(tops)
    return [narrow for top in around if (narrow := top.narrowed(where))]


def _scan(finder: GuidanceFinder, where: str) -> Scan:
    found = [entry for entry in finder.entries.values() if at_or_under(entry.path, where)]
    outside = not any(at_or_under(where, top.path) for top in finder.tops)
    if where and not found and outside and os.path.lexists(where):
        return Scan((), ())
    problems = (
        problem
        for problem in dict.fromkeys(finder.problems)
        if at_or_under(problem.path, where) or at_or_under(where, problem.path)
    )
    return Scan(tuple(sorted(found, key=lambda e: e.key)), (where,), tuple(problems))


def _parts(path: str, text: str) -> Front:
    if not path.endswith(".toml"):
        return front(text)
    try:
        return Front(toml.loads(text), "")
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not valid TOML: {error}", "repair the file") from error
