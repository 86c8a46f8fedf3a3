import pytest

from irdaemon.source.guidance.commands import Commands
from tests.support.guidance import all_of
from tests.support.installed import write

REVIEW = """---
description: Review what changed.
argument-hint: "[branch] [--strict]"
allowed-tools: Bash(git diff:*), Read
---
Review $1.
"""


@pytest.mark.parametrize(
    ("path", "product"),
    [
        (".claude/commands/review.md", "claude"),
        (".codex/prompts/review.md", "codex"),
        (".opencode/command/review.md", "opencode"),
        (".cursor/commands/review.md", "cursor"),
        (".github/prompts/review.prompt.md", "copilot"),
        (".windsurf/workflows/review.md", "windsurf"),
    ],
)
def test_a_command_is_called_like_its_file_and_tells_its_arguments(tmp_path, path, product):
    write(tmp_path / path, REVIEW)
    made, _ = all_of(Commands, tmp_path)
    command = made["review"]
    assert command.raw["description"] == "Review what changed."
    assert command.raw["lexical"] == "[branch] [--strict]"
    assert command.metadata["argument_hint"] == "[branch] [--strict]"
    assert command.metadata["allowed_tools"] == ["Bash(git diff:*)", "Read"]
    assert command.metadata["product"] == product


def test_a_gemini_command_is_called_with_its_directories(tmp_path):
    text = 'description = "Commit."\nprompt = """\nWrite a message for !{git diff}\n"""\n'
    write(tmp_path / ".gemini/commands/git/commit.toml", text)
    made, _ = all_of(Commands, tmp_path)
    assert made["git:commit"].raw["text"].startswith("Write a message")
    assert made["git:commit"].metadata["namespace"] == "git"


def test_a_claude_command_keeps_its_directories_as_a_namespace(tmp_path):
    write(tmp_path / ".claude/commands/front/review.md", REVIEW)
    made, _ = all_of(Commands, tmp_path)
    assert made["review"].metadata["namespace"] == "front"


def test_a_command_that_does_not_describe_itself_goes_by_its_first_paragraph(tmp_path):
    write(tmp_path / ".cursor/commands/tidy.md", "# Tidy\n\nSort the imports.\n\nThen stop.\n")
    made, _ = all_of(Commands, tmp_path)
    assert made["tidy"].raw["description"] == "Sort the imports."
    assert "missing_description" in made["tidy"].flags


def test_an_empty_file_is_no_command(tmp_path):
    write(tmp_path / ".claude/commands/nothing.md", "\n")
    assert all_of(Commands, tmp_path) == ({}, ["empty"])


def test_a_command_s_author_may_say_what_is_typed_by_who_needs_it(tmp_path):
    front = "triggers: [check my branch, /review]\nnot_triggers: [write a test]\n"
    write(tmp_path / ".claude/commands/review.md", f"---\n{front}---\nReview $1.\n")
    made, _ = all_of(Commands, tmp_path)
    assert made["review"].prompts == ("check my branch",)
    assert made["review"].misses == ("write a test",)
