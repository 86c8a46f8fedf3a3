"""Locks of Python's tools: names and versions, also of one that is not whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.dependencies.python import parse_lock

UV = """version = 1
[[package]]
name = "Zope.Interface"
version = "6.0"
wheels = [
    { url = "https://x.io/name = 'a'" },
]
[package.metadata]
name = "not-this"
[[package]]
name = "shop"
source = { editable = "." }
"""
PDM = '[metadata]\ngroups = ["default"]\n\n[[package]]\nname = "attrs"\nversion = "25.1"\n'
PYLOCK = """lock-version = "1.0"
[[packages]]
name = "attrs"
version = "25.1.0"
[[packages.wheels]]
name = "attrs.whl"
"""
OLD_POETRY = '[[package]]\ncategory = "main"\nname = "attrs"\noptional = false\nversion = "19"\n'


@pytest.mark.parametrize(
    ("name", "text", "versions"),
    [
        ("uv.lock", UV, {"zope-interface": "6.0", "shop": ""}),
        ("pdm.lock", PDM, {"attrs": "25.1"}),
        ("pylock.toml", PYLOCK, {"attrs": "25.1.0"}),
        ("poetry.lock", OLD_POETRY + '[metadata]\nx = "y"\n', {"attrs": "19"}),
        (
            "Pipfile.lock",
            '{"develop": {"attrs": {"version": "==2"}, "x": {}}}',
            {"attrs": "2", "x": ""},
        ),
    ],
)
def test_a_lock_gives_versions_by_normalised_names(name, text, versions):
    assert parse_lock(text, f"/p/{name}") == (versions, "")


def test_a_lock_that_is_cut_is_a_problem_and_serves_what_comes_before():
    versions, problem = parse_lock(UV[: UV.index("[package.metadata]") - 8], "/p/uv.lock")
    assert versions == {"zope-interface": "6.0"}
    assert "ends in the middle" in problem
    assert "not valid JSON" in parse_lock('{"default": {"a"', "/p/Pipfile.lock")[1]


def test_names_that_are_none_are_left_out():
    text = (
        '[[package]]\nname = "../../x"\nversion = "1"\n[[package]]\nname = "a"\nversion = "\x1b"\n'
    )
    assert parse_lock(text, "/p/uv.lock")[0] == {}


@given(st.text(max_size=200), st.integers(0, len(UV)))
def test_no_lock_stops_the_parser(text, cut):
    parse_lock(text, "/p/uv.lock")
    parse_lock(UV[:cut] + text, "/p/uv.lock")
    parse_lock(text, "/p/Pipfile.lock")
