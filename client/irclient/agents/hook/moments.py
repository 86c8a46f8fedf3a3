"""The moments besides a prompt at which the hook may speak, and the events of each agent for them.

They are off until `irc install AGENT --moments NAMES` writes their events into the agent's
settings, with `--moments` in the hook's command: a handler answers only what its command names.
What an agent's events allow is read from its own documents, named in docs/agents.md.
"""

from __future__ import annotations

from irclient.agents.hook.context import CLOSE, OPEN, make_plain, shorten_path
from irclient.agents.hook.event import HookEvent, read_text

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

COMPACT, SUBAGENT, ERROR = "compact", "subagent", "error"
MOMENTS = (COMPACT, SUBAGENT, ERROR)

# What the hook does at an event: name what a session used, note the task of a sub-agent that is
# about to start, answer that task where the sub-agent takes context, and say how the error of a
# failed command went away before.
RESTORE, TASK, TAKE, FAILED = "restore", "task", "take", "failed"

# (the agent's name of an event, a matcher or "", what the hook does). The matcher replaces that of
# an event that is handled anyway.
EventRow = tuple[str, str, str]
_STARTS = "startup|resume|clear|compact"
EVENTS: Mapping[str, Mapping[str, tuple[EventRow, ...]]] = {
    COMPACT: {
        "claude": (("SessionStart", _STARTS, RESTORE),),
        "codex": (("SessionStart", _STARTS, RESTORE),),
        "gemini": (("SessionStart", "", RESTORE),),
        "copilot": (("SessionStart", "", RESTORE),),
    },
    SUBAGENT: {
        "claude": (("PreToolUse", "Agent|Task", TASK), ("SubagentStart", "", TAKE)),
        "codex": (("PreToolUse", ".*spawn_agent", TASK), ("SubagentStart", "", TAKE)),
        "copilot": (("preToolUse", "", TASK), ("subagentStart", "", TAKE)),
    },
    ERROR: {
        "claude": (("PostToolUseFailure", "Bash", FAILED),),
        "codex": (("PostToolUse", "Bash", FAILED),),
        "gemini": (("AfterTool", "run_shell_command", FAILED),),
        "cursor": (("postToolUse", "Shell", FAILED),),
        "copilot": (("postToolUseFailure", "", FAILED),),
    },
}
# Why an agent with hooks does not support a moment.
UNSUPPORTED: Mapping[tuple[str, str], str] = {
    (COMPACT, "cursor"): "Cursor's preCompact takes no text, and a resumed chat has no event",
    (SUBAGENT, "cursor"): "Cursor's subagentStart allows or denies, and takes no text",
    (SUBAGENT, "gemini"): "Gemini CLI has no event in which a sub-agent takes text",
}
# The tools by which agents start one, without the server or namespace before it.
_STARTERS = ("agent", "task", "spawn_agent", "runsubagent")
COMPACTED, RESUMED = "compact", "resume"


def find_kind(moments: tuple[str, ...], agent: str, name: str) -> str:
    """Return what the hook does at an event, given the enabled moments; "" for nothing."""
    for moment in moments:
        for event, _, kind in EVENTS.get(moment, {}).get(agent, ()):
            # VS Code spells the names of Copilot's settings with a capital.
            if event.lower() == name.lower():
                return kind
    return ""


def read_moment(
    moments: tuple[str, ...], agent: str, given: Mapping[str, Any], name: str
) -> HookEvent | None:
    """Parse the event in an agent's JSON; return None if no enabled moment concerns it.

    Raises ValueError for one that lacks what it must have.
    """
    kind = find_kind(moments, agent, name)
    if not kind:
        return None
    if kind == FAILED:
        from irclient.agents.hook.failure import read_failure

        return read_failure(agent, given, name)
    event = HookEvent(kind, name, given)
    if kind == RESTORE and event.source not in (COMPACTED, RESUMED):
        return None
    if kind == TASK:
        tool = read_text(given, "tool_name", "toolName")
        if not tool.lower().endswith(_STARTERS):
            return None
        event.agent_type, event.task = _read_task(given.get("tool_input", given.get("toolArgs")))
    if not event.session:
        raise ValueError("no session")
    return event


def _read_task(given: Any) -> tuple[str, str]:
    """Return the type and the task of a sub-agent from the arguments of its tool."""
    if isinstance(given, str):
        from irclient.fast.light_json import parse_json

        given = parse_json(given.encode("utf-8", "replace"))
    task = read_text(given, "prompt", "message", "task") if isinstance(given, dict) else ""
    if not task.strip():
        raise ValueError("no task")
    return read_text(given, "subagent_type", "agent_type", "agentName"), task


MOST_CHARS = 400
_USED = {
    COMPACTED: "Used in this session before the compaction (names and places, no instructions):",
    RESUMED: "Used in this session so far (names and places, no instructions):",
}
_NAME, _PLACE = 60, 120


def format_used(items: Sequence[Mapping[str, Any]], source: str) -> tuple[str, list[str]]:
    """Return a text that names what a session used, and the CORPUS/ID of the items in it.

    It has at most 400 characters; both are empty where nothing was used.
    """
    lines, offered = [_USED[source]], list[str]()
    room = MOST_CHARS - len(OPEN + CLOSE + _USED[source])
    for item in items:
        name, place = make_plain(item["name"], _NAME), shorten_path(item["pointer"])
        line = f'- "{name}"' + (f', "{make_plain(place, _PLACE)}"' if place else "")
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
        offered.append(item["reference"])
    return (OPEN + "\n".join(lines) + CLOSE, offered) if offered else ("", [])
