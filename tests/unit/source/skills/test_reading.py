import hashlib
import json
import os

import pytest

from irdaemon.source.frontmatter import TOOL
from irdaemon.source.skills import Skills
from irdaemon.types import Root, SourceError


def read(tmp_path, text, folder="pdf-forms", options=None, name="SKILL.md"):
    directory = tmp_path / "skills" / folder
    directory.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    (directory / name).write_bytes(data)
    source = Skills((Root(str(tmp_path)),), options or {})
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts
    return artifact


def test_a_skill_by_the_book_has_no_flags(tmp_path):
    text = "---\nname: pdf-forms\ndescription: Fill forms.\n---\n# Steps\n"
    artifact = read(tmp_path, text)
    path = str(tmp_path / "skills" / "pdf-forms")
    assert artifact.artifact_id == path
    assert artifact.pointer == os.path.join(path, "SKILL.md")
    assert artifact.digest == hashlib.sha256(text.encode()).hexdigest()
    assert artifact.raw == {
        "name": "pdf-forms",
        "description": "Fill forms.",
        "text": "# Steps\n",
        "parent": "skills",
    }
    assert artifact.flags == ()
    assert "flags" not in artifact.metadata


def test_metadata_holds_what_is_worth_filtering_on(tmp_path):
    artifact = read(
        tmp_path,
        "---\nname: pdf-forms\ndescription: Fill forms.\nlicense: MIT\n"
        "compatibility: needs qpdf\nallowed-tools: Bash(git add:*), Read Write\n"
        "paths: 'src/**, docs/*.md'\nuser-invocable: off\n"
        'metadata: {author: acme, version: "1.10", tags: "a, b"}\n---\n',
    )
    expected = {
        "parent": "skills",
        "scope": "user",
        "license": "MIT",
        "compatibility": "needs qpdf",
        "allowed_tools": ["Bash(git add:*)", "Read", "Write"],
        "paths": ["src/**", "docs/*.md"],
        "user_invocable": False,
        "model_invocable": True,
        "hidden": False,
        "author": "acme",
        "version": "1.10",
        "tags": ["a", "b"],
    }
    assert artifact.metadata == expected
    json.dumps(artifact.metadata)


def test_allowed_tools_may_be_a_list(tmp_path):
    artifact = read(tmp_path, "---\ndescription: x\nallowed-tools:\n  - Read\n  - Bash(a b)\n---\n")
    assert artifact.metadata["allowed_tools"] == ["Read", "Bash(a b)"]


def test_when_to_use_is_part_of_the_description(tmp_path):
    artifact = read(tmp_path, "---\ndescription: Fill.\nwhen_to_use: On forms.\n---\n")
    assert artifact.raw["description"] == "Fill. On forms."


def test_a_missing_name_falls_back_to_the_directory(tmp_path):
    artifact = read(tmp_path, "---\ndescription: Fill.\n---\n")
    assert artifact.name == "pdf-forms"
    assert "name_mismatch" not in artifact.flags


def test_a_missing_description_falls_back_to_the_first_paragraph(tmp_path):
    artifact = read(tmp_path, "---\nname: pdf-forms\n---\n# Title\n\nFill `PDF`\n**forms**.\n\nB\n")
    assert artifact.raw["description"] == "Fill PDF forms."
    assert artifact.flags == ("missing_description",)


def test_a_skill_without_frontmatter_is_loaded_and_flagged(tmp_path):
    artifact = read(tmp_path, "# Title\n\nFill forms.\n")
    assert artifact.name == "pdf-forms"
    assert artifact.raw["description"] == "Fill forms."
    assert "no_frontmatter" in artifact.flags


def test_an_unquoted_colon_is_repaired_and_flagged(tmp_path):
    artifact = read(tmp_path, "---\nname: pdf-forms\ndescription: Use when: asked\n---\n")
    assert artifact.raw["description"] == "Use when: asked"
    assert artifact.flags == ("lenient_yaml",)
    assert artifact.metadata["flags"] == ["lenient_yaml"]


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("other", ("name_mismatch",)),
        ("PDF Forms", ("name_mismatch", "bad_name")),
        ("a" * 65, ("name_mismatch", "bad_name")),
        ("a--b", ("name_mismatch", "bad_name")),
    ],
)
def test_a_name_against_the_rules_is_flagged_and_kept(tmp_path, name, flags):
    artifact = read(tmp_path, f"---\nname: {name}\ndescription: x\n---\n")
    assert (artifact.name, artifact.flags) == (name, flags)


def test_a_description_over_the_limit_is_flagged_and_kept_whole(tmp_path):
    artifact = read(tmp_path, f"---\nname: pdf-forms\ndescription: {'x' * 1025}\n---\n")
    assert artifact.flags == ("long_description",)
    assert len(artifact.raw["description"]) == 1025


@pytest.mark.parametrize("yes", ["true", "yes", "on", "1", "True"])
def test_a_skill_the_model_may_not_invoke_is_hidden(tmp_path, yes):
    text = f"---\nname: pdf-forms\ndescription: x\ndisable-model-invocation: {yes}\n---\n"
    artifact = read(tmp_path, text)
    assert artifact.flags == ("hidden",)
    assert artifact.metadata["hidden"] is True
    assert artifact.metadata["model_invocable"] is False


