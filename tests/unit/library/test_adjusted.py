"""Further fields, and what counts as a change, by functions of the source's owner."""

from dataclasses import replace

import pytest

import irdaemon as ir
from irclient.errors import QueryError, Unavailable


def build(items, store=":memory:", **functions):
    source = ir.CorpusSource.from_mapping(items, name="notes", **functions)
    return ir.build(source, store=store, embedder="hashing")


def test_metadata_of_adds_fields_to_filter_on():
    corpus = build(
        {"a": "red fish", "b": "red herring and more"},
        metadata_of=lambda id, raw: {"length": len(raw), "id_of": id},
    )
    hits = ir.search(corpus, "red", filter={"length": {"$gt": 10}})
    assert [(hit.artifact_id, hit.fields["id_of"]) for hit in hits] == [("b", "b")]
    corpus.close()


def test_a_metadata_of_that_fails_costs_its_artifact_alone():
    with pytest.warns(UserWarning, match="1 could not be indexed.*ZeroDivisionError"):
        corpus = build(
            {"a": "red fish", "b": "blue"}, metadata_of=lambda id, raw: {"n": 1 / (id != "b")}
        )
    assert len(corpus) == 1
    (failure,) = corpus.engine.failures()
    assert "metadata_of: ZeroDivisionError" in failure["reason"]
    corpus.close()


def test_an_equal_change_signal_means_unchanged_whatever_the_content(tmp_path):
    store = str(tmp_path / "notes.sqlite")
    build({"a": "version 1: red"}, store, change_signal=lambda id, raw: raw[:9])
    same = build({"a": "version 1: blue"}, store, change_signal=lambda id, raw: raw[:9])
    assert same.report == "0 written, 0 removed, 1 unchanged, 0 failed"
    other = build({"a": "version 2: blue"}, store, change_signal=lambda id, raw: raw[:9])
    assert other.report == "1 written, 0 removed, 0 unchanged, 0 failed"
    other.close()


def test_files_take_such_functions_too(tmp_path):
    (tmp_path / "a.md").write_text("red fish")
    source = replace(
        ir.CorpusSource.from_files(tmp_path),
        metadata_of=lambda id, raw: {"team": "docs"},
        change_signal=lambda id, raw: "always the same",
    )
    corpus = ir.build(source, store=str(tmp_path / "l.sqlite"), embedder="hashing")
    assert ir.search(corpus, "red", filter={"team": "docs"})
    (tmp_path / "a.md").write_text("blue fish")
    again = corpus.rebuild()
    assert "1 unchanged" in again.report
    again.close()
    with pytest.raises(Unavailable, match="metadata_of and change_signal are functions"):
        ir.open_corpus("files", store=str(tmp_path / "l.sqlite")).rebuild()


def test_records_come_from_a_function():
    rows = [{"id": 1, "text": "red fish", "team": "docs"}, {"id": 2, "text": "blue bird"}]
    source = ir.CorpusSource.from_records(
        lambda: rows, name="rows", options={"metadata_keys": ["team"]}
    )
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    assert ir.search(corpus, "fish bird", filter={"team": "docs"})[0].artifact_id == "1"
    corpus.close()
    with pytest.raises(QueryError, match="a fetcher is a function"):
        ir.CorpusSource.from_records(3, name="rows")


class Tool:
    def __init__(self, name, description):
        self.name = name
        self.description = description
        self.inputSchema = {"type": "object", "properties": {"path": {"type": "string"}}}


TOOLS = [Tool("read_file", "read a file"), Tool("send_mail", "send a mail")]


@pytest.mark.parametrize(
    "tools", [TOOLS, lambda: TOOLS, {"read_file": TOOLS[0], "send_mail": TOOLS[1]}]
)
def test_tools_may_be_objects_and_come_from_a_function(tools):
    source = ir.CorpusSource.from_mcp_tools(tools)
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    (hit,) = ir.search(corpus, "send a mail", k=1)
    assert (hit.artifact_id, hit.fields["param_names"]) == ("send_mail", ["path"])
    corpus.close()


def test_a_hit_has_the_metadata_of_the_surface_that_matched(tmp_path):
    (tmp_path / "guide.md").write_text(
        "# Paying\n\nInvoices are paid on Monday.\n\n# Keys\n\nThe keys hang in the hall.\n"
    )
    corpus = ir.build(ir.CorpusSource.from_files(tmp_path), store=":memory:", embedder="hashing")
    (hit,) = ir.search(corpus, "where are the keys")
    records = ir.records_for_artifact(corpus, hit.artifact_id, surface_kind=hit.kind)
    assert hit.fields["heading"] == "Keys"
    assert (hit.fields["chunk_index"], hit.fields["n_chunks"]) == (1, 2)
    assert records[hit.fields["chunk_index"]]["surface_index"] == hit.surface_index
    assert ir.records_for_artifact(corpus, hit.artifact_id, surface_kind="deps") == []
    corpus.close()


class Slotted:
    __slots__ = ("description", "inputSchema")

    def __init__(self, description, schema):
        self.description, self.inputSchema = description, schema


def first_of(tools, **more):
    source = ir.CorpusSource.from_mcp_tools(tools, **more)
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    (record,) = ir.records_for_artifact(corpus, "fetch")
    (hit,) = ir.search(corpus, "fetch")
    corpus.close()
    return record, hit.fields["param_names"], hit.corpus


def test_a_tool_is_the_same_in_every_form_that_definitions_have():
    schema = {"type": "object", "properties": {"url": {"type": "string"}}}
    said = {"name": "fetch", "description": "fetch a page"}
    named = Tool("fetch", "fetch a page")
    named.inputSchema = schema
    forms = [
        [named],
        {"fetch": Slotted("fetch a page", schema)},
        {"fetch": {"description": "fetch a page", "parameters": schema}},
        lambda: [{**said, "input_schema": schema}],
    ]
    expected = first_of([{**said, "inputSchema": schema}])
    assert [first_of(form) for form in forms] == [expected] * len(forms)
    assert expected[1] == ["url"]


def test_a_tool_of_a_function_may_lack_a_description_and_its_corpus_has_the_name_given():
    record, parameters, corpus = first_of(lambda: [{"name": "fetch"}], name="mine")
    assert (record["text"], parameters, corpus) == ("fetch", [], "mine")


def test_tools_take_further_fields_by_a_function():
    source = ir.CorpusSource.from_mcp_tools(
        TOOLS, metadata_of=lambda id, raw: {"server": f"for {id}"}
    )
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    (hit,) = ir.search(corpus, "send a mail", filter={"server": "for send_mail"})
    assert hit.artifact_id == "send_mail"
    corpus.close()
