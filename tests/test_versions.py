"""A release has one version: each package states its own in `__version__`, and all else agrees."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import irclient
import irdaemon

ROOT = Path(__file__).parents[1]
DAEMON = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CLIENT = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text("utf-8"))


def test_daemon_and_client_are_of_one_version():
    assert irdaemon.__version__ == irclient.__version__


def test_each_package_is_built_with_the_version_that_it_states():
    for project, package in ((DAEMON, "irdaemon"), (CLIENT, "irclient")):
        assert project["project"]["dynamic"] == ["version"]
        dynamic = project["tool"]["setuptools"]["dynamic"]
        assert dynamic == {"version": {"attr": f"{package}.__version__"}}


def test_what_is_installed_is_this_version():
    assert metadata.version("irdaemon") == irdaemon.__version__
    assert metadata.version("irclient") == irclient.__version__


def test_the_daemon_requires_the_client_of_its_own_version():
    extras = DAEMON["project"]["optional-dependencies"].values()
    stated = [*DAEMON["project"]["dependencies"], *(each for extra in extras for each in extra)]
    pinned = [each for each in stated if each.startswith("irclient")]
    assert pinned
    assert all(each.endswith(f"]=={irdaemon.__version__}") for each in pinned), pinned


def test_the_plugin_states_this_version():
    manifest = json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text("utf-8"))
    assert manifest["version"] == irdaemon.__version__


def test_the_transcripts_in_the_docs_show_this_version():
    transcripts = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    shown = set(re.findall(r'"version": "([^"]+)"', transcripts))
    assert shown == {irdaemon.__version__}


def test_both_changelogs_begin_with_what_is_unreleased_or_this_version():
    for path in (ROOT / "CHANGELOG.md", ROOT / "client" / "CHANGELOG.md"):
        first = re.search(r"^## (.*)$", path.read_text("utf-8"), re.MULTILINE)[1]
        assert first == "Unreleased" or first.startswith(f"{irdaemon.__version__} "), path
