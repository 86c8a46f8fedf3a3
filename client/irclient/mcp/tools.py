"""The SDK's server adapted to models: short schemas, and errors that say what to do next."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from irclient.mcp.daemon import DaemonCaller

# The effects of a tool.
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def _make_hints(destructive: bool, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )


RESCANS, ADDS, CHANGES = (
    _make_hints(False, True),
    _make_hints(False, False),
    _make_hints(True, True),
)
# An argument of the tools that search.
Place = Annotated[
    str, Field(description="absolute directory of the project at work; else the server's own")
]
# The names of Agent Library's tools.
_PREFIX = "Librarian_"
# How many wrong arguments to name.
_MOST_WRONG = 10


class Tools(MCPServer[Any]):
    """An MCP server that answers unknown tools and wrong arguments with the right ones."""

    async def list_tools(self) -> list[Tool]:
        """Return the tools; their schemas leave out titles that only repeat names."""
        return [
            tool.model_copy(
                update={
                    "input_schema": _drop_titles(tool.input_schema),
                    "output_schema": tool.output_schema and _drop_titles(tool.output_schema),
                }
            )
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool, by its name or Agent Library's name of it; null means the default.

        Raises ToolError that names the nearest tool, or each wrong argument.
        """
        known = {tool.name: tool for tool in await super().list_tools()}
        names = list(known)
        if name not in known and (bare := name.removeprefix(_PREFIX)) in known:
            name = bare
        if name not in known:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ToolError(f"unknown tool {name!r:.200}{hint} Tools here: {', '.join(names)}")
        arguments = {key: each for key, each in arguments.items() if each is not None}
        taken = known[name].input_schema.get("properties", {})
        if unknown := [f"{key!r:.60}" for key in arguments if key not in taken]:
            raise ToolError(
                f"wrong arguments for {name}. It takes {', '.join(taken)}, and not"
                f" {', '.join(unknown[:5])}. Correct them and call again."
            )
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(
                    _describe_wrong_arguments(name, error.__cause__)
                ) from error.__cause__
            raise


class ToolSet:
    """Tools that ask one daemon; `offered` has the name, the method and the hints of each.

    The docstring of a method is what a model reads of its tool.
    """

    offered: tuple[tuple[str, str, ToolAnnotations], ...] = ()
    # Whether a tool's name, as a word, is its title.
    has_titles = False
    # Tools that a client shows its model from the start. It may defer others until the model
    # searches for them, which it never does for a tool that finds things. Claude Code supports
    # this from 2.1.121 on.
    always_loaded: tuple[str, ...] = ()

    def __init__(self, daemon: DaemonCaller):
        self._daemon = daemon

    def _choose_place(self, place: str) -> str:
        """Return the place of a call: the directory it names, or the server's."""
        return os.path.expanduser(place.strip()) or self._daemon.place

    def add_to(self, tools: Tools) -> None:
        """Offer the tools."""
        for name, method, hints in self.offered:
            run = getattr(self, method)
            about = " ".join((run.__doc__ or "").split())
            title = name.capitalize() if self.has_titles else None
            meta = {"anthropic/alwaysLoad": True} if name in self.always_loaded else None
            tools.add_tool(run, name, title, about, hints, meta=meta)


def make_answer(text: str, value: BaseModel) -> CallToolResult:
    """Return a result: the value for programs, and the text for clients that only know text."""
    structured = value.model_dump(mode="json", exclude_none=True)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured
    )


def _describe_wrong_arguments(name: str, error: ValidationError) -> str:
    every = error.errors()
    wrong = [
        f"{'.'.join(map(str, each['loc']))}: {each['msg']} (got {str(each['input'])[:60]!r})"
        for each in every[:_MOST_WRONG]
    ]
    wrong += [f"and {len(every) - _MOST_WRONG:,} more"] if len(every) > _MOST_WRONG else []
    return f"wrong arguments for {name}. {'; '.join(wrong)}. Correct them and call again."


def _drop_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    lean = {key: value for key, value in schema.items() if key != "title"}
    for key in ("properties", "$defs"):  # what is in there are names, one of which may be "title"
        if key in lean:
            lean[key] = {name: _drop_titles(part) for name, part in lean[key].items()}
    if "items" in lean:
        lean["items"] = _drop_titles(lean["items"])
    if "anyOf" in lean:
        lean["anyOf"] = [_drop_titles(part) for part in lean["anyOf"]]
    return lean
