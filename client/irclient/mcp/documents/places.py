"""The library profile's tools about directories: where a document goes, and a scan at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from irclient.async_client import AsyncClient
from irclient.counts import format_count
from irclient.library import (
    DOCUMENT_KINDS,
    make_overview,
    make_similar_query,
    suggest_directories,
)
from irclient.mcp.daemon import report, resolve_path
from irclient.mcp.items import PlainLine, PlainPlace
from irclient.mcp.tools import READS, RESCANS, ToolSet, make_answer
from irclient.results import CorpusStatus, JobProgress

# The library profile's tool for an overview of the library.


class LibrarySource(BaseModel, frozen=True):
    """One corpus of the library."""

    source: str
    kind: str
    paths: list[str]
    documents: int
    state: str
    examples: list[PlainLine]


class Directory(BaseModel, frozen=True):
    """A directory, and the number of documents in it or below."""

    path: PlainPlace
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


def _format_overview(seen: Overview) -> Iterator[str]:
    for source in seen.sources or ():
        some = f", such as {'; '.join(source.examples)}" if source.examples else ""
        yield f"- {source.source} ({source.kind}, {source.state}): {source.documents:,}{some}"
        yield f"  in {', '.join(source.paths)}"
    for directory in seen.directories or ():
        yield f"- {directory.path}: {directory.documents:,}"
    if seen.asset_types:
        yield ", ".join(f"{count:,} {name}" for name, count in seen.asset_types.items())
    counts = {"document": seen.documents, "chunk": seen.chunks, "embedding": seen.embeddings}
    yield ", ".join(format_count(count, noun) for noun, count in counts.items())


_NOT_FORCED = """\
include_ignored and force_include are not taken: what a .gitignore leaves out stays out, as that \
is the user's decision (gitignore = false of the corpus in the configuration). Call again without \
them."""

_POLL_S = 0.2
# An MCP client may give up on a longer call; the job goes on anyway.
_WAIT_S = 30.0


class Suggestion(BaseModel, frozen=True):
    """A directory, and why a document may belong there."""

    path: PlainPlace
    source: str
    confidence: float
    reason: PlainLine
    writable: bool


class Suggestions(BaseModel, frozen=True):
    """Where a new document may go, best first."""

    suggestions: list[Suggestion]
    note: str


class Indexed(BaseModel, frozen=True):
    """The result of scanning a directory's corpora; for a new one the number of documents."""

    directory: str
    sources: list[str]
    finished: bool
    reports: list[str]
    files: int | None = None
    left_out: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _NewDirectory:
    path: str
    recursive: bool
    pattern: str
    dry_run: bool


