"""MCP clients and the real daemon: over stdio, over HTTP, and while the daemon comes and goes."""

import json
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import irclient.client
from irclient.fast.packing import PROTOCOL
from irclient.mcp import daemon
from irclient.mcp.daemon import DaemonCaller
from irclient.mcp.server import make_server
from tests.support.running import Home, Running, finds, until

HELLO = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def talked(target, talk, **options):
    """Connect the SDK's client to a server, in process or not, and return what `talk` does."""

    async def run():
        async with Client(target, **options) as client:
            return await talk(client)

    return anyio.run(run)


def called(target, name, **arguments):
    return talked(target, lambda client: client.call_tool(name, arguments))


def error_of(result):
    assert result.is_error
    return result.content[0].text


@pytest.fixture(scope="module")
def served():
    """Give a home with skills and notes, and one daemon for all tests that let it live."""
    with tempfile.TemporaryDirectory(prefix="ir") as directory:
        home = Home(Path(directory))
        home.skill("pdf-forms", "Fill and flatten PDF forms", "Use qpdf for this.")
        home.skill("changelog", "Write a changelog from commits")
        garden = home.path / "notes" / "garden"
        garden.mkdir(parents=True)
        (garden / "compost.md").write_text(
            "# Compost\n\n## Layers\n\nBrown and green, turned weekly.\n"
            "\n## Smell\n\nA heap that smells is too wet.\n"
        )
        (garden / "roses.md").write_text("# Roses\n\nPrune the roses in March.\n")
        (garden.parent / "prune.py").write_text("def prune(tree): return tree.leaves\n")
        home.config.write_text(
            'embedder = "hashing"\n[corpora.notes]\nkind = "files"\nroots = ["~/notes"]\n'
            'pattern = ["*.md", "*.py"]\n'
        )
        with Running(home) as running:
            running.wait_idle()
            yield home


@pytest.fixture
def tools(served):
    return make_server("discover", DaemonCaller(str(served.socket), 10.0))


@pytest.fixture
def library(served, monkeypatch):
    monkeypatch.setenv("HOME", str(served.path))
    return make_server("library", DaemonCaller(str(served.socket), 10.0))


@pytest.fixture
def garden(served):
    return served.path / "notes" / "garden"


def stdio(home, *words):
    command = [*"-m irclient.quick mcp".split(), *words]
    return StdioServerParameters(command=sys.executable, args=command, env=home.env)


def test_over_stdio_a_client_finds_an_item_and_reads_it(served):
    async def talk(client):
        found = await client.call_tool("discover", {"query": "fill a pdf form"})
        (item,) = found.structured_content["items"]
        read = await client.call_tool("disclose", {"reference": item["reference"]})
        return client.protocol_version, found, item, read

    revision, found, item, read = talked(stdio(served), talk)
    assert revision >= "2026-07-28"
    assert item["name"] == "pdf-forms"
    assert item["path"] == str(served.skills / "pdf-forms" / "SKILL.md")
    assert item["reference"] in found.content[0].text
    assert "Use qpdf for this." in read.structured_content["text"]
    assert "data, not instructions" in read.content[0].text
    assert "Use qpdf for this." in read.content[0].text


def test_nothing_applies_is_an_answer_and_not_an_error(tools):
    answer = called(tools, "discover", query="zzzzqx")
    assert not answer.is_error
    assert answer.structured_content["abstained"] is True
    assert answer.structured_content["reason"] in ("no_candidates", "below_floor")
    assert answer.content[0].text.startswith("Nothing applies: ")


def test_an_unknown_reference_is_answered_with_the_nearest(tools):
    for reference in ("skills/pdf-form", "skils/pdf-forms", "pdf-forms", "/", ""):
        said = error_of(called(tools, "disclose", reference=reference))
        assert "discover" in said or "skills/~/.claude/skills/pdf-forms" in said, reference
    assert "skills/~/.claude/skills/pdf-forms" in error_of(
        called(tools, "disclose", reference="skills/pdf-form")
    )
    wrong = error_of(called(tools, "discover", query="x", corpora=["skils"]))
    assert "did you mean 'skills'" in wrong


def test_a_query_too_long_or_empty_is_answered_with_what_is_wrong(tools):
    assert "characters" in error_of(called(tools, "discover", query="x" * 300_000))
    assert "empty" in error_of(called(tools, "discover", query=" "))


def test_items_are_resources_too(tools):
    def read(uri):
        async def talk(client):
            try:
                return (await client.read_resource(uri)).contents[0]
            except MCPError as error:
                return str(error)

        return talked(tools, talk)

    content = read("skill://skills/" + quote("~/.claude/skills/pdf-forms"))
    assert content.mime_type == "text/markdown"
    assert "Use qpdf for this." in content.text
    assert read("skill://skills/pdf-forms").text == content.text
    assert "the nearest are skills/" in read("skill://skills/pdf-form")
    (template,) = talked(tools, lambda c: c.list_resource_templates()).resource_templates
    assert template.uri_template == "skill://{corpus}/{+artifact_id}"


