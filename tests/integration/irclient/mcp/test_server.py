"""The MCP server without a daemon: what it offers, to whom, and what it says when asked wrongly."""

import subprocess
import sys

import anyio
import pytest
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError
from starlette.testclient import TestClient

from irclient.errors import QueryError, Timeout, Unreachable
from irclient.mcp import daemon
from irclient.mcp.daemon import DaemonCaller
from irclient.mcp.http import make_guarded_app
from irclient.mcp.server import make_server
from irclient.terminal.hits import REASONS
from irclient.testing import FakeDaemon, hit, selection
from irdaemon.source.frontmatter import split_front

TOKEN = "a-token-of-some-length"
PORT = 7411
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


WRITING = ("AddToLibrary", "UpdateLibraryDoc", "RemoveFromLibrary")


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setattr(daemon, "_RESTART_S", 0.0)
    return lambda profile="discover": make_server(
        profile, DaemonCaller(str(tmp_path / "none"), 1.0)
    )


def offered(tools):
    async def listed():
        async with Client(tools) as client:
            return (await client.list_tools()).tools

    return {tool.name: tool for tool in anyio.run(listed)}


def call(tools, name, arguments):
    async def ask():
        async with Client(tools) as client:
            return await client.call_tool(name, arguments)

    return anyio.run(ask)


def called(tools, name, arguments):
    result = call(tools, name, arguments)
    assert result.is_error
    return result.content[0].text


def test_two_tools_are_offered_and_nine_more_with_the_library(tools):
    assert list(offered(tools())) == ["discover", "disclose"]
    assert list(offered(tools("library"))) == [
        *("discover", "disclose", "SearchLibrary", "ReadFromLibrary", "ListLibraryContents"),
        *("GetLibraryOverview", "SuggestLibraryLocation", "IndexDirectoryToLibrary"),
        *WRITING,
    ]


def test_every_tool_says_when_to_use_it_where_it_is_not_cut_off(tools):
    for tool in offered(tools("library")).values():
        start = tool.description[:512].lower()
        assert any(said in start for said in ("use it", "needed")), tool.name
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.idempotent_hint is (tool.name != "AddToLibrary")
        changes = ("IndexDirectoryToLibrary", *WRITING)
        assert tool.annotations.read_only_hint is (tool.name not in changes)
        destructive = tool.name in ("UpdateLibraryDoc", "RemoveFromLibrary")
        assert bool(tool.annotations.destructive_hint) is destructive
    assert len(tools("library").instructions) <= 512


@pytest.mark.parametrize("profile_tool", [("discover", "query"), ("disclose", "reference")])
def test_half_a_character_is_an_error_that_says_so(profile_tool):
    tool, argument = profile_tool
    with FakeDaemon() as daemon:
        tools = make_server("discover", DaemonCaller(daemon.endpoint, 5.0))
        said = called(tools, tool, {argument: "a\udcff"})
    assert f"{tool}: not UTF-8: a\\xff" in said
    assert said.isprintable()


def test_schemas_have_no_titles_but_keep_an_argument_of_that_name(tools):
    for tool in offered(tools("library")).values():
        for schema in (tool.input_schema, tool.output_schema):
            assert "'title': '" not in str(schema)
    assert "title" in offered(tools("library"))["SuggestLibraryLocation"].input_schema["properties"]


def test_an_unknown_tool_is_answered_with_the_nearest(tools):
    assert "did you mean 'discover'? Tools here: discover, dis" in called(tools(), "discver", {})


def test_every_wrong_argument_is_named(tools):
    said = called(tools(), "discover", {"query": 5, "max_items": 99})
    assert "query: Input should be a valid string (got '5')" in said
    assert "max_items: Input should be less than or equal to 10" in said
    assert "http" not in said
    assert "query: Field required" in called(tools(), "discover", {})


def test_of_very_many_wrong_arguments_the_first_are_named(tools):
    said = called(tools(), "discover", {"query": "x", "corpora": list(range(100_000))})
    assert "corpora.9: Input should be a valid string" in said
    assert "and 99,990 more" in said
    assert len(said) < 2_000


