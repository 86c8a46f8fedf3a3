"""The hook at further moments: recorded events of each agent, answered by a real daemon."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from tests.support.claude_session import Session
from tests.support.hook_events import AGENTS, load_events, read_context, send
from tests.support.prompt_hook import START
from tests.support.running import Running, until

TASK = "Fill in the fields of the PDF form for the tax office"


def call(session, number, tool, given):
    block = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
    session._assistant(f"a{number}", block, "tool_use", "claude-x")


def write_session(home, name, used, after=0, tail=True):
    """Write a session of Claude Code that used skills, each in a turn, and so many turns more."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    session = Session(sessionId=name, timestamp=now, cwd=str(home.path))
    for number, skill in enumerate([*used, *[""] * after]):
        session.user(f"u{number}", f"step {number} of the work")
        if skill:
            call(session, number, "Skill", {"skill": skill})
        if tail or number < len(used) - 1:
            session.says(f"b{number}", "done", stop="end_turn")
    path = home.path / ".claude" / "projects" / "-w" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in session.lines))


@pytest.fixture(scope="module")
def daemon(module_home):
    home = module_home
    for name, text in {
        "fill-pdf-form": "Fill in the fields of a PDF form",
        "deploy": "Release to the cluster",
        "review-code": "Review a pull request for mistakes",
        "tune-queries": "Find slow database queries and add indexes",
        "init": "Set up the test environment",
    }.items():
        home.skill(name, text)
    write_session(home, "S1", ["deploy", "fill-pdf-form", "deploy"])
    write_session(home, "long-ago", ["deploy"], after=12)
    write_session(home, "broken-off", ["tune-queries"], tail=False)
    own = Session(sessionId="own-command", cwd=str(home.path))
    own.user("u0", "<command-name>/init</command-name>").says("b0", "done", stop="end_turn")
    path = home.path / ".claude" / "projects" / "-w" / "own-command.jsonl"
    path.write_text("".join(line + "\n" for line in own.lines))
    with Running(home) as running:
        running.wait_idle()

        def read():
            with home.client() as client:
                return client.status().usage.get("turns", 0) >= 18

        until(read)
        yield running


@pytest.fixture
def home(daemon):
    return daemon.home


def sent(home, agent, event, **more):
    return read_context(agent, send(home, agent, event, **more))


def change(event, **fields):
    return {**event, **fields}


def count(home, agent, moment, outcome):
    found = home.answer("usage")["moments"]
    key = (agent, moment, outcome)
    return sum(e["n"] for e in found if (e["agent"], e["moment"], e["outcome"]) == key)


def test_after_a_compaction_what_was_used_is_named_in_400_characters(home):
    context = sent(home, "claude", load_events("claude")["compact"])
    assert context.startswith("<irdaemon>\nUsed in this session before the compaction")
    assert context.index('"deploy"') < context.index('"fill-pdf-form"')
    assert '"~/.claude/skills/deploy/SKILL.md"' in context
    assert "review-code" not in context
    assert len(context) <= 400


def test_at_resume_it_says_so_far(home):
    context = sent(home, "claude", load_events("claude")["resume"])
    assert context.startswith("<irdaemon>\nUsed in this session so far")
    assert '"fill-pdf-form"' in context


def test_what_ten_turns_did_not_use_is_done_with(home):
    event = load_events("claude")["resume"]
    assert sent(home, "claude", change(event, session_id="long-ago")) == ""


def test_a_turn_that_is_not_over_counts(home):
    event = change(load_events("claude")["compact"], session_id="broken-off")
    assert '"tune-queries"' in sent(home, "claude", event)


def test_a_command_of_the_agents_own_is_no_use_of_an_item_of_its_name(home):
    event = change(load_events("claude")["resume"], session_id="own-command")
    assert sent(home, "claude", event) == ""


def test_a_session_with_another_id_is_found_by_its_transcript(home):
    event = change(load_events("claude")["compact"], session_id="new")
    assert '"deploy"' in sent(home, "claude", event)
    other = change(event, transcript_path="/nowhere/else.jsonl")
    assert "Used" not in sent(home, "claude", other)