class DirectoryTools(ToolSet):
    """The tools about directories."""

    offered = (
        ("GetLibraryOverview", "overview", READS),
        ("SuggestLibraryLocation", "suggest", READS),
        ("IndexDirectoryToLibrary", "index", RESCANS),
    )

    async def overview(
        self,
        context: Context[Any, Any],
        view: Literal["sections", "stats", "tree"] = "sections",
        depth: Annotated[int, Field(ge=1, le=8)] = 1,
    ) -> Annotated[CallToolResult, Overview]:
        """See what the library holds and where. Use it before you write a document, or when the
        user asks what is in there. view "sections": each source with its directories, counts and
        some titles; "stats": totals; "tree": directories down to `depth` with the number of
        documents in each.
        """
        found = await self._daemon.ask(lambda client: make_overview(client, view, depth), context)
        seen = Overview.model_validate(found)
        return make_answer("\n".join(_format_overview(seen)), seen)

    async def suggest(
        self, context: Context[Any, Any], title: str, content_summary: str = ""
    ) -> Annotated[CallToolResult, Suggestions]:
        """Find the directory where a new document belongs, next to similar ones. Use it before you
        save something worth keeping: then write it there as a file, and it is in the library within
        a second. Where `writable` is true AddToLibrary writes, too, and into the managed directory.
        """
        text = f"{title} {content_summary}".strip()
        found = await self._daemon.ask(lambda client: _make_suggestions(client, text), context)
        lines = [f"- {each.path} ({each.source}): {each.reason}" for each in found.suggestions]
        return make_answer("\n".join([*lines, found.note]), found)

    async def index(
        self,
        context: Context[Any, Any],
        directory: str,
        recursive: Annotated[bool, Field(description="of a new directory")] = True,
        pattern: Annotated[str, Field(description="a glob, for a new directory")] = "",
        dry_run: Annotated[bool, Field(description="only say what would be indexed")] = False,
        include_ignored: bool = False,
        force_include: tuple[str, ...] = (),
    ) -> Annotated[CallToolResult, Indexed]:
        """Look again at a directory of the library at once, and wait until it is done. Rarely
        needed, as changes are followed by themselves. A directory outside the library is added only
        where the user allows that; try with dry_run first, which says what would be indexed.
        """
        if include_ignored or force_include:
            raise ToolError(_NOT_FORCED)
        real = await resolve_path(directory)
        corpora = await self._daemon.ask(lambda client: _find_corpora(client, real), context)
        names = [each.name for each in corpora]
        if not any(each.kind in DOCUMENT_KINDS for each in corpora):
            try:
                return await self._add(context, _NewDirectory(real, recursive, pattern, dry_run))
            except ToolError:  # it may be one of skills, or of packages
                if not corpora:
                    raise
        if pattern or not recursive:
            raise ToolError(
                f"{directory} is in the library already, as {', '.join(names)}: recursive and"
                " pattern are for a new directory. Leave them out to look at it again."
            )
        jobs = [] if dry_run else await self._daemon.ask(lambda c: _build(c, names), context)
        reports, finished = await self._follow(jobs, context)
        indexed = Indexed(directory=real, sources=names, finished=finished, reports=reports)
        if dry_run:
            return make_answer(f"It is in the library already, as {', '.join(names)}.", indexed)
        state = "Done" if finished else "Still going on, and it will end by itself"
        return make_answer(f"{state}: {'; '.join(reports) or 'nothing reported yet'}", indexed)

    async def _add(
        self, context: Context[Any, Any], new: _NewDirectory
    ) -> Annotated[CallToolResult, Indexed]:
        """Add a directory as a corpus of its own, or preview that."""
        done = await self._daemon.ask(
            lambda client: client.doc_index(new.path, new.recursive, new.pattern, new.dry_run),
            context,
        )
        reports, finished = await self._follow(list(done.jobs), context)
        if done.jobs and finished:  # the corpus is known now
            jobs = await self._daemon.ask(lambda client: client.build(done.corpus), context)
            reports, finished = await self._follow(jobs, context)
        indexed = Indexed(
            directory=new.path,
            sources=[done.corpus],
            finished=finished,
            reports=reports,
            files=done.files,
            left_out=dict(done.left_out),
        )
        state = "Would be indexed" if new.dry_run else "Indexed"
        left_out = "; ".join(f"{count:,} {why}" for why, count in done.left_out.items())
        text = f"{state} as {done.corpus}: {format_count(done.files, 'document')}"
        return make_answer(f"{text} (left out: {left_out})" if left_out else text, indexed)

    async def _follow(self, jobs: list[int], context: Context[Any, Any]) -> tuple[list[str], bool]:
        """Report the progress of jobs until they end or the time is up."""
        since = anyio.current_time()
        with anyio.move_on_after(_WAIT_S):
            while True:
                states = await self._daemon.ask(
                    lambda client: _ask_progress(client, jobs), context, since
                )
                reports = [f"{each.corpus}: {each.report}" for each in states]
                if all(each.ended for each in states):
                    return reports, True
                done, todo = (sum(each.done for each in states), sum(each.todo for each in states))
                await report(context, since, f"{done:,} of {todo:,} read")
                await anyio.sleep(_POLL_S)
        return [], False


async def _ask_progress(client: AsyncClient, jobs: list[int]) -> list[JobProgress]:
    return [await client.progress(job) for job in jobs]


async def _make_suggestions(client: AsyncClient, text: str) -> Suggestions:
    corpora = [each for each in (await client.status()).corpora if each.kind in DOCUMENT_KINDS]
    if not corpora:
        note = "There is no corpus of documents: ask the user for `irc add NAME files DIRECTORY`."
        return Suggestions(suggestions=[], note=note)
    answer = await client.discover(make_similar_query(text, corpora), noted=False)
    suggestions = [
        Suggestion.model_validate(asdict(each))
        for each in suggest_directories(answer.results, corpora)
    ]
    note = "Write the file there; it is in the library within a second."
    if not answer.results:
        note = "No document is similar, so none of these is better than another: ask the user."
    return Suggestions(suggestions=suggestions, note=note)


async def _find_corpora(client: AsyncClient, directory: str) -> list[CorpusStatus]:
    """Return the corpora with a root above or below a directory."""
    return [
        corpus
        for corpus in (await client.status()).corpora
        if any([_overlap(await resolve_path(root), directory) for root in corpus.roots])
    ]


async def _build(client: AsyncClient, names: list[str]) -> list[int]:
    return [job for name in names for job in await client.build(name)]


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