@pytest.mark.parametrize(
    ("name", "argument"), [("ReadFromLibrary", "path"), ("IndexDirectoryToLibrary", "directory")]
)
@pytest.mark.parametrize("path", ["/a\0b", "~\0", "/" + "a/" * 100_000])
def test_a_path_that_leads_nowhere_is_an_error_in_words(name, argument, path):
    answers = {"artifacts": [], "status": {"corpora": []}, "search": selection()}
    answers["doc_index"] = answers["disclose"] = QueryError("there is no such place", "name one")
    with FakeDaemon(answers) as running:
        tools = make_server("library", DaemonCaller(running.endpoint, 5.0))
        said = called(tools, name, {argument: path})
    assert "no such place" in said or "no document at" in said
    assert len(said) < 5_000


@pytest.mark.parametrize("name", WRITING)
def test_what_writes_documents_is_offered_in_the_library_profile_alone(tools, name):
    assert f"wrong arguments for {name}" in called(tools("library"), name, {"tags": 1})
    assert "unknown tool" in called(tools(), name, {})


def asked_for(name, arguments):
    """Return what a tool of the library profile asks a daemon for, and what it answers."""
    answers = {
        "search": selection(hit("pdf")),
        "records": [],
        "doc_add": {"path": "/d/a.md", "status": "stored"},
    }
    with FakeDaemon(answers) as running:
        tools = make_server("library", DaemonCaller(running.endpoint, 5.0))

        async def call():
            async with Client(tools) as client:
                return await client.call_tool(name, arguments)

        result = anyio.run(call)
        assert not result.is_error, result.content[0].text
        return running.requests[0].args


@pytest.mark.parametrize("name", ["SearchLibrary", "Librarian_SearchLibrary"])
def test_a_tool_is_called_by_its_name_or_as_agent_library_calls_it(name):
    assert asked_for(name, {"query": "forms"})["text"] == "forms"


@pytest.mark.parametrize("mode", [None, "cross_modal", "hybrid"])
def test_a_mode_that_is_null_or_of_former_days_is_hybrid(mode):
    assert asked_for("SearchLibrary", {"query": "forms", "mode": mode})["mode"] == "hybrid"


def test_null_is_the_default_of_an_argument_and_no_value_of_a_required_one(tools):
    nothing = dict.fromkeys(("source", "limit", "start_date", "timeframe", "asset_type"))
    assert asked_for("SearchLibrary", {"query": "forms", **nothing})["k"] == 10
    said = called(tools("library"), "SearchLibrary", {"query": None})
    assert "query: Field required" in said


def test_an_argument_that_a_tool_does_not_take_is_not_passed_over(tools):
    said = called(tools(), "discover", {"query": "x", "maxitems": 3})
    assert "It takes query, corpora, max_items" in said
    assert "and not 'maxitems'" in said


@pytest.mark.parametrize("given", [{"include_ignored": True}, {"force_include": ["*.log"]}])
def test_what_a_gitignore_leaves_out_is_not_indexed_and_that_is_said(tools, given):
    said = called(tools("library"), "IndexDirectoryToLibrary", {"directory": "/d", **given})
    assert "gitignore = false" in said


def test_metadata_of_a_new_document_is_in_its_front_matter():
    given = {"owner": "ann: b", "retries": 3, "draft": True, "teams": ["ops", "- c"]}
    asked = {"title": "Backups", "content": "At night.\n", "metadata": given}
    parts = split_front(asked_for("AddToLibrary", asked)["content"])
    assert parts.fields == {
        **{"owner": "ann: b", "retries": "3", "draft": "true", "teams": ["ops", "- c"]},
    }
    assert parts.body == "\nAt night.\n"


def test_front_matter_of_the_content_goes_before_metadata_and_a_rule_is_none():
    own = {"title": "t", "content": "---\nowner: bob\n---\nx", "metadata": {"owner": "ann", "a": 1}}
    parts = split_front(asked_for("AddToLibrary", own)["content"])
    assert (parts.fields, parts.body) == ({"owner": "bob", "a": "1"}, "x")
    ruled = {"title": "t", "content": "---\nA rule.\n", "metadata": {"a": 1}}
    parts = split_front(asked_for("AddToLibrary", ruled)["content"])
    assert (parts.fields, parts.body) == ({"a": "1"}, "\n---\nA rule.\n")


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"title": "x"}, "title is a separate argument"),
        ({"a\nb": "x"}, "is not a field name"),
        ({"a: b": "x"}, "is not a field name"),
        ({"a": {"b": 1}}, "wrong arguments for AddToLibrary"),
    ],
)
def test_metadata_that_cannot_be_kept_is_refused_in_words(tools, metadata, said):
    given = {"title": "t", "content": "x", "metadata": metadata}
    assert said in called(tools("library"), "AddToLibrary", given)


