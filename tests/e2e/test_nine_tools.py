"""The nine tools of Agent Library, all driven by one session of a real MCP client over stdio."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from irdaemon.source.frontmatter import split_front
from tests.support.running import Running

NINE = {
    *("SearchLibrary", "ReadFromLibrary", "AddToLibrary", "UpdateLibraryDoc", "RemoveFromLibrary"),
    *("ListLibraryContents", "IndexDirectoryToLibrary", "GetLibraryOverview"),
    "SuggestLibraryLocation",
}
CHANGING = {
    *("AddToLibrary", "UpdateLibraryDoc", "RemoveFromLibrary", "IndexDirectoryToLibrary"),
}


@pytest.fixture
def library(home):
    """Serve notes to be searched, a directory to be added, and documents to be written."""
    for name, text in (
        ("notes/garden/compost.md", "# Compost\n\nTurn the compost weekly.\n"),
        ("papers/soil.md", "# Soil\n\nLoam holds water.\n"),
    ):
        (home.path / name).parent.mkdir(parents=True, exist_ok=True)
        (home.path / name).write_text(text)
    home.config.write_text(
        'embedder = "hashing"\n[documents]\nwrite = true\nroots = ["~/papers"]\n'
        '[corpora.notes]\nkind = "files"\nroots = ["~/notes"]\n'.replace("~", str(home.path))
    )
    with Running(home) as running:
        running.wait_idle()
        command = [*"-m irclient.quick mcp --profile library".split()]
        yield StdioServerParameters(command=sys.executable, args=command, env=home.env)


def test_a_session_searches_reads_lists_adds_updates_removes_and_indexes(library, home):
    garden = home.path / "notes" / "garden"

    async def talk():
        async with Client(library) as client:
            offered = {each.name: each for each in (await client.list_tools()).tools}

            async def tool(name, **given):
                result = await client.call_tool(name, given)
                assert not result.is_error, (name, result.content[0].text)
                used.add(name)
                return result.structured_content

            await session(tool)
            return offered

    async def session(tool):
        (hit, *_) = (await tool("SearchLibrary", query="how often is compost turned?"))["hits"]
        assert hit["document_path"] == str(garden / "compost.md")
        assert "weekly" in (await tool("ReadFromLibrary", path=hit["document_path"]))["text"]
        places = await tool("SuggestLibraryLocation", title="Turn the compost in winter")
        assert places["suggestions"][0]["path"] == str(garden)
        assert (await tool("GetLibraryOverview", view="stats"))["documents"] == 1
        added = await tool(
            "AddToLibrary", title="In winter", content="The quagga feeds.", tags=["zoo"],
            metadata={"keeper": "ann"},
        )  # fmt: skip
        quagga = {"query": "quagga", "mode": "keyword", "source": "documents"}
        found = (await tool("SearchLibrary", **quagga, timeframe="today"))["hits"]
        assert [each["document_path"] for each in found] == [added["path"]]
        assert (await tool("SearchLibrary", **quagga, timeframe="yesterday"))["hits"] == []
        changed = await tool(
            "UpdateLibraryDoc", path=added["path"], content="The okapi sleeps.",
            if_digest=added["digest"],
        )  # fmt: skip
        assert changed["digest"] != added["digest"]
        listed = await tool("ListLibraryContents", source="documents")
        assert [each["path"] for each in listed["documents"]] == [added["path"]]
        assert [each["title"] for each in listed["documents"]] == ["In winter"]
        fields = split_front(Path(added["path"]).read_text()).fields
        assert (fields["tags"], fields["keeper"], "date" in fields) == (["zoo"], "ann", True)
        indexed = await tool("IndexDirectoryToLibrary", directory=str(home.path / "papers"))
        assert (indexed["sources"], indexed["files"]) == (["papers"], 1)
        removed = await tool("RemoveFromLibrary", path=added["path"], delete_file=True)
        assert removed["status"] == "removed"
        assert (await tool("ListLibraryContents", source="documents"))["documents"] == []

    used = set()
    offered = anyio.run(talk)
    assert used == NINE <= set(offered)
    hints = {name: offered[name].annotations for name in NINE}
    assert {name for name in NINE if not hints[name].read_only_hint} == CHANGING
    assert {name for name in NINE if hints[name].destructive_hint} == {
        *("UpdateLibraryDoc", "RemoveFromLibrary"),
    }
