"""The input and the output of a dialect: lines of a session file, and the turns they tell."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from itertools import dropwhile, islice
from typing import Any, BinaryIO, Literal

import msgpack

from irdaemon.source.redact import Redactor
from irdaemon.source.sessions.calls import ToolCall, ToolResult
from irdaemon.types import ItemUse

# The cursor that one read of a session leaves for the next: a position, and what came before it.
#
# A read resumes where the last turn opens, because a turn changes until the next one begins. Its
# first line is remembered by digest: where that line no longer stands, the file was rewritten.

VERSION = 1
StreamKind = Literal["session", "subagent"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """The facts of a whole session file: a change here touches every turn of it."""

    id: str = ""
    cwd: str = ""
    custom_title: str = ""
    ai_title: str = ""
    summary: str = ""
    summary_leaf: str = ""
    summary_is_ours: bool = False

    @property
    def title(self) -> str:
        """Return the title of the session, "" when it has none."""
        summary = self.summary if self.summary_is_ours else ""
        return self.custom_title or self.ai_title or summary


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The facts about a turn that only the lines before it state.

    `prompts` counts the prompts so far; `stream` names the one of a rollout's two streams in use;
    `marked` is true where the file marks the ends of its turns.
    """

    cwd: str = ""
    branch: str = ""
    model: str = ""
    prompts: int = 0
    stream: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a read. `resume` is 0 when the next one must begin at the start."""

    agent: str
    kind: StreamKind
    device: int
    inode: int
    end: int
    resume: int = 0
    digest: bytes = b""
    emitted: str = ""
    session: SessionInfo = field(default_factory=SessionInfo)
    place: TurnContext = field(default_factory=TurnContext)

    def is_same_file(self, status: os.stat_result) -> bool:
        """Return whether this file, by its status, can be the one read, grown or as it was."""
        same = (status.st_dev, status.st_ino) == (self.device, self.inode)
        return same and status.st_size >= self.end


def pack_cursor(cursor: Cursor) -> bytes:
    """Serialize a cursor; its titles are kept, so they are cleaned as any text is."""
    clean, session = Redactor("all").redact_text, cursor.session
    session = replace(
        session,
        custom_title=clean(session.custom_title),
        ai_title=clean(session.ai_title),
        summary=clean(session.summary),
    )
    blob: bytes = msgpack.packb([VERSION, *astuple(replace(cursor, session=session))])
    return blob


def unpack_cursor(blob: bytes | None) -> Cursor | None:
    """Return the cursor in a blob, or None when it is missing, foreign or of another version."""
    try:
        fields = msgpack.unpackb(blob or b"")
        version, agent, kind, *numbers, digest, emitted, session, place = fields
        device, inode, end, resume = map(int, numbers)
        info, context = SessionInfo(*session), TurnContext(*place)
    except (ValueError, TypeError, msgpack.exceptions.UnpackException):
        return None
    if version != VERSION:
        return None
    return Cursor(agent, kind, device, inode, end, resume, digest, emitted, info, context)


def digest_line(line: bytes) -> bytes:
    """Return the digest by which a line is recognised."""
    return hashlib.blake2b(line, digest_size=16).digest()


# Read the whole lines of a JSONL file, from an offset on, in bounded memory.
#
# A line is read once its newline is there: what an agent is still writing waits for the next read.
# A line that is too long, or no JSON object, is passed over and counted.

# Longer lines hold images or tool output in base64; no prompt or answer comes near.
LINE_LIMIT = 16 * 1024 * 1024
# A parsed value takes up to a hundred times its bytes, and each value has a mark: two million take
# some 250 MB, as much as those of the longest line.
_MOST_MARKS = 2_000_000
_CHUNK = 1024 * 1024
# The description of a session is kept between reads, so a file must not make it grow.
ID_LENGTH, PATH_LENGTH, TITLE_LENGTH = 200, 4096, 300


class TooManyValues(ValueError):
    """A JSON text states more values than are parsed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line and the offset of its first byte."""

    offset: int
    record: Mapping[str, Any]


@dataclass(slots=True)
class LineReader:
    """A position in an open file; `end` is the offset after the last whole line read.

    A line of more than `limit` bytes is passed over.
    """

    file: BinaryIO
    end: int = 0
    limit: int = LINE_LIMIT
    skipped: Counter[str] = field(default_factory=Counter)

    def read_records(self) -> Iterator[Line]:
        """Yield the JSON objects from `end` to the last whole line."""
        self.file.seek(self.end)
        offset = self.end
        while (raw := self._read_line()) is not None:
            if (record := self._parse(raw)) is not None:
                yield Line(offset, record)
            offset = self.end

    def _read_line(self) -> bytes | None:
        """Return the next line, empty when it was passed over, None when there is none yet."""
        raw = self.file.readline(self.limit + 1)
        if raw.endswith(b"\n"):
            self.end += len(raw)
            return raw
        if len(raw) <= self.limit:
            return None
        return self._pass_over(len(raw))

    def _pass_over(self, size: int) -> bytes | None:
        while piece := self.file.readline(_CHUNK):
            size += len(piece)
            if piece.endswith(b"\n"):
                self.end += size
                self.skipped["oversized_line"] += 1
                return b""
        return None

    def _parse(self, raw: bytes) -> Mapping[str, Any] | None:
        if not raw.strip():
            return None
        try:
            record = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            return record
        self.skipped["bad_line"] += 1
        return None


def parse_bounded_json(text: str | bytes) -> Any:
    """Parse JSON of any length, up to a number of values.

    Raises ValueError, TooManyValues for one, or RecursionError.
    """
    if len(text) > LINE_LIMIT:
        marks = (b"[", b"{", b",") if isinstance(text, bytes) else ("[", "{", ",")
        if sum(map(text.count, marks)) > _MOST_MARKS:  # type: ignore[arg-type]
            raise TooManyValues(f"more than {_MOST_MARKS:,} values")
    return json.loads(text)


def clean_text(value: object, limit: int | None = None) -> str:
    """Return a JSON string as text that can be stored, "" for anything else.

    JSON can spell half of a surrogate pair, which no encoding takes.
    """
    if not isinstance(value, str):
        return ""
    return value[:limit].encode("utf-8", "replace").decode("utf-8")


def get_text(record: Mapping[str, Any], name: str, limit: int | None = ID_LENGTH) -> str:
    """Return a text of a JSON object, cut to a length; "" when it is missing or something else."""
    return clean_text(record.get(name), limit)


def find_text(
    record: Mapping[str, Any], names: Iterable[str], limit: int | None = PATH_LENGTH
) -> str:
    """Return the first text under one of some names, "" for none."""
    return next((text for name in names if (text := get_text(record, name, limit).strip())), "")


def get_object(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a nested JSON object, empty when it is missing or something else."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


# Pair prompts with answers, whichever agent wrote the transcript.
#
# A dialect turns its lines into steps; folding the steps gives turns. A turn runs from one opening
# to the next. Its answer is the text after its last tool call. It is over once it is marked so,
# interrupted or failed, or another opens; until then it is open, and has no outcome.

Outcome = Literal["", "answered", "interrupted", "failed", "unanswered"]
Kind = Literal[
    "prompt",  # a person asked something
    "queued",  # a person added something while the agent may still be at work; it opens a turn
    # of its own where none is under way and it has a key
    "other",  # something else the agent reacts to: a bare command, a notification
    "text",  # a text of the agent
    "tool",  # the agent called a tool
    "used",  # an item was used otherwise than by a tool
    "result",  # tools returned
    "named",  # the turn got its id
    "end",  # the turn is complete; text, if any, is the answer
    "stopped",  # a person interrupted the turn
    "failed",  # the turn ran into an error
    "rollback",  # the last `count` turns were taken back
]


@dataclass(frozen=True, slots=True)
class Setting:
    """The place and time of a prompt. `timestamp` is kept as found."""

    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. `fresh` text begins the answer again; `uses` are those in it.

    `setting` has, but for openings, the time alone.
    """

    kind: Kind
    offset: int
    text: str = ""
    key: str = ""
    model: str = ""
    setting: Setting = Setting()
    count: int = 0
    fresh: bool = False
    uses: tuple[ItemUse, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(slots=True)
class Turn:
    """The steps from one opening to the next, folded."""

    opening: Step
    key: str = ""
    model: str = ""
    prompts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    uses: list[ItemUse] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)
    worked_until: str = ""
    answer_from: int = 0
    final: str = ""
    has_tool_use: bool = False
    ended: bool = False
    closed: bool = False
    stopped: bool = False
    failed: bool = False
    assumed: bool = False

    @property
    def prompt(self) -> str:
        """Return the prompt, "" when a person asked nothing."""
        return "\n\n".join(self.prompts)

    @property
    def answer(self) -> str:
        """Return the text the end of the turn named, else the text after the last tool call."""
        return self.final or "\n\n".join(self.texts[self.answer_from :])

    @property
    def full(self) -> str:
        """Return all texts of the agent during the turn."""
        return "\n\n".join(self.texts)

    @property
    def outcome(self) -> Outcome:
        """Return how the turn ended: "" while it is open, or where a person asked nothing."""
        if not self.prompts:
            return ""
        if self.stopped or self.failed:
            return "interrupted" if self.stopped else "failed"
        if self.answer and (self.is_over or self.assumed):
            return "answered"
        return "unanswered" if self.is_over else ""

    @property
    def is_over(self) -> bool:
        """Return whether the agent has stopped working on the turn, as far as its file says."""
        return self.ended or self.closed or self.stopped or self.failed

    def add(self, step: Step) -> None:
        """Fold one more step into the turn."""
        self.uses.extend(step.uses)
        self.calls.extend(step.calls)
        self.results.update((each.id, each) for each in step.results)
        self.worked_until = step.setting.timestamp or self.worked_until
        match step.kind:
            case "text" | "tool":
                self._go_on(step)
            case "end":
                self.ended, self.final = True, step.text
                if step.text and step.text not in self.texts:
                    self.texts.append(step.text)
            case "queued":
                # A transcript may tell it twice.
                if not self.is_over and step.text not in self.prompts:
                    self.prompts.append(step.text)
            case "named":
                self.key = step.key
            case "stopped":
                self.stopped = self.stopped or not self.ended
            case "failed":
                self.failed, self.ended = True, False

    def _go_on(self, step: Step) -> None:
        """Add a text or a call: the agent is still at work."""
        is_call = step.kind == "tool"
        if is_call or step.fresh:
            self.answer_from = len(self.texts)
        if not is_call:
            self.texts.append(step.text)
        self.has_tool_use |= is_call
        self.model = step.model or self.model
        self.ended = self.failed = False
        self.final = ""


