"""Commands: the prompts that people call by a slash and a name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from irdaemon.source import frontmatter as f
from irdaemon.source.guidance.files import GuidanceFiles, Kind, Written
from irdaemon.source.markdown import find_paragraph
from irdaemon.source.places import list_existing, list_places
from irdaemon.types import Artifact, Root

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
known_roots = partial(list_existing, _ROOTS)
known_places = partial(list_places, _ROOTS)
# What stands between the directories and the name of a command, where it is called with both.
_JOINED = {"gemini": ":", "qwen": ":", "opencode": "/"}


class Commands(GuidanceFiles):
    """Enumerate and read slash commands: Markdown, or Gemini's TOML."""

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(KIND, make_command, roots, options)


def make_command(file: Written) -> Artifact | str:
    """Return the command in a file; one that asks for nothing is passed over as "empty"."""
    fields = file.parts.fields
    prompt = file.parts.body or str(fields.get("prompt") or "")
    described = f.get_text(fields, "description")
    if not described and not prompt.strip():
        return "empty"
    hint = f.get_text(fields, "argument-hint")
    namespace = _find_namespace(file.path)
    joined = _JOINED.get(file.product)
    raw = {
        "name": joined.join([*namespace, file.stem]) if joined else file.stem,
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
    return file.artifact(raw, stated, () if described else ("missing_description",))


def _find_namespace(path: str) -> list[str]:
    """Return the directories between a commands directory and the file."""
    parts = os.path.dirname(path).split("/")
    below = next((i for i in range(len(parts), 0, -1) if parts[i - 1] in KIND.folders), len(parts))
    return parts[below:]
