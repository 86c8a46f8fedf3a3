"""Rules: instructions to agents, for all files or for some, and the agents' own notes."""

from __future__ import annotations

import os
import re
from functools import partial

from irdaemon.source import frontmatter as f
from irdaemon.source.guidance.files import GuidanceFile, GuidanceSource, Kind
from irdaemon.source.markdown import find_heading
from irdaemon.source.places import list_places
from irdaemon.types import Artifact

KIND = Kind(
    name="rules",
    folders=("rules",),
    places=(
        ("claude", "CLAUDE.md"),
        ("claude", "CLAUDE.local.md"),
        ("claude", "**/.claude/rules/**/*.md"),
        ("claude", "**/projects/*/memory/**/*.md"),
        ("agents", "AGENTS.md"),
        ("codex", "AGENTS.override.md"),
        ("gemini", "GEMINI.md"),
        ("cursor", "**/.cursor/rules/**/*.mdc"),
        ("cursor", ".cursorrules"),
        ("copilot", "**/.github/copilot-instructions.md"),
        ("copilot", "**/.copilot/copilot-instructions.md"),
        ("copilot", "**/.github/instructions/**/*.instructions.md"),
        ("windsurf", "**/.windsurf/rules/**/*.md"),
        ("windsurf", ".windsurfrules"),
        ("cline", "**/.clinerules/**/*.md"),
        ("cline", ".clinerules"),
        ("goose", ".goosehints"),
        ("antigravity", "**/.agent/rules/**/*.md"),
        ("augment", "**/.augment/rules/**/*.md"),
        ("continue", "**/.continue/rules/**/*.md"),
        ("kilo", "**/.kilocode/rules/**/*.md"),
        ("kiro", "**/.kiro/steering/**/*.md"),
        ("roo", "**/.roo/rules/**/*.md"),
        ("trae", "**/.trae/rules/**/*.md"),
    ),
    endings=(("cursor", ".mdc"), ("copilot", ".instructions.md"), ("claude", ".md")),
)

_ROOTS = (
    ("claude", "CLAUDE.md", "user"),
    ("claude", "rules", "user"),
    ("claude", "projects", "user"),
    ("codex", "AGENTS.md", "user"),
    ("codex", "AGENTS.override.md", "user"),
    ("copilot", "copilot-instructions.md", "user"),
    ("config", "opencode/AGENTS.md", "user"),
    ("config", "goose/.goosehints", "user"),
    ("home", ".gemini/GEMINI.md", "user"),
    ("home", ".cursor/plugins", "plugin"),
    ("/etc/claude-code", "CLAUDE.md", "other"),
)
list_known_places = partial(list_places, _ROOTS)
# The keys under which products name the files that a rule applies to.
_GLOBS = ("globs", "paths", "applyTo")
_MEMORY = re.compile(r"/projects/[^/]+/memory/")
# Files of these names are distinguished by their directory.
_FIXED = frozenset(
    name for _, pattern in KIND.places if "*" not in (name := pattern.rpartition("/")[2])
)


class Rules(GuidanceSource):
    """Enumerate and read rules and memory files: Markdown, with frontmatter or without."""

    kind = KIND

    def make_artifact(self, file: GuidanceFile) -> Artifact | str:
        """Return the rule in a file; one without text is passed over as "empty"."""
        fields, text = file.parts.fields, file.parts.body.strip()
        described = f.get_text(fields, "description")
        if not described and not text:
            return "empty"
        is_mdc = file.path.endswith(".mdc")
        globs = [glob for key in _GLOBS for glob in f.get_words(fields, key)]
        raw = {"name": _name_rule(file), "description": described, "text": text, "globs": globs}
        stated = {
            "description": described,
            "title": find_heading(text),
            "globs": globs,
            # Only Cursor has rules that apply to nothing until they are named.
            "always": f.get_truth(fields, "alwaysApply", not (globs or is_mdc)),
            "project": _find_project(file.path),
            "memory": bool(_MEMORY.search(file.path)),
        }
        return file.make_artifact(raw, stated)


def _name_rule(file: GuidanceFile) -> str:
    directory, name = os.path.split(file.path)
    return f"{os.path.basename(directory)}/{name}" if name in _FIXED else file.stem


def _find_project(path: str) -> str:
    """Return the directory a rule applies to: that of the file, or around its hidden folder."""
    directory = os.path.dirname(path).partition("/.")[0]
    home = os.path.expanduser("~")
    return "" if directory in (home, os.path.realpath(home)) else os.path.basename(directory)
