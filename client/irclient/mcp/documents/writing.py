"""The library profile's tools that write: add a managed document, replace it, remove it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from irclient.mcp.items import PlainPlace
from irclient.mcp.tools import ADDS, CHANGES, ToolSet, make_answer
from irclient.results import WrittenDocument

_MEANT = {
    "stored": "Stored, and found from now on",
    "stored_partial": "Stored; found by its words now, by its meaning when it is embedded",
    "removed": "Removed",
    "pending": "Written, but the index does not show it yet; that happens by itself",
}


_KEY = re.compile(r"[A-Za-z][\w-]{0,59}", re.ASCII)
_FRONT = re.compile(r"---\n[\w-]+ *:")
_Value = str | int | float | bool | list[str]


class Stored(BaseModel, frozen=True):
    """The state of a document after a change."""

    path: PlainPlace
    document_id: PlainPlace = Field(description="empty once it is removed")
    status: str
    generation: int
    digest: str = Field(description="for if_digest; empty once it is removed")
    trash: PlainPlace = Field(description="where a deleted file is kept")


class WritingTools(ToolSet):
    """The tools that write."""

    offered = (
        ("AddToLibrary", "add", ADDS),
        ("UpdateLibraryDoc", "update", CHANGES),
        ("RemoveFromLibrary", "remove", CHANGES),
    )

    async def add(
        self,
        context: Context[Any, Any],
        title: Annotated[str, Field(description="one line; its file is named after it")],
        content: Annotated[str, Field(description="Markdown or plain text")],
        directory: Annotated[
            str, Field(description="below the managed directory, or absolute")
        ] = "",
        source: Annotated[str, Field(description="where the content comes from")] = "",
        tags: Annotated[tuple[str, ...], Field(description="single words or names")] = (),
        metadata: Annotated[
            dict[str, _Value] | None, Field(description="further front matter")
        ] = None,
    ) -> Annotated[CallToolResult, Stored]:
        """Write a new document into the user's library and have it found from then on. Use it for
        what is worth keeping beyond this session: a decision, a how-to, a summary. SearchLibrary
        first: one that is there already is better updated. Never write secrets. The user may have
        left writing switched off; then the error says how to switch it on.
        """
        text = _add_metadata(content, metadata or {})
        done = await self._daemon.ask(
            lambda client: client.doc_add(title, text, _expand_path(directory), source, tags),
            context,
        )
        return _answer_written(done)

    async def update(
        self,
        context: Context[Any, Any],
        path: Annotated[str, Field(description="absolute path, or a document_id")],
        content: Annotated[str, Field(description="the whole content from now on")],
        if_digest: Annotated[
            str, Field(description="refuse where it has another value by now")
        ] = "",
    ) -> Annotated[CallToolResult, Stored]:
        """Replace the whole content of a document that AddToLibrary wrote. Use it after
        ReadFromLibrary, with all that is to stay; title, date, source and tags stay where the
        content states none. With if_digest, the digest an earlier result gave, nothing is
        overwritten that was written meanwhile.
        """
        done = await self._daemon.ask(
            lambda client: client.doc_update(_expand_path(path), content, if_digest), context
        )
        return _answer_written(done)

    async def remove(
        self,
        context: Context[Any, Any],
        path: Annotated[str, Field(description="absolute path, or a document_id")],
        delete_file: bool = False,
    ) -> Annotated[CallToolResult, Stored]:
        """Take a document that AddToLibrary wrote out of the library. Use it only when the user
        agrees. Its file stays, unless delete_file moves it into the trash, where it is kept for
        thirty days.
        """
        done = await self._daemon.ask(
            lambda client: client.doc_remove(_expand_path(path), delete_file), context
        )
        return _answer_written(done)


def _add_metadata(content: str, metadata: Mapping[str, _Value]) -> str:
    """Add fields to the front matter of a content; its own fields take precedence.

    Raises ToolError for a name that is none, and for what has an argument of its own.
    """
    if own := sorted(metadata.keys() & {"title", "source", "tags"}):
        raise ToolError(f"metadata: {', '.join(own)} is a separate argument. Move it there.")
    if wrong := [f"{key!r:.60}" for key in metadata if not _KEY.fullmatch(key)]:
        raise ToolError(f"metadata: {wrong[0]} is not a field name: use letters, digits, - and _.")
    lines = "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in metadata.items()
    )
    if _FRONT.match(content) and "\n---\n" in content:
        return "---\n" + lines + content.removeprefix("---\n")
    return f"---\n{lines}---\n\n{content}" if lines else content


def _expand_path(path: str) -> str:
    return os.path.expanduser(path.strip())


def _answer_written(done: WrittenDocument) -> CallToolResult:
    stored = Stored.model_validate(done.to_dict())
    known = [stored.document_id, stored.trash and f"its file is {stored.trash}"]
    more = "".join(f" ({each})" for each in known if each)
    return make_answer(f"{_MEANT.get(done.status, done.status)}: {stored.path}{more}", stored)
