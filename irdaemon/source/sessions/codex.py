"""Read Codex's rollout files.

A rollout holds everything twice, as events and as response items. The events are what the person
saw, so they are used where they hold prompts; the items otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.source.sessions.calls import ResultState, ToolResult, make_result
from irdaemon.source.sessions.effects import read_tool_call
from irdaemon.source.sessions.item_uses import parse_arguments, read_call, read_tagged_skill
from irdaemon.source.sessions.transcript import (
    OWN,
    Kind,
    Line,
    LineReader,
    SessionInfo,
    Setting,
    Start,
    Step,
    Transcript,
    TurnContext,
    clean_text,
    fold_turns,
    get_object,
    strip_injected,
    strip_own,
)

# Follow one of the two streams of a Codex rollout.
#
# Nothing in a rollout has an id but the turn, and that only in newer versions: a turn without one
# goes by its number.

EVENT, ITEM = "event", "item"
_TAKE_UP = frozenset({"task_started", "turn_started"})
_COMPLETE = frozenset({"task_complete", "turn_complete"})
_ABORTED = "<turn_aborted>"
_SKILL = "<skill>"
_NOT_TYPED = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions for",
    "<INSTRUCTIONS>", "<recommended_plugins>", _SKILL,
)  # fmt: skip
# An editor puts open files and tabs before what the person typed.
_EDITOR_CONTEXT = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"
_ID, _TITLE, _PATH = 200, 300, 4096


@dataclass(slots=True)
class RolloutStream:
    """One of the two streams of a rollout, as its lines come in.

    `openings` keeps, by the offset at which a turn may open, what was known before it; `region`
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

    def take(self, line: Line) -> None:
        """Take in one line."""
        payload = get_object(line.record, "payload")
        match line.record.get("type"):
            case "session_meta":
                self._begin(payload)
            case "turn_context":
                self._set_context(line, payload)
            case "event_msg":
                self._event(line, payload)
            case "response_item":
                self._item(line, payload)

    def _begin(self, meta: Mapping[str, Any]) -> None:
        """Note the session; a forked rollout repeats its origin's meta line after its own."""
        session, place = self.session, self.place
        cwd = clean_text(meta.get("cwd"), _PATH)
        branch = clean_text(get_object(meta, "git").get("branch"), _ID)
        own_id = session.id or clean_text(meta.get("id"), _ID)
        self.session = replace(session, id=own_id, cwd=session.cwd or cwd)
        self.place = replace(place, cwd=place.cwd or cwd, branch=place.branch or branch)

    def _set_context(self, line: Line, context: Mapping[str, Any]) -> None:
        self._announce(line, clean_text(context.get("turn_id"), _ID))
        self.place = replace(
            self.place,
            cwd=clean_text(context.get("cwd"), _PATH) or self.place.cwd,
            model=clean_text(context.get("model"), _ID) or self.place.model,
        )

    def _announce(self, line: Line, turn_id: str) -> None:
        """Note a turn's id: that of the turn under way, or of one about to open."""
        if self.is_open and turn_id in ("", self.turn_id):
            return
        if self.is_open and not self.turn_id:
            self._name(line, turn_id)
            return
        self.is_open = self.at_work = False
        self._enter(line)
        self.next_id = turn_id or self.next_id

    def _enter(self, line: Line) -> int:
        """Return the offset at which the turn now beginning opens."""
        if self.region is None:
            self.region = line.offset
            self.openings[line.offset] = self.place
        return self.region

    def _name(self, line: Line, turn_id: str) -> None:
        self.turn_id = turn_id
        self.steps.append(Step("named", line.offset, key=turn_id))

    def _event(self, line: Line, event: Mapping[str, Any]) -> None:
        kind = clean_text(event.get("type"), _ID)
        if kind in ("user_message", "agent_message"):
            self._message(line, EVENT, kind == "user_message", clean_text(event.get("message")))
        elif kind in _TAKE_UP:
            self._announce(line, clean_text(event.get("turn_id"), _ID))
            self.at_work = True
            self.place = replace(self.place, marked=True)
        elif kind in _COMPLETE:
            self._complete(line, event)
        elif kind == "thread_name_updated":
            title = clean_text(event.get("thread_name"), _TITLE).strip()
            self.session = replace(self.session, custom_title=title)
        else:
            self._take_back(line, event)

    def _take_back(self, line: Line, event: Mapping[str, Any]) -> None:
        if event.get("type") == "turn_aborted":
            self._close(Step("stopped", line.offset))
        elif event.get("type") == "thread_rolled_back":
            turns = event.get("num_turns")
            count = turns if isinstance(turns, int) else 0
            self._close(Step("rollback", line.offset, count=count))

    def _complete(self, line: Line, event: Mapping[str, Any]) -> None:
        turn_id = clean_text(event.get("turn_id"), _ID)
        if self.is_open and turn_id and not self.turn_id:
            self._name(line, turn_id)
        self.place = replace(self.place, marked=True)
        text = strip_own(clean_text(event.get("last_agent_message")))
        self._close(Step("end", line.offset, text or self.last_text))

    def _close(self, step: Step) -> None:
        self.steps.append(step)
        self.is_open = self.at_work = False
        self.region, self.turn_id, self.next_id = None, "", ""

    def _item(self, line: Line, item: Mapping[str, Any]) -> None:
        kind, role = clean_text(item.get("type"), _ID), item.get("role")
        if kind.endswith("_call"):
            self._call(line, item, kind)
        elif kind.endswith("_call_output"):
            result = _read_output(item)
            self.steps.append(Step("result", line.offset, results=(result,)))
        elif kind == "message" and role in ("user", "assistant"):
            text = _text_of(item)
            if role == "user" and text.startswith(_SKILL):
                self.steps.append(Step("used", line.offset, uses=read_tagged_skill(text)))
            self._message(line, ITEM, role == "user", text)

    def _call(self, line: Line, item: Mapping[str, Any], kind: str) -> None:
        """Add a call; that of the local shell has no name."""
        given = next((item[key] for key in ("arguments", "input", "action") if item.get(key)), None)
        name = item.get("name") or kind.removesuffix("_call")
        call = read_tool_call(item.get("call_id"), name, given)
        when = Setting(timestamp=clean_text(line.record.get("timestamp"), _ID))
        step = Step("tool", line.offset, uses=read_call(name, given), setting=when)
        self.steps.append(replace(step, calls=(call,) if call else ()))

    def _message(self, line: Line, stream: str, is_prompt: bool, text: str) -> None:
        if stream != self.name:
            return
        if not is_prompt:
            self._answer(line, strip_own(text))
        elif text.lstrip().startswith(_ABORTED):
            self._close(Step("stopped", line.offset))
        elif not text.lstrip().startswith(_NOT_TYPED):
            self._ask(line, _request(text))

    def _answer(self, line: Line, text: str) -> None:
        if text:
            self.last_text = text
            model = self.place.model
            self.steps.append(Step("text", line.offset, text, model=model, fresh=True))

    def _ask(self, line: Line, text: str) -> None:
        if self.at_work and self.is_open:
            self.steps.extend([Step("queued", line.offset, text)] if text else [])
            return
        offset = self._enter(line)
        self.place = replace(self.place, prompts=self.place.prompts + 1)
        step = self._opening("prompt" if text else "other", offset, text, line.record)
        self.steps.append(step)
        self.opened.append(step)
        self.turn_id, self.next_id, self.last_text = self.next_id, "", ""
        self.is_open, self.region = True, None

    def _opening(self, kind: Kind, offset: int, text: str, record: Mapping[str, Any]) -> Step:
        place = self.place
        when = clean_text(record.get("timestamp"), _ID)
        setting = Setting(self.session.id, place.cwd, place.branch, when)
        key = self.next_id or str(place.prompts)
        return Step(kind, offset, text, key, place.model, setting)


