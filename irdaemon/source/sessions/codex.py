"""Read Codex's rollout files.

A rollout holds everything twice, as events and as response items. The events are what the person
saw, so they are used where they hold prompts; the items otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from irdaemon.source.sessions.calls import ResultState, ToolResult, make_result
from irdaemon.source.sessions.item_uses import parse_arguments, read_tagged_skill
from irdaemon.source.sessions.log import make_call
from irdaemon.source.sessions.transcript import (
    PATH_LENGTH,
    TITLE_LENGTH,
    Line,
    LineReader,
    SessionInfo,
    Setting,
    Start,
    Step,
    StreamKind,
    Transcript,
    TurnContext,
    clean_text,
    fold_turns,
    get_object,
    get_text,
    join_texts,
    strip_injected,
    strip_own,
)

# Follow one of the two streams of a Codex rollout.
#
# Nothing in a rollout has an id but the turn, and that only in newer versions: a turn without one
# goes by its number.

EVENT, ITEM = "event", "item"
_STARTS = frozenset({"task_started", "turn_started"})
_ENDS = frozenset({"task_complete", "turn_complete"})
_ABORTED = "<turn_aborted>"
_SKILL = "<skill>"
_NOT_TYPED = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions for",
    "<INSTRUCTIONS>", "<recommended_plugins>", _SKILL,
)  # fmt: skip
# The types of the blocks of a message.
_TEXTS = ("input_text", "output_text", "text")
# An editor puts open files and tabs before what the person typed.
_EDITOR_CONTEXT = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"


@dataclass(slots=True)
class RolloutStream:
    """One of the two streams of a rollout, as its lines come in.

    `openings` keeps, by the offset at which a turn may open, the context before it; `region`
    is such an offset not yet followed by a prompt. `turn_id` is that of the turn under way,
    `next_id` that of the one announced; `last_text` is the last text of the agent in the turn.
    """

    name: str
    session: SessionInfo
    place: TurnContext
    steps: list[Step] = field(default_factory=list)
    opened: list[Step] = field(default_factory=list)
    openings: dict[int, TurnContext] = field(default_factory=dict)
    region: int | None = None
    turn_id: str = ""
    next_id: str = ""
    last_text: str = ""
    is_open: bool = False
    at_work: bool = False

    def add(self, line: Line) -> None:
        """Add one line."""
        payload = get_object(line.record, "payload")
        match line.record.get("type"):
            case "session_meta":
                self._begin(payload)
            case "turn_context":
                self._set_context(line, payload)
            case "event_msg":
                self._add_event(line, payload)
            case "response_item":
                self._add_item(line, payload)

    def _begin(self, meta: Mapping[str, Any]) -> None:
        """Describe the session; a forked rollout repeats its origin's meta line after its own."""
        session, place = self.session, self.place
        cwd = get_text(meta, "cwd", PATH_LENGTH)
        branch = get_text(get_object(meta, "git"), "branch")
        own_id = session.id or get_text(meta, "id")
        self.session = replace(session, id=own_id, cwd=session.cwd or cwd)
        self.place = replace(place, cwd=place.cwd or cwd, branch=place.branch or branch)

    def _set_context(self, line: Line, context: Mapping[str, Any]) -> None:
        self._set_turn(line, get_text(context, "turn_id"))
        self.place = replace(
            self.place,
            cwd=get_text(context, "cwd", PATH_LENGTH) or self.place.cwd,
            model=get_text(context, "model") or self.place.model,
        )

    def _set_turn(self, line: Line, turn_id: str) -> None:
        """Set the id of the turn under way, or of one about to open."""
        if self.is_open and turn_id in ("", self.turn_id):
            return
        if self.is_open and not self.turn_id:
            self._name_turn(line, turn_id)
            return
        self.is_open = self.at_work = False
        self._mark_opening(line)
        self.next_id = turn_id or self.next_id

    def _mark_opening(self, line: Line) -> int:
        """Return the offset at which the turn that now begins opens."""
        if self.region is None:
            self.region = line.offset
            self.openings[line.offset] = self.place
        return self.region

    def _name_turn(self, line: Line, turn_id: str) -> None:
        self.turn_id = turn_id
        self.steps.append(Step("named", line.offset, key=turn_id))

    def _add_event(self, line: Line, event: Mapping[str, Any]) -> None:
        kind, turn_id = get_text(event, "type"), get_text(event, "turn_id")
        if kind in _STARTS | _ENDS:
            self.place = replace(self.place, marked=True)
        if kind in ("user_message", "agent_message"):
            text = clean_text(event.get("message"))
            self._add_message(line, EVENT, kind == "user_message", text)
        elif kind in _STARTS:
            self._set_turn(line, turn_id)
            self.at_work = True
        elif kind in _ENDS:
            if self.is_open and turn_id and not self.turn_id:
                self._name_turn(line, turn_id)
            text = strip_own(clean_text(event.get("last_agent_message")))
            self._close(Step("end", line.offset, text or self.last_text))
        elif kind == "thread_name_updated":
            title = get_text(event, "thread_name", TITLE_LENGTH).strip()
            self.session = replace(self.session, custom_title=title)
        elif kind == "turn_aborted":
            self._close(Step("stopped", line.offset))
        elif kind == "thread_rolled_back":
            turns = event.get("num_turns")
            count = turns if isinstance(turns, int) else 0
            self._close(Step("rollback", line.offset, count=count))

    def _close(self, step: Step) -> None:
        self.steps.append(step)
        self.is_open = self.at_work = False
        self.region, self.turn_id, self.next_id = None, "", ""

    def _add_item(self, line: Line, item: Mapping[str, Any]) -> None:
        kind, role = get_text(item, "type"), item.get("role")
        if kind.endswith("_call"):
            given = item.get("arguments") or item.get("input") or item.get("action")
            name = item.get("name") or kind.removesuffix("_call")  # the local shell has none
            when = get_text(line.record, "timestamp")
            # Both streams of a rollout are given each line.
            make = _make_call_once if isinstance(given, str) else make_call
            id, name = get_text(item, "call_id"), clean_text(name)
            self.steps.append(make(line.offset, id, name, given, when))
        elif kind.endswith("_call_output"):
            self.steps.append(Step("result", line.offset, results=(_read_output(item),)))
        elif kind == "message" and role in ("user", "assistant"):
            text = join_texts(item.get("content"), _TEXTS)
            if role == "user" and text.startswith(_SKILL):
                self.steps.append(Step("used", line.offset, uses=read_tagged_skill(text)))
            self._add_message(line, ITEM, role == "user", text)

    def _add_message(self, line: Line, stream: str, is_prompt: bool, text: str) -> None:
        if stream != self.name:
            return
        if not is_prompt:
            if text := strip_own(text):
                self.last_text, model = text, self.place.model
                self.steps.append(Step("text", line.offset, text, model=model, fresh=True))
        elif text.lstrip().startswith(_ABORTED):
            self._close(Step("stopped", line.offset))
        elif not text.lstrip().startswith(_NOT_TYPED):
            self._add_prompt(line, _find_request(text))

    def _add_prompt(self, line: Line, text: str) -> None:
        if self.at_work and self.is_open:
            self.steps.extend([Step("queued", line.offset, text)] if text else [])
            return
        offset = self._mark_opening(line)
        place = self.place = replace(self.place, prompts=self.place.prompts + 1)
        when = get_text(line.record, "timestamp")
        setting = Setting(self.session.id, place.cwd, place.branch, when)
        key = self.next_id or str(place.prompts)
        step = Step("prompt" if text else "other", offset, text, key, place.model, setting)
        self.steps.append(step)
        self.opened.append(step)
        self.turn_id, self.next_id, self.last_text = self.next_id, "", ""
        self.is_open, self.region = True, None


