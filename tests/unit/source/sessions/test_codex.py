"""Which turns of a Codex rollout become pairs, and what they hold."""

import json
from pathlib import Path

from irdaemon.source.sessions import Sessions
from irdaemon.types import Reading, Root


class Rollout:
    """Write the lines of a rollout."""

    def __init__(self, **meta: object):
        self.lines: list[str] = []
        self.add("session_meta", id="R", cwd="/w/app", git={"branch": "dev"}, **meta)

    def add(self, line_type: str, **payload: object) -> "Rollout":
        line = {"timestamp": "2026-09-01T10:00:00Z", "type": line_type, "payload": payload}
        self.lines.append(json.dumps(line))
        return self

    def event(self, event_type: str, **parts: object) -> "Rollout":
        return self.add("event_msg", type=event_type, **parts)

    def asks(self, text: str) -> "Rollout":
        return self.event("user_message", message=text)

    def says(self, text: str) -> "Rollout":
        return self.event("agent_message", message=text)

    def calls(self) -> "Rollout":
        return self.add("response_item", type="function_call", name="shell", call_id="c")

    def done(self, turn_id: str, text: str | None = None) -> "Rollout":
        return self.event("task_complete", turn_id=turn_id, last_agent_message=text)

    def item(self, role: str, text: str) -> "Rollout":
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return self.add("response_item", type="message", role=role, content=content)

    def read(self, directory: Path, **options: object) -> Reading:
        directory.mkdir(exist_ok=True)
        text = "".join(line + "\n" for line in self.lines)
        (directory / "rollout-2026-09-01T10-00-00-R.jsonl").write_text(text)
        source = Sessions((Root(str(directory)),), options)
        (entry,) = source.scan().entries
        return source.read(entry)


def pairs(reading: Reading) -> list[tuple[str, str]]:
    return [(a.raw["user_prompt"], a.raw["assistant_summary"]) for a in reading.artifacts]


def test_a_pair_goes_by_its_turn_id_and_holds_where_it_was_said(tmp_path: Path) -> None:
    rollout = Rollout().add("turn_context", turn_id="t1", cwd="/w/other", model="gpt-x")
    rollout.asks("fix it").says("Looking.").calls().says("Fixed.").done("t1", "Fixed.")
    (artifact,) = rollout.read(tmp_path).artifacts
    assert artifact.artifact_id == "R:t1"
    assert artifact.metadata["agent"] == "codex"
    assert artifact.raw["assistant_summary"] == "Fixed."
    assert artifact.raw["assistant_full"] == "Looking.\n\nFixed."
    assert (artifact.raw["project"], artifact.raw["git_branch"]) == ("other", "dev")
    assert (artifact.raw["model"], artifact.raw["has_tool_use"]) == ("gpt-x", True)


def test_without_turn_ids_a_pair_goes_by_its_number(tmp_path: Path) -> None:
    rollout = Rollout().asks("one").says("1").asks("two").says("2")
    reading = rollout.read(tmp_path)
    assert [a.artifact_id for a in reading.artifacts] == ["R:1", "R:2"]
    assert [a.flags for a in reading.artifacts] == [(), ("unmarked_end",)]


def test_the_last_message_answers_where_the_end_names_none(tmp_path: Path) -> None:
    rollout = Rollout().event("task_started", turn_id="t").asks("q").says("a").calls().done("t")
    assert pairs(rollout.read(tmp_path)) == [("q", "a")]


def test_a_turn_without_its_end_mark_waits_where_ends_are_marked(tmp_path: Path) -> None:
    rollout = Rollout().event("task_started", turn_id="t").asks("q").says("Let me look.")
    assert rollout.read(tmp_path).artifacts == ()


def test_an_aborted_turn_is_kept_and_marked_as_interrupted(tmp_path: Path) -> None:
    rollout = Rollout().asks("why is the save slow").says("1").event("turn_aborted")
    rollout.asks("two").says("2").asks("continue").calls().event("turn_aborted")
    reading = rollout.read(tmp_path)
    assert pairs(reading) == [("why is the save slow", "1"), ("two", "2")]
    assert [a.raw["outcome"] for a in reading.artifacts] == ["interrupted", "answered"]
    assert reading.skipped == {"interrupted": 1}


