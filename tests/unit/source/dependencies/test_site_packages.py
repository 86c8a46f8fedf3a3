"""What is installed in a Python environment, and the names that it offers."""

import os

import pytest

from irdaemon.source.dependencies.site_packages import (
    find_own_environment,
    list_exports,
    read_environment,
    read_python,
)
from irdaemon.types import SourceError
from tests.support.environments import install, make_environment
from tests.support.installed import write


def exports(site, modules, name="acme", **files):
    folder = install(site, name, "1.0", modules)
    for file, text in files.items():
        write(folder / file.replace("_txt", ".txt"), text)
    return list_exports(str(folder))


@pytest.fixture
def site(tmp_path):
    return make_environment(tmp_path)


def test_distributions_are_found_by_normalised_names_and_of_two_the_newest(tmp_path, site):
    install(site, "Zope.Interface", "6.0")
    for version in ("1.9", "1.10"):
        install(site, "acme", version)
    (site / "old_egg-2.0-py3.8.egg-info").mkdir()
    (site / "acme-1.11.dist-info").write_text("no directory is needed to be a name")

    found = read_environment(find_own_environment(str(tmp_path))).distributions

    assert {name: each.version for name, each in found.items()} == {
        "zope-interface": "6.0",
        "acme": "1.11",
        "old-egg": "2.0",
    }


def test_what_all_states_is_exported_and_nothing_else(site):
    source = (
        '"""Doc."""\n__all__ = ["Client"] + ["connect"]\n__all__ += ["later"]\ndef hidden(): ...\n'
    )
    assert exports(site, {"acme/__init__.py": source}) == ("acme", "Client", "connect", "later")


def test_without_all_it_is_what_is_defined_and_taken_from_the_package_itself(site):
    source = """
import os
from typing import Any
from .core import *
from ._impl import Thing, _private
from acme.more import Extra as More
try:
    from .fast import speed
except ImportError:
    def speed(): ...
LIMIT: int = 3
class Client: ...
async def fetch(): ...
_hidden = 1
"""
    core = "def run(): ...\nfrom ..other import *\nfrom elsewhere import *\n"
    modules = {"acme/__init__.py": source, "acme/core.py": core, "other.py": "def no(): ..."}
    names = exports(site, modules)
    assert {"Thing", "More", "speed", "LIMIT", "Client", "fetch", "run"} <= set(names)
    assert not {"os", "Any", "_private", "_hidden", "Extra"} & set(names)


def test_a_stub_is_read_in_place_of_its_module(site):
    modules = {"acme/__init__.py": "raise SystemExit", "acme/__init__.pyi": "def typed(): ...\n"}
    assert "typed" in exports(site, modules)


def test_modules_are_found_below_namespaces_and_tests_are_none(site):
    modules = {"google/acme/__init__.py": "def f(): ...", "tests/__init__.py": "", "cacme.so": ""}
    assert exports(site, modules) == ("cacme", "google.acme", "f")


def test_where_a_package_offers_few_names_its_modules_are_named(site):
    modules = {"acme/__init__.py": "", "acme/events.py": "", "acme/sub/__init__.py": ""}
    assert set(exports(site, modules)) == {"acme", "acme.events", "acme.sub"}


def test_a_module_that_only_top_level_txt_names_is_one(site):
    assert exports(site, {}, top_level_txt="Stemmer\n_private\n../../etc\n") == ("Stemmer",)


def test_nothing_in_a_module_is_run_and_one_that_is_no_python_has_no_names(tmp_path, site):
    modules = {"acme/__init__.py": f"open({str(tmp_path / 'ran')!r}, 'w')\n__all__ = ['x']\n"}
    assert exports(site, modules) == ("acme", "x")
    assert not (tmp_path / "ran").exists()
    assert exports(site, {"bad/__init__.py": "def (:\n"}, "bad") == ("bad",)


def test_paths_of_a_record_that_lead_out_and_links_are_not_read(tmp_path, site):
    write(tmp_path / "secret.py", "def secret(): ...\n")
    (site / "acme").mkdir()
    os.symlink(tmp_path / "secret.py", site / "acme/__init__.py")
    folder = install(site, "acme", "1.0")
    write(folder / "RECORD", "acme/__init__.py,,\n../../../../secret.py,,\n/etc/x.py,,\n")
    assert list_exports(str(folder)) == ("acme",)


def test_the_names_of_a_module_of_thousands_are_bounded(site):
    source = "\n".join(f"def f{n}(): ..." for n in range(5_000))
    assert len(exports(site, {"acme/__init__.py": source})) <= 300


def test_metadata_that_is_gone_or_a_link_is_an_error(tmp_path, site):
    folder = install(site, "acme", "1.0")
    (folder / "METADATA").rename(tmp_path / "METADATA")
    with pytest.raises(FileNotFoundError):
        read_python(str(folder))
    os.symlink(tmp_path / "METADATA", folder / "METADATA")
    with pytest.raises((FileNotFoundError, SourceError)):
        read_python(str(folder))


def test_a_package_of_the_project_is_read_by_its_manifest_and_readme(tmp_path):
    write(tmp_path / "README.md", "# Shop\n\nSells.")
    write(tmp_path / "pyproject.toml", '[project]\nname = "shop"\ndescription = "Sells things"\n')
    os.symlink("/etc/hostname", tmp_path / "setup.cfg")

    text = read_python(str(tmp_path))

    assert (text.manifest.description, text.readme.text) == ("Sells things", "# Shop\n\nSells.")
    assert text.pointer == str(tmp_path)
