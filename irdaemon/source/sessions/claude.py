"""Read Claude Code's session files.

The format is internal to Claude Code and changes with its releases, so everything unknown is
passed over, and counted.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.source.sessions.calls import ResultState, ToolResult, make_result
from irdaemon.source.sessions.item_uses import read_command
from irdaemon.source.sessions.log import make_call
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
    StreamKind,
    Transcript,
    clean_text,
    count_abandoned,
    find_branch,
    fold_turns,
    get_object,
    get_text,
    join_texts,
    list_blocks,
    strip_injected,
    strip_own,
)

# Tell the prompts of a person from everything else Claude Code records under the user's name.

_NOT_TYPED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
_COMMAND = ("<command-name>", "<command-message>", "<command-args>")
# The agent reacts to these, so its next text answers no earlier prompt.
_TRIGGERS = (
    "<bash-input>", "<task-notification>", "<tick>", "<goal>", "<teammate-message",
    "Another Claude session sent a message:",
)  # fmt: skip
_NOTES = (
    "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>",
    "<bash-stderr>", "<user-prompt-submit-hook>", "<session-start-hook>", "Caveat:",
    "Base directory for this skill:", "[Image: source",
)  # fmt: skip
_INTERRUPTED = "[Request interrupted"

_Opening = tuple[Kind | None, str]


def _classify_record(record: Mapping[str, Any]) -> _Opening:
    """Classify a user record: a prompt with its text, an interruption, another opening, or None."""
    content = get_object(record, "message").get("content")
    is_result = record.get("toolUseResult") is not None or _has_block(content, "tool_result")
    if is_result or any(record.get(flag) for flag in _NOT_TYPED):
        return None, ""
    text = join_texts(content)
    if record.get("interruptedMessageId") or text.lstrip().startswith(_INTERRUPTED):
        return "stopped", ""
    if not _is_from_person(record):
        return "other", ""
    return _classify_text(text, content)


def find_command(content: object) -> str:
    """Return the name of the slash command that a message is, "" for any other message."""
    text = strip_injected(join_texts(content))
    return _read_tag(text, "command-name") if text.startswith(_COMMAND) else ""


def _has_block(content: object, kind: str) -> bool:
    return any(block.get("type") == kind for block in list_blocks(content))


def _is_from_person(record: Mapping[str, Any]) -> bool:
    kind = get_object(record, "origin").get("kind")
    asked = kind in (None, "human") and record.get("promptSource") != "system"
    return asked and not record.get("teamName")


def _classify_text(raw: str, content: object) -> _Opening:
    text = strip_injected(raw)
    if text.startswith(_COMMAND):
        return _classify_command(text)
    if text.startswith(_TRIGGERS):
        return "other", ""
    if text.startswith(_NOTES):
        return None, ""
    return ("prompt", text) if text else _classify_wordless(raw, content)


def _classify_wordless(raw: str, content: object) -> _Opening:
    """Classify a record without words: a person's image or paste opens, a reminder does not."""
    pasted = bool(raw.strip()) and not raw.lstrip().startswith("<system-reminder>")
    return ("other", "") if pasted or _has_block(content, "image") else (None, "")


def _classify_command(text: str) -> _Opening:
    """Keep a slash command with arguments as it was typed; without any it is no prompt."""
    name, arguments = _read_tag(text, "command-name"), _read_tag(text, "command-args")
    return ("prompt", f"{name} {arguments}") if name and arguments else ("other", "")


def _read_tag(text: str, tag: str) -> str:
    _, opened, rest = text.partition(f"<{tag}>")
    inner, closed, _ = rest.partition(f"</{tag}>")
    return inner.strip() if opened and closed else ""


# Read the steps of one record of a Claude Code session.
#
# Each line holds one content block of a message; a message's text may be spread over several
# lines.

