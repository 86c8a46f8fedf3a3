"""The library profile's tool to see what the library holds and where."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from irclient.client import Client
from irclient.mcp.daemon import Daemon
from irclient.mcp.sanitise import as_place, one_line
from irclient.mcp.tools import READS, Tools, answered

OVERVIEW = """\
See what the library holds and where. Use it before you write a document, or when the user asks \
what is in there. view "sections": each source with its directories, counts and some titles; \
"stats": totals; "tree": directories down to `depth` with the number of documents in each."""

_PAGE = 1_000
_EXAMPLES = 3


class Source(BaseModel, frozen=True):
    """One corpus of the library."""

    source: str
    kind: str
    paths: list[str]
    documents: int
    state: str
    examples: list[str]


class Directory(BaseModel, frozen=True):
    """A directory, and how many documents lie in it or below."""

    path: str
    documents: int


class Overview(BaseModel, frozen=True):
    """One view of the library."""

    view: str
    sources: list[Source] | None = None
    directories: list[Directory] | None = None
    documents: int
    chunks: int
    embeddings: int


class Sights:
    """The tool, asking one daemon."""

    def __init__(self, daemon: Daemon):
        self._daemon = daemon

    def add_to(self, tools: Tools) -> None:
        """Offer the tool."""
        tools.add_tool(
            self.overview, name="GetLibraryOverview", description=OVERVIEW, annotations=READS
        )

    async def overview(
        self,
        context: Context[Any, Any],
        view: Literal["sections", "stats", "tree"] = "sections",
        depth: Annotated[int, Field(ge=1, le=8)] = 1,
    ) -> Annotated[CallToolResult, Overview]:
        """Answer with one view of the library."""
        seen = await self._daemon.ask(lambda client: _overview(client, view, depth), context)
        return answered("\n".join(_overview_lines(seen)), seen)


def _overview(client: Client, view: str, depth: int) -> Overview:
    corpora = client.status()["corpora"]
    return Overview(
        view=view,
        sources=[_source(client, each) for each in corpora] if view == "sections" else None,
        directories=_tree(client, corpora, depth) if view == "tree" else None,
        documents=sum(each["artifacts"] for each in corpora),
        chunks=sum(each["records"] for each in corpora),
        embeddings=sum(each["vectors"] for each in corpora),
    )


def _source(client: Client, corpus: dict[str, Any]) -> Source:
    some = client.artifacts(corpus["name"], limit=_EXAMPLES)
    return Source(
        source=corpus["name"],
        kind=corpus["kind"],
        paths=corpus["roots"],
        documents=corpus["artifacts"],
        state=corpus["state"],
        examples=[one_line(each["name"]) for each in some],
    )


def _tree(client: Client, corpora: list[dict[str, Any]], depth: int) -> list[Directory]:
    counted: Counter[str] = Counter()
    for corpus in corpora:
        roots = [os.path.realpath(root) for root in corpus["roots"]]
        for held in _all_of(client, corpus["name"]):
            for root in roots:
                counted.update(_directories(held["pointer"], root, depth))
    return [Directory(path=as_place(path), documents=counted[path]) for path in sorted(counted)]


def _directories(pointer: str, root: str, depth: int) -> Iterator[str]:
    """Yield the directories that a path lies in, from its root down to a depth."""
    if not pointer.startswith(root + "/"):
        return
    parts = os.path.relpath(os.path.dirname(pointer), root).split("/")
    below = [] if parts == ["."] else parts[:depth]
    for end in range(len(below) + 1):
        yield os.path.join(root, *below[:end])


def _all_of(client: Client, corpus: str) -> Iterator[dict[str, Any]]:
    after = ""
    while page := client.artifacts(corpus, after=after, limit=_PAGE):
        yield from page
        after = f"{corpus}/{page[-1]['artifact_id']}"


def _overview_lines(seen: Overview) -> Iterator[str]:
    for source in seen.sources or ():
        some = f", such as {'; '.join(source.examples)}" if source.examples else ""
        yield f"- {source.source} ({source.kind}, {source.state}): {source.documents:,}{some}"
        yield f"  in {', '.join(source.paths)}"
    for directory in seen.directories or ():
        yield f"- {directory.path}: {directory.documents:,}"
    yield (f"{seen.documents:,} documents, {seen.chunks:,} chunks, {seen.embeddings:,} embeddings")
