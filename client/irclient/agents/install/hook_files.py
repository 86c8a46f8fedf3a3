"""Where each agent looks for its hooks, and whether any of ours there may be gone.

`irc status` asks that every time, so nothing heavy is imported: only where a path that a hook names
is not there are the files read in full (`irclient.agents.install.missing`).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping

# Settings of agents are short; a larger file is not read for a warning.
MOST_BYTES = 1_000_000
# By agent: the variable that names its directory, that below home, and the file; then a project's.
_FILES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json", ".claude/settings.local.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json", ".codex/hooks.json"),
    "gemini": ("", ".gemini", "settings.json", ".gemini/settings.json"),
    "cursor": ("", ".cursor", "hooks.json", ".cursor/hooks.json"),
    "copilot": ("COPILOT_HOME", ".copilot", "hooks/irdaemon.json", ".github/hooks/irdaemon.json"),
}
# What a word of a command may be written in, besides letters: anything else is for a parser.
_ODD = ("'", "\\", "$", "`")


def user_file(agent: str, home: str, env: Mapping[str, str]) -> str:
    """Return the path of the file that holds an agent's hooks for a user."""
    variable, usual, name, _ = _FILES[agent]
    return os.path.join(env.get(variable) or os.path.join(home, usual), name)


def project_file(agent: str, directory: str) -> str:
    """Return the path of the file that holds an agent's hooks for a project."""
    return os.path.join(directory, _FILES[agent][3])


def may_be_gone(home: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Return whether a hook of ours may name a file that is gone; False is certain."""
    paths = [user_file(agent, home, env) for agent in _FILES]
    paths += [project_file(agent, cwd) for agent in _FILES]
    return any(map(_names_what_is_gone, paths))


def _names_what_is_gone(path: str) -> bool:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return False
    # Line by line: a settings file has one entry a line, and a file of one line is one entry.
    return any(_is_gone(line) for line in text.splitlines() if _is_ours(line))


def _is_ours(line: str) -> bool:
    return "hook/start.py" in line or "irc hook" in line


def _is_gone(line: str) -> bool:
    if any(odd in line for odd in _ODD):
        return True
    words = line.replace('"', " ").replace(",", " ").split()
    return any(word.startswith("/") and not os.path.exists(word) for word in words)