def test_invalid_utf8_is_replaced_and_flagged(tmp_path):
    artifact = read(tmp_path, b"---\nname: pdf-forms\ndescription: caf\xe9\n---\n")
    assert artifact.flags == ("invalid_utf8",)


def test_the_upper_case_file_wins_over_the_lower_case_one(tmp_path):
    directory = tmp_path / "skills" / "pdf-forms"
    directory.mkdir(parents=True)
    (directory / "skill.md").write_text("---\ndescription: lower\n---\n")
    assert read(tmp_path, "---\ndescription: upper\n---\n").raw["description"] == "upper"


def test_a_lower_case_skill_file_alone_counts(tmp_path):
    artifact = read(tmp_path, "---\ndescription: lower\n---\n", name="skill.md")
    assert artifact.pointer.endswith("/skill.md")


def test_codex_display_texts_are_taken_from_beside_the_skill(tmp_path):
    agents = tmp_path / "skills" / "pdf-forms" / "agents"
    agents.mkdir(parents=True)
    (agents / "openai.yaml").write_text("interface:\n  display_name: PDF!\n")
    artifact = read(tmp_path, "---\nname: pdf-forms\ndescription: x\n---\n")
    assert artifact.metadata["display_name"] == "PDF!"


def test_a_skill_file_over_the_limit_is_an_error_naming_it(tmp_path):
    with pytest.raises(SourceError, match=r"SKILL\.md.*limit"):
        read(tmp_path, "x" * 101, options={"max_bytes": 100})


def test_a_skill_that_is_gone_raises_file_not_found(tmp_path):
    directory = tmp_path / "pdf"
    directory.mkdir()
    (directory / "SKILL.md").write_text("x")
    source = Skills((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries
    (directory / "SKILL.md").unlink()
    with pytest.raises(FileNotFoundError):
        source.read(entry)


def test_tools_with_brackets_that_do_not_close_are_listed_in_time_linear_in_them():
    assert TOOL.findall("Read Bash(git status), Write") == ["Read", "Bash(git status)", "Write"]
    assert len(TOOL.findall("a(" * 30_000)) == 30_000


HEAD = "---\nname: pdf-forms\ndescription: Fill forms.\nlicense: MIT\n---\n"


def read_head(tmp_path, text):
    """Return how the head of a skill reads, and the artifact of the whole file."""
    whole = read(tmp_path, text)
    source = Skills((Root(str(tmp_path)),), {}).make_head_source()
    (entry,) = source.scan().entries
    return source.read(entry), whole


def test_a_head_has_name_description_and_fields_of_the_whole_and_no_body(tmp_path):
    (tmp_path / "skills" / "pdf-forms" / "evals").mkdir(parents=True)
    (tmp_path / "skills" / "pdf-forms" / "evals" / "evals.json").write_text("not JSON")
    reading, whole = read_head(tmp_path, HEAD + "# Steps\n" * 1_000)
    (head,) = reading.artifacts
    assert reading.is_head
    assert head.raw == {**whole.raw, "text": ""}
    assert head.metadata == {k: v for k, v in whole.metadata.items() if k != "flags"}
    assert (head.artifact_id, head.name, head.pointer) == (
        whole.artifact_id,
        whole.name,
        whole.pointer,
    )
    assert head.digest == ""


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "# Steps\n",
        HEAD.replace("license: MIT", "license: " + "x" * 4_000) + "# Steps\n" * 1_000,
        "---\nname: pdf-forms\ndescription: |\n" + "  Fill forms.\n" * 500 + "---\n# Steps\n",
        "\ufeff---\r\nname: pdf-forms\r\n" + "x: y\r\n" * 600 + "---\r\n# Steps\r\n",
        "\n---\nname: pdf-forms\n" + "x: y\n" * 600 + "---\n# Steps\n",
        "---\n--- not the end\n" + "# a comment\n" * 300 + "name: pdf-forms\n---\n# Steps\n",
        "x" * 10_000,
        HEAD.replace("\n", "\r") + "# Steps\r" * 1_000,
    ],
    ids=[
        "small",
        "long-field",
        "long-description",
        "long-front",
        "blank",
        "dashes",
        "one-line",
        "old-line-ends",
    ],
)
def test_where_the_head_is_all_or_ends_later_the_file_is_read_whole(tmp_path, text):
    reading, whole = read_head(tmp_path, text)
    assert not reading.is_head
    assert reading.artifacts == (whole,)


def test_a_head_ends_with_a_whole_line_and_describes_by_the_first_paragraph(tmp_path):
    reading, whole = read_head(
        tmp_path, "Fill forms, \u00e4hnlich.\n\n" + "\u00e4" * 300 + "\n" * 3_000
    )
    (head,) = reading.artifacts
    assert reading.is_head
    assert head.raw["description"] == whole.raw["description"] == "Fill forms, \u00e4hnlich."
    reading, _ = read_head(tmp_path, "Fill forms.\n" + "\u00e4" * 3_000)
    assert reading.artifacts[0].flags == ("no_frontmatter", "missing_description")
