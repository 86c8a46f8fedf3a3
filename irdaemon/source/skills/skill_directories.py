"""The directories where agents keep skills, and the names of files in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from irdaemon.source.opening import resolved
from irdaemon.types import Root

# The specification's spelling first: it wins where both exist.
SKILL_NAMES = ("SKILL.md", "skill.md")
# Codex keeps a skill's display texts beside it.
CODEX_FILE = os.path.join("agents", "openai.yaml")

# Below the home directory, agent by agent.
_HOME = (
    (".agents/skills", "user"),  # the path most agents share
    (".agents/plugins", "plugin"),  # Goose
    (".augment/skills", "user"),
    (".cline/skills", "user"),
    (".codeium/windsurf/skills", "user"),
    (".continue/skills", "user"),
    (".cursor/skills", "user"),
    (".cursor/plugins", "plugin"),
    (".factory/skills", "user"),  # Droid
    (".gemini/skills", "user"),
    (".gemini/extensions", "plugin"),
    (".gemini/antigravity/skills", "user"),
    (".junie/skills", "user"),
    (".kilocode/skills", "user"),
    (".kiro/skills", "user"),
    (".openclaw/skills", "user"),
    (".openhands/skills", "user"),
    (".pi/agent/skills", "user"),
    (".qwen/skills", "user"),
    (".roo/skills", "user"),
    (".trae/skills", "user"),
    (".vibe/skills", "user"),
    (".zencoder/skills", "user"),
)

# Directories an environment variable can move: variable, default below home, what is inside.
_MOVABLE = (
    ("CLAUDE_CONFIG_DIR", ".claude", "skills", "user"),
    ("CLAUDE_CONFIG_DIR", ".claude", "plugins", "plugin"),
    ("CODEX_HOME", ".codex", "skills", "user"),
    ("COPILOT_HOME", ".copilot", "skills", "user"),
    ("XDG_CONFIG_HOME", ".config", "agents/skills", "user"),  # Amp, Kimi
    ("XDG_CONFIG_HOME", ".config", "crush/skills", "user"),
    ("XDG_CONFIG_HOME", ".config", "goose/skills", "user"),
    ("XDG_CONFIG_HOME", ".config", "opencode/skills", "user"),
)

# Installed by the administrator of the machine.
_MANAGED = (
    "/etc/claude-code/.claude/skills",
    "/Library/Application Support/ClaudeCode/.claude/skills",
    "/etc/codex/skills",
)


def known_roots(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the skill directories that exist for this user, each once, user level first.

    `env` may move some: CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME, XDG_CONFIG_HOME. Project
    directories are not among them: a daemon has no working directory, so they come from its
    configuration.
    """
    found: dict[str, Root] = {}
    for root in known_places(home, env):
        if os.path.isdir(root.path):
            found.setdefault(resolved(root.path), root)
    return tuple(found.values())


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the same directories, existing or not."""
    return tuple(Root(path, scope) for path, scope in _candidates(home, env))


def _candidates(home: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variable, default, inside, scope in _MOVABLE:
        base = _expanded(env.get(variable, ""), home) or os.path.join(home, default)
        yield os.path.join(base, inside), scope
    for path, scope in _HOME:
        yield os.path.join(home, path), scope
    for path in _MANAGED:
        yield path, "other"


def _expanded(path: str, home: str) -> str:
    return home + path[1:] if path == "~" or path.startswith("~/") else path