_END_MARKS = frozenset({"turn_duration", "stop_hook_summary"})
_TOOL_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def _read_steps(line: Line) -> tuple[Step, ...]:
    """Return the steps of one record of the tree."""
    record = line.record
    match record.get("type"):
        case "user":
            return _read_prompt(line, *_classify_record(record))
        case "assistant":
            return tuple(_read_answer(line))
        case "attachment":
            return _read_attachment(line)
        case "system" if get_text(record, "subtype") in _END_MARKS:
            return (Step("end", line.offset),)
    return ()


def _read_prompt(line: Line, kind: Kind | None, text: str) -> tuple[Step, ...]:
    if kind is None:
        return ()
    if kind == "stopped":
        return (Step(kind, line.offset),)
    key = get_text(line.record, "uuid")
    command = find_command(get_object(line.record, "message").get("content"))
    uses = read_command(command) if command else ()
    return (Step(kind, line.offset, text, key, setting=_make_setting(line.record), uses=uses),)


# So begins the result of a call that was not carried out.
_REFUSED = (
    "The user doesn't want to", "Claude requested permissions", "<tool_use_error>",
    "Permission to use ", "Request interrupted", "[Request interrupted",
)  # fmt: skip
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code \d+\s*")


def _list_results(record: Mapping[str, Any]) -> list[ToolResult]:
    """Return the results of tools in a record."""
    blocks = list_blocks(get_object(record, "message").get("content"))
    stopped = get_object(record, "toolUseResult").get("interrupted") is True
    return [_read_result(each, stopped) for each in blocks if each.get("type") == "tool_result"]


def _read_result(block: Mapping[str, Any], stopped: bool) -> ToolResult:
    text = join_texts(block.get("content"))
    state: ResultState = "failed" if block.get("is_error") is True else "done"
    if stopped or (state == "failed" and text.startswith(_REFUSED)):
        state = "refused"
    text = text[found.end() :] if (found := _EXIT_CODE.match(text)) else text
    return make_result(get_text(block, "tool_use_id"), state, text)


def _make_setting(record: Mapping[str, Any]) -> Setting:
    return Setting(
        get_text(record, "sessionId"),
        get_text(record, "cwd", PATH_LENGTH),
        get_text(record, "gitBranch"),
        get_text(record, "timestamp"),
    )


def _read_attachment(line: Line) -> tuple[Step, ...]:
    """Return the prompt that a person typed while the agent was at work, if any."""
    attached = get_object(line.record, "attachment")
    if attached.get("type") != "queued_command" or attached.get("commandMode") != "prompt":
        return ()
    text = strip_injected(join_texts(attached.get("prompt")))
    return _read_prompt(line, "queued", text) if text else ()


def _read_answer(line: Line) -> Iterator[Step]:
    message, at = get_object(line.record, "message"), line.offset
    if line.record.get("isApiErrorMessage"):
        yield Step("failed", at)
        return
    if (model := get_text(message, "model")) == "<synthetic>":
        return
    content, when = message.get("content"), get_text(line.record, "timestamp")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in list_blocks(content):
        if (kind := get_text(block, "type")) in _TOOL_CALLS:
            yield make_call(at, block.get("id"), block.get("name"), block.get("input"), when)
        elif kind == "text" and (text := strip_own(clean_text(block.get("text")))):
            yield Step("text", at, text, model=model, setting=Setting(timestamp=when))
    if message.get("stop_reason") == "end_turn":
        yield Step("end", at)


# Follow the queue of the messages that a person typed while Claude Code was at work.
#
# A message is queued, and later taken out: to be the next prompt, which is then written as one, or
# during the turn, of which versions before 2.1.133 wrote nothing but this. Newer ones also write it
# as an attachment of the same turn.

# Newer versions say why a message was taken out; for other reasons the agent never saw it.
_DURING_THE_TURN = ("", "absorbed_mid_turn")