# Versions that write no object say so before the output; a sandbox that failed says it in a line.
_EXIT_CODE = re.compile(r"(?:exit code|exited with code):? ?(\d+)", re.I)
_HEADER = 400


def _read_output(item: Mapping[str, Any]) -> ToolResult:
    """Return what a call returned: an object in JSON with the exit code, or text that tells it."""
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
    return make_result(clean_text(item.get("call_id"), _ID), state, text)


def _request(text: str) -> str:
    """Return what the person typed of a prompt that an editor sent."""
    if text.startswith(_EDITOR_CONTEXT):
        _, _, typed = text.partition(_REQUEST)
        text = typed or text
    return strip_injected(text)


def _text_of(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [clean_text(b.get("text")) for b in blocks if isinstance(b, dict)]
    return "\n".join(text for text in texts if text and not text.lstrip().startswith(OWN))


_LINES = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
)


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is a rollout's, by its structure."""
    return clean_text(record.get("type")) in _LINES and isinstance(record.get("payload"), dict)


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return whether a rollout is a sub-agent's, by its first line."""
    meta = get_object(record, "payload")
    return meta.get("thread_source") == "subagent" or "subagent" in get_object(meta, "source")


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a rollout, or its tail, into turns."""
    streams = [RolloutStream(name, start.session, start.place) for name in (EVENT, ITEM)]
    for line in reader.records():
        kind = clean_text(line.record.get("type"), 40)
        if kind not in _LINES:
            reader.skipped[f"record:{kind or 'untyped'}"] += 1
        for stream in streams:
            stream.take(line)
    used = next((stream for stream in streams if stream.opened), streams[-1])
    return _transcript(used, start)


def _transcript(stream: RolloutStream, start: Start) -> Transcript:
    turns = fold_turns(stream.steps, assume_end=not stream.place.marked)
    place = stream.openings.get(turns[-1].opening.offset) if turns else None
    resume = turns[-1].opening.offset if turns and place else 0
    first_stands = bool(turns) and turns[0].opening is stream.opened[0]
    holds = not start.is_tail or (stream.name == start.place.stream and first_stands)
    after = replace(place or TurnContext(), stream=stream.name)
    return Transcript(tuple(turns), stream.session, after, resume, holds)
