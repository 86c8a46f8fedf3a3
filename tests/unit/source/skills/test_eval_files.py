"""The eval files beside a skill: which are read, when again, and which not."""

import json
import os

import pytest

from irdaemon.source.skills import Skills
from irdaemon.types import Root

FILL, NEAR = "fill in the tax form", "turn this contract into Word"
QUERIES = [{"query": FILL, "should_trigger": True}, {"query": NEAR, "should_trigger": False}]
YAML = f"stimuli:\n  - {{name: a, prompt: {FILL}}}\nnegatives: [{NEAR}]\n"


@pytest.fixture
def skill(tmp_path):
    directory = tmp_path / "skills" / "pdf-forms"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: pdf-forms\ndescription: Forms.\n---\nDo it.\n")
    return directory


@pytest.fixture
def source(skill):
    return Skills((Root(str(skill.parent)),), {})


def put(path, value=QUERIES):
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def read(source):
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts
    return artifact


def stamp(source, under=None):
    (entry,) = source.scan(under).entries
    return entry.stamp


@pytest.mark.parametrize("folder", ["evals", "."])
@pytest.mark.parametrize(
    "name",
    ["evals.json", "trigger-eval.json", "trigger-evals.json", "trigger_eval.json",
     "trigger_evals.json", "trigger-queries.json", "trigger_cases.json", "triggers.json",
     "eval_queries.json", "trigger_tests.yaml", "eval.yaml", "eval.yml"],
)  # fmt: skip
def test_eval_files_beside_a_skill_and_in_its_folder_are_read(source, skill, folder, name):
    put(skill / folder / name, QUERIES if name.endswith(".json") else YAML)
    artifact = read(source)
    assert (artifact.prompts, artifact.misses) == ((FILL,), (NEAR,))
    assert artifact.flags == ()
    assert FILL not in repr(artifact.raw)


@pytest.mark.parametrize("name", ["package.json", "my-evals.json", "evals.json.bak", "Evals.json"])
def test_other_files_are_not(source, skill, name):
    put(skill / "evals" / name)
    put(skill / "assets" / "evals.json")
    assert read(source).prompts == ()


def test_front_matter_comes_first_then_what_is_about_triggers(source, skill):
    (skill / "SKILL.md").write_text("---\nname: pdf-forms\ntriggers: [sign a form]\n---\nDo it.\n")
    put(skill / "evals" / "evals.json", {"evals": [{"id": 1, "prompt": "print the form"}]})
    put(skill / "trigger-eval.json")
    assert read(source).prompts == ("sign a form", FILL, "print the form")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("evals.json", '{"evals": ['),
        ("evals.json", "// none\n[]"),
        ("evals.json", "[" * 100_000),
        ("evals.json", json.dumps([FILL] * 12_000)),
        ("evals.json", "9" * 5_000),
        ("eval.yaml", "a: [b\n"),
        ("eval.yaml", "[" * 10_000),
    ],
)
def test_a_file_that_cannot_be_parsed_or_is_too_large_is_a_flag_and_costs_nothing_else(
    source, skill, name, text
):
    put(skill / "evals" / name, text)
    put(skill / "trigger-eval.json")
    artifact = read(source)
    assert artifact.flags == ("unread_evals",)
    assert artifact.metadata["flags"] == ["unread_evals"]
    assert (artifact.prompts, artifact.misses) == ((FILL,), (NEAR,))


@pytest.mark.parametrize("value", ["null", "{}", "[]", "3", '"x"', '{"evals": null}', "[[[[[]]]]]"])
def test_a_file_without_prompts_is_no_flag(source, skill, value):
    put(skill / "evals" / "evals.json", value)
    artifact = read(source)
    assert (artifact.prompts, artifact.flags) == ((), ())


def test_the_stamp_changes_with_an_eval_file_and_with_its_removal(source, skill):
    stamps = [stamp(source)]
    file = put(skill / "evals" / "evals.json")
    stamps.append(stamp(source))
    file.write_text("[]")
    stamps.append(stamp(source))
    put(skill / "eval.yaml", YAML)
    stamps.append(stamp(source))
    assert len(set(stamps)) == 4
    (skill / "eval.yaml").unlink()
    file.unlink()
    assert stamp(source) == stamps[0]
    put(skill / "evals" / "notes.md", "x")
    assert stamp(source) == stamps[0]


@pytest.mark.parametrize("path", ["evals/evals.json", "eval.yaml", "evals"])
def test_a_change_of_an_eval_file_is_about_its_skill_also_when_it_is_gone(source, skill, path):
    put(skill.parent / "other" / "SKILL.md", "x")
    (skill / "evals").mkdir()
    put(skill / "evals" / "evals.json")
    put(skill / "eval.yaml", YAML)
    for _ in range(2):
        scan = source.scan(str(skill / path))
        assert [entry.path for entry in scan.entries] == [str(skill)]
        assert scan.covered == (str(skill),)
        if (skill / path).is_dir():
            (skill / path).rename(skill.parent / "elsewhere")
        elif (skill / path).exists():
            (skill / path).unlink()


def test_a_skill_that_is_called_evals_has_eval_files_too(source, skill):
    renamed = skill.rename(skill.parent / "evals")
    file = put(renamed / "evals.json")
    assert read(source).prompts == (FILL,)
    assert stamp(source, str(file)) == stamp(source)


@pytest.mark.parametrize("link", ["evals", "evals/evals.json", "eval.yaml"])
def test_no_link_that_leads_out_of_the_skill_is_followed(source, skill, tmp_path, link):
    put(tmp_path / "secret.txt", YAML)
    put(tmp_path / "private" / "evals.json")
    (skill / link).parent.mkdir(exist_ok=True)
    target = "private" if link == "evals" else "secret.txt"
    (skill / link).symlink_to(tmp_path / target)
    artifact = read(source)
    assert (artifact.prompts, artifact.misses) == ((), ())
    assert artifact.flags == (() if link == "evals" else ("unread_evals",))


def test_a_link_to_a_file_of_the_skill_is_followed(source, skill):
    (skill / "evals").mkdir()
    put(skill / "evals" / "all.json")
    (skill / "evals" / "evals.json").symlink_to("all.json")
    assert read(source).prompts == (FILL,)


def test_a_fifo_in_its_place_does_not_block(source, skill):
    os.mkfifo(skill / "evals.json")
    artifact = read(source)
    assert (artifact.prompts, artifact.flags) == ((), ("unread_evals",))


PRIVATE = ["<private>", "my salary is 90000", "</private>"]


@pytest.mark.parametrize(
    "front",
    [
        f"triggers: {json.dumps([*PRIVATE, FILL])}",
        f"metadata:\n  triggers: {json.dumps([FILL, *PRIVATE])}",
        f"# <private>\ntriggers: [my salary is 90000, {FILL}]\n# </private>",
    ],
)
def test_front_matter_with_something_private_in_it_tells_no_prompts(skill, source, front):
    (skill / "SKILL.md").write_text(f"---\nname: pdf-forms\n{front}\n---\nDo it.\n")
    assert read(source).prompts == ()


@pytest.mark.parametrize(
    "lines",
    [
        PRIVATE,
        ["-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA7bq", "-----END RSA PRIVATE KEY-----"],
    ],
    ids=["a block", "a key"],
)
def test_an_eval_file_with_something_private_over_its_lines_tells_none(skill, source, lines):
    put(skill / "evals.json", [{"query": line} for line in (*lines, FILL)])
    assert read(source).prompts == ()
