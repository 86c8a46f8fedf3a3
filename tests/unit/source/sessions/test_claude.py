"""Which turns of a Claude Code session become pairs, and what they hold."""

import json
from pathlib import Path

from irdaemon.types import Artifact, Reading
from tests.support.claude_session import Session


def only(reading: Reading) -> Artifact:
    (artifact,) = reading.artifacts
    return artifact


def prompts(reading: Reading) -> list[str]:
    return [a.raw["user_prompt"] for a in reading.artifacts]


def answered(prompt: str, **parts: object) -> Session:
    return Session().user("u1", prompt, **parts).says("a1", "done", "end_turn")


def test_a_pair_holds_prompt_answer_and_where_it_was_said(tmp_path: Path) -> None:
    session = Session(gitBranch="main", timestamp="2026-09-01T10:00:00.000Z")
    session.user("u1", "fix the parser").says("a1", "Let me look.").calls("a2")
    artifact = only(session.says("a3", "Fixed it.", "end_turn").read(tmp_path))
    assert artifact.artifact_id == "S:u1"
    assert artifact.raw == {
        "user_prompt": "fix the parser",
        "queued_prompts": [],
        "assistant_summary": "Fixed it.",
        "assistant_full": "Let me look.\n\nFixed it.",
        "session_id": "S",
        "project": "app",
        "cwd": "/home/u/app",
        "git_branch": "main",
        "timestamp": "2026-09-01T10:00:00.000Z",
        "model": "claude-x",
        "has_tool_use": True,
        "session_title": "",
        "outcome": "answered",
    }
    assert artifact.metadata == {"agent": "claude", "scope": "user", "kind": "session"}
    assert artifact.pointer == str(tmp_path / "S.jsonl")
    assert (
        artifact.body == "## Prompt\n\nfix the parser\n\n## Answer\n\nLet me look.\n\nFixed it.\n"
    )


def test_the_text_of_a_message_split_over_lines_is_joined(tmp_path: Path) -> None:
    session = Session().user("u1", "hi").says("a1", "one").says("a2", "two", "end_turn")
    assert only(session.read(tmp_path)).raw["assistant_summary"] == "one\n\ntwo"


def test_a_turn_still_under_way_gives_no_pair(tmp_path: Path) -> None:
    session = Session().user("u1", "hi").says("a1", "Let me look.")
    assert session.read(tmp_path).artifacts == ()


def test_a_turn_ends_with_a_turn_duration_or_the_next_prompt(tmp_path: Path) -> None:
    session = Session().user("u1", "first").says("a1", "one").user("u2", "second").says("a2", "two")
    session.record("system", "e", subtype="turn_duration", durationMs=5)
    assert prompts(session.read(tmp_path)) == ["first", "second"]


def test_the_last_turn_of_a_version_that_marked_no_ends_is_kept_and_flagged(tmp_path: Path) -> None:
    session = Session(version="1.0.98").user("u1", "hi").says("a1", "hello")
    assert only(session.read(tmp_path)).flags == ("unmarked_end",)


def test_synthetic_messages_are_not_answers(tmp_path: Path) -> None:
    session = answered("hi").says("a2", "No response requested.", model="<synthetic>")
    assert only(session.read(tmp_path)).raw["assistant_summary"] == "done"


def test_what_machines_write_under_the_users_name_is_no_prompt(tmp_path: Path) -> None:
    for number, parts in enumerate(
        (
            {"isMeta": True},
            {"isCompactSummary": True},
            {"isVisibleInTranscriptOnly": True},
            {"isSidechain": True},
            {"teamName": "t"},
            {"interruptedMessageId": "m"},
            {"toolUseResult": {}},
            {"origin": {"kind": "task-notification"}},
            {"promptSource": "system"},
        )
    ):
        reading = answered("text", **parts).read(tmp_path / str(number))
        assert reading.artifacts == (), parts


def test_prompts_with_a_human_origin_count(tmp_path: Path) -> None:
    session = answered("hi", origin={"kind": "human"}, promptSource="typed")
    assert prompts(session.read(tmp_path)) == ["hi"]