def test_a_session_that_used_nothing_gets_what_it_gets_without_the_moment(home):
    event = change(load_events("claude")["compact"], session_id="nothing", transcript_path="")
    for moments in ("compact", ""):
        assert sent(home, "claude", event, moments=moments).startswith(
            "<irdaemon>\nIndexed on this machine"
        )
    assert sent(home, "claude", change(event, source="resume")) == ""


def test_without_the_switch_nothing_is_said_at_resume_or_of_a_task(home):
    events = load_events("claude")
    assert send(home, "claude", events["resume"], moments="") == ""
    for moments in ("", "compact"):
        send(home, "claude", change(events["task"], session_id="off"), moments=moments)
        taken = send(home, "claude", change(events["take"], session_id="off"), moments=moments)
        assert taken == ""
    assert send(home, "claude", change(events["take"], session_id="off")) == ""


@pytest.mark.parametrize(
    ("agent", "task", "take"),
    [
        ("claude", "task", "take"),
        ("claude", "former task", "take"),
        ("codex", "task", "take"),
        ("codex", "namespaced task", "take"),
        ("copilot", "task", "take"),
        ("copilot", "VS Code's task", "VS Code's take"),
    ],
)
def test_a_sub_agent_is_told_what_applies_to_its_own_task(home, agent, task, take):
    events = load_events(agent)
    assert send(home, agent, events["other tool"]) == ""
    assert send(home, agent, events[task]) == ""
    context = sent(home, agent, events[take])
    assert "1 indexed item matching this task" in context
    assert "fill-pdf-form" in context
    assert send(home, agent, events[take]) == ""  # it is told to one sub-agent


def test_what_a_sub_agent_is_told_leaves_no_trace_where_it_must_not(home):
    (home.path / "private").mkdir(exist_ok=True)
    (home.path / "private" / ".noirdaemon").touch()
    events = load_events("claude")

    def count_noted(session):
        path = home.path / ".local" / "state" / "irdaemon" / "usage.sqlite"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            statement = "SELECT count(*) FROM offers WHERE session = ?"
            return db.execute(statement, (session,)).fetchone()[0]

    there = {"session_id": "quiet", "cwd": str(home.path / "private")}
    send(home, "claude", change(events["task"], **there))
    assert "fill-pdf-form" in sent(home, "claude", change(events["take"], **there))
    send(home, "claude", change(events["task"], session_id="loud"))
    assert "fill-pdf-form" in sent(home, "claude", change(events["take"], session_id="loud"))
    until(lambda: count_noted("claude:loud") == 1)
    assert count_noted("claude:quiet") == 0


def test_a_task_that_nothing_serves_gets_nothing(home):
    events = load_events("claude")
    given = {**events["task"]["tool_input"], "prompt": "Water the geraniums on the balcony"}
    send(home, "claude", change(events["task"], tool_input=given, session_id="none"))
    assert send(home, "claude", change(events["take"], session_id="none")) == ""


def test_of_several_tasks_of_one_type_only_what_serves_all_is_told(home):
    events = load_events("claude")
    tasks = [TASK, "Fill in the fields of another PDF form", "Review the pull request for mistakes"]
    for several, told in ((tasks[:2], True), (tasks, False)):
        for text in several:
            given = {**events["task"]["tool_input"], "prompt": text}
            send(home, "claude", change(events["task"], tool_input=given, session_id="many"))
        contexts = [
            sent(home, "claude", change(events["take"], session_id="many")) for _ in several
        ]
        assert ["fill-pdf-form" in each for each in contexts] == [told] * len(several)
    assert send(home, "claude", change(events["take"], session_id="many")) == ""


def test_tasks_of_different_types_are_told_apart(home):
    events = load_events("claude")
    for agent_type, text in (("Explore", "Review the pull request for mistakes"), ("Plan", TASK)):
        given = {"prompt": text, "subagent_type": agent_type}
        send(home, "claude", change(events["task"], tool_input=given, session_id="types"))
    start = change(events["take"], session_id="types")
    assert "review-code" in sent(home, "claude", change(start, agent_type="Explore"))
    assert "fill-pdf-form" in sent(home, "claude", change(start, agent_type="Plan"))