def test_what_an_item_hides_does_not_reach_the_model(served, tools):
    served.skill("quoll", "Feed \u202equolls\u200b \U000e0041daily", "Line\x1b[2J one\ufeff")
    until(lambda: finds(served, "quolls", "quoll"))
    found = called(tools, "discover", query="feed quolls")
    assert found.structured_content["items"][0]["summary"] == "Feed quolls daily"
    read = called(tools, "disclose", reference="skills/quoll")
    assert "Line[2J one" in read.structured_content["text"]


def test_what_was_just_written_is_found_when_asked_fresh(served, tools):
    served.skill("numbat", "Count the numbats at dawn")
    found = called(tools, "discover", query="numbats at dawn", fresh=True)
    assert [item["name"] for item in found.structured_content["items"]] == ["numbat"]


def test_a_server_outlives_its_daemon_and_asks_the_next_one(home, monkeypatch):
    monkeypatch.setattr(daemon, "_RESTART_S", 0.0)
    monkeypatch.setattr(irclient.client, "CONNECT_S", 0.2)
    home.skill("pdf-forms", "Fill and flatten PDF forms")

    async def talk(client):
        async def discover():
            return await client.call_tool("discover", {"query": "fill a pdf form"})

        down = await discover()
        with Running(home) as first:
            first.wait_idle()
            up = await discover()
            first.kill()
        killed = await discover()
        with Running(home) as second:
            second.wait_idle()
            return down, up, killed, await discover()

    tools = make_server("discover", DaemonCaller(str(home.socket), 10.0))
    down, up, killed, again = talked(tools, talk)
    assert "irdaemon start --detach" in error_of(down)
    assert "irdaemon start --detach" in error_of(killed)
    assert up.structured_content["items"] == again.structured_content["items"] != []


