"""Ask configured MCP servers for their tools, and store the answers as dumps.

Asking a stdio server means running its command. So nothing happens on its own: a person names the
servers, and must name the file too if it belongs to a checkout. The daemon takes no part; its
source of kind mcp_tools finds the dumps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TextIO
from urllib.parse import urlsplit

from irclient.agents.install.json_file import JsonText
from irclient.counts import format_count
from irclient.errors import IRError, NotFound, QueryError, Unavailable
from irclient.installation import make_extra_command
from irclient.terminal.ending import report_error
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.help import SECONDS, add_repeated, argument, command
from irclient.terminal.output import note, print_line
from irdaemon.config.edit import write_privately
from irdaemon.runtime import toml
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.mcp_tools import find_dump_directory
from irdaemon.source.redact import Redactor

# The user's own settings below the home directory; agents keep their servers under one of the keys.
_FILES = (
    ".claude.json",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".copilot/mcp-config.json",
    ".config/opencode/opencode.json",
)
_KEYS = ("mcpServers", "mcp_servers", "servers", "mcp")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
_NAME = re.compile(r"[\w.@ -]{1,100}\Z")
_PAGES = 100
# A value this short is an option or a word, not a credential.
_PLAIN_CHARS = 3
_STDERR_LINES = 50


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A server configured in the file `origin`: a command to run, or a URL to ask.

    Arguments, variables, headers and URLs hold credentials, so only its program or host is shown.
    """

    name: str
    origin: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return _show_host(self.url) if self.url else _show_program(self.command)

    def hide_values(self, text: str) -> str:
        """Remove the values of this server's configuration, and any secrets, from a text."""
        for value in sorted(self._list_values(), key=len, reverse=True):
            text = text.replace(value, "...")
        return Redactor("all").redact_text(text)

    def _list_values(self) -> Iterator[str]:
        words = (*self.command[1:], *" ".join(self.command).split()[1:])
        values = (*words, *self.env.values(), *self.headers.values(), self.url, self.cwd)
        for value in {*values, *map(_fill_variable, values)}:
            if len(value) > _PLAIN_CHARS:
                yield value


def list_or_keep(names: Sequence[str], files: Sequence[str], timeout: float) -> bool:
    """List the configured servers, or store the tools of those named; return whether all answered.

    Servers and dumps are printed to stdout, errors to stderr.
    """
    home = os.path.expanduser("~")
    servers = find_servers(home, [os.path.abspath(file) for file in files])
    if not names:
        for server in servers.values():
            print_line(f"{server.name}  {server}  ({server.origin})")
        if not servers:
            print_line("no servers")
        return True
    is_new = not os.path.isdir(find_dump_directory(home, os.environ))
    asked = [_ask_and_keep(server, home, timeout) for server in choose_servers(servers, names)]
    if any(asked) and is_new:
        note("irdaemon restart makes the daemon find and watch them")
    return all(asked)


def _ask_and_keep(server: ToolServer, home: str, timeout: float) -> bool:
    try:
        tools = ask_server(server, timeout)
        print_line(
            f"{keep_tools(server, tools, home, os.environ)}  {format_count(len(tools), 'tool')}"
        )
    except IRError as error:
        report_error("irdaemon", error)
        return False
    return True


def find_servers(home: str, files: Sequence[str] = ()) -> dict[str, ToolServer]:
    """Return the servers in the given files, or in the user's own; the first of each name wins.

    Raises QueryError if a given file cannot be used; the user's own are skipped then.
    """
    found: dict[str, ToolServer] = {}
    for path in files or [os.path.join(home, name) for name in _FILES]:
        try:
            settings = _read(path)
        except (OSError, ValueError, RecursionError) as error:
            if files:
                reason = error.strerror if isinstance(error, OSError) else error
                raise QueryError(f"{path}: {reason}", "name a file of MCP servers") from error
            continue
        for server in _read_servers(settings, path):
            found.setdefault(server.name, server)
    return found


def choose_servers(servers: Mapping[str, ToolServer], names: Sequence[str]) -> list[ToolServer]:
    """Return the named servers. Raises NotFound for the first that is not configured."""
    for name in names:
        if name not in servers:
            known = ", ".join(sorted(servers)) or "none"
            near = did_you_mean(name, servers)
            raise NotFound(f"no MCP server {name!r} is configured{near}", f"servers: {known}")
    return [servers[name] for name in names]


