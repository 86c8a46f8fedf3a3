"""The knowledge pack: what its source has to be, and which items get its prompts."""

import importlib.util
import os
from pathlib import Path

import pytest

from irdaemon.source import pack
from irdaemon.types import Artifact

SOURCE = Path(__file__).parents[3] / "pack"
spec = importlib.util.spec_from_file_location("pack_build", SOURCE / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
GOOD = {
    "kind": "npm",
    "name": "left-pad",
    "about": "Put characters before a text until it is as long as wanted.",
    "prompts": [f"make column number {n} line up on the right" for n in range(6)],
    "de": "Spalten rechtsbündig ausgeben",
    "es": "alinear columnas a la derecha",
}


def test_the_pack_is_that_of_its_source_and_nothing_is_wrong_with_that():
    entries = {}
    for where, entry in build.read_lines():
        assert (where, list(build.find_problems(entry))) == (where, [])
        key = pack.make_key(entry["kind"], entry["name"])
        assert key not in entries
        entries[key] = entry["about"], (*entry["prompts"], entry["de"], entry["es"])
        assert pack.find_entry(entry["kind"], entry["name"]) == entries[key]
    assert len(pack._read_index().hashes) == len(entries)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "gem"}, "kind"),
        ({"about": "Pads."}, "words"),
        ({"prompts": ["make columns line up"] * 6}, "1 prompts, not 6"),
        ({"de": "wie geht left-pad denn nun"}, "named"),
        ({"es": "mira https://example.com/x"}, "markup"),
        ({"es": "corto"}, "5 characters"),
        ({"es": "con password=hunter22hunter22 no entra"}, "secret"),
    ],
)
def test_a_bad_line_says_what_is_wrong(change, said):
    assert not list(build.find_problems(GOOD))
    assert said in " ".join(build.find_problems({**GOOD, **change}))


def test_a_line_with_other_keys_says_which():
    assert "prompt" in " ".join(build.find_problems({"kind": "npm", "prompt": "x"}))


def find(kind, name, text, ecosystem="", pointer=""):
    fields = {"ecosystem": ecosystem} if ecosystem else {}
    return pack.find_packed(kind, Artifact("id", text, name, pointer), fields, text)


PDF = "Read, join, split and fill PDF files, and extract their text and tables."


def test_a_package_has_the_prompts_of_its_name_in_its_registry():
    found = find("dependencies", "NumPy", "Fundamental package for array computing", "pypi")
    assert len(found) == 8
    assert not any("numpy" in prompt.lower() for prompt in found)
    assert not find("packages", "numpy", "array computing", "npm")
    assert not find("packages", "numpy", "array computing")


def test_a_skill_of_the_same_name_that_does_another_thing_has_none():
    assert find("skills", "pdf", PDF)
    assert find("skills", "pdf", "Plan the dinner of friends") == ()


def test_a_file_that_is_replaced_under_a_process_is_read_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "pack.bin"
    file.write_bytes(pack.PACK.read_bytes())
    monkeypatch.setattr(pack, "PACK", file)
    pack._read_index.cache_clear()
    before = pack.find_entry("skill", "pdf")
    other = tmp_path / "other.bin"
    other.write_bytes(b"another" + pack.PACK.read_bytes())
    other.replace(file)
    assert before
    assert pack.find_entry("skill", "pdf") == before
    os.close(pack._read_index().file)
    pack._read_index.cache_clear()


def test_a_skill_is_known_by_the_name_of_its_directory_too():
    assert find("skills", "Portable Documents", PDF, pointer="/home/u/skills/pdf/SKILL.md")
    assert not find("skills", "Portable Documents", PDF, pointer="/home/u/skills/other/SKILL.md")


def test_other_kinds_and_unknown_names_have_none():
    assert not find("files", "pdf", PDF)
    assert not find("skills", "no such thing", PDF)


def test_names_are_compared_as_their_registries_do():
    assert pack.canonicalize("pypi", "Ruamel.YAML_clib") == "ruamel-yaml-clib"
    assert pack.canonicalize("cargo", "serde_json") == pack.canonicalize("cargo", "serde-json")
    assert pack.canonicalize("npm", "@Types/Node") == "@types/node"
    assert pack.canonicalize("skill", "Pentest  Check_list") == "pentest-check-list"