# Versions that write no object say so before the output; a sandbox that failed says it in a line.
_make_call_once = lru_cache(maxsize=1)(make_call)
_EXIT_CODE = re.compile(r"(?:exit code|exited with code):? ?(\d+)", re.I)
_HEADER = 400


def _read_output(item: Mapping[str, Any]) -> ToolResult:
    """Return the result of a call: an object in JSON with the exit code, or text that tells it."""
    given = item.get("output")
    held = parse_arguments(given)
    text = clean_text(held.get("output", held.get("content", held.get("input"))))
    code = get_object(held, "metadata").get("exit_code")
    if code is None and held.keys() == {"input"}:
        head, marked, rest = text.partition("Output:\n")
        found = _EXIT_CODE.search(head[:_HEADER])
        code = int(found[1]) if found else 0
        text = rest if marked else text
        if head.startswith("failed in sandbox"):
            text = text.partition("stderr: ")[2]
    failed = held.get("success") is False or code not in (0, None)
    refused = failed and text.startswith(("aborted by user", "exec command rejected"))
    state: ResultState = "refused" if refused else "failed" if failed else "done"
    return make_result(get_text(item, "call_id"), state, text)


def _find_request(text: str) -> str:
    """Return the part that a person typed of a prompt that an editor sent."""
    if text.startswith(_EDITOR_CONTEXT):
        _, _, typed = text.partition(_REQUEST)
        text = typed or text
    return strip_injected(text)


_LINES = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
)


def recognise(path: str, record: Mapping[str, Any]) -> StreamKind | None:
    """Recognise a line of a rollout; the first line tells whether it is a sub-agent's."""
    meta = record.get("payload")
    if get_text(record, "type") not in _LINES or not isinstance(meta, dict):
        return None
    is_inner = meta.get("thread_source") == "subagent" or "subagent" in get_object(meta, "source")
    return "subagent" if is_inner else "session"


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a rollout, or its tail, into turns."""
    streams = [RolloutStream(name, start.session, start.place) for name in (EVENT, ITEM)]
    for line in reader.read_records():
        kind = get_text(line.record, "type", 40)
        if kind not in _LINES:
            reader.skipped[f"record:{kind or 'untyped'}"] += 1
        for stream in streams:
            stream.add(line)
    stream = next((stream for stream in streams if stream.opened), streams[-1])
    turns = fold_turns(stream.steps, assume_end=not stream.place.marked)
    place = stream.openings.get(turns[-1].opening.offset) if turns else None
    resume = turns[-1].opening.offset if turns and place else 0
    first_stands = bool(turns) and turns[0].opening is stream.opened[0]
    holds = not start.is_tail or (stream.name == start.place.stream and first_stands)
    after = replace(place or TurnContext(), stream=stream.name)
    return Transcript(tuple(turns), stream.session, after, resume, holds)