def test_texts_that_begin_like_machine_output_are_no_prompts(tmp_path: Path) -> None:
    for number, text in enumerate(
        (
            "<bash-input>ls</bash-input>",
            "<local-command-stdout>x</local-command-stdout>",
            "<task-notification>x</task-notification>",
            "Caveat: the messages below",
            "Base directory for this skill: /x",
            "[Image: source: /x.png]",
            "Another Claude session sent a message: hi",
            '<teammate-message id="1">hi</teammate-message>',
        )
    ):
        assert answered(text).read(tmp_path / str(number)).artifacts == (), text


def test_a_slash_command_is_a_prompt_only_with_arguments(tmp_path: Path) -> None:
    tags = "<command-message>m</command-message>\n<command-name>/review</command-name>"
    bare = answered(f"{tags}<command-args></command-args>").read(tmp_path / "bare")
    full = answered(f"{tags}\n<command-args>src</command-args>").read(tmp_path / "full")
    assert bare.artifacts == ()
    assert prompts(full) == ["/review src"]


def test_the_reply_to_a_bare_command_is_not_the_answer_to_the_prompt_before(tmp_path: Path) -> None:
    session = Session().user("u1", "question").says("a1", "answer")
    session.user("c", "<command-name>/init</command-name>").says("a2", "Initialised.", "end_turn")
    assert only(session.read(tmp_path)).raw["assistant_full"] == "answer"


def test_injected_blocks_are_cut_from_prompts(tmp_path: Path) -> None:
    text = (
        "<system-reminder>irdaemon: 2 matching items.</system-reminder>"
        "<ide_opened_file>a.py</ide_opened_file>fix <pasted_content>x</pasted_content>it"
    )
    assert prompts(answered(text).read(tmp_path)) == ["fix it"]


def test_what_the_daemon_injected_is_never_indexed(tmp_path: Path) -> None:
    session = Session().user(
        "u1",
        [
            {"type": "text", "text": "irdaemon: 2 matching items.\n- skill pdf-forms"},
            {
                "type": "text",
                "text": "<user-prompt-submit-hook>irdaemon: 1 matching item."
                "</user-prompt-submit-hook>fill <irdaemon>pdf-forms</irdaemon>the form",
            },
        ],
    )
    session.says("a1", "<irdaemon>pdf-forms</irdaemon>Filled.", "end_turn")
    artifact = only(session.read(tmp_path))
    assert artifact.raw["user_prompt"] == "fill the form"
    assert "pdf-forms" not in json.dumps(artifact.raw) + (artifact.body or "")


def test_a_prompt_typed_while_the_agent_works_joins_the_running_turn(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "and add tests", "commandMode": "prompt"}
    session = Session().user("u1", "refactor").calls("a1")
    session.record("attachment", "q", attachment=queued).says("a2", "both done", "end_turn")
    turn = only(session.read(tmp_path))
    assert (turn.raw["user_prompt"], turn.raw["queued_prompts"]) == ("refactor", ["and add tests"])
    assert "## Prompt\n\nrefactor\n\nand add tests\n" in (turn.body or "")


def test_a_queued_prompt_after_the_end_of_a_turn_opens_its_own(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "next", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "job", "commandMode": "task-notification"}
    session = answered("first").record("attachment", "n", attachment=notice)
    session.record("attachment", "q", attachment=queued).says("a2", "two", "end_turn")
    assert prompts(session.read(tmp_path)) == ["first", "next"]


def test_an_abandoned_branch_is_left_out_and_counted(tmp_path: Path) -> None:
    session = answered("first").user("u2", "wrong").says("a2", "bad", "end_turn").back_to("a1")
    reading = session.user("u3", "right").says("a3", "good", "end_turn").read(tmp_path)
    assert prompts(reading) == ["first", "right"]
    assert reading.skipped == {"abandoned": 1}


def test_parallel_tool_results_do_not_break_the_branch(tmp_path: Path) -> None:
    session = Session().user("u1", "look").calls("a1").back_to("a1").calls("a2")
    assert prompts(session.says("a3", "seen", "end_turn").read(tmp_path)) == ["look"]


def test_turns_before_a_compaction_are_kept(tmp_path: Path) -> None:
    session = answered("first").back_to(None)
    session.record("system", "c", subtype="compact_boundary", logicalParentUuid="a1")
    session.user("s", "This session is being continued", isCompactSummary=True)
    session.user("u2", "second").says("a2", "two", "end_turn")
    assert prompts(session.read(tmp_path)) == ["first", "second"]


