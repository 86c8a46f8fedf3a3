"""Documents as a tool of a model: what it answers, its schemas, and what it refuses."""

import inspect
import json
import re
from pathlib import Path

import pytest

import irdaemon as ir
from irclient.errors import QueryError

DOCS = [
    "BM25 weighs how often a word occurs against how rare it is.",
    {"text": "A tool says its name, its purpose and its parameters.", "meta": {"page": 2}},
    {"text": "Members of a council call tools while they write."},
]
GUIDE = Path(__file__).parents[3] / "docs/library.md"


@pytest.fixture(scope="module")
def tool():
    return ir.docs_tool("search_docs", "Search the project's documents.", DOCS)


def test_a_tool_returns_passages_as_text_meta_and_score_best_first(tool):
    found = tool("parameters of a tool")
    assert found[0]["text"] == DOCS[1]["text"]
    assert found[0]["meta"] == {"page": 2}
    assert [set(each) for each in found] == [{"text", "meta", "score"}] * len(found)
    scores = [each["score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    assert json.loads(json.dumps(found)) == found


def test_a_tool_has_the_name_and_description_that_were_given(tool):
    assert (tool.__name__, tool.__doc__) == ("search_docs", "Search the project's documents.")
    assert callable(tool)
    assert list(inspect.signature(tool).parameters) == ["query", "top_k"]
    assert repr(tool) == "<tool 'search_docs': 3 documents>"


def test_four_passages_come_unless_another_number_is_given_and_never_more_than_there_are():
    docs = [f"fish number{at}" for at in range(9)]
    assert len(ir.docs_tool("t", "Search.", docs)("fish")) == 4
    two = ir.docs_tool("t", "Search.", docs, top_k=2)
    assert [len(two("fish")), len(two("fish", 5)), len(two("fish", top_k=500))] == [2, 5, 9]
    assert len(two("fish", None)) == 2


def test_no_document_and_a_query_of_stop_words_give_an_empty_list(tool):
    assert ir.docs_tool("t", "Search.", [])("fish") == []
    assert tool("the of and") == tool("") == tool("quantum zebra") == []


PARAMETERS = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to search the documents for."},
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "default": 4,
            "description": "How many passages to return at most (default 4).",
        },
    },
    "required": ["query"],
}


def test_a_schema_is_in_the_form_that_each_protocol_wants(tool):
    who = {"name": "search_docs", "description": "Search the project's documents."}
    openai = {"type": "function", "function": {**who, "parameters": PARAMETERS}}
    assert tool.schema("openai") == tool.schema() == openai
    assert tool.schema("anthropic") == {**who, "input_schema": PARAMETERS}
    assert tool.schema("mcp") == {**who, "inputSchema": PARAMETERS}


def test_a_schema_may_be_changed_without_changing_the_next(tool):
    tool.schema("mcp")["inputSchema"]["properties"].clear()
    assert tool.schema("mcp")["inputSchema"] == PARAMETERS


def test_an_unknown_schema_is_refused_with_those_there_are(tool):
    with pytest.raises(QueryError, match="unknown schema 'anthropics'; did you mean 'anthropic'"):
        tool.schema("anthropics")


@pytest.mark.parametrize("name", ["", "search docs", "2nd", "such-docs", "é", "a" * 65, 3, None])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(QueryError, match="is not a valid tool name"):
        ir.docs_tool(name, "Search.", DOCS)


@pytest.mark.parametrize("description", ["", "  ", None, 3])
def test_an_empty_description_is_refused(description):
    with pytest.raises(QueryError, match="tool 'search_docs': the description is empty"):
        ir.docs_tool("search_docs", description, DOCS)


@pytest.mark.parametrize("wrong", ["", " \n", {"meta": {}}, {"text": None}, {"text": " "}])
def test_a_document_without_text_is_refused_by_tool_and_place(wrong):
    with pytest.raises(QueryError, match="tool 'search_docs': document 3 of 3 has no text"):
        ir.docs_tool("search_docs", "Search.", ["a fish", "a sea", wrong])


@pytest.mark.parametrize("top_k", [0, -3, True, 2.0, "4", None])
def test_a_top_k_below_one_is_refused_when_made_and_when_called(top_k, tool):
    with pytest.raises(QueryError, match="tool 'search_docs': top_k must be a whole number"):
        ir.docs_tool("search_docs", "Search.", DOCS, top_k)
    if top_k is not None:
        with pytest.raises(QueryError, match="top_k must be a whole number from 1 up"):
            tool("tool", top_k)


def test_the_errors_are_value_errors_with_what_to_do():
    with pytest.raises(ValueError, match="not a valid tool name") as caught:
        ir.docs_tool("a b", "Search.", DOCS)
    assert caught.value.hint


def test_the_example_of_the_guide_runs():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.S)
    (code,) = (block for block in blocks if "ir.docs_tool(" in block)
    told = []
    exec(code, {"print": lambda *words: told.append(" ".join(map(str, words)))})
    assert told == re.findall(r"# -> (.*)", code)
