import pytest

from irdaemon.source.guidance.rules import Rules, list_known_places
from irdaemon.source.places import keep_existing
from irdaemon.strategy import Rule
from irdaemon.types import Root
from tests.support.guidance import all_of, names_under
from tests.support.installed import write

MDC = """---
description: REST conventions
globs: *.ts,src/api/**
alwaysApply: false
---
Use zod.
"""


def test_a_cursor_rule_tells_for_which_files_it_holds_though_its_yaml_is_none(tmp_path):
    write(tmp_path / ".cursor/rules/api.mdc", MDC)
    made, _ = all_of(Rules, tmp_path)
    rule = made["api"]
    assert rule.metadata["globs"] == ["*.ts", "src/api/**"]
    assert rule.metadata["always"] is False
    assert rule.metadata["description"] == "REST conventions"


@pytest.mark.parametrize(
    ("path", "name", "product"),
    [
        ("app/CLAUDE.md", "app/CLAUDE.md", "claude"),
        ("app/CLAUDE.local.md", "app/CLAUDE.local.md", "claude"),
        ("app/.claude/CLAUDE.md", ".claude/CLAUDE.md", "claude"),
        ("app/AGENTS.md", "app/AGENTS.md", "agents"),
        ("app/AGENTS.override.md", "app/AGENTS.override.md", "codex"),
        ("app/GEMINI.md", "app/GEMINI.md", "gemini"),
        ("app/.cursorrules", "app/.cursorrules", "cursor"),
        ("app/.github/copilot-instructions.md", ".github/copilot-instructions.md", "copilot"),
        ("app/.goosehints", "app/.goosehints", "goose"),
    ],
)
def test_a_memory_file_is_named_by_its_place_and_always_holds(tmp_path, path, name, product):
    write(tmp_path / path, "# House rules\n\nTests are sentences.\n")
    made, _ = all_of(Rules, tmp_path)
    rule = made[name]
    assert rule.metadata["product"] == product
    assert rule.metadata["always"] is True
    assert rule.metadata["project"] == "app"
    assert rule.metadata["title"] == "House rules"


@pytest.mark.parametrize(
    ("path", "head"),
    [
        (".claude/rules/web/api.md", "paths:\n  - src/**/*.ts\n"),
        (".github/instructions/api.instructions.md", "applyTo: src/**/*.ts\n"),
    ],
)
def test_a_rule_for_some_files_does_not_always_hold(tmp_path, path, head):
    write(tmp_path / path, f"---\n{head}---\nUse zod.\n")
    made, _ = all_of(Rules, tmp_path)
    assert made["api"].metadata["globs"] == ["src/**/*.ts"]
    assert made["api"].metadata["always"] is False


def test_what_an_agent_noted_itself_is_marked_as_memory(tmp_path):
    write(tmp_path / ".claude/projects/-w-app/memory/MEMORY.md", "The tests need a database.\n")
    write(tmp_path / ".claude/projects/-w-app/notes.md", "no memory\n")
    made, _ = all_of(Rules, tmp_path / ".claude/projects")
    assert {name: rule.metadata["memory"] for name, rule in made.items()} == {"MEMORY": True}


def test_a_single_file_can_be_a_root_and_may_be_deleted(tmp_path):
    path = write(tmp_path / "CLAUDE.md", "Be brief.\n")
    source = Rules((Root(str(path)),), {})
    assert names_under(source, path) == ["CLAUDE.md"]
    path.unlink()
    scan = source.scan()
    assert (scan.entries, scan.problems) == ((), ())


def test_known_roots_are_files_and_directories_of_the_user(tmp_path):
    write(tmp_path / ".claude/CLAUDE.md", "x")
    (tmp_path / ".claude/rules").mkdir()
    found = [
        root.path
        for root in keep_existing(list_known_places(str(tmp_path), {}))
        if str(tmp_path) in root.path
    ]
    assert found == [str(tmp_path / ".claude/CLAUDE.md"), str(tmp_path / ".claude/rules")]


def test_the_strategy_makes_a_surface_of_the_description_and_one_per_section():
    text = "# Setup\n\nRun make.\n\n# Style\n\nNo tabs.\n"
    raw = {"name": "api", "description": "REST conventions", "text": text, "globs": ["*.ts"]}
    described, *chunks = Rule().decompose("r", raw).surfaces
    assert (described.kind, described.text) == ("description", "api: REST conventions")
    assert described.lexical == "*.ts"
    assert [chunk.metadata["heading"] for chunk in chunks] == ["Setup", "Style"]
    assert all(s.kind != "description" for s in Rule().decompose("r", {"text": text}).surfaces)