@pytest.mark.parametrize("reason", REASONS)
def test_why_nothing_applies_is_said_in_the_words_of_the_command_line(reason):
    nothing = selection(reason=reason)
    with FakeDaemon({"discover": nothing}) as running:
        tools = make_server("discover", DaemonCaller(running.endpoint, 5.0))

        async def call():
            async with Client(tools) as client:
                return await client.call_tool("discover", {"query": "commit this"})

        result = anyio.run(call)
    assert result.structured_content["reason"] == reason
    assert result.content[0].text == f"Nothing applies: {REASONS[reason]}."
    assert reason not in result.content[0].text


def test_without_a_daemon_a_call_is_answered_with_the_command_that_starts_it(tools):
    for name, arguments in (("discover", {"query": "x"}), ("disclose", {"reference": "a/b"})):
        assert "irdaemon start --detach" in called(tools(), name, arguments)


class Told:
    """A context that remembers the progress it was told."""

    def __init__(self):
        self.progress = []
        self.twice = anyio.Event()

    async def report_progress(self, progress, total=None, message=None):
        self.progress.append((progress, message))
        if len(self.progress) == 2:
            self.twice.set()


def asked(call, told=None):
    """Let a daemon that is nowhere be asked, and return the answer."""

    async def ask():
        return await DaemonCaller("/nowhere", 1.0).ask(call, told or Told())

    return anyio.run(ask)


def test_a_call_that_takes_a_while_tells_how_long_it_has_taken(monkeypatch):
    monkeypatch.setattr(daemon, "_REPORT_EVERY_S", 0.01)
    told = Told()

    async def late(client):
        with anyio.fail_after(10):
            await told.twice.wait()
        return "late"

    assert asked(late, told) == "late"
    (first, message), (second, _) = told.progress[:2]
    assert 0 < first < second
    assert message == "waiting for irdaemon"


def test_a_call_that_is_answered_soon_tells_nothing(monkeypatch):
    monkeypatch.setattr(daemon, "_REPORT_EVERY_S", 3600.0)
    told = Told()

    async def soon(client):
        return "soon"

    assert asked(soon, told) == "soon"
    assert told.progress == []


def test_a_daemon_that_is_just_restarted_is_asked_again_once(monkeypatch):
    monkeypatch.setattr(daemon, "_RESTART_S", 0.0)
    failures = [Unreachable("gone")]

    async def call(client):
        if failures:
            raise failures.pop()
        return "answer"

    assert asked(call) == "answer"
    failures[:] = [Unreachable("gone"), Unreachable("gone"), Unreachable("gone")]
    with pytest.raises(ToolError, match="irdaemon start --detach"):
        asked(call)
    assert len(failures) == 1


def test_a_daemon_too_slow_or_a_wrong_query_is_not_asked_again():
    for error, advice in ((Timeout("late"), "call again"), (QueryError("no", "do so"), "do so")):
        calls = []

        async def call(client, error=error, calls=calls):
            calls.append(1)
            raise error

        with pytest.raises(ToolError, match=advice):
            asked(call)
        assert len(calls) == 1


# -- over HTTP -------------------------------------------------------------------------------------


@pytest.fixture
def http(tools):
    app = make_guarded_app(tools(), PORT, TOKEN)
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}") as client:
        yield client


def post(http, method, params=None, **headers):
    said = {
        "authorization": f"Bearer {TOKEN}",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return http.post("/mcp", headers=said, json=body)


def result(response):
    import json

    assert response.status_code == 200, response.text
    (data,) = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(data)["result"]


INITIALIZE = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer é"]
)
def test_a_request_without_the_token_is_refused(http, given):
    refused = post(http, "ping", authorization=given.encode("latin-1"))
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert http.get("/").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:7411"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_a_request_from_or_for_elsewhere_is_refused_even_with_the_token(http, headers, status):
    params = {"protocolVersion": "2025-06-18", **INITIALIZE}
    assert post(http, "initialize", params, **headers).status_code == status


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7411", "http://localhost:7411"])
def test_a_request_with_the_token_from_here_is_answered(http, origin):
    params = {"protocolVersion": "2025-06-18", **INITIALIZE}
    initialized = result(post(http, "initialize", params, origin=origin))
    assert initialized["serverInfo"]["name"] == "irdaemon"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
