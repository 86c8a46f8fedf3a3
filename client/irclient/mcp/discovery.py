"""The two tools that every profile has, discover and disclose, and `skill://` resources."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import CallToolResult
from pydantic import Field

from irclient.async_client import AsyncClient
from irclient.errors import NotFound
from irclient.mcp.daemon import add_nearest
from irclient.mcp.items import (
    DisclosedItem,
    DiscoverResult,
    format_payload,
    format_result,
    make_payload,
    make_result,
)
from irclient.mcp.tools import READS, Place, Tools, ToolSet, make_answer
from irclient.types import Disclosure, Query, SelectSpec

_SCHEME = "skill://"
_MOST_ITEMS = 10


class Discovery(ToolSet):
    """discover, disclose and the resources."""

    offered = (("discover", "discover", READS), ("disclose", "disclose", READS))
    has_titles = True
    always_loaded = ("discover",)

    def add_to(self, tools: Tools) -> None:
        """Offer the tools and the resources."""
        super().add_to(tools)
        # An id is looked up in the index, never opened as a path.
        tools.resource(
            _SCHEME + "{corpus}/{+artifact_id}",
            name="item",
            title="An indexed item",
            description="The text of an item that discover found, by its reference.",
            mime_type="text/markdown",
            security=ResourceSecurity(exempt_params={"artifact_id"}),
        )(self.read_resource)

    async def discover(
        self,
        context: Context[Any, Any],
        query: Annotated[str, Field(description="the task or need, in plain words")],
        corpora: Annotated[
            tuple[str, ...], Field(description="look only in these, for example skills")
        ] = (),
        max_items: Annotated[int, Field(ge=1, le=_MOST_ITEMS)] = 3,
        fresh: Annotated[
            bool, Field(description="wait until files written just now are included")
        ] = False,
        related: Annotated[
            bool, Field(description="name the skill, package or session that goes with each item")
        ] = False,
        place: Place = "",
    ) -> Annotated[CallToolResult, DiscoverResult]:
        """Find out whether the user already has a skill, package, past session or document for the
        task at hand. Use it at the start of a task, before you write something from scratch or
        search the web, and whenever the user mentions "the way we do it", a tool or a file you do
        not know. It answers in milliseconds from a local index, with at most a few items, or with
        none when nothing applies: then go on without.
        """
        wanted = Query(
            query,
            corpora,
            k=_MOST_ITEMS,
            select=SelectSpec(max_k=max_items),
            fresh=fresh,
            related=related,
            place=self._choose_place(place),
        )
        answer = await self._daemon.ask(lambda client: client.discover(wanted), context)
        result = make_result(answer)
        return make_answer(format_result(result), result)

    async def disclose(
        self,
        context: Context[Any, Any],
        reference: Annotated[str, Field(description="CORPUS/ID, as discover gave it")],
        level: Literal["body", "bundled"] = "body",
        place: Place = "",
    ) -> Annotated[CallToolResult, DisclosedItem]:
        """Read an item that discover found: the text of a skill, document or past session, or a
        package's README. Use it before you rely on an item, when its summary looks right. Level
        "bundled" adds the scripts and references that come with a skill.
        """
        item = await self._read_payload(reference, level, context, place)
        return make_answer(format_payload(item), item)

    async def read_resource(self, corpus: str, artifact_id: str, context: Context[Any, Any]) -> str:
        """Return an item as a text with a line on its source."""
        try:
            return format_payload(
                await self._read_payload(f"{corpus}/{artifact_id}", "body", context)
            )
        except ToolError as error:
            unknown = isinstance(error.__cause__, NotFound)
            raise (ResourceNotFoundError if unknown else ResourceError)(str(error)) from error

    async def _read_payload(
        self, reference: str, level: str, context: Context[Any, Any], place: str = ""
    ) -> DisclosedItem:
        wanted, place = reference.strip().removeprefix(_SCHEME), self._choose_place(place)
        return make_payload(
            await self._daemon.ask(lambda c: disclose_item(c, wanted, level, place), context)
        )


async def disclose_item(
    client: AsyncClient, reference: str, level: str = "body", place: str = ""
) -> Disclosure:
    """Return the content of an item. Raises NotFound with the nearest references."""
    try:
        return (await client.disclose([reference], level, place=place))[0]
    except NotFound as error:
        raise await add_nearest(client, error, reference, place) from error
