"""Codex: Claude Code's events under the same names; any key it does not know fails the hook."""

from __future__ import annotations

from irclient.agents.hook.formats.claude import read, written

__all__ = ["read", "written"]
