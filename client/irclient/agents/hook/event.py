"""An agent's event, reduced to the fields used here, and the answer in the shape the agent expects.

Claude Code's shape is that of most; Codex fails a hook for any key that it does not know, and
Gemini's stdout must be JSON or empty. Copilot takes context at the start of a session only; the
name under which its hook is configured decides the shape: camelCase is Copilot's own, PascalCase
the one of VS Code.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROMPT, START, STOP = "prompt", "start", "stop"
# The events that are answered, by agent and the agent's name of the event.
_CLAUDES = {"UserPromptSubmit": PROMPT, "SessionStart": START, "Stop": STOP}
_KINDS = {
    "claude": _CLAUDES,
    "codex": _CLAUDES,
    "gemini": {"BeforeAgent": PROMPT, "SessionStart": START, "AfterAgent": STOP},
    "cursor": {"beforeSubmitPrompt": PROMPT, "sessionStart": START, "stop": STOP},
    "copilot": {"sessionStart": START, "SessionStart": START, "agentStop": STOP, "Stop": STOP},
}
# The oldest Cursor seen to accept context at a prompt; its documentation does not name the key.
_TAKES_CONTEXT = (3, 20, 17)


class HookEvent:
    """An event of a session; `kind` is what the hook does at it, `name` the agent's name for it.

    A text is "" if the agent does not send it; none of them is to be trusted. `cwd` is the
    directory that the agent works in, of one that names the roots of its workspace the first of
    them. `source` is why a session starts; `agent_type` and `task` are of a sub-agent, `command`
    and `output` of a failed command, which `is_sure` says certainly failed.
    """

    __slots__ = (
        *("agent_type", "command", "cwd", "is_sure", "kind", "name", "output", "prompt", "session"),
        *("source", "task", "transcript"),
    )

    def __init__(self, kind: str, name: str, given: Mapping[str, Any]):
        self.kind = kind
        self.name = name
        self.session = read_text(given, "session_id", "sessionId", "conversation_id")
        self.prompt = read_text(given, "prompt")
        roots = given.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots else None
        self.cwd = read_text(given, "cwd") or read_text({"root": first}, "root")
        self.transcript = read_text(given, "transcript_path", "transcriptPath")
        self.source = read_text(given, "source")
        self.agent_type = read_text(given, "agent_type", "agentName")
        self.task = self.command = self.output = ""
        self.is_sure = True


def read_event(agent: str, given: Mapping[str, Any], name: str) -> HookEvent | None:
    """Parse the event in an agent's JSON; return None if an answer is not needed or impossible.

    A sub-agent was given its task by an agent that has the answer; a session that resumes still has
    its context.
    """
    kind = _KINDS[agent].get(name)
    resumed = kind == START and given.get("source") == "resume"
    if kind is None or resumed or read_text(given, "agent_id"):
        return None
    if agent == "cursor" and kind == PROMPT and _read_cursor_version(given) < _TAKES_CONTEXT:
        return None
    return HookEvent(kind, name, given)


def make_answer(agent: str, event: HookEvent, context: str) -> dict[str, Any]:
    """Return the answer that adds a text to an agent's context."""
    if agent == "cursor":
        return {"additional_context": context}
    if agent == "copilot" and not event.name[0].isupper():
        return {"additionalContext": context}
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}}


def _read_cursor_version(given: Mapping[str, Any]) -> tuple[int, ...]:
    parts = read_text(given, "cursor_version").split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isascii() and part.isdigit())


def read_text(given: Mapping[str, Any], *keys: str) -> str:
    """Return the first text under any of the keys, "" if there is none."""
    return next((given[key] for key in keys if isinstance(given.get(key), str)), "")
