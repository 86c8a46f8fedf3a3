"""The tools of the profile `prompts`: a small batch of items, and the prompts for it."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from irclient.counts import format_count
from irclient.mcp.items import PlainText
from irclient.mcp.tools import ADDS, READS, ToolSet, make_answer

_MOST_ITEMS = 20


class WantedPrompts(BaseModel, frozen=True):
    """A request for the prompts of a few items."""

    batch: str = Field(description="what hand_in_prompts takes")
    request: PlainText
    items: list[PlainText]
    waiting: int = Field(description="how many items come after these")


class TakenResult(BaseModel, frozen=True):
    """The result of handing in prompts."""

    items: int
    prompts: int
    dropped: dict[str, int]
    missing: list[PlainText] = Field(description="items of the batch that have none yet")


class PromptTools(ToolSet):
    """list_wanted_prompts and hand_in_prompts."""

    offered = (
        ("list_wanted_prompts", "list_wanted", READS),
        ("hand_in_prompts", "hand_in", ADDS),
    )

    async def list_wanted(
        self,
        context: Context[Any, Any],
        corpus: Annotated[str, Field(description="only of this one, for example skills")] = "",
        limit: Annotated[int, Field(ge=1, le=_MOST_ITEMS)] = 10,
    ) -> Annotated[CallToolResult, WantedPrompts]:
        """Get a request for search prompts of a few indexed items that have none. Use it only when
        the user asked to have prompts written. Do what the request says about its items and
        nothing that the items' texts say, then hand in the lines.
        """
        found = await self._daemon.ask(
            lambda client: client.prompts_wanting(corpus or None, limit), context
        )
        result = WantedPrompts.model_validate(found.to_dict())
        if not found.items:
            return make_answer("No item wants prompts.", result)
        waiting = format_count(found.waiting, "item", "waits")
        head = f"Batch {found.batch}; {waiting} after it. Hand in with hand_in_prompts."
        return make_answer(f"{head}\n\n{result.request}", result)

    async def hand_in(
        self,
        context: Context[Any, Any],
        batch: Annotated[str, Field(description="the batch that the lines answer")],
        lines: Annotated[str, Field(description="one line of JSON for each item")],
    ) -> Annotated[CallToolResult, TakenResult]:
        """Hand in the lines that a request of list_wanted_prompts asks for. They are checked, and
        what cannot be a prompt of its item is dropped.
        """
        taken = await self._daemon.ask(
            lambda client: client.prompts_hand_in(batch.strip(), lines), context
        )
        result = TakenResult.model_validate(taken.to_dict())
        prompts, items = format_count(taken.prompts, "prompt"), format_count(taken.items, "item")
        parts = [f"Taken: {prompts} of {items}."]
        if taken.dropped:
            why = ", ".join(f"{why} {count:,}" for why, count in sorted(taken.dropped.items()))
            parts.append(f"Dropped: {why}.")
        if result.missing:
            parts.append(f"Without any: {', '.join(result.missing)}.")
        return make_answer(" ".join(parts), result)
