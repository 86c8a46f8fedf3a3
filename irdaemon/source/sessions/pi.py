"""Read Pi's session files: a tree of entries, of which the last branch counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from irdaemon.source.sessions.item_uses import read_call
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    TITLE_LENGTH,
    BranchNode,
    Kind,
    Line,
    LineReader,
    SessionInfo,
    Setting,
    Start,
    Step,
    Transcript,
    clean_text,
    find_branch,
    fold_turns,
    get_object,
    join_texts,
    list_blocks,
    strip_injected,
    strip_own,
)

# The newest version whose entries are known; a file of a newer one is read as well as can be.
VERSION = 3
_NO_MATTER = frozenset(
    {
        "compaction", "branch_summary", "model_change", "thinking_level_change", "label", "custom",
        "custom_message",
    }
)  # fmt: skip
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom"})
_ENDS: Mapping[str, Kind] = {
    "stop": "end",
    "length": "end",
    "error": "failed",
    "aborted": "stopped",
}


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is the header of a Pi session."""
    return record.get("type") == "session" and "id" in record and "cwd" in record


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return false: Pi's sub-agents keep sessions of their own, which are not marked as theirs."""
    return False


def transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a session file into turns."""
    log = _PiLog(reader, start.session)
    for line in reader.records():
        log.take(line)
    branch = find_branch(log.nodes)
    kept = {node.uuid for node in branch}
    lost = [n for n in log.nodes.values() if n.uuid not in kept and _has_prompt(n)]
    reader.skipped.update({"abandoned": len(lost)} if lost else {})
    turns = fold_turns(step for node in branch for step in node.steps)
    return Transcript(tuple(turns), log.session)


@dataclass(slots=True)
class _PiLog:
    """The entries of a file as they come in."""

    reader: LineReader
    session: SessionInfo
    nodes: dict[str, BranchNode] = field(default_factory=dict)
    last: str = ""

    def take(self, line: Line) -> None:
        kind = clean_text(line.record.get("type"), 40)
        if kind == "session":
            self._begin(line.record)
        elif kind == "session_info":
            name = clean_text(line.record.get("name"), TITLE_LENGTH).strip()
            self.session = replace(self.session, custom_title=name)
        elif kind not in _NO_MATTER and kind != "message":
            self.reader.skipped[f"record:{kind or 'untyped'}"] += 1
        if kind != "session":
            self._grow(line, kind == "message")

    def _begin(self, header: Mapping[str, Any]) -> None:
        version = header.get("version")
        if isinstance(version, int) and version > VERSION:
            self.reader.skipped["newer_version"] += 1
        id = clean_text(header.get("id"), ID_LENGTH)
        self.session = replace(self.session, id=id, cwd=clean_text(header.get("cwd"), PATH_LENGTH))

    def _grow(self, line: Line, is_message: bool) -> None:
        """Add an entry to the tree; those of version 1 have no ids, each follows the one before."""
        id = clean_text(line.record.get("id"), ID_LENGTH) or f"#{line.offset}"
        parent = clean_text(line.record.get("parentId"), ID_LENGTH)
        if "id" not in line.record:
            parent = self.last
        steps = tuple(self._steps(line, id)) if is_message else ()
        self.nodes[id] = BranchNode(id, parent, self.last, line.offset, True, is_message, steps)
        self.last = id

    def _steps(self, line: Line, id: str) -> Iterable[Step]:
        message = get_object(line.record, "message")
        role = clean_text(message.get("role"), 40)
        if role == "user":
            return self._asked(line, id, message)
        if role == "assistant":
            return _answered(line.offset, message)
        if role not in _ROLES:
            self.reader.skipped[f"role:{role or 'none'}"] += 1
        return ()

    def _asked(self, line: Line, id: str, message: Mapping[str, Any]) -> Iterable[Step]:
        if text := strip_injected(join_texts(message.get("content"))):
            when = clean_text(line.record.get("timestamp"), ID_LENGTH)
            setting = Setting(self.session.id, self.session.cwd, "", when)
            yield Step("prompt", line.offset, text, id, setting=setting)


def _answered(offset: int, message: Mapping[str, Any]) -> Iterable[Step]:
    model = clean_text(message.get("model"), ID_LENGTH)
    if text := strip_own(join_texts(message.get("content"))):
        yield Step("text", offset, text, model=model)
    blocks = list_blocks(message.get("content"))
    if calls := [block for block in blocks if block.get("type") == "toolCall"]:
        uses = (read_call(call.get("name"), call.get("arguments")) for call in calls)
        yield Step("tool", offset, uses=tuple(chain.from_iterable(uses)))
    reason = clean_text(message.get("stopReason"), 40)
    if reason in _ENDS:
        yield Step(_ENDS[reason], offset)


def _has_prompt(node: BranchNode) -> bool:
    return any(step.kind == "prompt" for step in node.steps)
