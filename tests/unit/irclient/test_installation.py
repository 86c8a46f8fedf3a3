"""The commands that add packages to an installation, for each way that there is."""

import json
import re
from importlib import metadata

import pytest

from irclient import installation
from irclient.installation import (
    find_source,
    install_command,
    make_extra_command,
    make_removal_command,
)
from tests.support.modules import ROOT

MAIN = '{ name = "irdaemon", directory = "/src/ir daemon", extras = ["pdf"] }'
CLIENT = '{ name = "irclient" }, { name = "irclient", directory = "/src/client" }'
OTHERS = '{ name = "rich", specifier = ">=13,<15" }, { name = "x", git = "https://h/x?rev=v1#abc" }'
COMMANDS = '{ name = "irc", from = "irclient" }, { name = "irdaemon", from = "irdaemon" }'


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Stand a directory in the place of this environment, whose interpreter has pip."""
    place = tmp_path / "irdaemon"
    place.mkdir()
    monkeypatch.setattr(installation.sys, "prefix", str(place))
    monkeypatch.setattr(installation.sys, "executable", "/a b/python")
    return place


def test_pip_is_that_of_the_interpreter_that_runs(prefix):
    assert install_command("mcp>=2,<3", "h11") == "'/a b/python' -m pip install 'mcp>=2,<3' h11"
    assert make_removal_command() == "'/a b/python' -m pip uninstall irdaemon irclient"


def test_an_environment_without_pip_is_changed_by_uv(prefix, monkeypatch):
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    assert install_command("h11") == "uv pip install --python '/a b/python' h11"
    assert make_removal_command().startswith("uv pip uninstall --python '/a b/python' irdaemon")


def test_a_tool_of_pipx_has_it_injected(prefix):
    (prefix / "pipx_metadata.json").write_text("{}")
    assert install_command("mcp>=2,<3") == "pipx inject irdaemon 'mcp>=2,<3'"
    assert make_removal_command() == "pipx uninstall irdaemon"


def test_a_tool_of_uv_is_installed_anew_with_all_that_it_had(prefix):
    tool = f"[tool]\nrequirements = [{MAIN}, {CLIENT}, {OTHERS}]\nentrypoints = [{COMMANDS}]\n"
    (prefix / "uv-receipt.toml").write_text(tool + 'python = "3.12"\n')
    assert install_command("h11") == (
        "uv tool install --python 3.12 --with /src/client --with 'rich>=13,<15'"
        " --with 'x @ git+https://h/x@v1' --with-executables-from irclient --with h11"
        " '/src/ir daemon[pdf]'"
    )
    assert make_removal_command() == "uv tool uninstall irdaemon"


def test_an_editable_tool_of_uv_stays_editable(prefix):
    client = '{ name = "irclient", editable = "/src/client" }'
    main = '{ name = "irdaemon", editable = "/src" }'
    (prefix / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{main}, {client}]\n")
    said = "uv tool install --with-editable /src/client --editable --with h11 /src"
    assert install_command("h11") == said


@pytest.mark.parametrize("receipt", ["", "[tool]\n", "[tool]\nrequirements = []\n", "=", "\x00"])
def test_a_receipt_that_says_nothing_is_no_receipt(prefix, receipt):
    (prefix / "uv-receipt.toml").write_text(receipt)
    assert "-m pip install h11" in install_command("h11")


def test_an_extra_is_what_others_packages_it_needs_and_none_of_ours(prefix):
    assert make_extra_command("pdf") == "'/a b/python' -m pip install 'pypdf[crypto]>=5'"
    said = make_extra_command("mcp")
    assert re.search(r"'mcp\S*>=2", said)
    assert "httpx2" in said
    assert "irclient" not in said
    assert "sse-starlette" in make_extra_command("web", "irclient")


def test_what_is_not_known_of_an_extra_is_taken_from_where_the_package_lies(prefix):
    assert make_extra_command("none").endswith(f"-m pip install '{find_source('irdaemon')}[none]'")


@pytest.mark.parametrize(
    ("url", "place"),
    [("file:///a%20b/client", "/a b/client"), ("https://h/x.whl", "https://h/x.whl")],
)
def test_the_source_is_what_the_installer_noted(monkeypatch, url, place):
    class Noted:
        def read_text(self, name):
            return json.dumps({"url": url})

    monkeypatch.setattr(metadata, "distribution", lambda name: Noted())
    assert find_source("irclient") == place


def test_a_package_that_nothing_installed_comes_from_its_checkout(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert find_source("irdaemon") == str(ROOT)
    assert find_source("irclient") == str(ROOT / "client")
