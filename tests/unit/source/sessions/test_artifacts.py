"""Which turns of a session become artifacts, how each ended, and what was queued during it."""

from pathlib import Path

from irdaemon.types import Reading
from tests.support.claude_session import Session

STOP = [{"type": "text", "text": "[Request interrupted by user]"}]


def prompts(reading: Reading) -> list[str]:
    return [a.raw["user_prompt"] for a in reading.artifacts]


def outcomes(reading: Reading) -> list[tuple[str, str, str]]:
    return [
        (a.raw["user_prompt"], a.raw["assistant_summary"], a.raw["outcome"])
        for a in reading.artifacts
    ]


def test_an_interrupted_turn_keeps_what_was_asked_and_all_that_was_said(tmp_path: Path) -> None:
    session = Session().user("u1", "why does the websocket reconnect").says("a1", "I look.")
    session.calls("a2").user("x", STOP)
    reading = session.user("u2", "ask the server").says("a3", "It does.", "end_turn").read(tmp_path)
    assert outcomes(reading) == [
        ("why does the websocket reconnect", "I look.", "interrupted"),
        ("ask the server", "It does.", "answered"),
    ]
    stopped = reading.artifacts[0]
    assert stopped.artifact_id == "S:u1"
    assert stopped.body == (
        "## Prompt\n\nwhy does the websocket reconnect\n\n## Answer (interrupted)\n\nI look.\n"
    )
    assert reading.skipped == {}


def test_the_last_turn_of_a_session_is_kept_where_it_was_interrupted(tmp_path: Path) -> None:
    session = Session().user("u1", "why does the websocket reconnect").calls("a1").user("x", STOP)
    reading = session.read(tmp_path)
    assert outcomes(reading) == [("why does the websocket reconnect", "", "interrupted")]


def test_an_interrupted_turn_that_says_nothing_itself_is_left_out_and_counted(
    tmp_path: Path,
) -> None:
    session = Session().user("u1", "ok continue").calls("a1").user("x", STOP)
    reading = session.user("u2", "hi").says("a2", "ok", "end_turn").read(tmp_path)
    assert prompts(reading) == ["hi"]
    assert reading.skipped == {"interrupted": 1}


def test_a_question_asked_again_after_an_interruption_is_there_once(tmp_path: Path) -> None:
    session = Session().user("u1", "migrate the database").says("a1", "I").user("x", STOP)
    session.user("u2", "migrate the database, in one transaction")
    assert session.read(tmp_path / "open").artifacts == ()
    reading = session.says("a2", "Migrated.", "end_turn").read(tmp_path / "done")
    assert prompts(reading) == ["migrate the database, in one transaction"]
    assert reading.skipped == {"interrupted": 1}


def test_a_turn_that_failed_is_marked_so_and_one_that_recovered_is_answered(
    tmp_path: Path,
) -> None:
    session = Session().user("u1", "deploy the gateway").says("a1", "starting")
    session.says("a2", "API Error: 529", isApiErrorMessage=True).user("u2", "recovers")
    session.says("a3", "API Error: 529", isApiErrorMessage=True).says("a4", "done", "end_turn")
    assert outcomes(session.read(tmp_path)) == [
        ("deploy the gateway", "starting", "failed"),
        ("recovers", "done", "answered"),
    ]


def test_a_turn_that_ends_without_an_answer_is_kept_as_unanswered(tmp_path: Path) -> None:
    session = Session().user("u1", "chart the labels of a quarter").calls("a1")
    reading = session.user("u2", "the plan?").says("a2", "Here.", "end_turn").read(tmp_path)
    assert outcomes(reading) == [
        ("chart the labels of a quarter", "", "unanswered"),
        ("the plan?", "Here.", "answered"),
    ]


def queue(session: Session, operation: str, **parts: object) -> Session:
    return session.raw(type="queue-operation", operation=operation, sessionId="S", **parts)


def test_a_message_that_only_the_queue_tells_of_joins_the_turn_that_took_it_up(
    tmp_path: Path,
) -> None:
    session = Session().user("u1", "refactor the parser").calls("a1")
    queue(session, "enqueue", content="and the lexer")
    session = queue(session, "remove").says("a2", "both done", "end_turn")
    assert session.read(tmp_path).artifacts[0].raw["queued_prompts"] == ["and the lexer"]


def test_a_queued_message_is_there_once_however_often_it_is_told(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "and the lexer", "commandMode": "prompt"}
    session = Session().user("u1", "refactor the parser").calls("a1")
    queue(session, "enqueue", content="and the lexer")
    queue(session, "remove", content="and the lexer", reason="absorbed_mid_turn")
    session.record("attachment", "q", attachment=queued).says("a2", "both done", "end_turn")
    assert session.read(tmp_path).artifacts[0].raw["queued_prompts"] == ["and the lexer"]


def test_a_queued_message_that_becomes_the_next_prompt_is_a_turn_of_its_own(
    tmp_path: Path,
) -> None:
    session = Session().user("u1", "refactor the parser").calls("a1")
    queue(session, "enqueue", content="then the lexer").says("a2", "done", "end_turn")
    session = queue(session, "dequeue").user("u2", "then the lexer").says("a3", "too", "end_turn")
    assert prompts(session.read(tmp_path)) == ["refactor the parser", "then the lexer"]
