"""The MCP server: what MCP clients see of the daemon, over stdio or streamable HTTP.

It is a client of the daemon like any other, in a process of its own. The SDK it is made with is an
extra (`irclient[mcp]`) and slow to import, so nothing outside this package imports it.
"""

from __future__ import annotations

from irclient.errors import Unavailable

PROFILES = ("discover", "library", "prompts")


def require_sdk() -> None:
    """Raise Unavailable, with the command that helps, unless the SDK can be imported."""
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        from irclient.installation import make_extra_command

        cure = make_extra_command("mcp", "irclient")
        raise Unavailable(f"the MCP SDK cannot be used: {error}", cure) from error
