"""Edges: the references of an artifact, found when it is decomposed.

They are derived from it like its surfaces, and do not make it stale. A package refers to
its dependencies (REF), a skill to its parent (PARENT) and the packages it names (NAMES), a session
to the skills that were used in it (USED).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

from irclient.errors import QueryError
from irdaemon.strategy.kinds import strip_requirement
from irdaemon.text.cues import CueTable
from irdaemon.types import Artifact, Edge

REF, PARENT, NAMES, USED = "REF", "PARENT", "NAMES", "USED"
# Edges of these types lead to a name, whose spelling does not matter; others to an exact id.
BY_NAME = (REF, NAMES, USED)

# The id of an artifact in the same corpus or a name, or (corpus, id) of one in another.
Target = str | Sequence[str]
# From an artifact's id and filter fields to its targets by the type of edge.
EdgeExtractor = Callable[[str, Mapping[str, Any]], Mapping[str, Sequence[Target]]]

_MOST_EDGES = 512
_MOST_NAMED = 32
_READ_CHARS = 50_000
_SEPARATORS = re.compile(r"[-_.]+")
_IS_NAME = re.compile(r"@?[a-z0-9][a-z0-9._/-]{0,99}")

# The words after these on a line are packages; after the second kind only the first word is one.
_INSTALLS = re.compile(
    r"(?<![\w-])(?:pip3? install|uv (?:pip install|add|tool install)|pipx install|poetry add"
    r"|npm (?:install|i|add)|pnpm (?:add|install)|yarn add|cargo (?:add|install)"
    r"|go (?:get|install))[ \t]+([^\n`;&|)\"]*)"
)
_RUNS = re.compile(r"(?<![\w-])(?:uvx|npx|pipx run|pnpm dlx)[ \t]+((?:-\S+[ \t]+)*[^\s`;&|)\"]+)")
_IMPORTS = re.compile(
    r"^[ \t]*import[ \t]+([A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[\w.]+)*)(?: as \w+)?[ \t]*$", re.M
)
_FROM = re.compile(r"^[ \t]*from[ \t]+([A-Za-z_]\w*+)[\w.]*+[ \t]+import[ \t]", re.M)
_REQUIRED = re.compile(r"(?:\bfrom[ \t]+|\brequire\()['\"](@[\w.-]+/[\w.-]+|[A-Za-z][\w.-]*)")
_CALLED = re.compile(r"`(@?[A-Za-z0-9][\w./@-]*)`[ \t]+(?:package|library|module|crate)\b")
_CALLED_SO = re.compile(r"\b(?:package|library|crate) `(@?[A-Za-z0-9][\w./@-]*)`")
# A pattern is tried only on a text with one of these: most have none, and that check is fast.
_CUES: Mapping[re.Pattern[str], tuple[str, ...]] = {
    _INSTALLS: (
        "pip install", "pip3 install", "pipx install", "uv add", "uv tool install", "poetry add",
        "npm i", "npm add", "yarn add", "cargo add", "cargo install", "go get", "go install",
    ),
    _RUNS: ("uvx", "npx", "pipx run", "pnpm dlx"),
    _REQUIRED: ("require(", "from '", 'from "', "from\t"),
    _CALLED: (
        "` package", "` library", "` module", "` crate", "`\tpackage", "`\tlibrary", "`\tmodule",
        "`\tcrate", "`  ", "` \t", "`\t ", "`\t\t",
    ),
    _CALLED_SO: ("package `", "library `", "crate `"),
}  # fmt: skip
_EACH_CUE = [(pattern, cue) for pattern, cues in _CUES.items() for cue in cues]
_CUE_TABLE = CueTable([(cue,) for _, cue in _EACH_CUE])
# Words of a sentence that continues after a command.
_PROSE = frozenset("a an and before first for if in into on once or the then to using with".split())
_WITH_VALUE = ("-r", "--requirement", "-c", "--constraint", "-e", "-i", "--index-url", "-p")


def normalize_name(name: str) -> str:
    """Return a name or requirement in the spelling that links compare.

    That of PEP 503: lower case, without version, extras or marker, every run of `-`, `_` and `.`
    as one `-`.
    """
    return _SEPARATORS.sub("-", strip_requirement(name))


def default_edge_extractor(artifact_id: str, fields: Mapping[str, Any]) -> dict[str, list[Target]]:
    """Return the edges in an artifact's fields: `deps` as REF by name, `parent` as PARENT."""
    own = {
        artifact_id.lower(),
        normalize_name(artifact_id),
        normalize_name(str(fields.get("name") or "")),
    }
    deps, parent = fields.get("deps"), fields.get("parent")
    listed = deps if isinstance(deps, (list, tuple)) else ()
    refs = dict.fromkeys(name for dep in listed if (name := normalize_name(str(dep))) not in own)
    refs.pop("", None)
    edges: dict[str, list[Target]] = {REF: list(refs)} if refs else {}
    if isinstance(parent, str) and parent and parent.lower() not in own:
        edges[PARENT] = [parent]
    return edges


