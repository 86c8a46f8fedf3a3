"""The artifacts that a use means, by what a transcript calls them."""

import pytest

from irdaemon.contrib.usage.names import ItemNames
from irdaemon.engine.queue import Job
from irdaemon.ledger import Upsert
from irdaemon.source.mapping import InMemory
from irdaemon.types import Entry
from tests.support.corpora import decomposed, engine, ledger, mapped


def holding(corpus, kind, *items):
    """Return the names of a ledger with items (id, name, pointer, fields)."""
    made = ledger(corpus)
    for id, name, pointer, fields in items:
        one = decomposed(id, name)
        artifact = type(one.artifact)(id, name, name, pointer=pointer)
        kept = type(one)(artifact, fields, one.records, one.content, id)
        made.entries.put(corpus, Upsert(Entry(id, pointer, "1"), "r", (kept,)), 1.0)
    return ItemNames(made, {corpus: kind})


SKILLS = (
    ("~/.claude/skills/pdf", "Fill PDF forms", "/h/.claude/skills/pdf/SKILL.md", {"scope": "user"}),
    ("p/tdd", "tdd", "/h/.claude/plugins/p/skills/tdd/SKILL.md", {"plugin": "superpowers@m"}),
    ("w/pdf", "Fill PDF forms", "/w/.claude/skills/pdf/SKILL.md", {"scope": "project"}),
    ("w/test", "test", "/w/.claude/skills/test/SKILL.md", {"scope": "project"}),
)


@pytest.fixture(scope="module")
def skills():
    return holding("skills", "skills", *SKILLS)


@pytest.mark.parametrize(
    ("how", "what", "found"),
    [
        ("skill", "pdf", ["w/pdf", "~/.claude/skills/pdf"]),
        ("skill", "Fill PDF forms", ["w/pdf", "~/.claude/skills/pdf"]),
        ("skill", "superpowers:tdd", ["p/tdd"]),
        ("skill", "other:tdd", ["p/tdd"]),
        ("command", "tdd", ["p/tdd"]),
        ("read", "/h/.claude/skills/pdf/SKILL.md", ["~/.claude/skills/pdf"]),
        ("shell", "skills/tdd/SKILL.md", ["p/tdd"]),
        ("shell", "skills/pdf/SKILL.md", []),
        ("shell", "SKILL.md", []),
        ("read", "/gone/SKILL.md", []),
        ("skill", "gone", []),
        ("tool", "test", []),
        ("agent", "test", []),
        ("disclosed", "skills/p/tdd", ["p/tdd"]),
        ("disclosed", "skill://skills/tdd", ["p/tdd"]),
        ("disclosed", "elsewhere/tdd", []),
    ],
)
def test_a_skill_is_meant_by_its_directory_name_path_or_reference(skills, how, what, found):
    assert [id for _, id in skills.resolve_use(how, what)] == found


def test_a_tool_is_meant_with_its_server_however_the_agent_joins_them():
    names = holding(
        "mcp", "mcp_tools", ("github/create_issue", "create_issue", "", {"server": "github"})
    )
    for what in (
        "github/create_issue",
        "github_create_issue",
        "github-create_issue",
        "create_issue",
    ):
        assert names.resolve_use("tool", what) == (("mcp", "github/create_issue"),)
    assert names.resolve_use("tool", "create_issue") == (("mcp", "github/create_issue"),)
    assert names.resolve_use("tool", "gitlab/create_issue") == ()


def test_a_tool_called_by_a_common_word_is_meant_with_its_server_only():
    names = holding("mcp", "mcp_tools", ("web/search", "search", "", {"server": "web"}))
    assert names.resolve_use("tool", "search") == ()
    assert names.resolve_use("tool", "web/search") == (("mcp", "web/search"),)


def test_a_package_is_meant_within_its_ecosystem_and_pythons_in_any_spelling():
    names = holding(
        "packages",
        "packages",
        ("a", "Typing_Extensions", "", {"ecosystem": "pypi"}),
        ("b", "zod", "", {"ecosystem": "npm"}),
    )
    assert names.resolve_use("package", "pypi:typing.extensions") == (("packages", "a"),)
    assert names.resolve_use("package", "npm:zod") == (("packages", "b"),)
    assert names.resolve_use("package", "pypi:zod") == ()


def test_documents_are_meant_by_reference_only():
    made = engine(mapped({"pdf": "fill a form"}))
    made.request(Job("reconcile", "m"))
    made.drain()
    names = ItemNames(made.ledger, {"m": "mapping"})
    assert names.items == []
    assert names.resolve_use("skill", "pdf") == ()
    assert names.resolve_use("disclosed", "m/pdf") == (("m", "pdf"),)
    assert isinstance(made.corpora["m"].source, InMemory)
