"""The wordings of the hook: `facts` says what matches; `make_advice` adds what to do with it.

The sentence added is one of ours, by the kind of the first item and by how sure its corpus is. No
word of an item is in it. The daemon notes with each answer in which wording it was shown, and
`irc usage` compares how much of either is used.
"""

from __future__ import annotations

from irclient.agents.hook.options import ADVICE, BOTH, FACTS

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# From this confidence on what matches is taken to apply.
_SURE = 0.9
_UNSURE = " They are possibly relevant."
_SKILL_TOOL = " To use a skill, call the Skill tool with its name before other work, if it fits."
_SKILL_FILE = " To use a skill, read its SKILL.md before other work, if it fits."
_SESSION = " Read what was done then (irc disclose CORPUS/ID) before other work, if it fits."
_OTHER = " Use one rather than make the same anew, if it fits."
_HAS_SKILL_TOOL = ("claude",)


def choose_variant(wording: str, session: str) -> str:
    """Return the wording for a session: of both, each for half the sessions, and for good."""
    if wording != BOTH:
        return wording
    return (FACTS, ADVICE)[sum(session.encode("utf-8", "replace")) % 2]


def make_advice(answer: Mapping[str, Any], agent: str) -> str:
    """Return the sentence to add to an answer with results."""
    first = answer["results"][0]
    found = answer.get("signals", {}).get("per_source", {}).get(first["corpus"], {})
    if (found.get("confidence") or 0.0) < _SURE:
        return _UNSURE
    if first["pointer"].endswith("/SKILL.md"):
        return _SKILL_TOOL if agent in _HAS_SKILL_TOOL else _SKILL_FILE
    return _SESSION if "session_id" in first.get("fields", {}) else _OTHER
