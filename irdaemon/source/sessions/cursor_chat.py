"""Read the agent transcripts of the Cursor editor: messages without ids or times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from irdaemon.source.sessions.blocks import authored, without_own
from irdaemon.source.sessions.item_uses import uses_of_call
from irdaemon.source.sessions.lines import Line, LineReader, part, plain
from irdaemon.source.sessions.pairing import Step, turns_of
from irdaemon.source.sessions.prompt import blocks_of, spoken
from irdaemon.source.sessions.transcript import Start, Transcript

_ROLES = frozenset({"user", "assistant"})
_TURN_ENDED = "turn_ended"
_OPEN, _CLOSE = "<user_query>", "</user_query>"


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is Cursor's, by its structure."""
    return plain(record.get("role")) in _ROLES and "content" in part(record, "message")


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return whether a file is a sub-agent's, by where it lies."""
    return "/subagents/" in path


def transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a transcript into turns; a turn goes by the number of its prompt."""
    steps: list[Step] = []
    prompts = 0
    for line in reader.records():
        found = list(_steps(line, reader, str(prompts + 1)))
        prompts += sum(step.kind == "prompt" for step in found)
        steps += found
    # Older versions do not mark ends; but after a tool call more is to come.
    unmarked = not any(step.kind == "end" for step in steps)
    done = unmarked and bool(steps) and steps[-1].kind == "text"
    return Transcript(tuple(turns_of(steps, assume_end=done)), start.session)


def _steps(line: Line, reader: LineReader, key: str) -> Iterable[Step]:
    record = line.record
    role = plain(record.get("role"), 40) or plain(record.get("type"), 40)
    content = part(record, "message").get("content")
    if role == "user":
        if text := query(spoken(content)):
            yield Step("prompt", line.offset, text, key)
    elif role == "assistant":
        if text := without_own(spoken(content)):
            yield Step("text", line.offset, text)
        if calls := [block for block in blocks_of(content) if block.get("type") == "tool_use"]:
            uses = (uses_of_call(call.get("name"), call.get("input")) for call in calls)
            yield Step("tool", line.offset, uses=tuple(chain.from_iterable(uses)))
    elif role == _TURN_ENDED:
        yield Step("end", line.offset)
    else:
        reader.skipped[f"record:{role or 'untyped'}"] += 1


def query(text: str) -> str:
    """Return what a person typed of a message, which Cursor puts context around."""
    _, opened, rest = text.partition(_OPEN)
    inner, closed, _ = rest.rpartition(_CLOSE)
    return authored(inner if opened and closed else text)
