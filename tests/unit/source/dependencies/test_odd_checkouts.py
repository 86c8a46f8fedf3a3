"""A checkout may hold names that are no text, deep paths and other repositories: none is read."""

import json
import os

import pytest

from irdaemon.source.dependencies import Dependencies
from irdaemon.types import Root
from tests.support.installed import write

LATIN = b"caf\xe9"


def scan(root):
    return Dependencies((Root(str(root), "project", "none", str(root)),), {}).scan()


def add_latin(root, name, text):
    """Write a file below a directory whose name is not valid UTF-8."""
    try:
        os.makedirs(os.fsencode(root) + b"/" + LATIN, exist_ok=True)
    except OSError:
        pytest.skip("this file system holds names of UTF-8 alone")
    with open(os.fsencode(root) + b"/" + LATIN + b"/" + name.encode(), "w") as file:
        file.write(text)


def test_no_package_is_looked_for_in_a_directory_whose_name_is_not_utf8(tmp_path):
    add_latin(tmp_path, "requirements.txt", "flask==1.0\n")
    add_latin(tmp_path, "package.json", '{"dependencies": {"zod": "3"}}')
    write(tmp_path / "fine" / "requirements.txt", "django==5.0\n")
    found = scan(tmp_path)
    assert [entry.key.rpartition("/")[2] for entry in found.entries] == ["django"]
    for entry in found.entries:
        entry.path.encode()


@pytest.mark.parametrize("odd", ["\ud800", "caf\udce9", "packages/\ud800/*", "{a,\ud800}"])
def test_a_workspace_that_names_half_a_surrogate_pair_keeps_its_packages(tmp_path, odd):
    add_latin(tmp_path, "package.json", '{"dependencies": {"left-pad": "1"}}')
    content = {"name": "x", "workspaces": [odd, "web"], "dependencies": {"zod": "3"}}
    write(tmp_path / "package.json", json.dumps(content))
    write(tmp_path / "web" / "package.json", '{"name": "web", "dependencies": {"react": "18"}}')
    names = {entry.key.rpartition("/")[2] for entry in scan(tmp_path).entries}
    assert {"zod", "react"} <= names
    assert "left-pad" not in names


DEEP = "/".join(["a"] * 1_700)
_CARGO = """[package]
name = "x"
version = "1"
[dependencies]
q = {path = "%s"}
zod = "3"
"""
_GO = """module x.y/z
require a.b/c v1.0.0
require a.b/zod v1.0.0
replace a.b/c => ./%s
"""
MANIFESTS = {
    "package.json": json.dumps({"name": "x", "workspaces": [DEEP], "dependencies": {"zod": "3"}}),
    "Cargo.toml": _CARGO % DEEP,
    "go.mod": _GO % DEEP,
    "requirements.txt": f"-r {DEEP}/r.txt\n-e ./{DEEP}\nzod\n",
}


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_manifest_that_leads_deep_down_is_read_all_the_same(tmp_path, manifest):
    write(tmp_path / manifest, MANIFESTS[manifest])
    assert any(entry.key.endswith("/zod") for entry in scan(tmp_path).entries)


def test_members_that_are_named_without_wildcards_are_looked_for_up_to_a_limit(tmp_path):
    names = ",".join(f"m{n}" for n in range(60))
    content = {"name": "x", "workspaces": [f"below{n}/{{{names}}}" for n in range(200)]}
    write(tmp_path / "package.json", json.dumps(content))
    (problem,) = scan(tmp_path).problems
    assert "others are left out" in problem.reason


def test_what_a_scan_had_to_say_is_kept_for_who_asks(tmp_path):
    source = Dependencies((Root(str(tmp_path), "project", "none", str(tmp_path)),), {})
    write(tmp_path / "requirements.txt", "flask==1.0\n")
    assert source.notes == ()
    source.brief().scan()
    (tmp_path / "requirements.txt").unlink()
    assert any("no .venv" in note for note in source.notes)


@pytest.mark.parametrize("workspaces", [["packages/*"], ["packages/inner", "packages/web"]])
def test_a_package_of_a_repository_inside_is_that_ones(tmp_path, workspaces):
    write(tmp_path / "package.json", json.dumps({"name": "x", "workspaces": workspaces}))
    for name in ("inner", "web"):
        asked = {"name": name, "dependencies": {f"used-by-{name}": "1"}}
        write(tmp_path / "packages" / name / "package.json", json.dumps(asked))
    (tmp_path / "packages" / "inner" / ".git").mkdir()
    names = {entry.key.rpartition("/")[2] for entry in scan(tmp_path).entries}
    assert names == {"x", "web", "used-by-web"}


def test_a_path_in_requirements_leads_into_no_other_repository(tmp_path):
    write(tmp_path / "requirements.txt", "-e ./inner/sub\n-r inner/more.txt\nflask\n")
    write(tmp_path / "inner" / "sub" / "requirements.txt", "django\n")
    write(tmp_path / "inner" / "more.txt", "celery\n")
    (tmp_path / "inner" / ".jj").mkdir()
    names = {entry.key.rpartition("/")[2] for entry in scan(tmp_path).entries}
    assert names == {"flask"}
