"""The moments besides a prompt at which the hook may speak, and the events of each agent for them.

They are off until `irc install AGENT --moments NAMES` writes their events into the agent's
settings, with `--moments` in the hook's command: a handler answers only what its command names.
What an agent's events allow is read from its own documents, named in docs/agents.md.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping

COMPACT, SUBAGENT = "compact", "subagent"
MOMENTS = (COMPACT, SUBAGENT)

# What the hook does at an event: name what a session used, note the task of a sub-agent that is
# about to start, and answer that task where the sub-agent takes context.
RESTORE, TASK, TAKE = "restore", "task", "take"

# (the agent's name of an event, a matcher or "", what the hook does). An event that is there anyway
# gets the matcher in place of its own.
MomentEvent = tuple[str, str, str]
_STARTS = "startup|resume|clear|compact"
EVENTS: Mapping[str, Mapping[str, tuple[MomentEvent, ...]]] = {
    COMPACT: {
        "claude": (("SessionStart", _STARTS, RESTORE),),
        "codex": (("SessionStart", _STARTS, RESTORE),),
        "gemini": (("SessionStart", "", RESTORE),),
        "copilot": (("SessionStart", "", RESTORE),),
    },
    SUBAGENT: {
        "claude": (("PreToolUse", "Agent|Task", TASK), ("SubagentStart", "", TAKE)),
        "codex": (("PreToolUse", "spawn_agent", TASK), ("SubagentStart", "", TAKE)),
        "copilot": (("preToolUse", "", TASK), ("subagentStart", "", TAKE)),
    },
}
# Why an agent that has hooks has none for a moment.
UNSUPPORTED: Mapping[tuple[str, str], str] = {
    (COMPACT, "cursor"): "Cursor's preCompact takes no text, and a resumed chat has no event",
    (SUBAGENT, "cursor"): "Cursor's subagentStart allows or denies, and takes no text",
    (SUBAGENT, "gemini"): "Gemini CLI has no event in which a sub-agent takes text",
}
# Where only one of the two parts of COMPACT is there.
ONLY_RESUME = ("gemini", "copilot")


def find_kind(moments: tuple[str, ...], agent: str, name: str) -> str:
    """Return what the hook does at an event by the moments that are on, "" for nothing."""
    for moment in moments:
        for event, _, kind in EVENTS.get(moment, {}).get(agent, ()):
            if event == name:
                return kind
    return ""
