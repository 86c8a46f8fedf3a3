"""The library profile: tools to search, read and list documents, by the names of Agent Library.

Those that write are in `writing`, those about directories in `places`.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, BeforeValidator, Field

from irclient.async_client import AsyncClient
from irclient.errors import NotFound, QueryError
from irclient.mcp.daemon import add_nearest, resolve_path
from irclient.mcp.discovery import disclose_item
from irclient.mcp.documents.places import DirectoryTools
from irclient.mcp.documents.search import (
    AssetType,
    LibrarySearch,
    RankedPassages,
    Timeframe,
    search_library,
)
from irclient.mcp.documents.writing import WritingTools
from irclient.mcp.items import (
    DisclosedItem,
    PlainLine,
    PlainPlace,
    format_payload,
    make_payload,
)
from irclient.mcp.tools import READS, Place, Tools, ToolSet, make_answer
from irclient.results import IndexedArtifact
from irclient.types import Disclosure


def _translate_mode(mode: object) -> object:
    """Return the current name of a mode; former ones are part of hybrid."""
    return "hybrid" if mode == "cross_modal" else mode


class Listed(BaseModel, frozen=True):
    """A document of the library."""

    document_id: PlainPlace
    path: PlainPlace
    title: PlainLine
    updated_at: str
    asset_type: str


class Contents(BaseModel, frozen=True):
    """A page of the library; `next` is the `after` of the next one, empty at the end."""

    documents: list[Listed]
    next: str


class LibraryTools(ToolSet):
    """The tools of the library profile."""

    offered = (
        ("SearchLibrary", "search", READS),
        ("ReadFromLibrary", "read", READS),
        ("ListLibraryContents", "contents", READS),
    )

    def add_to(self, tools: Tools) -> None:
        """Offer the tools, and those about directories and to write."""
        super().add_to(tools)
        DirectoryTools(self._daemon).add_to(tools)
        WritingTools(self._daemon).add_to(tools)

    async def search(
        self,
        context: Context[Any, Any],
        query: str,
        mode: Annotated[
            Literal["hybrid", "semantic", "keyword"], BeforeValidator(_translate_mode)
        ] = "hybrid",
        source: Annotated[str, Field(description="only this corpus")] = "",
        asset_type: AssetType | None = None,
        timeframe: Annotated[
            Timeframe | None, Field(description="only documents and past sessions carry a time")
        ] = None,
        start_date: date | None = None,
        end_date: Annotated[date | None, Field(description="included")] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        passages_per_document: Annotated[int, Field(ge=1, le=10)] = 1,
        place: Place = "",
    ) -> Annotated[CallToolResult, RankedPassages]:
        """Search the user's library (documents, notes, skills, packages, past sessions) and get
        ranked passages. Use it before you answer from memory when the task may depend on something
        the user has written down or done before. It always ranks something: read a hit with
        ReadFromLibrary before you rely on it, or ask discover when you want only what really
        applies.
        """
        search = LibrarySearch(
            query=query,
            mode=mode,
            source=source,
            asset_type=asset_type,
            timeframe=timeframe,
            start=start_date,
            end=end_date,
            limit=limit,
            passages=passages_per_document,
            place=self._choose_place(place),
        )
        found = await self._daemon.ask(lambda client: search_library(client, search), context)
        return make_answer(found.format_text(), found)

    async def read(
        self,
        context: Context[Any, Any],
        path: Annotated[str, Field(description="absolute path, or a document_id")],
        place: Place = "",
    ) -> Annotated[CallToolResult, DisclosedItem]:
        """Read a whole document of the library, by the document_path or document_id of a search
        hit. Use it before you cite or follow a hit.
        """
        wanted, place = path.strip(), self._choose_place(place)
        document = make_payload(
            await self._daemon.ask(lambda client: _read_document(client, wanted, place), context)
        )
        return make_answer(format_payload(document), document)

    async def contents(
        self,
        context: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=1000)] = 100,
        source: Annotated[str, Field(description="only this corpus")] = "",
        after: Annotated[str, Field(description="`next` of the page before")] = "",
        place: Place = "",
    ) -> Annotated[CallToolResult, Contents]:
        """List the documents of the library, page by page. Use it to see what there is; to find
        something, SearchLibrary is the better way.
        """
        place = self._choose_place(place)
        held = await self._daemon.ask(
            lambda client: client.artifacts(source or None, after=after, limit=limit, place=place),
            context,
        )
        documents = [_describe_document(each) for each in held]
        more = documents[-1].document_id if len(documents) == limit else ""
        lines = [f"{each.document_id}  {each.title}" for each in documents]
        lines += [f"(more: after={more!r})"] if more else []
        text = "\n".join(lines) or "There is nothing more."
        return make_answer(text, Contents(documents=documents, next=more))


async def _read_document(client: AsyncClient, path: str, place: str) -> Disclosure:
    reference = await _find_reference(client, path, place)
    return await disclose_item(client, reference, place=place)


async def _find_reference(client: AsyncClient, path: str, place: str) -> str:
    """Return the reference of the document at a path. Only what is indexed is ever read."""
    if not path.startswith(("/", "~")):
        return path
    real = await resolve_path(path)
    found = await client.artifacts(under=real, limit=10, place=place)
    held = [each for each in found if each.pointer == real]
    if not held:
        missing = NotFound(f"the library has no document at {path}")
        raise await add_nearest(client, missing, os.path.basename(real), place)
    references = [f"{each.corpus}/{each.artifact_id}" for each in held]
    if len(references) > 1:
        raise QueryError(
            f"{path} holds several documents", f"read one of them: {', '.join(references)}, ..."
        )
    return references[0]


def _describe_document(held: IndexedArtifact) -> Listed:
    return Listed(
        document_id=f"{held.corpus}/{held.artifact_id}",
        path=held.pointer,
        title=held.name,
        updated_at=datetime.fromtimestamp(held.indexed_at, UTC).isoformat(timespec="seconds"),
        asset_type=held.asset_type,
    )
