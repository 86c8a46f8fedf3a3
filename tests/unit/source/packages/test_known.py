"""Where packages are looked for when no place is configured."""

import sys
from pathlib import Path

import pytest

from irdaemon.source.packages import list_known_places
from irdaemon.source.places import keep_existing
from irdaemon.types import Root


def made(path: Path) -> str:
    path.mkdir(parents=True)
    return str(path)


def test_nothing_is_watched_on_a_machine_that_has_none_of_the_places(tmp_path):
    assert (
        keep_existing(list_known_places(str(tmp_path), {"VIRTUAL_ENV": str(tmp_path / "gone")}))
        == ()
    )


def test_existing_places_are_found_with_their_scopes(tmp_path):
    home = tmp_path / "home"
    src = made(home / "src")
    repos = made(home / "Repos")
    site = made(home / ".local/lib/python3.12/site-packages")
    pipx = made(home / ".local/share/pipx/venvs/black/lib/python3.12/site-packages")
    uv = made(home / ".local/share/uv/tools/ruff/lib/python3.12/site-packages")
    npm = made(home / ".npm-global/lib/node_modules")
    prefix = made(tmp_path / "npm/lib/node_modules")
    venv = made(tmp_path / "venv/lib/python3.11/site-packages")
    conda = made(tmp_path / "conda/lib/python3.10/site-packages")
    env = {
        "NPM_CONFIG_PREFIX": str(tmp_path / "npm"),
        "VIRTUAL_ENV": str(tmp_path / "venv"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
    }

    assert keep_existing(list_known_places(str(home), env)) == (
        Root(src, "project"),
        Root(repos, "project"),
        Root(site, "user"),
        Root(pipx, "user"),
        Root(uv, "user"),
        Root(npm, "user"),
        Root(prefix, "user"),
        Root(venv, "other"),
        Root(conda, "other"),
    )


@pytest.mark.parametrize("name", ["irdaemon", "irclient"])
def test_a_tools_environment_that_holds_this_program_is_none_of_the_persons(tmp_path, name):
    made(tmp_path / f".local/share/uv/tools/{name}/lib/python3.12/site-packages/{name}")
    made(tmp_path / f".local/share/pipx/venvs/both/lib/python3.12/site-packages/{name}")
    black = made(tmp_path / ".local/share/pipx/venvs/black/lib/python3.12/site-packages")
    assert keep_existing(list_known_places(str(tmp_path), {})) == (Root(black, "user"),)


def test_one_directory_under_two_names_is_watched_once(tmp_path):
    made(tmp_path / "src")
    (tmp_path / "code").symlink_to(tmp_path / "src")

    assert keep_existing(list_known_places(str(tmp_path), {})) == (
        Root(str(tmp_path / "src"), "project"),
    )


def test_tool_directories_named_by_the_environment_are_found(tmp_path):
    site = made(tmp_path / "tools/black/lib/python3.12/site-packages")

    roots = keep_existing(
        list_known_places(str(tmp_path / "home"), {"UV_TOOL_DIR": str(tmp_path / "tools")})
    )

    assert roots == (Root(site, "user"),)


def test_the_environment_that_irdaemon_runs_in_is_not_the_persons(tmp_path, monkeypatch):
    own = tmp_path / ".local/share/uv/tools/irdaemon"
    made(own / "lib/python3.12/site-packages")
    black = made(tmp_path / ".local/share/uv/tools/black/lib/python3.12/site-packages")
    env = {"VIRTUAL_ENV": str(own)}
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "prefix", str(own))
    assert keep_existing(list_known_places(str(tmp_path), env)) == (Root(black, "user"),)
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert len(keep_existing(list_known_places(str(tmp_path), {}))) == 2