def find_edges(
    artifact: Artifact, fields: Mapping[str, Any], extractor: EdgeExtractor | None = None
) -> tuple[Edge, ...]:
    """Return the edges of an artifact, each once, at most 512.

    An extractor replaces all other edges. Raises QueryError for an invalid target of it.
    """
    if extractor is not None:
        return _make_edges(extractor(artifact.artifact_id, fields))
    found = default_edge_extractor(artifact.artifact_id, fields)
    raw = artifact.raw if isinstance(artifact.raw, Mapping) else {}
    if "parent" in fields:  # a skill, or what is used as one
        found[NAMES] = list(find_named_packages(str(raw.get("text") or "")))
    found[USED] = list(artifact.uses)
    return _make_edges(found)


def _make_edges(found: Mapping[str, Sequence[Target]]) -> tuple[Edge, ...]:
    if not isinstance(found, Mapping):
        raise QueryError(f"edges are a mapping of types to targets, not {found!r:.60}")
    edges = (_make_edge(str(type), target) for type, targets in found.items() for target in targets)
    return tuple(dict.fromkeys(edge for edge in edges if edge.target))[:_MOST_EDGES]


def _make_edge(type: str, target: Target) -> Edge:
    if isinstance(target, str):
        return Edge(type, normalize_name(target) if type in BY_NAME else target)
    if isinstance(target, (list, tuple)) and len(target) == 2:
        corpus, artifact_id = map(str, target)
        return Edge(type, artifact_id, corpus)
    raise QueryError(f"the target of an edge is an id or (corpus, id), not {target!r:.60}")


def find_named_packages(text: str) -> tuple[str, ...]:
    """Return the packages that a text says to install, imports, or calls packages, at most 32.

    Modules of Python's standard library do not count.
    """
    text = text[:_READ_CHARS]
    names = (normalize_name(name.rstrip(".,:")) for name in _find_names(text, _list_likely(text)))
    known = (name for name in names if _IS_NAME.fullmatch(name))
    return tuple(dict.fromkeys(known))[:_MOST_NAMED]


def _list_likely(text: str) -> set[re.Pattern[str]]:
    """Return the patterns that may match in a text, by their cues."""
    possible = compress(_EACH_CUE, _CUE_TABLE.find_possible(text))
    return {pattern for pattern, cue in possible if cue in text}


def _find_names(text: str, likely: Collection[re.Pattern[str]]) -> Iterator[str]:
    if _INSTALLS in likely:
        for found in _INSTALLS.finditer(text):
            yield from _find_installed(found[1])
    if _RUNS in likely:
        yield from (found[1].split()[-1] for found in _RUNS.finditer(text))
    yield from _find_modules(text)
    for pattern in (_REQUIRED, _CALLED, _CALLED_SO):
        if pattern in likely:
            yield from (found[1] for found in pattern.finditer(text))


def _find_installed(words: str) -> Iterator[str]:
    """Yield the packages among the arguments of a command, up to the rest of a sentence."""
    before = ""
    for word in words.split():
        if word in _PROSE or word.startswith("#"):
            return
        is_place = word.startswith((".", "/", "~", "$", "<", "{"))
        if not word.startswith("-") and before not in _WITH_VALUE and not is_place:
            yield word.strip("'\"")
        before = word
        if word.endswith((".", ",", ":")):
            return


def _find_modules(text: str) -> Iterator[str]:
    lines = list(_find_lines("import", text))
    listed = [found[1] for line in lines if (found := _IMPORTS.match(text, line))]
    modules = [each.strip() for names in listed for each in names.split(",")]
    modules += [found[1] for line in lines if (found := _FROM.match(text, line))]
    for module in modules:
        top = module.partition(".")[0]
        if top not in sys.stdlib_module_names:
            yield top


def _find_lines(word: str, text: str) -> Iterator[int]:
    """Yield the start of each line with a word."""
    at = text.find(word)
    while at >= 0:
        yield text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        at = text.find(word, end) if end >= 0 else -1