def fold_turns(steps: Iterable[Step], *, assume_end: bool = False) -> list[Turn]:
    """Fold steps into turns, in order.

    `assume_end` takes the last turn for finished where its file never marks the end of one.
    """
    turns: list[Turn] = []
    for step in steps:
        if _opens_turn(step, turns):
            if turns:
                turns[-1].closed = True
            prompts = [step.text] if step.kind != "other" else []
            turns.append(Turn(step, step.key, step.model, prompts, uses=[*step.uses]))
        elif step.kind == "rollback":
            del turns[max(0, len(turns) - step.count) :]
        elif turns and not turns[-1].closed:
            turns[-1].add(step)
    if assume_end and turns:
        turns[-1].assumed = not (turns[-1].ended or turns[-1].closed)
    return turns


def _opens_turn(step: Step, turns: list[Turn]) -> bool:
    if step.kind == "queued":
        under_way = bool(turns) and bool(turns[-1].prompts) and not turns[-1].is_over
        return bool(step.key) and not under_way
    return step.kind in ("prompt", "other")


# Strip from a text the context that tools and hooks injected.
#
# What this daemon itself injected into a prompt must not come back as the text of a person.

OWN = "irdaemon:"
_OWN_TAG = "irdaemon"
_INJECTED = (
    "system-reminder", "ide_selection", "ide_opened_file", "ide_diagnostics", "pasted_content",
)  # fmt: skip
_HOOKS = ("user-prompt-submit-hook", "session-start-hook")


