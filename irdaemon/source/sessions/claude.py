"""Read Claude Code's session files.

The format is internal to Claude Code and changes with its releases, so everything unknown is
passed over, and counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.source.sessions.branch import BranchNode, branch_of
from irdaemon.source.sessions.claude_queue import ClaudeQueue
from irdaemon.source.sessions.claude_steps import steps_of
from irdaemon.source.sessions.cursor import SessionInfo
from irdaemon.source.sessions.lines import (
    ID_LENGTH,
    PATH_LENGTH,
    TITLE_LENGTH,
    Line,
    LineReader,
    plain,
)
from irdaemon.source.sessions.pairing import Step, turns_of
from irdaemon.source.sessions.transcript import Start, Transcript

_MESSAGES = frozenset({"user", "assistant"})
_TREE = _MESSAGES | {"system", "attachment", "progress"}
_TITLES = frozenset({"custom-title", "ai-title", "summary"})
_NO_MATTER = frozenset(
    {
        "agent-name", "last-prompt", "mode", "permission-mode", "file-history-snapshot",
        "file-history-delta", "pr-link", "tag", "bridge-session", "cost-state",
        "relocated", "worktree-state", "task-summary", "content-replacement",
    }
)  # fmt: skip


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is Claude Code's, by its structure."""
    kind = plain(record.get("type"), ID_LENGTH)
    if kind in _TREE:
        return "uuid" in record and "parentUuid" in record
    return (kind == "summary" and "leafUuid" in record) or kind in ("custom-title", "ai-title")


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return whether a file is the stream of a sub-agent; its records are like any session's."""
    name = os.path.basename(path)
    return name.startswith("agent-") or "/subagents/" in path


def transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a session file, or its tail, into turns."""
    log = _ClaudeLog(reader.skipped, start)
    for line in reader.records():
        log.take(line)
    anchor = next(iter(log.nodes.values()), None) if start.is_tail else None
    branch = branch_of(log.nodes, anchor)
    turns = turns_of((s for n in branch for s in n.steps), assume_end=log.never_marks_ends)
    log.count_abandoned(branch)
    on_branch = anchor is None or (bool(branch) and branch[0] is anchor)
    opening = turns[-1].opening.offset if turns else 0
    resume = 0 if opening in log.amid_queue else opening
    holds = on_branch and not log.has_foreign_summary and not (start.is_tail and log.queue.missed)
    return Transcript(tuple(turns), log.session, start.place, resume, holds)


@dataclass(slots=True)
class _ClaudeLog:
    """The records of a file as they come in.

    `amid_queue` are the offsets of those before which messages were queued that still waited: a
    read that began there would not know them.
    """

    skipped: Counter[str]
    start: Start
    nodes: dict[str, BranchNode] = field(default_factory=dict)
    last_main: str = ""
    version: str = ""
    queue: ClaudeQueue = field(default_factory=ClaudeQueue)
    amid_queue: set[int] = field(default_factory=set)
    session: SessionInfo = field(init=False)

    def __post_init__(self) -> None:
        self.session = self.start.session

    @property
    def never_marks_ends(self) -> bool:
        """Return whether the writer is of a version that left the ends of turns unmarked.

        Version 1 rarely did mark them; nothing writes it any more, so its files are done.
        """
        return self.version.startswith("1.")

    @property
    def has_foreign_summary(self) -> bool:
        """Return whether a tail names a summary whose message may lie before the tail."""
        known = self.start.session
        same = (known.summary, known.summary_leaf) == (
            self.session.summary,
            self.session.summary_leaf,
        )
        return self.start.is_tail and not same and not self.session.summary_is_ours

    def take(self, line: Line) -> None:
        """Take in one line."""
        kind = plain(line.record.get("type"), 40)
        if kind in _TREE:
            self._grow(line, kind)
        elif kind in _TITLES:
            self._entitle(line.record)
        elif kind == "queue-operation":
            self._follow_queue(line)
        elif kind not in _NO_MATTER:
            self.skipped[f"record:{kind or 'untyped'}"] += 1

    def count_abandoned(self, branch: list[BranchNode]) -> None:
        """Count the prompts that lie on no branch that counts."""
        kept = {node.uuid for node in branch}
        lost = [n for n in self.nodes.values() if n.uuid not in kept and _has_prompt(n)]
        self.skipped.update({"abandoned": len(lost)} if lost else {})

    def _grow(self, line: Line, kind: str) -> None:
        uuid = plain(line.record.get("uuid"), ID_LENGTH)
        if not uuid or uuid in self.nodes:
            self.skipped["duplicate" if uuid else "no_uuid"] += 1
            return
        is_main = self.start.is_subagent or not line.record.get("isSidechain")
        node = self._node(line, kind, uuid, is_main)
        self.nodes[uuid] = node
        for step in node.steps:
            if step.kind == "prompt":
                self.queue.open_turn(step.text)
        if not self.queue.is_empty:
            self.amid_queue.add(line.offset)
        if is_main:
            self._note(line.record, uuid)
        else:
            self.skipped["sidechain"] += 1
            self._use_aside(line)

    def _use_aside(self, line: Line) -> None:
        """Add what a sub-agent used to the last main record: it was used in that turn."""
        uses = [use for step in steps_of(line) for use in step.uses]
        if uses and self.last_main:
            self._add(Step("used", line.offset, uses=tuple(uses)))

    def _add(self, step: Step) -> None:
        node = self.nodes[self.last_main]
        self.nodes[self.last_main] = replace(node, steps=(*node.steps, step))

    def _follow_queue(self, line: Line) -> None:
        """Add what the agent took up while it worked to the last record: it has no place itself."""
        text = self.queue.taken_up(line.record)
        if text and self.last_main:
            self._add(Step("queued", line.offset, text))

    def _node(self, line: Line, kind: str, uuid: str, is_main: bool) -> BranchNode:
        record = line.record
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        message = kind in _MESSAGES and not record.get("isMeta") and not record.get("teamName")
        steps = steps_of(line) if is_main else ()
        return BranchNode(
            uuid, plain(parent, ID_LENGTH), self.last_main, line.offset, is_main, message, steps
        )

    def _note(self, record: Mapping[str, Any], uuid: str) -> None:
        self.last_main = uuid
        self.version = plain(record.get("version"), ID_LENGTH) or self.version
        session = self.session
        self.session = replace(
            session,
            id=plain(record.get("sessionId"), ID_LENGTH) or session.id,
            cwd=session.cwd or plain(record.get("cwd"), PATH_LENGTH),
            summary_is_ours=session.summary_is_ours or session.summary_leaf == uuid,
        )

    def _entitle(self, record: Mapping[str, Any]) -> None:
        custom = plain(record.get("customTitle"), TITLE_LENGTH).strip()
        ai = plain(record.get("aiTitle"), TITLE_LENGTH).strip()
        self.session = replace(
            self.session,
            custom_title=custom or self.session.custom_title,
            ai_title=ai or self.session.ai_title,
        )
        if record.get("type") == "summary":
            self._sum_up(record)

    def _sum_up(self, record: Mapping[str, Any]) -> None:
        """Note a summary, which is this session's own if it sums up a message of this file.

        Versions 1 wrote the summaries of other sessions of a project into a new one.
        """
        text = plain(record.get("summary"), TITLE_LENGTH).strip()
        leaf = plain(record.get("leafUuid"), ID_LENGTH)
        if (text, leaf) == (self.session.summary, self.session.summary_leaf):
            return
        ours = not leaf or leaf in self.nodes
        self.session = replace(self.session, summary=text, summary_leaf=leaf, summary_is_ours=ours)


def _has_prompt(node: BranchNode) -> bool:
    return any(step.kind == "prompt" for step in node.steps)
