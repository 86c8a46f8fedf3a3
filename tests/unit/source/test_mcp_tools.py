import json

import pytest

from irdaemon.ledger import hash_version
from irdaemon.source.mcp_tools import McpTools, list_known_places
from irdaemon.source.places import keep_existing
from irdaemon.strategy import Skill
from irdaemon.types import Root, Scan, SourceError

TOOL = {
    "name": "search",
    "title": "Search",
    "description": "Find things.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what you need"},
            "kind": {"enum": ["skill", "package"]},
        },
    },
    "annotations": {"readOnlyHint": True},
}


def dump(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return McpTools((Root(str(path)),), {})


def read(source):
    (entry,) = source.scan().entries
    return source.read(entry)


@pytest.mark.parametrize(
    "value",
    [
        [TOOL],
        {"tools": [TOOL]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL], "nextCursor": "x"}},
        [{"tools": [TOOL]}, {"tools": []}],
        {"library": {"tools": [TOOL]}},
        {"library": [TOOL], "note": "no list"},
    ],
)
def test_a_dump_in_any_of_its_forms_gives_its_tools(tmp_path, value):
    reading = read(dump(tmp_path / "library.json", value))
    assert [artifact.artifact_id for artifact in reading.artifacts] == ["library/search"]
    assert reading.skipped == {}


def test_a_dump_of_several_servers_names_each_tool_by_its_own(tmp_path):
    value = {"git": [TOOL], "web": {"result": {"tools": [TOOL]}}}
    found = read(dump(tmp_path / "all.json", value)).artifacts
    assert [artifact.artifact_id for artifact in found] == ["git/search", "web/search"]


def test_a_type_alone_that_changes_in_the_schema_is_a_change(tmp_path):
    strategy, versions = Skill(), set()
    for kind in ("string", "integer"):
        schema = {"type": "object", "properties": {"n": {"type": kind}}}
        (tool,) = read(dump(tmp_path / "a.json", [{"name": "t", "inputSchema": schema}])).artifacts
        plan = strategy.decompose(tool.artifact_id, tool.raw, tool.metadata)
        assert plan.surfaces[0].lexical == "n"
        versions.add(hash_version(tool, plan.filter_fields, "r"))
    assert len(versions) == 2


def test_known_roots_are_the_dumps_asked_for_here(tmp_path):
    assert keep_existing(list_known_places(str(tmp_path), {})) == ()
    dumps = tmp_path / ".local/share/irdaemon/mcp_tools"
    dumps.mkdir(parents=True)
    assert keep_existing(list_known_places(str(tmp_path), {})) == (Root(str(dumps)),)


def test_a_tool_holds_what_finding_and_calling_it_takes(tmp_path):
    (artifact,) = read(dump(tmp_path / "library.json", [TOOL])).artifacts
    assert artifact.name == "search"
    assert artifact.raw["description"] == "Find things."
    assert artifact.raw["lexical"] == "Search\nkind skill package\nquery what you need"
    assert json.loads(artifact.raw["parameters"]) == TOOL["inputSchema"]
    assert json.loads(artifact.body) == TOOL
    assert artifact.pointer == ""
    assert artifact.metadata == {
        "param_names": ["query", "kind"],
        "server": "library",
        "title": "Search",
        "read_only": True,
    }


def test_parameters_keep_the_order_of_the_schema():
    schema = {"properties": {"z": {}, "a": {}, "m": {}}}
    source = McpTools.from_tools([{"name": "t", "inputSchema": schema}])
    assert read(source).artifacts[0].metadata["param_names"] == ["z", "a", "m"]


@pytest.mark.parametrize("key", ["inputSchema", "input_schema", "parameters"])
def test_the_schema_goes_by_several_names(key):
    source = McpTools.from_tools([{"name": "t", key: {"properties": {"q": True}}}])
    assert read(source).artifacts[0].metadata["param_names"] == ["q"]


def test_a_changed_schema_changes_the_tools_stamp_and_the_order_of_its_keys_does_not():
    def stamp(schema):
        return McpTools.from_tools([{"name": "t", "inputSchema": schema}]).scan().entries[0].stamp

    assert stamp({"a": 1, "b": 2}) != stamp({"a": 1, "b": 3})
    assert stamp({"a": 1, "b": 2}) == stamp({"b": 2, "a": 1})


def test_tools_in_memory_need_no_server(tmp_path):
    scan = McpTools.from_tools([{"name": "b"}, {"name": "a"}]).scan()
    assert [entry.key for entry in scan.entries] == ["a", "b"]
    scan = McpTools.from_tools([{"name": "a"}], server="s").scan()
    assert [entry.key for entry in scan.entries] == ["s/a"]


def test_a_second_tool_of_a_name_is_kept_numbered_and_told():
    source = McpTools.from_tools([{"name": "a", "description": "1"}, {"name": "a"}])
    scan = source.scan()
    assert [entry.key for entry in scan.entries] == ["a", "a#2"]
    assert [problem.path for problem in scan.problems] == ["a#2"]
    assert source.read(scan.entries[1]).artifacts[0].flags == ("duplicate_tool",)


def test_definitions_without_a_name_are_counted(tmp_path):
    reading = read(dump(tmp_path / "x.json", [TOOL, {"name": ""}, "words", {}]))
    assert len(reading.artifacts) == 1
    assert reading.skipped == {"tool without a name": 3}


def test_odd_schemas_do_no_harm():
    odd = [{"name": "a", "inputSchema": 3}, {"name": "b", "parameters": {"properties": [1]}}]
    source = McpTools.from_tools([*odd, {"name": "c", "annotations": "none", "title": 4}])
    for entry in source.scan().entries:
        assert source.read(entry).artifacts[0].metadata == {"param_names": []}


@pytest.mark.parametrize("text", ["{", "3", '{"tools": 3}', "[" * 100_000])
def test_a_file_that_is_no_dump_is_an_error_naming_it(tmp_path, text):
    with pytest.raises(SourceError, match=r"x\.json"):
        read(dump(tmp_path / "x.json", text))


def test_a_directory_gives_its_dumps_and_a_second_of_one_name_is_a_problem(tmp_path):
    (tmp_path / "more").mkdir()
    for name in ("a.json", "b.json", "more/a.json", "notes.txt"):
        (tmp_path / name).write_text(json.dumps([TOOL]))
    scan = McpTools((Root(str(tmp_path)),), {}).scan()
    assert [entry.path for entry in scan.entries] == [
        str(tmp_path / n) for n in ("a.json", "b.json")
    ]
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "more" / "a.json")]


def test_a_changed_dump_is_about_itself_alone(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("[]")
    source = McpTools((Root(str(tmp_path)),), {})
    changed = str(tmp_path / "a.json")
    scan = source.scan(changed)
    assert ([entry.path for entry in scan.entries], scan.covered) == ([changed], (changed,))
    (tmp_path / "a.txt").write_text("")
    assert source.scan(str(tmp_path / "a.txt")) == Scan((), ())


def test_a_missing_root_is_a_problem(tmp_path):
    scan = McpTools((Root(str(tmp_path / "gone")),), {}).scan()
    assert [problem.path for problem in scan.problems] == [str(tmp_path / "gone")]
