"""Which MCP servers are configured, and what asking one of them comes to."""

import json
import os
import sys

import pytest

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.cli.tools import (
    ToolServer,
    ask_server,
    choose_servers,
    fill_variables,
    find_servers,
    keep_tools,
    list_or_keep,
)
from irdaemon.source.mcp_tools import McpTools, list_known_places
from irdaemon.source.places import keep_existing
from tests.support.installed import write
from tests.support.planted import GITHUB

SERVER = '''
from mcp.server import MCPServer
server = MCPServer("finder")
@server.tool()
def find(pattern: str, limit: int = 5) -> str:
    """Find files by a pattern."""
    return ""
server.run()
'''


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".claude.json", '{"mcpServers": {"f": {"command": "find", "args": ["-x"]}}}'),
        (
            ".gemini/settings.json",
            '// mine\n{"mcpServers": {"f": {"command": "find", /* all */ "args": ["-x",],},},}',
        ),
        (".codex/config.toml", '[mcp_servers.f]\ncommand = "find"\nargs = ["-x"]\n'),
        (".cursor/mcp.json", '{"mcpServers": {"f": {"command": "find", "args": ["-x"]}}}'),
        (
            ".config/opencode/opencode.json",
            '{"mcp": {"f": {"type": "local", "command": ["find", "-x"]}}}',
        ),
    ],
)
def test_the_servers_of_every_agent_are_found_in_the_users_own_files(tmp_path, path, text):
    write(tmp_path / path, text)
    server = find_servers(str(tmp_path))["f"]
    assert server.command == ("find", "-x")
    assert server.origin == str(tmp_path / path)


def test_a_server_may_be_a_url_with_headers_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FINDER_TOKEN", "secret")
    about = {
        "url": "http://127.0.0.1:1/mcp",
        "headers": {"Authorization": "Bearer ${FINDER_TOKEN}", "X": "${env:ABSENT:-none}"},
    }
    write(tmp_path / ".cursor/mcp.json", json.dumps({"mcpServers": {"f": about}}))
    server = find_servers(str(tmp_path))["f"]
    assert server.url == "http://127.0.0.1:1/mcp"
    assert fill_variables(server.headers) == {"Authorization": "Bearer secret", "X": "none"}
    assert "secret" not in repr(server)


def test_a_file_that_is_named_is_read_alone(tmp_path):
    write(tmp_path / ".claude.json", '{"mcpServers": {"own": {"command": "a"}}}')
    project = write(tmp_path / "app/.mcp.json", '{"mcpServers": {"theirs": {"command": "b"}}}')
    assert set(find_servers(str(tmp_path))) == {"own"}
    assert set(find_servers(str(tmp_path), [str(project)])) == {"theirs"}


def test_a_broken_file_is_passed_over_unless_it_was_named(tmp_path):
    broken = write(tmp_path / ".claude.json", "{")
    write(tmp_path / ".cursor/mcp.json", '{"mcpServers": {"f": {"command": "a"}, "no": {}}}')
    assert set(find_servers(str(tmp_path))) == {"f"}
    with pytest.raises(QueryError, match=str(broken)):
        find_servers(str(tmp_path), [str(broken)])


def test_a_server_that_is_not_configured_is_told_with_the_nearest(tmp_path):
    servers = {"finder": ToolServer("finder", "x", ("find",))}
    with pytest.raises(NotFound, match="did you mean 'finder'"):
        choose_servers(servers, ["findr"])


def test_the_tools_of_a_server_that_is_run_become_a_dump_the_source_reads(tmp_path):
    script = write(tmp_path / "server.py", SERVER)
    server = ToolServer("finder", "x", (sys.executable, str(script)))
    path = keep_tools(server, ask_server(server, 30.0), str(tmp_path), {})
    assert os.stat(path).st_mode & 0o077 == 0
    source = McpTools(keep_existing(list_known_places(str(tmp_path), {})), {})
    (entry,) = source.scan().entries
    (tool,) = source.read(entry).artifacts
    assert tool.artifact_id == "finder/find"
    assert tool.metadata["param_names"] == ["pattern", "limit"]
    assert tool.raw["description"] == "Find files by a pattern."


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (ToolServer("gone", "x", ("/no/such/program",)), "gone"),
        (ToolServer("mute", "x", ("sleep", "60")), "mute did not answer within"),
        (ToolServer("shut", "x", url="http://127.0.0.1:9/mcp"), "shut"),
    ],
)
def test_a_server_that_does_not_answer_is_told_by_name(server, said):
    with pytest.raises(Unavailable, match=said):
        ask_server(server, 0.5)


def test_a_name_that_leads_out_of_the_directory_is_no_file(tmp_path):
    for name in ("../x", "a/b", ".hidden"):
        with pytest.raises(QueryError):
            keep_tools(ToolServer(name, "x", ("a",)), [], str(tmp_path), {})


TOKENS = ("tok-argument", "tok-variable", "tok-header", "tok-password", "tok-path", "tok-query")
URL = "https://ann:tok-password@127.0.0.1:9/tok-path/mcp?key=tok-query"
SERVERS = [
    ToolServer("run", "x", ("/bin/npx", "--password", "tok-argument"), {"TOKEN": "tok-variable"}),
    ToolServer("whole", "x", ("/bin/npx --password tok-argument",)),
    ToolServer("asked", "x", url=URL, headers={"Authorization": "Bearer tok-header"}),
]


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_a_server_is_told_by_its_program_or_host_alone(server):
    assert str(server) in ("/bin/npx ...", "https://127.0.0.1:9/...")
    said = f"cannot be asked: {server.command} {server.env} {server.headers} {server.url}"
    assert not [token for token in TOKENS if token in server.hide_values(said)]


def test_the_list_of_servers_and_what_goes_wrong_hold_no_credentials(tmp_path, monkeypatch, capfd):
    script = "import sys, os; print(sys.argv, os.environ['T'], 'no \\x1b[31m', file=sys.stderr)"
    about = {
        "runs": {
            "command": sys.executable,
            "args": ["-c", script, "tok-argument"],
            "env": {"T": "tok-variable", "G": GITHUB},
        },
        "asks": {"url": URL, "headers": {"X": "tok-header"}},
    }
    write(tmp_path / ".claude.json", json.dumps({"mcpServers": about}))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert list_or_keep((), (), 5.0)
    assert not list_or_keep(("runs", "asks"), (), 5.0)
    told = "".join(capfd.readouterr())
    assert "runs: ['-c', '...'] ... no \\x1b[31m" in told
    assert "asks cannot be asked" in told
    assert not [token for token in (*TOKENS, GITHUB, "\x1b") if token in told]