@dataclass(slots=True)
class ClaudeQueue:
    """The messages that wait, as the lines come in: `older` since before the last prompt.

    `missed` is true once one was taken out that had been queued before the first line read.
    """

    waiting: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    missed: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether nothing waits."""
        return not (self.waiting or self.older)

    def open_turn(self, prompt: str) -> None:
        """Open a turn: drop its prompt, and the texts that have waited for a whole turn."""
        self.older = [text for text in self.waiting if text != prompt]
        self.waiting = []

    def read_operation(self, record: Mapping[str, Any]) -> str:
        """Read an operation; return the message that the agent at work got by it, or ""."""
        match record.get("operation"):
            case "enqueue":
                self.waiting.append(join_texts(record.get("content")))
            case "dequeue":
                self._take_next()
            case "remove":
                return self._remove(record)
            case "popAll":
                self.waiting, self.older = [], []
        return ""

    def _remove(self, record: Mapping[str, Any]) -> str:
        text = join_texts(record.get("content"))
        queue = next((each for each in (self.older, self.waiting) if text in each), None)
        if not text:
            text = self._take_next()
        elif queue is not None:
            queue.remove(text)
        is_seen = get_text(record, "reason") in _DURING_THE_TURN
        return _find_message(text) if is_seen else ""

    def _take_next(self) -> str:
        for queue in (self.older, self.waiting):
            if queue:
                return queue.pop(0)
        self.missed = True
        return ""


def _find_message(text: str) -> str:
    """Return the prompt in a queued text, "" for a bare command or the text of a program."""
    kind, message = _classify_text(text, text)
    is_bare_command = message.startswith("/") and len(message.split()) == 1
    return message if kind == "prompt" and not is_bare_command else ""


_MESSAGES = frozenset({"user", "assistant"})
_TREE = _MESSAGES | {"system", "attachment", "progress"}
_TITLES = frozenset({"custom-title", "ai-title", "summary"})
_IGNORED = frozenset(
    {
        "agent-name", "last-prompt", "mode", "permission-mode", "file-history-snapshot",
        "file-history-delta", "pr-link", "tag", "bridge-session", "cost-state",
        "relocated", "worktree-state", "task-summary", "content-replacement",
    }
)  # fmt: skip


def recognise(path: str, record: Mapping[str, Any]) -> StreamKind | None:
    """Recognise a line of Claude Code; only the path of a file tells that it is a sub-agent's."""
    kind = get_text(record, "type")
    is_ours = kind in ("custom-title", "ai-title") or (kind == "summary" and "leafUuid" in record)
    if not (is_ours or (kind in _TREE and "uuid" in record and "parentUuid" in record)):
        return None
    is_inner = os.path.basename(path).startswith("agent-") or "/subagents/" in path
    return "subagent" if is_inner else "session"


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a session file, or its tail, into turns."""
    log = _ClaudeLog(reader.skipped, start)
    for line in reader.read_records():
        log.add(line)
    anchor = next(iter(log.nodes.values()), None) if start.is_tail else None
    branch = find_branch(log.nodes, anchor)
    turns = fold_turns((s for n in branch for s in n.steps), assume_end=log.never_marks_ends)
    for turn in turns:
        known = (log.results.get(call.id) for call in turn.calls)
        turn.results = {each.id: each for each in known if each}
    count_abandoned(log.nodes, branch, reader.skipped)
    on_branch = anchor is None or (bool(branch) and branch[0] is anchor)
    opening = turns[-1].opening.offset if turns else 0
    resume = 0 if opening in log.amid_queue else opening
    placed = not start.is_tail or not (log.queue.missed or log.added_to_stray)
    holds = on_branch and not log.has_foreign_summary and placed
    return Transcript(tuple(turns), log.session, start.place, resume, holds)


@dataclass(slots=True)
class _ClaudeLog:
    """The records of a file as they come in.

    `results` are by the ids of their calls: those of calls made at once are on no one branch.
    `amid_queue` are the offsets of those before which messages were queued that still waited: a
    read that began there would not know them. `added_to_stray` is true once something was added
    to a record whose parent was not read: in a tail it may repeat one from before.
    """

    skipped: Counter[str]
    start: Start
    nodes: dict[str, BranchNode] = field(default_factory=dict)
    results: dict[str, ToolResult] = field(default_factory=dict)
    last_main: str = ""
    version: str = ""
    queue: ClaudeQueue = field(default_factory=ClaudeQueue)
    amid_queue: set[int] = field(default_factory=set)
    added_to_stray: bool = False
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
        told = (self.session.summary, self.session.summary_leaf)
        is_same = told == (known.summary, known.summary_leaf)
        return self.start.is_tail and not is_same and not self.session.summary_is_ours

    def add(self, line: Line) -> None:
        """Add one line."""
        kind = get_text(line.record, "type", 40)
        if kind in _TREE:
            self._add_node(line, kind)
        elif kind in _TITLES:
            self._set_titles(line.record)
        elif kind == "queue-operation":
            # It has no place in the tree itself.
            if (text := self.queue.read_operation(line.record)) and self.last_main:
                self._add_step(Step("queued", line.offset, text))
        elif kind not in _IGNORED:
            self.skipped[f"record:{kind or 'untyped'}"] += 1

    def _add_node(self, line: Line, kind: str) -> None:
        record, uuid = line.record, get_text(line.record, "uuid")
        if not uuid or uuid in self.nodes:
            self.skipped["duplicate" if uuid else "no_uuid"] += 1
            return
        is_main = self.start.is_subagent or not record.get("isSidechain")
        parent = clean_text(record.get("parentUuid") or record.get("logicalParentUuid"), ID_LENGTH)
        is_message = kind in _MESSAGES and not record.get("isMeta") and not record.get("teamName")
        steps = _read_steps(line)
        self.nodes[uuid] = BranchNode(
            uuid, parent, self.last_main, line.offset, is_main, is_message, steps if is_main else ()
        )
        if kind == "user":
            self.results.update((each.id, each) for each in _list_results(record))
        for step in self.nodes[uuid].steps:
            if step.kind == "prompt":
                self.queue.open_turn(step.text)
        if not self.queue.is_empty:
            self.amid_queue.add(line.offset)
        if is_main:
            self._describe(record, uuid)
            return
        self.skipped["sidechain"] += 1
        # What a sub-agent used and did, it did in the turn of the last main record.
        for step in steps:
            if self.last_main and (step.uses or step.calls):
                self._add_step(Step("used", line.offset, uses=step.uses, calls=step.calls))

    def _add_step(self, step: Step) -> None:
        """Add a step to the last main record."""
        node = self.nodes[self.last_main]
        is_first = node is next(iter(self.nodes.values()))
        self.added_to_stray |= not is_first and node.parent not in self.nodes
        self.nodes[self.last_main] = replace(node, steps=(*node.steps, step))

    def _describe(self, record: Mapping[str, Any], uuid: str) -> None:
        self.last_main = uuid
        self.version = get_text(record, "version") or self.version
        session = self.session
        self.session = replace(
            session,
            id=get_text(record, "sessionId") or session.id,
            cwd=session.cwd or get_text(record, "cwd", PATH_LENGTH),
            summary_is_ours=session.summary_is_ours or session.summary_leaf == uuid,
        )

    def _set_titles(self, record: Mapping[str, Any]) -> None:
        """Set the titles; a summary is this session's own if it sums up a message of this file.

        Versions 1 wrote the summaries of other sessions of a project into a new one.
        """
        custom, ai, summary = (
            get_text(record, name, TITLE_LENGTH).strip()
            for name in ("customTitle", "aiTitle", "summary")
        )
        session = self.session = replace(
            self.session,
            custom_title=custom or self.session.custom_title,
            ai_title=ai or self.session.ai_title,
        )
        told = (summary, leaf := get_text(record, "leafUuid"))
        if record.get("type") == "summary" and told != (session.summary, session.summary_leaf):
            is_ours = not leaf or leaf in self.nodes
            self.session = replace(
                session, summary=summary, summary_leaf=leaf, summary_is_ours=is_ours
            )
