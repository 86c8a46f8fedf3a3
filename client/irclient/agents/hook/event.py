"""An agent's event, reduced to the fields used here, and the answer most agents expect."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROMPT, START, STOP = "prompt", "start", "stop"


class HookEvent:
    """An event of a session: a prompt was entered, the session began, or a turn ended.

    `kind` is one of the three above, `name` the agent's name for it. A text is "" if the agent does
    not send it; none of them is to be trusted.
    """

    __slots__ = ("cwd", "kind", "name", "prompt", "session", "transcript")

    def __init__(self, kind: str, name: str, given: Mapping[str, Any]):
        self.kind = kind
        self.name = name
        self.session = text(given, "session_id", "sessionId", "conversation_id")
        self.prompt = text(given, "prompt")
        self.cwd = text(given, "cwd")
        self.transcript = text(given, "transcript_path", "transcriptPath")


def read_event(given: Mapping[str, Any], name: str, kinds: Mapping[str, str]) -> HookEvent | None:
    """Return the event in an agent's JSON, None if the hook has no answer to it.

    `kinds` are the agent's names of events. A sub-agent was given its task by an agent that has
    the answer; a session that resumes still has its context.
    """
    kind = kinds.get(name)
    resumed = kind == START and given.get("source") == "resume"
    if kind is None or resumed or text(given, "agent_id"):
        return None
    return HookEvent(kind, name, given)


def text(given: Mapping[str, Any], *keys: str) -> str:
    """Return the first text under any of the keys, "" where there is none."""
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")


def nested(name: str, context: str) -> dict[str, Any]:
    """Return an answer in the shape of Claude Code, which most have taken over: nothing else."""
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
