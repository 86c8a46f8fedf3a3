"""Commands: the prompts that people call by a slash and a name."""

from __future__ import annotations

import os
from functools import partial

from irdaemon.source import frontmatter as f
from irdaemon.source.guidance.files import GuidanceFile, GuidanceSource, Kind
from irdaemon.source.markdown import find_paragraph
from irdaemon.source.places import list_places
from irdaemon.types import Artifact

KIND = Kind(
    name="commands",
    folders=("commands", "command", "prompts", "workflows"),
    places=(
        ("claude", "**/.claude/commands/**/*.md"),
        ("codex", "**/.codex/prompts/*.md"),
        ("gemini", "**/.gemini/commands/**/*.toml"),
        ("gemini", "**/.gemini/extensions/*/commands/**/*.toml"),
        ("opencode", "**/.opencode/command/**/*.md"),
        ("opencode", "**/.opencode/commands/**/*.md"),
        ("opencode", "**/opencode/command/**/*.md"),
        ("opencode", "**/opencode/commands/**/*.md"),
        ("cursor", "**/.cursor/commands/**/*.md"),
        ("copilot", "**/.github/prompts/**/*.prompt.md"),
        ("windsurf", "**/.windsurf/workflows/*.md"),
        ("antigravity", "**/.agent/workflows/*.md"),
        ("augment", "**/.augment/commands/**/*.md"),
        ("droid", "**/.factory/commands/**/*.md"),
        ("kilo", "**/.kilocode/workflows/*.md"),
        ("qwen", "**/.qwen/commands/**/*.toml"),
        ("qwen", "**/.qwen/commands/**/*.md"),
        ("roo", "**/.roo/commands/**/*.md"),
    ),
    endings=(("copilot", ".prompt.md"), ("gemini", ".toml"), ("claude", ".md")),
)

_ROOTS = (
    ("claude", "commands", "user"),
    ("claude", "plugins", "plugin"),
    ("codex", "prompts", "user"),
    ("config", "opencode/command", "user"),
    ("config", "opencode/commands", "user"),
    ("home", ".cursor/commands", "user"),
    ("home", ".cursor/plugins", "plugin"),
    ("home", ".gemini/commands", "user"),
    ("home", ".gemini/extensions", "plugin"),
    ("/etc/claude-code", ".claude/commands", "other"),
)
list_known_places = partial(list_places, _ROOTS)
# The separator of the directories and the name of a command, for products that use both.
_SEPARATORS = {"gemini": ":", "qwen": ":", "opencode": "/"}


class Commands(GuidanceSource):
    """Enumerate and read slash commands: Markdown, or Gemini's TOML."""

    kind = KIND

    def make_artifact(self, file: GuidanceFile) -> Artifact | str:
        """Return the command in a file; one without a prompt is passed over as "empty"."""
        fields = file.parts.fields
        prompt = file.parts.body or str(fields.get("prompt") or "")
        described = f.get_text(fields, "description")
        if not described and not prompt.strip():
            return "empty"
        hint = f.get_text(fields, "argument-hint")
        namespace = _find_namespace(file.path)
        separator = _SEPARATORS.get(file.product)
        raw = {
            "name": separator.join([*namespace, file.stem]) if separator else file.stem,
            "description": described or find_paragraph(prompt),
            "text": prompt,
            "lexical": hint,
        }
        stated = {
            "description": described,
            "argument_hint": hint,
            "arguments": f.get_words(fields, "arguments"),
            "namespace": "/".join(namespace),
            "allowed_tools": f.get_words(fields, "allowed-tools", f.TOOL),
            "model": f.get_text(fields, "model"),
            "agent": f.get_text(fields, "agent"),
            "hidden": f.is_hidden(fields),
        }
        return file.make_artifact(raw, stated, () if described else ("missing_description",))


def _find_namespace(path: str) -> list[str]:
    """Return the directories between a commands directory and the file."""
    parts = os.path.dirname(path).split("/")
    below = next((i for i in range(len(parts), 0, -1) if parts[i - 1] in KIND.folders), len(parts))
    return parts[below:]