def ask_server(server: ToolServer, timeout: float) -> list[dict[str, Any]]:
    """Return the tools of a server as it lists them; runs its command if it has one.

    Prints its stderr, without credentials. Raises Unavailable if it cannot be asked, or does not
    answer within `timeout` seconds.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            return _list_tools(server, timeout, stderr)
        finally:
            stderr.seek(0)
            for line in islice(stderr, _STDERR_LINES):
                note(f"{server.name}: {server.hide_values(line.rstrip())}")


def _list_tools(server: ToolServer, timeout: float, stderr: TextIO) -> list[dict[str, Any]]:
    try:
        return asyncio.run(_request_tools(server, timeout, stderr))
    except ModuleNotFoundError as error:
        raise Unavailable(
            "asking a server needs the package mcp", make_extra_command("mcp")
        ) from error
    except TimeoutError as error:
        message = f"{server.name} did not answer within {timeout:g} s"
        raise Unavailable(message, "--timeout gives it longer") from error
    except Exception as error:  # a foreign process or the SDK may raise anything
        reason = _find_innermost(error)
        message = f"{server.name} cannot be asked: {server.hide_values(reason)}"
        raise Unavailable(message, f"it is {server}") from error


def keep_tools(
    server: ToolServer, tools: list[dict[str, Any]], home: str, env: Mapping[str, str]
) -> str:
    """Store the tools of a server as its dump; return the path."""
    if not _NAME.match(server.name) or server.name.startswith("."):
        raise QueryError(f"{server.name!r} is not a valid file name", "rename the server")
    path = os.path.join(find_dump_directory(home, env), f"{server.name}.json")
    write_privately(path, json.dumps({"tools": tools}, indent=1, ensure_ascii=False) + "\n")
    return path


async def _request_tools(
    server: ToolServer, timeout: float, stderr: TextIO
) -> list[dict[str, Any]]:
    from mcp import Client

    found: list[dict[str, Any]] = []
    async with asyncio.timeout(timeout), Client(_open_transport(server, stderr)) as client:
        cursor = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += [
                tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if not cursor:
                break
    return found


def _open_transport(server: ToolServer, stderr: TextIO) -> Any:
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    if server.url:
        return _connect_http(_fill_variable(server.url), fill_variables(server.headers))
    program, *args = map(_fill_variable, server.command)
    # The SDK passes on only a few variables; these are the ones that the file sets.
    env, cwd = fill_variables(server.env) or None, _fill_variable(server.cwd) or None
    params = StdioServerParameters(command=program, args=args, env=env, cwd=cwd)
    return stdio_client(params, errlog=stderr)


@asynccontextmanager
async def _connect_http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Connect to a server over HTTP; a client with headers of its own is ours to close."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=headers, follow_redirects=True) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def _read(path: str) -> Mapping[str, Any]:
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode("utf-8-sig")
    # These settings may have comments and trailing commas.
    value = toml.parse_toml(text) if path.endswith(".toml") else JsonText(text).root.value
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _read_servers(settings: Mapping[str, Any], origin: str) -> Iterator[ToolServer]:
    for key in _KEYS:
        named = settings.get(key)
        for name, about in named.items() if isinstance(named, dict) else ():
            server = _read_server(str(name), about, origin) if isinstance(about, dict) else None
            if server:
                yield server


def _read_server(name: str, about: Mapping[str, Any], origin: str) -> ToolServer | None:
    """Return the server that a setting describes; None if it has neither command nor URL."""
    command = about.get("command")
    first = [command] if isinstance(command, str) else command
    rest = about.get("args")
    words = [*(first if isinstance(first, list) else ()), *(rest if isinstance(rest, list) else ())]
    url = about.get("url") or about.get("httpUrl") or ""
    if not words and not url:
        return None
    return ToolServer(
        name,
        origin,
        tuple(map(str, words)),
        _read_texts(about.get("env") or about.get("environment")),
        str(about.get("cwd") or ""),
        "" if words else str(url),
        _read_texts(about.get("headers") or about.get("http_headers")),
    )


def _show_program(command: Sequence[str]) -> str:
    """Return the program of a command; some settings hold the whole command as one text."""
    program = command[0].split(maxsplit=1)[0] if command[0].strip() else "?"
    more = len(command) > 1 or program != command[0]
    return Redactor("all").redact_text(program) + (" ..." if more else "")


def _show_host(url: str) -> str:
    """Return the scheme and host of a URL; the rest may hold credentials."""
    try:
        parts = urlsplit(url)
        host = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return "..."
    return f"{host}/..." if parts.hostname else "..."


def _read_texts(value: object) -> dict[str, str]:
    pairs = value.items() if isinstance(value, dict) else ()
    return {str(key): str(text) for key, text in pairs}


def fill_variables(texts: Mapping[str, str]) -> dict[str, str]:
    """Replace `${NAME}` and `${NAME:-default}` by the variables of the environment."""
    return {key: _fill_variable(text) for key, text in texts.items()}


def _fill_variable(text: str) -> str:
    return _VARIABLE.sub(lambda m: os.environ.get(m[1], m[2] or ""), text)


def _find_innermost(error: BaseException) -> str:
    """Return the message of the first error in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


@command(
    argument("servers SERVER", "ask this server for its tools", nargs="*"),
    add_repeated(
        "--file FILE",
        "read servers from this file alone, such as a project's .mcp.json; may be repeated",
    ),
    argument("--timeout S", "wait S seconds for each (20)", type=SECONDS, default=20.0),
)
def manage_tools(options: argparse.Namespace) -> int:
    """List configured MCP servers, or index their tools.

    List the MCP servers that are configured for coding agents on this machine. If
    you name some, ask them for their tools and keep the answers, so that the tools
    are indexed; a server with a command is started for that.

    examples:
    # which servers are configured?
    irdaemon tools

    # ask one of them
    irdaemon tools github

    # one of a project's own
    irdaemon tools --file .mcp.json database
    """
    return DONE if list_or_keep(options.servers, options.file, options.timeout) else UNHEALTHY