def test_a_turn_that_another_cut_short_is_kept_as_unanswered(tmp_path: Path) -> None:
    rollout = Rollout().asks("chart the labels of a quarter").calls()
    reading = rollout.asks("the plan?").says("Here.").read(tmp_path)
    assert [a.artifact_id for a in reading.artifacts] == ["R:1", "R:2"]
    assert [a.raw["outcome"] for a in reading.artifacts] == ["unanswered", "answered"]


def test_a_prompt_that_the_agent_still_works_on_waits(tmp_path: Path) -> None:
    rollout = Rollout().asks("why is the save slow").calls()
    assert rollout.read(tmp_path).artifacts == ()


def test_rolled_back_turns_are_gone(tmp_path: Path) -> None:
    rollout = Rollout().asks("one").says("1").asks("two").says("2").asks("three").says("3")
    rollout.event("thread_rolled_back", num_turns=2).asks("four").says("4")
    assert pairs(rollout.read(tmp_path)) == [("one", "1"), ("four", "4")]


def test_a_prompt_given_while_the_agent_works_joins_the_turn(tmp_path: Path) -> None:
    rollout = Rollout().event("task_started", turn_id="t").asks("fix").calls().asks("and test")
    (turn,) = rollout.says("Both.").done("t").read(tmp_path).artifacts
    assert (turn.raw["user_prompt"], turn.raw["queued_prompts"]) == ("fix", ["and test"])


def test_the_same_text_as_item_and_event_gives_one_pair(tmp_path: Path) -> None:
    rollout = Rollout().item("user", "q").asks("q").says("a").item("assistant", "a")
    assert pairs(rollout.read(tmp_path)) == [("q", "a")]


def test_items_are_used_where_no_event_holds_a_prompt(tmp_path: Path) -> None:
    rollout = Rollout().item("developer", "rules").item("user", "<environment_context>x")
    rollout.item("user", "# AGENTS.md instructions for /w").item("user", "q").item("assistant", "a")
    assert pairs(rollout.read(tmp_path)) == [("q", "a")]


def test_the_context_an_editor_adds_is_cut_from_the_prompt(tmp_path: Path) -> None:
    text = (
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.ts\n\n## My request for Codex:\nfix a\n"
    )
    assert pairs(Rollout().asks(text).says("done").read(tmp_path)) == [("fix a", "done")]


def test_what_the_daemon_injected_is_cut(tmp_path: Path) -> None:
    rollout = Rollout().asks("<irdaemon>skill x</irdaemon>q").says("a <irdaemon>y</irdaemon>")
    assert pairs(rollout.read(tmp_path)) == [("q", "a")]


def test_a_named_thread_has_a_title(tmp_path: Path) -> None:
    rollout = Rollout().asks("q").says("a").event("thread_name_updated", thread_name="Parser")
    turn, title = rollout.read(tmp_path).artifacts
    assert (turn.raw["session_title"], title.artifact_id) == ("Parser", "R:__title__")


def test_a_sub_agents_rollout_is_read_only_when_asked_for(tmp_path: Path) -> None:
    rollout = Rollout(thread_source="subagent").asks("q").says("a")
    assert rollout.read(tmp_path).skipped == {"subagent": 1}
    (artifact,) = rollout.read(tmp_path, subagents=True).artifacts
    assert artifact.metadata["kind"] == "subagent"


def test_a_very_long_first_line_is_recognised(tmp_path: Path) -> None:
    rollout = Rollout(base_instructions="x" * 100_000).asks("q").says("a")
    assert pairs(rollout.read(tmp_path)) == [("q", "a")]


def test_a_fragment_without_pairs_is_no_failure(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.lines = []
    assert rollout.says("alone").read(tmp_path).artifacts == ()
