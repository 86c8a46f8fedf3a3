"""Tell what happened in one record of a Claude Code session.

Each line holds one content block of a message; a message's text may be spread over several lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irdaemon.source.sessions.blocks import authored, without_own
from irdaemon.source.sessions.item_uses import use_of_command, uses_of_call
from irdaemon.source.sessions.lines import ID_LENGTH, PATH_LENGTH, Line, part, plain
from irdaemon.source.sessions.pairing import Kind, Setting, Step
from irdaemon.source.sessions.prompt import blocks_of, command_in, heard, spoken

_END_MARKS = frozenset({"turn_duration", "stop_hook_summary"})
_TOOL_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def steps_of(line: Line) -> tuple[Step, ...]:
    """Return what happened in one record of the tree."""
    record = line.record
    match record.get("type"):
        case "user":
            return _said(line, *heard(record))
        case "assistant":
            return _answered(line)
        case "attachment":
            return _queued(line)
        case "system":
            ends = plain(record.get("subtype")) in _END_MARKS
            return (Step("end", line.offset),) if ends else ()
    return ()


def _said(line: Line, kind: Kind | None, text: str) -> tuple[Step, ...]:
    if kind is None:
        return ()
    if kind == "stopped":
        return (Step(kind, line.offset),)
    key = plain(line.record.get("uuid"), ID_LENGTH)
    command = command_in(part(line.record, "message").get("content"))
    uses = use_of_command(command) if command else ()
    return (Step(kind, line.offset, text, key, setting=_setting(line.record), uses=uses),)


def _setting(record: Mapping[str, Any]) -> Setting:
    return Setting(
        plain(record.get("sessionId"), ID_LENGTH),
        plain(record.get("cwd"), PATH_LENGTH),
        plain(record.get("gitBranch"), ID_LENGTH),
        plain(record.get("timestamp"), ID_LENGTH),
    )


def _queued(line: Line) -> tuple[Step, ...]:
    """Return what a person typed while the agent was at work."""
    attached = part(line.record, "attachment")
    if attached.get("type") != "queued_command" or attached.get("commandMode") != "prompt":
        return ()
    text = authored(spoken(attached.get("prompt")))
    return _said(line, "queued", text) if text else ()


def _answered(line: Line) -> tuple[Step, ...]:
    message = part(line.record, "message")
    if line.record.get("isApiErrorMessage"):
        return (Step("failed", line.offset),)
    if message.get("model") == "<synthetic>":
        return ()
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else blocks_of(content)
    model = plain(message.get("model"), ID_LENGTH)
    steps = [step for block in blocks for step in _block(block, line.offset, model)]
    if message.get("stop_reason") == "end_turn":
        steps.append(Step("end", line.offset))
    return tuple(steps)


def _block(block: Mapping[str, Any], offset: int, model: str) -> tuple[Step, ...]:
    if plain(block.get("type")) in _TOOL_CALLS:
        uses = uses_of_call(block.get("name"), block.get("input"))
        return (Step("tool", offset, uses=uses),)
    text = without_own(plain(block.get("text"))) if block.get("type") == "text" else ""
    return (Step("text", offset, text, model=model),) if text else ()
