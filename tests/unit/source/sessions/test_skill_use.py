"""Which skill a session used: called by name, by its file, or as a command."""

from pathlib import Path

import pytest

from irdaemon.source.sessions.artifacts import find_command, list_skills
from irdaemon.source.sessions.item_uses import read_call
from tests.support.claude_session import Session


@pytest.mark.parametrize(
    ("tool", "arguments", "skill"),
    [
        ("Skill", {"skill": "pdf-forms"}, "pdf-forms"),
        ("Skill", {"command": "office:pdf-forms"}, "pdf-forms"),
        ("skill", '{"name": "pdf"}', "pdf"),
        ("Skill", {"skill": "not a name"}, ""),
        ("Skill", "{broken", ""),
        ("Read", {"file_path": "/home/u/.claude/skills/pdf/SKILL.md"}, "pdf"),
        ("shell", '{"command": ["bash", "-lc", "cat skills/pdf/SKILL.md"]}', "pdf"),
        ("shell", {"command": ["bash", "-lc", "cat skills/pdf/SKILL.md"]}, "pdf"),
        ("Read", {"file_path": "/home/u/notes/README.md"}, ""),
        ("Read", {"limit": 3}, ""),
        (None, None, ""),
    ],
)
def test_a_skill_is_used_by_its_name_or_by_reading_its_file(tool, arguments, skill):
    assert list_skills(read_call(tool, arguments), ()) == ((skill,) if skill else ())


@pytest.mark.parametrize(
    ("prompt", "name"),
    [("/pdf-forms fill it in", "pdf-forms"), ("/office:pdf x", "pdf"), ("fill /pdf in", ""),
     ("/usr/bin/env python", ""), ("", "")],
)  # fmt: skip
def test_a_command_at_the_start_of_a_prompt_names_a_skill(prompt, name):
    assert find_command(prompt) == name


def test_a_turn_knows_the_skills_that_it_used_each_once(tmp_path: Path) -> None:
    session = Session().user("u1", "/deploy the site")
    for at, name in enumerate(["pdf", "office:xlsx", "pdf"]):
        session.calls(f"a{at}", "Skill", {"skill": name})
    (turn,) = session.says("a9", "Done.", "end_turn").read(tmp_path).artifacts
    assert turn.uses == ("pdf", "xlsx", "deploy")


def test_a_turn_without_skills_is_what_it_was(tmp_path: Path) -> None:
    (turn,) = Session().user("u1", "hi").says("a1", "yes", "end_turn").read(tmp_path).artifacts
    assert (turn.uses, "uses" in turn.raw, "skills" in turn.raw) == ((), False, False)
