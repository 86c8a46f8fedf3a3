"""The library profile's tool to see what the library holds and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from irclient.async_client import AsyncClient
from irclient.library.places import counted
from irclient.mcp.daemon import DaemonCaller, real_path
from irclient.mcp.sanitise import as_place, one_line
from irclient.mcp.tools import READS, Tools, answered
from irclient.results import CorpusStatus, IndexedArtifact

OVERVIEW = """\
See what the library holds and where. Use it before you write a document, or when the user asks \
what is in there. view "sections": each source with its directories, counts and some titles; \
"stats": totals; "tree": directories down to `depth` with the number of documents in each."""

_PAGE = 1_000
_EXAMPLES = 3


class LibrarySource(BaseModel, frozen=True):
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
    sources: list[LibrarySource] | None = None
    directories: list[Directory] | None = None
    documents: int
    chunks: int
    embeddings: int
    asset_types: dict[str, int] | None = None


class OverviewTool:
    """The tool, asking one daemon."""

    def __init__(self, daemon: DaemonCaller):
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


async def _overview(client: AsyncClient, view: str, depth: int) -> Overview:
    corpora = (await client.status()).corpora
    return Overview(
        view=view,
        sources=[await _source(client, each) for each in corpora] if view == "sections" else None,
        directories=await _tree(client, corpora, depth) if view == "tree" else None,
        documents=sum(each.artifacts for each in corpora),
        chunks=sum(each.records for each in corpora),
        embeddings=sum(each.vectors for each in corpora),
        asset_types=await _asset_types(client, corpora) if view == "stats" else None,
    )


async def _asset_types(client: AsyncClient, corpora: Sequence[CorpusStatus]) -> dict[str, int]:
    types: Counter[str] = Counter()
    for corpus in corpora:
        types.update((await client.info(corpus.name)).asset_types)
    return dict(types.most_common())


async def _source(client: AsyncClient, corpus: CorpusStatus) -> LibrarySource:
    some = await client.artifacts(corpus.name, limit=_EXAMPLES)
    return LibrarySource(
        source=corpus.name,
        kind=corpus.kind,
        paths=list(corpus.roots),
        documents=corpus.artifacts,
        state=corpus.state,
        examples=[one_line(each.name) for each in some],
    )


async def _tree(
    client: AsyncClient, corpora: Sequence[CorpusStatus], depth: int
) -> list[Directory]:
    found: Counter[str] = Counter()
    for corpus in corpora:
        roots = [await real_path(root) for root in corpus.roots]
        pointers = [each.pointer async for each in _all_of(client, corpus.name)]
        found += counted(pointers, roots, depth)
    return [Directory(path=as_place(path), documents=found[path]) for path in sorted(found)]


async def _all_of(client: AsyncClient, corpus: str) -> AsyncIterator[IndexedArtifact]:
    after = ""
    while page := await client.artifacts(corpus, after=after, limit=_PAGE):
        for each in page:
            yield each
        after = f"{corpus}/{page[-1].artifact_id}"


def _overview_lines(seen: Overview) -> Iterator[str]:
    for source in seen.sources or ():
        some = f", such as {'; '.join(source.examples)}" if source.examples else ""
        yield f"- {source.source} ({source.kind}, {source.state}): {source.documents:,}{some}"
        yield f"  in {', '.join(source.paths)}"
    for directory in seen.directories or ():
        yield f"- {directory.path}: {directory.documents:,}"
    if seen.asset_types:
        yield ", ".join(f"{count:,} {name}" for name, count in seen.asset_types.items())
    yield (f"{seen.documents:,} documents, {seen.chunks:,} chunks, {seen.embeddings:,} embeddings")
