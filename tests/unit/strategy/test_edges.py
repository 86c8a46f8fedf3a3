"""What an artifact refers to: dependencies, a parent, packages that a skill names."""

import pytest

from irclient.errors import QueryError
from irdaemon.strategy.edges import (
    default_edge_extractor,
    find_edges,
    find_named_packages,
    normalize_name,
)
from irdaemon.types import Artifact, Edge

AA = {"name": "aa", "deps": ["dol>=1.0", "numpy[fast]>=1.2 ; python_version>='3.9'", "aa"]}


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("dol", "dol"),
        ("dol>=1.0", "dol"),
        ("numpy[fast]>=1.2", "numpy"),
        ("Requests >= 2 ; python_version>='3.9'", "requests"),
        ("pkg (>=1.0)", "pkg"),
        ("dol@git+https://example.org/dol.git", "dol"),
        ("dol @ git+https://example.org/dol.git@main", "dol"),
        ("Scikit_Learn[extra]>=1.2", "scikit-learn"),
        ("zope..interface", "zope-interface"),
        ("@scope/Pkg@^2", "@scope/pkg"),
    ],
)
def test_a_requirement_has_one_spelling_as_a_name(spelled, name):
    assert normalize_name(spelled) == name


def test_dependencies_and_a_parent_are_edges_and_what_has_none_has_no_type():
    assert default_edge_extractor("aa", AA) == {"REF": ["dol", "numpy"]}
    assert default_edge_extractor("deploy", {"parent": "tw"}) == {"PARENT": ["tw"]}
    assert default_edge_extractor("cc", {"deps": []}) == {}


def test_no_package_refers_to_itself_however_it_is_spelled_or_where_it_lies():
    assert default_edge_extractor("AA", {"deps": ["aa", "dol"]}) == {"REF": ["dol"]}
    assert default_edge_extractor("~/code/x", {"name": "My_Lib", "deps": ["my-lib", "dol"]}) == {
        "REF": ["dol"]
    }
    assert default_edge_extractor("deploy@ops", {"parent": "ops"}) == {"PARENT": ["ops"]}


def test_a_dependency_that_is_stated_twice_is_one_edge():
    assert default_edge_extractor("x", {"deps": ["dol", "dol>=1.0", "i2"]}) == {
        "REF": ["dol", "i2"]
    }
    assert default_edge_extractor("x", {"deps": "dol"}) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Run `pip install pdfplumber[image]>=0.10 Pillow` first.", ("pdfplumber", "pillow")),
        ("pip install -r requirements.txt --quiet ./here rich", ("rich",)),
        ("First pip install duckdb and then open the file.", ("duckdb",)),
        ("```\nuvx ruff check .\nnpx -y @scope/tool build\n```", ("ruff", "@scope/tool")),
        ("```python\nimport os, json\nimport pandas as pd\nfrom numpy.linalg import norm\n```",
         ("pandas", "numpy")),
        ("const x = require('left-pad'); import y from \"@scope/y\"", ("left-pad", "@scope/y")),
        ("Use the `Great_Tables` package, or package `polars`.", ("great-tables", "polars")),
        ("import the data, from there it is easy; `table` is a word", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_a_text_names_what_it_installs_imports_or_calls_a_package(text, names):
    assert find_named_packages(text) == names


def test_a_text_names_no_more_than_a_few_packages():
    assert len(find_named_packages("pip install " + " ".join(f"p{n}" for n in range(99)))) == 32


def test_a_skill_names_packages_a_session_what_it_used_and_a_document_nothing():
    skill = Artifact("pdf", {"name": "pdf", "text": "pip install pypdf"}, "pdf")
    assert find_edges(skill, {"name": "pdf", "parent": "tools"}) == (
        Edge("PARENT", "tools"),
        Edge("NAMES", "pypdf"),
    )
    turn = Artifact("s:1", {"user_prompt": "fill it in"}, "s", uses=("Pdf_Forms",))
    assert find_edges(turn, {"session_id": "s"}) == (Edge("USED", "pdf-forms"),)
    assert find_edges(Artifact("d", "pip install pypdf", "d"), {"name": "d"}) == ()


def test_an_extractor_takes_the_place_of_what_is_found_otherwise():
    package = Artifact("aa", {"name": "aa"}, "aa")
    found = find_edges(package, AA, lambda id, fields: {"CITES": ["n/a b.md", ("other", "X")]})
    assert found == (Edge("CITES", "n/a b.md"), Edge("CITES", "X", "other"))
    assert find_edges(package, AA, lambda id, fields: {"REF": []}) == ()


@pytest.mark.parametrize("given", [["REF"], {"REF": [3]}, {"REF": [("a", "b", "c")]}])
def test_what_is_no_edge_is_refused_by_what_it_is(given):
    with pytest.raises(QueryError, match="edge"):
        find_edges(Artifact("aa", {}, "aa"), AA, lambda id, fields: given)


def test_an_artifact_has_no_more_than_so_many_edges():
    deps = {"deps": [f"p{n}" for n in range(2_000)]}
    assert len(find_edges(Artifact("aa", {}, "aa"), deps)) == 512


def test_a_line_that_nearly_imports_is_read_in_time_linear_in_it():
    assert find_named_packages("from " + "a" * 49_000 + "!import x") == ()
    assert find_named_packages("from a.b import c") == ("a",)
