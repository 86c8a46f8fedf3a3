"""Agents: the sub-agents to which a session can delegate work."""

from __future__ import annotations

from functools import partial

from irdaemon.source import frontmatter as f
from irdaemon.source.guidance.files import GuidanceFile, GuidanceSource, Kind
from irdaemon.source.markdown import find_paragraph
from irdaemon.source.places import list_places
from irdaemon.types import Artifact

KIND = Kind(
    name="agents",
    folders=("agents", "agent"),
    places=(
        ("claude", "**/.claude/agents/**/*.md"),
        ("codex", "**/.codex/agents/**/*.toml"),
        ("copilot", "**/.github/agents/*.md"),
        ("copilot", "**/.copilot/agents/*.md"),
        ("opencode", "**/.opencode/agent/**/*.md"),
        ("opencode", "**/.opencode/agents/**/*.md"),
        ("opencode", "**/opencode/agent/**/*.md"),
        ("opencode", "**/opencode/agents/**/*.md"),
        ("cursor", "**/.cursor/agents/**/*.md"),
        ("gemini", "**/.gemini/agents/**/*.md"),
        ("gemini", "**/.gemini/extensions/*/agents/**/*.md"),
        ("qwen", "**/.qwen/agents/**/*.md"),
        ("droid", "**/.factory/droids/*.md"),
    ),
    endings=(("copilot", ".agent.md"), ("codex", ".toml"), ("claude", ".md")),
)

_ROOTS = (
    ("claude", "agents", "user"),
    ("claude", "plugins", "plugin"),
    ("codex", "agents", "user"),
    ("codex", "plugins", "plugin"),
    ("copilot", "agents", "user"),
    ("config", "opencode/agent", "user"),
    ("config", "opencode/agents", "user"),
    ("home", ".cursor/agents", "user"),
    ("home", ".cursor/plugins", "plugin"),
    ("home", ".gemini/agents", "user"),
    ("home", ".gemini/extensions", "plugin"),
    ("/etc/claude-code", ".claude/agents", "other"),
)
list_known_places = partial(list_places, _ROOTS)
# A Markdown file without a name is a plain document to these products.
_NAME_REQUIRED = frozenset({"claude", "gemini"})


class Agents(GuidanceSource):
    """Enumerate and read sub-agents: Markdown with frontmatter, or Codex's TOML."""

    kind = KIND

    def make_artifact(self, file: GuidanceFile) -> Artifact | str:
        """Return the sub-agent in a file, or why there is none."""
        fields = file.parts.fields
        named, described = f.get_text(fields, "name"), f.get_text(fields, "description")
        if not named and (file.product in _NAME_REQUIRED or not described):
            return "no_name"
        # A system prompt: Codex writes it into the table, all others below the frontmatter.
        prompt = file.parts.body or _get_lines(fields, "developer_instructions")
        description = described or find_paragraph(prompt)
        raw = {"name": named or file.stem, "description": description, "text": prompt}
        stated = {
            "description": described,
            "model": f.get_text(fields, "model"),
            "mode": f.get_text(fields, "mode"),
            "tools": f.get_words(fields, "tools", f.TOOL),
            "skills": f.get_words(fields, "skills"),
        }
        return file.make_artifact(raw, stated, () if described else ("missing_description",))


def _get_lines(fields: f.Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
