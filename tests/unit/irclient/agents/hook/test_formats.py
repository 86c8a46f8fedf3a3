"""What each agent says, and the one shape in which it takes an answer."""

import pytest

from irclient.agents.hook.event import make_answer, read_event

CLAUDE = {
    "session_id": "S",
    "prompt_id": "p1",
    "transcript_path": "/h/.claude/projects/-w/S.jsonl",
    "cwd": "/w",
    "permission_mode": "default",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "fix the parser",
}
CURSOR = {
    "conversation_id": "C",
    "generation_id": "g",
    "workspace_roots": ["/w"],
    "cursor_version": "3.20.17",
    "hook_event_name": "beforeSubmitPrompt",
    "prompt": "fix the parser",
    "attachments": [],
}
NESTED = {
    "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "text"},
}


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_claude_code_and_codex_take_a_prompts_context_in_one_shape(agent):
    asked = read_event(agent, CLAUDE, "UserPromptSubmit")
    assert (asked.kind, asked.session, asked.prompt) == ("prompt", "S", "fix the parser")
    assert make_answer(agent, asked, "text") == NESTED


def test_gemini_is_answered_under_its_own_names():
    asked = read_event("gemini", {"session_id": "S", "prompt": "fix"}, "BeforeAgent")
    assert asked.kind == "prompt"
    answer = make_answer("gemini", asked, "text")["hookSpecificOutput"]
    assert answer == {"hookEventName": "BeforeAgent", "additionalContext": "text"}


def test_cursor_takes_a_prompts_context_under_a_key_of_its_own():
    asked = read_event("cursor", CURSOR, "beforeSubmitPrompt")
    assert (asked.kind, asked.session, asked.prompt) == ("prompt", "C", "fix the parser")
    assert make_answer("cursor", asked, "text") == {"additional_context": "text"}


@pytest.mark.parametrize("version", ["3.20.16", "3.9", "2.99.99", "", "new", None, "3.x"])
def test_a_cursor_too_old_to_take_it_is_not_even_asked_for(version):
    assert read_event("cursor", {**CURSOR, "cursor_version": version}, "beforeSubmitPrompt") is None
    started = read_event("cursor", {"cursor_version": version}, "sessionStart")
    assert make_answer("cursor", started, "text") == {"additional_context": "text"}


def test_copilot_drops_what_a_prompts_hook_says_so_nothing_is_asked():
    for name in ("userPromptSubmitted", "UserPromptSubmit"):
        assert read_event("copilot", {"sessionId": "S", "prompt": "fix"}, name) is None


def test_copilot_is_answered_in_the_style_in_which_it_was_configured():
    own = read_event("copilot", {"sessionId": "S", "source": "new"}, "sessionStart")
    assert own.session == "S"
    assert make_answer("copilot", own, "text") == {"additionalContext": "text"}
    editors = read_event("copilot", {"session_id": "S"}, "SessionStart")
    assert (
        make_answer("copilot", editors, "text")["hookSpecificOutput"]["hookEventName"]
        == "SessionStart"
    )


@pytest.mark.parametrize(
    ("agent", "name", "key"),
    [
        ("claude", "Stop", "transcript_path"),
        ("codex", "Stop", "transcript_path"),
        ("gemini", "AfterAgent", "transcript_path"),
        ("cursor", "stop", "transcript_path"),
        ("copilot", "agentStop", "transcriptPath"),
        ("copilot", "Stop", "transcript_path"),
    ],
)
def test_the_end_of_a_turn_names_its_transcript(agent, name, key):
    asked = read_event(agent, {key: "/t.jsonl"}, name)
    assert (asked.kind, asked.transcript) == ("stop", "/t.jsonl")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude", "SessionStart"),
        ("codex", "SessionStart"),
        ("gemini", "SessionStart"),
        ("cursor", "sessionStart"),
        ("copilot", "sessionStart"),
    ],
)
def test_a_session_that_resumes_has_its_context_already(agent, name):
    assert read_event(agent, {"source": "startup"}, name).kind == "start"
    assert read_event(agent, {"source": "resume"}, name) is None


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor", "copilot"])
def test_other_events_and_those_of_sub_agents_ask_for_nothing(agent):
    for name in ("PreToolUse", "SubagentStart", "SubagentStop", "subagentStop", "", "prompt"):
        assert read_event(agent, CLAUDE, name) is None
    for name in ("UserPromptSubmit", "BeforeAgent", "Stop", "agentStop", "SessionStart"):
        assert (
            read_event(agent, {**CLAUDE, "agent_id": "a1", "agent_type": "Explore"}, name) is None
        )


@pytest.mark.parametrize("wrong", [None, 3, [], {}, True])
def test_a_value_of_the_wrong_type_counts_as_missing(wrong):
    given = {"session_id": wrong, "prompt": wrong, "transcript_path": wrong, "agent_id": wrong}
    asked = read_event("claude", given, "UserPromptSubmit")
    assert (asked.session, asked.prompt, asked.transcript) == ("", "", "")


@pytest.mark.parametrize(
    ("given", "cwd"),
    [
        ({"cwd": "/w"}, "/w"),
        ({"workspace_roots": ["/w", "/v"]}, "/w"),
        ({"cwd": "/w", "workspace_roots": ["/v"]}, "/w"),
        ({"cwd": 3, "workspace_roots": "/w"}, ""),
        ({"workspace_roots": []}, ""),
        ({"workspace_roots": [None]}, ""),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "cursor"])
def test_an_event_comes_from_the_agents_directory_or_the_first_of_its_workspace(agent, given, cwd):
    names = {"gemini": "BeforeAgent", "cursor": "beforeSubmitPrompt"}
    event = {"prompt": "fix", "cursor_version": "3.20.17", **given}
    assert read_event(agent, event, names.get(agent, "UserPromptSubmit")).cwd == cwd
