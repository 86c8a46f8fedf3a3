"""Read Pi's session files: a tree of entries, of which the last branch counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.source.sessions.calls import ResultState
from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    TITLE_LENGTH,
    BranchNode,
    Kind,
    Line,
    LineReader,
    Start,
    Transcript,
    clean_text,
    count_abandoned,
    find_branch,
    fold_turns,
    get_object,
    join_texts,
    list_blocks,
    strip_injected,
)

# The newest version whose entries are known; a file of a newer one is read as well as can be.
VERSION = 3
_NO_MATTER = frozenset(
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


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is the header of a Pi session."""
    return record.get("type") == "session" and "id" in record and "cwd" in record


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return false: Pi's sub-agents keep sessions of their own, which are not marked as theirs."""
    return False


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a session file into turns."""
    tree = _Tree(SessionLog(start.session, reader.skipped))
    for line in reader.records():
        tree.take(line)
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

    def take(self, line: Line) -> None:
        kind = clean_text(line.record.get("type"), 40)
        if kind == "session":
            return self._begin(line.record)
        if kind == "session_info":
            name = clean_text(line.record.get("name"), TITLE_LENGTH).strip()
            self.log.session = replace(self.log.session, custom_title=name)
        elif kind not in _NO_MATTER and kind != "message":
            self.log.skipped[f"record:{kind or 'untyped'}"] += 1
        self._grow(line, kind == "message")

    def _begin(self, header: Mapping[str, Any]) -> None:
        version = header.get("version")
        if isinstance(version, int) and version > VERSION:
            self.log.skipped["newer_version"] += 1
        id, cwd = (
            clean_text(header.get("id"), ID_LENGTH),
            clean_text(header.get("cwd"), PATH_LENGTH),
        )
        self.log.session = replace(self.log.session, id=id, cwd=cwd)

    def _grow(self, line: Line, is_message: bool) -> None:
        """Add an entry to the tree; those of version 1 have no ids, each follows the one before."""
        id = clean_text(line.record.get("id"), ID_LENGTH) or f"#{line.offset}"
        parent = clean_text(line.record.get("parentId"), ID_LENGTH)
        if "id" not in line.record:
            parent = self.last
        known = len(self.log.steps)
        if is_message:
            self._add_steps(line, id)
        steps = tuple(self.log.steps[known:])
        self.nodes[id] = BranchNode(id, parent, self.last, line.offset, True, is_message, steps)
        self.last = id

    def _add_steps(self, line: Line, id: str) -> None:
        log, at, message = self.log, line.offset, get_object(line.record, "message")
        role, content = clean_text(message.get("role"), 40), message.get("content")
        if role == "user":
            when = clean_text(line.record.get("timestamp"), ID_LENGTH)
            log.ask(at, id, strip_injected(join_texts(content)), when)
        elif role == "assistant":
            log.say(at, join_texts(content), message.get("model"))
            calls = [block for block in list_blocks(content) if block.get("type") == "toolCall"]
            log.call(at, calls, "arguments")
            if ends := _ENDS.get(clean_text(message.get("stopReason"), 40)):
                log.mark(ends, at)
        elif role == "toolResult":
            state: ResultState = "failed" if message.get("isError") is True else "done"
            log.add_result(at, message.get("toolCallId"), state, join_texts(content))
        elif role not in _ROLES:
            log.skipped[f"role:{role or 'none'}"] += 1
