"""One story, told as each agent writes its session files, gives the same turns."""

import json

import pytest

from irdaemon.source.sessions import Sessions
from irdaemon.types import Entry, ItemUse

STORY = (
    ("fix the parser", "Looking.", "Fixed the parser."),
    ("write a test", "", "The test is written."),
)
COMMAND = {"command": "cat /s/pdf/SKILL.md"}


def in_claude():
    parent = ""
    for number, (prompt, looking, answer) in enumerate(STORY):
        for part, record in enumerate(
            [
                {"type": "user", "message": {"content": prompt}},
                *[{"type": "assistant", "message": {"content": looking}}] * bool(looking),
                {"type": "assistant", "message": {"content": [call("tool_use", "input")]}},
                {"type": "assistant", "message": {"content": answer, "stop_reason": "end_turn"}},
            ]
        ):
            uuid = f"{number}-{part}"
            yield {"uuid": uuid, "parentUuid": parent or None, "sessionId": "S", **record}
            parent = uuid


def in_codex():
    yield {"type": "session_meta", "payload": {"id": "S"}}
    for number, (prompt, looking, answer) in enumerate(STORY):
        arguments = json.dumps(COMMAND)
        for kind, payload in (
            ("event_msg", {"type": "task_started", "turn_id": f"{number}"}),
            ("event_msg", {"type": "user_message", "message": prompt}),
            *[("event_msg", {"type": "agent_message", "message": looking})] * bool(looking),
            ("response_item", {"type": "function_call", "name": "shell", "arguments": arguments}),
            ("event_msg", {"type": "agent_message", "message": answer}),
            ("event_msg", {"type": "task_complete", "turn_id": f"{number}"}),
        ):
            yield {"type": kind, "payload": payload}


def in_copilot():
    yield {"type": "session.start", "data": {"sessionId": "S"}}
    for number, (prompt, looking, answer) in enumerate(STORY):
        requests = [call("", "arguments")]
        yield {"type": "user.message", "id": f"{number}", "data": {"content": prompt}}
        yield {"type": "assistant.message", "data": {"content": looking, "toolRequests": requests}}
        yield {"type": "assistant.message", "data": {"content": answer}}


def in_pi():
    yield {"type": "session", "id": "S", "cwd": ""}
    parent = ""
    for number, (prompt, looking, answer) in enumerate(STORY):
        said = [{"type": "text", "text": looking}, call("toolCall", "arguments")]
        for role, content, reason in (
            ("user", prompt, ""),
            ("assistant", said, ""),
            ("assistant", answer, "stop"),
        ):
            message = {"role": role, "content": content, "stopReason": reason}
            own = f"{number}-{role}-{reason}"
            yield {"type": "message", "id": own, "parentId": parent, "message": message}
            parent = own


def in_gemini():
    yield {"sessionId": "S", "projectHash": "h"}
    for number, (prompt, looking, answer) in enumerate(STORY):
        calls = [call("", "args")]
        yield {"type": "user", "id": f"{number}", "content": prompt}
        yield {"type": "gemini", "id": f"{number}-0", "content": looking, "toolCalls": calls}
        yield {"type": "gemini", "id": f"{number}-1", "content": answer}


def in_cursor():
    for prompt, looking, answer in STORY:
        said = [{"type": "text", "text": looking}, call("tool_use", "input")]
        for role, content in (("user", prompt), ("assistant", said), ("assistant", answer)):
            yield {"role": role, "message": {"content": content}}
        yield {"type": "turn_ended"}


def call(kind, arguments):
    return {"type": kind, "name": "shell", arguments: COMMAND}


@pytest.mark.parametrize("told", [in_claude, in_codex, in_copilot, in_pi, in_gemini, in_cursor])
def test_one_story_gives_the_same_turns_whoever_writes_it(told, tmp_path):
    path = tmp_path / "S.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in told()))
    reading = Sessions((), {}).read(Entry("S", str(path), ""))
    assert dict(reading.skipped) == {}
    assert [
        (a.raw["user_prompt"], a.raw["assistant_summary"], a.raw["outcome"], a.raw["has_tool_use"])
        for a in reading.artifacts
    ] == [(prompt, answer, "answered", True) for prompt, _, answer in STORY]
    assert [a.raw["assistant_full"] for a in reading.artifacts] == [
        "\n\n".join(filter(None, (looking, answer))) for _, looking, answer in STORY
    ]
    used = (ItemUse("shell", "/s/pdf/SKILL.md"),)
    assert [turn.uses for turn in reading.turns] == [used, used]
    assert {a.metadata["agent"] for a in reading.artifacts} == {told.__name__.removeprefix("in_")}