def strip_injected(text: str) -> str:
    """Return a prompt without injected blocks."""
    text = strip_own(text)
    for tag in _HOOKS:
        text = _cut_blocks(text, tag, OWN)
    for tag in _INJECTED:
        text = _cut_blocks(text, tag)
    return text.strip()


def strip_own(text: str) -> str:
    """Return a text without what this daemon injected under its own tag."""
    return _cut_blocks(text, _OWN_TAG).strip()


def _cut_blocks(text: str, tag: str, beginning: str = "") -> str:
    """Cut each closed block of this tag whose content begins so, in time linear in the text."""
    if f"<{tag}" not in text:
        return text
    kept, at = [], 0
    for start in re.compile(rf"<{tag}(?:\s[^<>]*)?>").finditer(text):
        if start.start() < at:
            continue
        end = text.find(f"</{tag}>", start.end())
        if end < 0:
            break
        if text[start.end() : end].lstrip().startswith(beginning):
            kept.append(text[at : start.start()])
            at = end + len(tag) + 3
    return "".join(kept) + text[at:]


def join_texts(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """Return the text of a message: the string it is, or its blocks of these kinds joined."""
    if isinstance(content, str):
        return clean_text(content)
    blocks = [block for block in list_blocks(content) if block.get("type") in kinds]
    texts = [clean_text(block.get("text")) for block in blocks]
    return "\n".join(text for text in texts if not text.lstrip().startswith(OWN))


def list_blocks(content: object) -> list[Mapping[str, Any]]:
    """Return the content blocks of a message, none when it is a string."""
    found = content if isinstance(content, list) else []
    return [block for block in found if isinstance(block, dict)]


# Find the branch of a conversation that counts.
#
# Claude Code writes a tree: each record names its parent, and rewinding grows a new branch beside
# the old. What counts is the way from the last message back to the root, through compactions. A
# parent that is not in the file (its line was lost) is taken to be the record written just before.


@dataclass(frozen=True, slots=True)
class BranchNode:
    """A record that has a place in the tree. `parent` is "" for a root.

    `before` is the main record written before it, `is_main` false for a sub-agent's record,
    `is_message` true for a record that can end the branch.
    """

    uuid: str
    parent: str
    before: str
    offset: int
    is_main: bool
    is_message: bool
    steps: tuple[Step, ...] = ()


def find_branch(nodes: dict[str, BranchNode], anchor: BranchNode | None = None) -> list[BranchNode]:
    """Return the records of the branch that counts, oldest first.

    With an anchor, the branch is followed back to it and no further, and no lost parent is made
    up for; a branch that does not begin with the anchor then has left it.
    """
    leaf = next((n for n in reversed(nodes.values()) if n.is_main and n.is_message), None)
    if leaf is None:
        return []
    return _follow_back(nodes, leaf, anchor) + _follow_on(nodes, leaf)


def _follow_back(
    nodes: dict[str, BranchNode], leaf: BranchNode, anchor: BranchNode | None
) -> list[BranchNode]:
    way: dict[str, BranchNode] = {}
    node: BranchNode | None = leaf
    while node is not None and node.uuid not in way:
        way[node.uuid] = node
        if node is anchor or not node.parent:
            break
        before = nodes.get(node.before) if anchor is None else None
        node = nodes.get(node.parent) or before
    return list(reversed(way.values()))


def _follow_on(nodes: dict[str, BranchNode], leaf: BranchNode) -> list[BranchNode]:
    """Return the records after the last message that hang on it: the marks of a turn's end."""
    chain = [leaf]
    for node in islice(dropwhile(lambda each: each is not leaf, nodes.values()), 1, None):
        if node.is_main and node.parent == chain[-1].uuid:
            chain.append(node)
    return chain[1:]


def count_abandoned(
    nodes: Mapping[str, BranchNode], branch: Iterable[BranchNode], skipped: Counter[str]
) -> None:
    """Count the records with a prompt that are not on the branch that counts."""
    kept = {node.uuid for node in branch}
    for uuid, node in nodes.items():
        if uuid not in kept and any(step.kind == "prompt" for step in node.steps):
            skipped["abandoned"] += 1


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What to read of sessions beside their turns, and the longest line to read."""

    titles: bool = True
    subagents: bool = False
    max_line_bytes: int = LINE_LIMIT


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a read: that of the file, or (`is_tail`) the last known turn.

    `path` is the file's, for what only lies beside it.
    """

    is_tail: bool = False
    is_subagent: bool = False
    session: SessionInfo = field(default_factory=SessionInfo)
    place: TurnContext = field(default_factory=TurnContext)
    path: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a session file, or of its tail.

    `resume` is the offset at which the last turn opens, with `place` before it; 0 when the next
    read must begin at the start. `holds` is false when the lines read cannot be understood
    without the ones before them.
    """

    turns: tuple[Turn, ...]
    session: SessionInfo
    place: TurnContext = field(default_factory=TurnContext)
    resume: int = 0
    holds: bool = True