def test_a_lost_line_does_not_lose_the_turns_before_it(tmp_path: Path) -> None:
    session = answered("first").user("u2", "second").says("a2", "two", "end_turn")
    session.lines[1] = '{"type": "assistant", "uuid": "a1", broken'
    session.back_to("lost").user("u3", "third").says("a3", "three", "end_turn")
    reading = session.read(tmp_path)
    assert prompts(reading) == ["second", "third"]
    assert reading.skipped == {"bad_line": 1, "unanswered": 1}


def test_records_copied_within_a_file_count_once(tmp_path: Path) -> None:
    session = answered("first")
    session.lines *= 2
    reading = session.read(tmp_path)
    assert prompts(reading) == ["first"]
    assert reading.skipped == {"duplicate": 2}


def test_a_copy_in_a_resumed_file_has_the_same_id_while_it_keeps_its_session(
    tmp_path: Path,
) -> None:
    first, copy = answered("first"), answered("first")
    copy.common["sessionId"] = "T"
    copy.user("u2", "second").says("a2", "two", "end_turn")
    ids = [a.artifact_id for a in copy.read(tmp_path, "T.jsonl").artifacts]
    assert ids == [only(first.read(tmp_path)).artifact_id, "T:u2"]


def test_sub_agent_records_inside_a_session_are_passed_over(tmp_path: Path) -> None:
    session = Session().user("u1", "ask").calls("a1").back_to(None)
    session.user("s1", "sub prompt", isSidechain=True).says(
        "s2", "sub", "end_turn", isSidechain=True
    )
    reading = session.back_to("a1-result").says("a2", "done", "end_turn").read(tmp_path)
    assert only(reading).raw["assistant_full"] == "done"
    assert reading.skipped == {"sidechain": 2}


def test_a_sub_agents_file_is_read_only_when_asked_for(tmp_path: Path) -> None:
    session = answered("run the tests", isSidechain=True)
    name = "S/subagents/agent-1.jsonl"
    default = session.read(tmp_path, name)
    assert (default.artifacts, default.skipped) == ((), {"subagent": 1})
    assert only(session.read(tmp_path, name, subagents=True)).metadata["kind"] == "subagent"


def test_a_title_names_the_turns_and_gets_a_record_of_its_own(tmp_path: Path) -> None:
    session = answered("hi").raw(type="ai-title", aiTitle="Greeting", sessionId="S")
    turn, title = session.read(tmp_path).artifacts
    assert (turn.name, turn.raw["session_title"]) == ("Greeting", "Greeting")
    assert title.artifact_id == "S:__title__"
    assert title.raw["record_type"] == "session_title"
    assert (title.raw["session_title"], title.raw["project"]) == ("Greeting", "app")
    assert len(session.read(tmp_path, titles=False).artifacts) == 1


def test_a_given_title_wins_over_a_made_one_and_that_over_a_summary(tmp_path: Path) -> None:
    session = answered("hi").raw(type="custom-title", customTitle="Mine")
    session.raw(type="summary", summary="Sum", leafUuid="a1").raw(type="ai-title", aiTitle="AI")
    assert session.read(tmp_path / "all").artifacts[0].name == "Mine"
    del session.lines[2]
    assert session.read(tmp_path / "two").artifacts[0].name == "AI"
    del session.lines[3]
    assert session.read(tmp_path / "one").artifacts[0].name == "Sum"


def test_the_summary_of_another_session_is_no_title(tmp_path: Path) -> None:
    session = Session().raw(type="summary", summary="Other", leafUuid="elsewhere")
    session.user("u1", "hello there").says("a1", "done", "end_turn")
    assert only(session.read(tmp_path)).name == "hello there"


def test_unknown_record_types_are_counted_by_type_and_known_idle_ones_are_not(
    tmp_path: Path,
) -> None:
    session = answered("hi").raw(type="hologram").raw(type="mode", mode="plan").raw(nothing=1)
    assert session.read(tmp_path).skipped == {"record:hologram": 1, "record:untyped": 1}