@pytest.mark.parametrize("more", [{}, {"last-event-id": "5"}, {"upgrade": "websocket"}])
def test_only_post_is_answered_so_that_no_stream_holds_a_place_for_good(http, method, more):
    headers = {"authorization": f"Bearer {TOKEN}", "accept": "text/event-stream", **more}
    refused = http.request(method, "/mcp", headers=headers)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


BROKEN = {
    "half": b"{",
    "nothing": b"",
    "a list": b"[]",
    "many": b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "a number as the method": b'{"jsonrpc":"2.0","id":1,"method":5}',
    "a list as the params": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}',
    "an endless number": b'{"jsonrpc":"2.0","id":' + b"9" * 100_000 + b',"method":"ping"}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_is_no_message_is_a_400_and_the_next_is_answered(http, body):
    headers = {
        "authorization": f"Bearer {TOKEN}",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    assert http.post("/mcp", headers=headers, content=body).status_code == 400
    assert result(post(http, "ping")) == {}


@pytest.mark.parametrize("session", ["fixed", "x" * 10_000])
def test_no_session_is_made_and_one_that_is_named_is_passed_over(http, session):
    params = {"protocolVersion": "2025-06-18", **INITIALIZE}
    made = post(http, "initialize", params, mcp_session_id=session)
    assert (made.status_code, "mcp-session-id" in made.headers) == (200, False)
    assert result(post(http, "ping", mcp_session_id=session)) == {}


@pytest.mark.parametrize("given", ["cookie", "query"])
def test_the_token_is_taken_from_its_header_alone(http, given):
    path = f"/mcp?token={TOKEN}&access_token={TOKEN}" if given == "query" else "/mcp"
    headers = {"cookie": f"token={TOKEN}"} if given == "cookie" else {}
    assert http.post(path, headers=headers, json={}).status_code == 401


def test_a_body_beyond_4_mib_is_refused(http):
    assert post(http, "ping", {"x": "x" * 5_000_000}).status_code == 413


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_older_client_gets_its_own_revision_and_only_what_that_knows(http, revision):
    params = {"protocolVersion": revision, **INITIALIZE}
    assert result(post(http, "initialize", params))["protocolVersion"] == revision
    listed = result(post(http, "tools/list", mcp_protocol_version=revision))["tools"][0]
    assert ("annotations" in listed) is (revision >= "2025-03-26")
    assert ("outputSchema" in listed) is (revision >= "2025-06-18")
    assert ("title" in listed) is (revision >= "2025-06-18")
    assert {"name", "description", "inputSchema"} <= set(listed)


def test_an_unknown_revision_is_answered_with_one_that_is_known(http):
    params = {"protocolVersion": "1999-01-01", **INITIALIZE}
    assert result(post(http, "initialize", params))["protocolVersion"] in REVISIONS


# -- without the SDK -------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["irclient.quick", "irdaemon"])
def test_without_the_sdk_the_command_says_how_to_install_it(module, tmp_path):
    statement = (
        "import runpy, sys; sys.modules['mcp'] = None; sys.argv = ['x', 'mcp'];"
        f" runpy.run_module({module!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True)
    assert done.returncode in (1, 3)
    assert "pip install 'mcp" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("given", "asked_from"), [({}, "/w/shop"), ({"place": " /w/blog "}, "/w/blog")]
)
@pytest.mark.parametrize(
    ("tool", "arguments", "op"),
    [
        ("discover", {"query": "x"}, "discover"),
        ("disclose", {"reference": "a/b"}, "disclose"),
        ("SearchLibrary", {"query": "x"}, "search"),
        ("ReadFromLibrary", {"path": "a/b"}, "disclose"),
        ("ListLibraryContents", {}, "artifacts"),
    ],
)
def test_a_tool_asks_from_the_place_it_is_given_else_from_the_servers_own(
    tool, arguments, op, given, asked_from
):
    answers = dict.fromkeys(("discover", "search"), selection())
    with FakeDaemon({**answers, "disclose": [], "artifacts": []}) as running:
        tools = make_server("library", DaemonCaller(running.endpoint, 5.0, "/w/shop"))
        call(tools, tool, {**arguments, **given})
    assert [each.args["place"] for each in running.requests if each.op == op] == [asked_from]


def test_a_server_for_many_clients_has_no_place_of_its_own():
    with FakeDaemon({"discover": selection()}) as running:
        tools = make_server("discover", DaemonCaller(running.endpoint, 5.0))
        call(tools, "discover", {"query": "x"})
    assert "place" not in running.requests[0].args
