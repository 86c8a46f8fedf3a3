"""What a person copies out of an answer, and what an answer says of packages and documents."""

import json
import shlex

import pytest

from tests.support.running import Running

LONG = " ".join(["Use this whenever a person brings words."] * 9)


@pytest.fixture(scope="module")
def served(module_home):
    home = module_home
    home.env.pop("COLUMNS", None)
    package = home.path / "code" / "buffer"
    package.mkdir(parents=True)
    described = {"name": "@turf/buffer", "description": "Grow a polygon by a distance"}
    (package / "package.json").write_text(json.dumps(described))
    (package / "README.md").write_text(
        "<!-- generated -->\n[![build](b.svg)](ci)\n\n# Buffer\n\n"
        + "Words that fill. " * 100
        + "\n"
    )
    notes = home.path / "notes"
    notes.mkdir()
    filler = "Nothing of interest happened on that day. " * 12
    (notes / "Ann's diary.md").write_text(f"# Diary\n\n{filler}\n\nThe toaster exploded.\n")
    home.config.write_text(
        'embedder = "hashing"\n'
        '[corpora.packages]\nkind = "packages"\nroots = ["~/code"]\n'
        '[corpora.notes]\nkind = "files"\nroots = ["~/notes"]\n'
        '[corpora.more]\nkind = "skills"\nroots = ["~/more", "~/even-more"]\n'
    )
    long = home.path / "more" / "long" / "SKILL.md"
    long.parent.mkdir(parents=True)
    long.write_text(f"---\nname: long\ndescription: {LONG}\n---\nBody.\n")
    for place in ("more", "even-more"):
        copy = home.path / place / "fold-boats" / "SKILL.md"
        copy.parent.mkdir(parents=True)
        copy.write_text("---\nname: fold-boats\ndescription: Fold paper boats\n---\nFold it.\n")
    with Running(home) as running:
        running.wait_idle()
        yield home


def test_disclose_takes_what_an_answer_printed(served):
    lines = served.irc("search", "toaster exploded", "-c", "notes", "-k", "1").stdout.splitlines()
    assert lines[1] == "    … The toaster exploded."
    (reference,) = shlex.split(lines[0].partition("Diary")[2])
    assert reference.startswith("notes/")
    disclosed = served.irc("disclose", reference)
    assert "The toaster exploded." in disclosed.stdout


def test_a_name_that_answers_show_once_is_one_for_disclose(served):
    (hit,) = served.answer("discover", "fold paper boats", "-c", "more")["results"]
    assert len(hit["duplicates"]) == 1
    (disclosed,) = served.answer("disclose", "more/fold-boats")
    assert disclosed["artifact_id"] == hit["artifact_id"]
    refused = served.irc("disclose", "more/fold-baots")
    assert refused.returncode == 4
    assert "the nearest are more/" in refused.stderr


def test_in_a_pipe_nothing_is_cut_and_a_package_says_what_its_manifest_does(served):
    found = served.irc("search", "person brings words", "-c", "more", "-k", "1")
    assert found.stdout.splitlines()[1] == f"    {LONG}"
    package = served.irc("search", "words that fill", "-c", "packages", "-k", "1")
    assert package.stdout.splitlines()[1] == "    Grow a polygon by a distance"