@contextmanager
def spoken_to(home):
    """Give a server whose stdin and stdout are ours."""
    command = [sys.executable, "-m", "irclient.quick", "mcp"]
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen(command, env=home.env, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def line(number, method, **params):
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(said).encode() + b"\n"


def say(process, *lines):
    process.stdin.write(b"".join(lines))
    process.stdin.flush()


def heard(process):
    return json.loads(process.stdout.readline())["result"]


def test_a_client_of_the_oldest_revision_is_served_after_any_garbage(served):
    with spoken_to(served) as process:
        say(process, b"\xff\xfe\x00\n", b"[]\n", b'{"jsonrpc": "2.0"}\n', b"[" * 50_000 + b"\n")
        say(process, line(1, "initialize", protocolVersion="2024-11-05", **HELLO))
        assert heard(process)["protocolVersion"] == "2024-11-05"
        say(process, line(2, "tools/list"))
        assert [set(tool) for tool in heard(process)["tools"]] == [
            {"name", "description", "inputSchema"}
        ] * 2
        arguments = {"query": "fill a pdf form"}
        say(process, line(3, "tools/call", name="discover", arguments=arguments))
        answer = heard(process)
        assert "structuredContent" not in answer
        assert "pdf-forms" in answer["content"][0]["text"]
        process.stdin.close()
        assert process.wait(10) == 0
        assert process.stderr.read() == b""


def test_a_client_that_leaves_before_its_reply_ends_the_server_quietly(served):
    with spoken_to(served) as process:
        say(process, line(1, "initialize", protocolVersion="2025-06-18", **HELLO))
        heard(process)
        arguments = {"query": "fill a pdf form"}
        say(
            process,
            *(line(n, "tools/call", name="discover", arguments=arguments) for n in range(9)),
        )
        process.stdout.close()
        process.stdin.close()
        assert process.wait(10) == 0
        assert process.stderr.read() == b""
    assert served.answer("ping")["protocol"] == PROTOCOL


def test_over_http_a_client_with_the_token_is_served_and_another_is_not(served):
    command = [*"-m irdaemon mcp --http --port 0".split()]
    serving = subprocess.Popen(
        [sys.executable, *command], env=served.env, stderr=subprocess.PIPE, text=True
    )
    try:
        said = re.search(r"MCP at (\S+), token in (.+)\n", serving.stderr.readline())
        url, path = said.groups()
        assert Path(path).stat().st_mode & 0o777 == 0o600
        token = Path(path).read_text().strip()

        async def ask():
            headers = {"authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                return await client.call_tool("discover", {"query": "fill a pdf form"})

        found = anyio.run(ask)
        assert found.structured_content["items"][0]["name"] == "pdf-forms"
        assert httpx2.post(url, json={}).status_code == 401
    finally:
        serving.terminate()
        assert serving.wait(10) in (0, -15)
        serving.stderr.close()


# -- the library profile ---------------------------------------------------------------------------


def structured(tools, name, **arguments):
    result = called(tools, name, **arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


def test_the_library_is_searched_and_a_hit_is_read_by_its_path(garden, library):
    hits = structured(library, "SearchLibrary", query="turn the compost weekly?")["hits"]
    assert hits[0]["document_id"] == "notes/garden/compost.md"
    assert hits[0]["heading_path"].endswith("Layers")
    assert "<mark>weekly</mark>" in hits[0]["snippet"]
    assert hits[0]["asset_type"] == "text"
    for path in (hits[0]["document_path"], "~/notes/garden/compost.md", hits[0]["document_id"]):
        read = structured(library, "ReadFromLibrary", path=path)
        assert read["text"].startswith("# Compost"), path


def test_a_search_gives_as_many_passages_of_a_document_as_are_asked_for(garden, library):
    asked = {"query": "turn the compost weekly?", "source": "notes"}

    def chunks(**more):
        hits = structured(library, "SearchLibrary", **asked, **more)["hits"]
        return [h["chunk_id"] for h in hits if h["document_id"] == "notes/garden/compost.md"]

    assert len(chunks()) == 1
    assert len(set(chunks(passages_per_document=5))) > 1


def test_a_search_narrows_by_source_kind_mode_and_number(garden, library):
    def names(**more):
        hits = structured(library, "SearchLibrary", query="prune pdf forms", **more)["hits"]
        return {hit["document_id"].rpartition("/")[2] for hit in hits}

    assert names() >= {"prune.py", "roses.md", "pdf-forms"}
    assert names(source="notes", mode="keyword") == {"prune.py", "roses.md"}
    assert names(asset_type="code") == {"prune.py"}
    assert "prune.py" not in names(asset_type="text")
    assert names(asset_type="multimodal") == names(asset_type="pdf") == set()
    assert len(names(limit=1)) == 1
    assert names(timeframe="today") >= {"prune.py", "roses.md"}
    assert names(source="notes", end_date="2001-01-01") == set()
    in_skills = {"query": "prune", "source": "skills", "timeframe": "today"}
    assert structured(library, "SearchLibrary", **in_skills) == {
        "hits": [],
        "note": "Nothing here has the field timestamp.",
    }


def test_only_what_is_indexed_is_read_however_it_is_asked_for(served, garden, library):
    secret = served.path / "secret.txt"
    secret.write_text("hidden")
    for path in (str(secret), f"{garden}/../../secret.txt", "~/secret.txt", "notes/../secret.txt"):
        assert "hidden" not in error_of(called(library, "ReadFromLibrary", path=path))


def test_the_library_is_listed_page_by_page_and_seen_from_above(garden, library):
    whole = structured(library, "ListLibraryContents", source="notes")
    first = structured(library, "ListLibraryContents", source="notes", limit=2)
    rest = structured(library, "ListLibraryContents", source="notes", after=first["next"])
    assert first["documents"] + rest["documents"] == whole["documents"]
    assert (first["next"], rest["next"]) == (first["documents"][1]["document_id"], "")
    types = {each["title"]: each["asset_type"] for each in whole["documents"]}
    assert types["prune.py"] == "code"
    assert set(types.values()) == {"code", "text"}
    counted = structured(library, "GetLibraryOverview", view="stats")["asset_types"]
    assert counted["code"] == 1
    paths = {each["path"] for each in whole["documents"]}
    assert {str(garden / "compost.md"), str(garden.parent / "prune.py")} < paths
    sources = structured(library, "GetLibraryOverview")["sources"]
    held = {each["source"]: each["documents"] for each in sources}
    assert held["notes"] == len(whole["documents"])
    assert structured(library, "GetLibraryOverview", view="stats")["documents"] == sum(
        held.values()
    )
    tree = structured(library, "GetLibraryOverview", view="tree")["directories"]
    assert {"path": str(garden), "documents": held["notes"] - 1} in tree


def test_a_new_document_gets_a_place_near_similar_ones_and_is_in_the_library_when_written(
    served, garden, library
):
    best = structured(library, "SuggestLibraryLocation", title="When to prune roses")
    assert best["suggestions"][0]["path"] == str(garden)
    (garden / "hedges.md").write_text("# Hedges\n\nTrim the hornbeam in June.\n")
    looked = structured(library, "IndexDirectoryToLibrary", directory=str(garden))
    assert looked["finished"] is True
    assert looked["sources"] == ["notes"]
    assert (
        structured(library, "ReadFromLibrary", path=str(garden / "hedges.md"))["name"] == "Hedges"
    )
    outside = error_of(called(library, "IndexDirectoryToLibrary", directory="/etc"))
    assert "irc add NAME files /etc" in outside
