"""A package: its description, its README in chunks, and optionally its dependencies.

A project's dependency is the same thing in one record, however long its README.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from irdaemon.strategy.chunked import split_text
from irdaemon.types import IndexPlan, Surface

_END_OF_NAME = re.compile(r"[<>=!~;@\[ (]")


def strip_requirement(requirement: str) -> str:
    """Return the lower-cased name of a requirement, without version, extras or marker.

    A leading `@` belongs to an npm scope and stays. For Python's requirements it is the name that
    `packaging` finds (a test compares them); npm's, Cargo's and Go's, which that cannot parse, are
    cut at the same characters.
    """
    requirement = requirement.strip()
    scope, rest = ("@", requirement[1:]) if requirement.startswith("@") else ("", requirement)
    return (scope + _END_OF_NAME.split(rest, maxsplit=1)[0]).strip().lower()


def describe_dependencies(deps: Iterable[str]) -> str:
    """Return "Depends on: a, b" over bare names, each once, in order; "" for none."""
    names = dict.fromkeys(filter(None, map(strip_requirement, deps)))
    return f"Depends on: {', '.join(names)}" if names else ""


class Package:
    """Make a description surface, README chunks and, with `embed_deps`, one surface of names.

    The description comes first, so README chunk j has `surface_index` j + 1 while its own
    `chunk_index` is j; empty surfaces are dropped, so that offset is not to be relied on. The deps
    surface comes last and moves nothing. Sizes are as of `Chunked`.
    """

    named: ClassVar[bool] = True
    synopsis_fields: ClassVar[tuple[str, ...]] = ("name", "description", "readme")
    token_model: str | None = None

    def __init__(
        self,
        chunk_size: int = 1500,
        overlap: int = 200,
        embed_deps: bool = False,
        deps_template: Callable[[list[str]], str] | None = None,
        max_tokens: int | None = None,
        token_model: str | None = None,
    ):
        self.chunk_size = chunk_size
        self.overlap = overlap
        self.embed_deps = embed_deps
        self.deps_template = deps_template
        self.max_tokens = max_tokens
        if token_model is not None:  # so that the recipe of others stays what it was
            self.token_model = token_model

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        parts = raw if isinstance(raw, Mapping) else {"name": str(raw)}
        name = str(parts.get("name") or artifact_id)
        readme = str(parts.get("readme") or "")
        deps = list(parts.get("deps") or ())
        fields = {
            "name": name,
            "owner": parts.get("owner"),
            "has_readme": bool(readme.strip()),
            "deps": deps,
            **(metadata or {}),
        }
        described = f"{name}: {parts.get('description') or ''}".strip(": ").strip()
        keywords = " ".join((metadata or {}).get("keywords") or ())
        surfaces = [
            Surface(artifact_id, "description", described, "field", lexical=keywords),
            *self._make_readme_surfaces(artifact_id, readme),
            *self._make_dep_surfaces(artifact_id, deps),
        ]
        return IndexPlan(fields, tuple(s for s in surfaces if s.text.strip()))

    def _make_readme_surfaces(self, artifact_id: str, readme: str) -> list[Surface]:
        limits = (self.chunk_size, self.overlap, self.max_tokens, self.token_model)
        chunks = split_text(readme, *limits)
        places = ({"chunk_index": at, "n_chunks": len(chunks)} for at in range(len(chunks)))
        return [
            Surface(artifact_id, "readme_chunk", chunk, "chunk", place)
            for chunk, place in zip(chunks, places, strict=True)
        ]

    def _make_dep_surfaces(self, artifact_id: str, deps: list[str]) -> list[Surface]:
        write = self.deps_template or describe_dependencies
        return [Surface(artifact_id, "deps", write(deps), "field")] if self.embed_deps else []


# The kind of the surface of a package's own words.
OWN_WORDS = "own_words"
# More keywords than these describe nothing.
_MOST_KEYWORDS = 20


class Dependency:
    """Make one surface, the description, and with `own_words` one of its own words, if it has any.

    Embedded are name, description and keywords; README, exported names and aliases are read by the
    lexical leg alone, so that no line which describes a dependency quotes them. Measured on two
    projects, that ranks above a README in chunks, and above records of their own for exported
    names. What a package says itself (comments, messages of errors, names of tests) is much, and
    stands in a record with a length of its own: by description and README a package is found as if
    that were not there. The text of both is one, so that there is one vector for them.
    """

    named: ClassVar[bool] = True
    synopsis_fields: ClassVar[tuple[str, ...]] = ("name", "description", "readme")

    def __init__(self, own_words: bool = True):
        self.own_words = own_words

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        parts = raw if isinstance(raw, Mapping) else {"name": str(raw)}
        name = str(parts.get("name") or artifact_id)
        readme = str(parts.get("readme") or "").strip()
        keywords = ", ".join(map(str, (parts.get("keywords") or ())[:_MOST_KEYWORDS]))
        described = f"{name}: {parts.get('description') or ''}".strip(": ").strip()
        described += f" ({keywords})" if keywords else ""
        given = parts.get("exports") or ""
        exports = given if isinstance(given, str) else " ".join(map(str, given))
        fields = {
            "name": name,
            "has_readme": bool(readme),
            "deps": list(parts.get("deps") or ()),
            **(metadata or {}),
        }
        beside = f"{exports}\n{readme}\n{parts.get('aliases') or ''}".strip()
        said = str(parts.get("words") or "") if self.own_words else ""
        surfaces = [
            Surface(artifact_id, kind, described, "field", lexical=words)
            for kind, words in (("description", beside), (OWN_WORDS, said))
        ]
        return IndexPlan(fields, tuple(surfaces[: 2 if said else 1]))