@pytest.mark.parametrize("agent", AGENTS)
def test_every_recorded_event_is_answered_in_the_agents_form_or_not_at_all(home, agent):
    for about, event in load_events(agent).items():
        written = send(home, agent, event)
        if about == "startup":
            assert "Indexed on this machine" in written
        elif written and agent == "cursor":
            assert set(json.loads(written)) == {"additional_context"}
        elif written:
            assert read_context(agent, written)


BAD = [
    b"",
    b"{",
    b"null",
    b"[1, 2]",
    b'"text"',
    b"{}",
    b'{"hook_event_name": "PreToolUse", "session_id": "S", "tool_name": "Ta',
    b'{"hook_event_name": 5}',
    b'{"hook_event_name": ["SessionStart"]}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"hook_event_name": "SubagentStart", "session_id": 7}',
    b'{"hook_event_name": "PreToolUse", "session_id": "S", "tool_name": "Task"}',
    b'{"hook_event_name": "PreToolUse", "session_id": "S", "tool_name": "Task", "tool_input": "x"}',
    b'{"hook_event_name": "PreToolUse", "session_id": "S", "tool_name": "Task",'
    b' "tool_input": {"prompt": ["x"]}}',
    b'{"hook_event_name": "SessionStart", "source": "compact", "session_id": null}',
    b'{"hook_event_name": "UserPromptSubmit", "session_id": "S", "prompt": {"a": 1}}',
    b'{"hook_event_name": "UserPromptSubmit", "session_id": "S"}',
    b'{"hook_event_name": "PreToolUse", "x": "' + b"y" * 5_000_000 + b'"}',
]


def test_bad_events_are_silent_and_counted(home):
    before = count(home, "claude", "subagent", "bad")
    for raw in BAD:
        assert send(home, "claude", {}, raw=raw, moments="subagent,compact") == "", raw[:80]
    until(lambda: count(home, "claude", "subagent", "bad") == before + len(BAD))


def test_unknown_fields_and_values_change_nothing(home):
    events = load_events("claude")
    more = {"new": {"deep": [1, {"x": None}]}, "agent_type": 7, "cwd": ["/"]}
    assert '"deploy"' in sent(home, "claude", change(events["compact"], **more))
    assert "Indexed on" in sent(home, "claude", change(events["resume"], source="teleport"))
    assert send(home, "claude", change(events["take"], hook_event_name="SubagentDream")) == ""


def test_what_came_of_moments_is_counted_by_agent(home):
    told, silent = (count(home, "codex", "subagent", each) for each in ("told", "silent"))
    events = load_events("codex")
    send(home, "codex", change(events["task"], session_id="counted"))
    for _ in range(2):
        send(home, "codex", change(events["take"], session_id="counted"))
    assert count(home, "codex", "subagent", "told") == told + 1
    assert count(home, "codex", "subagent", "silent") == silent + 1
    assert "codex" in home.irc("usage").stdout


def test_after_a_compaction_the_session_may_be_shown_again_what_it_was_shown(home):
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "again", "prompt": TASK}
    assert "fill-pdf-form" in sent(home, "claude", prompt, moments="")
    until(lambda: sent(home, "claude", prompt, moments="") == "")
    compact = {"hook_event_name": "SessionStart", "source": "compact", "session_id": "again"}
    sent(home, "claude", compact)
    assert "fill-pdf-form" in sent(home, "claude", prompt, moments="")


def test_a_prompt_loads_nothing_of_moments(home):
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "light", "prompt": TASK}
    command = [sys.executable, "-X", "importtime", "-I", "-S", START, "--agent", "claude"]
    env = {"HOME": str(home.path), "XDG_RUNTIME_DIR": str(home.runtime)}
    done = subprocess.run(
        [*command, "--budget-ms", "5000"],
        input=json.dumps(event).encode(),
        capture_output=True,
        env=env,
    )
    assert b"fill-pdf-form" in done.stdout
    assert b"irclient.agents.hook.context" in done.stderr
    assert b"irclient.agents.hook.moments" not in done.stderr


def test_without_a_daemon_every_moment_is_silent(home, tmp_path):
    class Elsewhere:
        path, runtime = tmp_path, tmp_path

    for agent in AGENTS:
        for event in load_events(agent).values():
            assert send(Elsewhere, agent, event) == ""
