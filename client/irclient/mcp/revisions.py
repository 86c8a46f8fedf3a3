"""Leave out of results what the protocol revision of an older client does not know.

Revisions are dates, so they compare as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

# Since when a tool's description, and a result, has these.
_TOOL = {"annotations": "2025-03-26", "title": "2025-06-18", "outputSchema": "2025-06-18"}
_RESULT = {"structuredContent": "2025-06-18"}


async def omit_unknown(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Pass a request on, and leave out of its result what the client's revision does not know."""
    result = await call_next(ctx)
    if not isinstance(result, dict):
        return result
    if ctx.method == "tools/list":
        tools = [_known(tool, _TOOL, ctx.protocol_version) for tool in result["tools"]]
        return {**result, "tools": tools}
    if ctx.method == "tools/call":
        return _known(result, _RESULT, ctx.protocol_version)
    return result


def _known(result: Mapping[str, Any], since: Mapping[str, str], revision: str) -> dict[str, Any]:
    return {key: value for key, value in result.items() if since.get(key, "") <= revision}
