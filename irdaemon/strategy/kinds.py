"""Strategies for one kind of artifact each: skills, rules, turns of sessions, packages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from irdaemon.strategy.chunked import Chunked, split_text
from irdaemon.text.tasks import has_task
from irdaemon.types import IndexPlan, Surface


class Rule:
    """Make a surface of a rule's description, and one per chunk of its text.

    The first is of kind `description`, with the rule's globs as further words of the lexical leg; a
    rule without a description has none. `chunk_size` and `overlap` are in
    characters; a Markdown heading of level one or two begins a new chunk.
    """

    named: ClassVar[bool] = True
    synopsis_fields: ClassVar[tuple[str, ...]] = ("name", "description", "text")

    def __init__(self, chunk_size: int = 1200, overlap: int = 200):
        self.chunk_size = chunk_size
        self.overlap = overlap

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        parts = raw if isinstance(raw, Mapping) else {"text": str(raw)}
        chunked = Chunked(self.chunk_size, self.overlap, headings=True)
        plan = chunked.decompose(artifact_id, str(parts.get("text") or ""), metadata)
        fields = {"name": str(parts.get("name") or artifact_id), **plan.filter_fields}
        surfaces = plan.surfaces
        if description := _get_text(parts, "description"):
            text = f"{parts.get('name') or artifact_id}: {description}"
            globs = " ".join(map(str, parts.get("globs") or ()))
            first = Surface(artifact_id, "description", text, "field", lexical=globs)
            surfaces = (first, *surfaces)
        return IndexPlan(fields, surfaces)


_FIELDS = (
    "session_id", "project", "cwd", "git_branch", "timestamp", "model", "session_title", "outcome",
    "file", "file_written", "commit",
)  # fmt: skip


class ClaudeTurn:
    """Make a surface of each prompt and one of the final answer.

    A prompt that only continues the conversation makes none, unless there would be no surface. With
    `include_full` one more holds the assistant's whole text in the turn, where that is more than
    the final answer. A title record (`record_type` "session_title") makes one surface.
    """

    named: ClassVar[bool] = False

    def __init__(self, include_full: bool = False):
        self.include_full = include_full
        # Part of the recipe: turns are read again where a version adds a field.
        self.fields = _FIELDS

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        turn = raw if isinstance(raw, Mapping) else {}
        fields = {name: turn.get(name) for name in self.fields}
        fields["has_tool_use"] = bool(turn.get("has_tool_use"))
        surfaces = tuple(
            Surface(artifact_id, kind, text, granularity)
            for kind, text, granularity in self._list_parts(turn)
            if text
        )
        return IndexPlan({**fields, **(metadata or {})}, surfaces)

    def _list_parts(self, turn: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        if turn.get("record_type") == "session_title":
            return [("session_title", _get_text(turn, "session_title"), "field")]
        summary, full = _get_text(turn, "assistant_summary"), _get_text(turn, "assistant_full")
        queued = (str(each).strip() for each in turn.get("queued_prompts") or ())
        prompts = [_get_text(turn, "user_prompt"), *queued]
        if summary or any(map(has_task, prompts)):
            prompts = [each for each in prompts if has_task(each)]
        parts = [("user_prompt", each, "field") for each in prompts]
        parts.append(("assistant_summary", summary, "field"))
        if self.include_full and full != summary:
            parts.append(("assistant_full", full, "document"))
        return parts


def _get_text(turn: Mapping[str, Any], key: str) -> str:
    return str(turn.get(key) or "").strip()


BODY_CHARS = 20_000


class Skill:
    """Embed name and description only, as one surface of kind `capability`.

    With `read_body` the lexical leg also reads up to 20,000 characters of the body (`text`) and of
    further words from the source (`lexical`, such as parameter names): measured, that finds more
    without a change to the embedded text.
    """

    named: ClassVar[bool] = True
    synopsis_fields: ClassVar[tuple[str, ...]] = ("name", "description", "text")

    def __init__(self, read_body: bool = True):
        self.read_body = read_body

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        parts = raw if isinstance(raw, Mapping) else {"name": str(raw)}
        name = str(parts.get("name") or artifact_id)
        description = str(parts.get("description") or "")
        body = f"{parts.get('text') or ''}\n{parts.get('lexical') or ''}".strip()
        surface = Surface(
            artifact_id,
            "capability",
            f"{name}\n\n{description}".strip(),
            granularity="field",
            lexical=body[:BODY_CHARS] if self.read_body else "",
        )
        fields = {"name": name, "parent": parts.get("parent"), **(metadata or {})}
        return IndexPlan(fields, (surface,))


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
        ]
        if self.embed_deps:
            write = self.deps_template or describe_dependencies
            surfaces.append(Surface(artifact_id, "deps", write(deps), "field"))
        return IndexPlan(fields, tuple(s for s in surfaces if s.text.strip()))

    def _make_readme_surfaces(self, artifact_id: str, readme: str) -> list[Surface]:
        limits = (self.chunk_size, self.overlap, self.max_tokens, self.token_model)
        chunks = split_text(readme, *limits)
        places = ({"chunk_index": at, "n_chunks": len(chunks)} for at in range(len(chunks)))
        return [
            Surface(artifact_id, "readme_chunk", chunk, "chunk", place)
            for chunk, place in zip(chunks, places, strict=True)
        ]


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
