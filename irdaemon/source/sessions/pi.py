"""Read Pi's session files: a tree of entries, of which the last branch counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    PATH_LENGTH,
    TITLE_LENGTH,
    BranchNode,
    Kind,
    Line,
    LineReader,
    Start,
    StreamKind,
    Transcript,
    count_abandoned,
    find_branch,
    fold_turns,
    get_object,
    get_text,
    join_texts,
    list_blocks,
    strip_injected,
)

# The newest version whose entries are known; a file of a newer one is read as well as can be.
VERSION = 3
_IGNORED = frozenset(
    {
        "compaction", "branch_summary", "model_change", "thinking_level_change", "label", "custom",
        "custom_message",
    }
)  # fmt: skip
_ROLES = frozenset({"bashExecution", "custom"})
_ENDS: Mapping[str, Kind] = {
    "stop": "end",
    "length": "end",
    "error": "failed",
    "aborted": "stopped",
}


def recognise(path: str, record: Mapping[str, Any]) -> StreamKind | None:
    """Recognise the header of a Pi session; nothing marks that of a sub-agent."""
    is_ours = record.get("type") == "session" and "id" in record and "cwd" in record
    return "session" if is_ours else None


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a session file into turns."""
    tree = _Tree(SessionLog(start.session, reader.skipped))
    for line in reader.read_records():
        tree.add(line)
    branch = find_branch(tree.nodes)
    count_abandoned(tree.nodes, branch, reader.skipped)
    turns = fold_turns(step for node in branch for step in node.steps)
    return Transcript(tuple(turns), tree.log.session)


@dataclass(slots=True)
class _Tree:
    """The entries of a file as they come in."""

    log: SessionLog
    nodes: dict[str, BranchNode] = field(default_factory=dict)
    last: str = ""

    def add(self, line: Line) -> None:
        kind = get_text(line.record, "type", 40)
        if kind == "session":
            return self._describe(line.record)
        if kind == "session_info":
            name = get_text(line.record, "name", TITLE_LENGTH).strip()
            self.log.session = replace(self.log.session, custom_title=name)
        elif kind not in _IGNORED and kind != "message":
            self.log.skipped[f"record:{kind or 'untyped'}"] += 1
        self._add_node(line, kind == "message")

    def _describe(self, header: Mapping[str, Any]) -> None:
        version = header.get("version")
        if isinstance(version, int) and version > VERSION:
            self.log.skipped["newer_version"] += 1
        id, cwd = get_text(header, "id"), get_text(header, "cwd", PATH_LENGTH)
        self.log.session = replace(self.log.session, id=id, cwd=cwd)

    def _add_node(self, line: Line, is_message: bool) -> None:
        """Add an entry to the tree; those of version 1 have no ids, each follows the one before."""
        id = get_text(line.record, "id") or f"#{line.offset}"
        parent = get_text(line.record, "parentId") if "id" in line.record else self.last
        known = len(self.log.steps)
        if is_message:
            self._add_steps(line, id)
        steps = tuple(self.log.steps[known:])
        self.nodes[id] = BranchNode(id, parent, self.last, line.offset, True, is_message, steps)
        self.last = id

    def _add_steps(self, line: Line, id: str) -> None:
        log, at, message = self.log, line.offset, get_object(line.record, "message")
        role, content = get_text(message, "role", 40), message.get("content")
        if role == "user":
            when = get_text(line.record, "timestamp")
            log.ask(at, id, strip_injected(join_texts(content)), when)
        elif role == "assistant":
            log.say(at, join_texts(content), message.get("model"))
            calls = [block for block in list_blocks(content) if block.get("type") == "toolCall"]
            log.call(at, calls, "arguments")
            if ends := _ENDS.get(get_text(message, "stopReason")):
                log.mark(ends, at)
        elif role == "toolResult":
            failed = message.get("isError") is True
            log.add_result(at, message.get("toolCallId"), failed, join_texts(content))
        elif role not in _ROLES:
            log.skipped[f"role:{role or 'none'}"] += 1
