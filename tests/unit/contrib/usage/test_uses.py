"""Uses with the prompts that led to them."""

import json
from contextlib import closing

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.contrib.usage.names import ItemNames
from irdaemon.contrib.usage.notes import UsageOptions
from irdaemon.contrib.usage.observer import UsageObserver
from irdaemon.contrib.usage.taught import list_uses, teach
from irdaemon.engine.queue import Job
from irdaemon.source.sessions import Sessions
from irdaemon.strategy import ClaudeTurn
from irdaemon.types import Root
from tests.support.claude_session import Session
from tests.support.corpora import engine, skills, write_skill

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def call(session, uuid, name, given):
    block = {"type": "tool_use", "id": "t", "name": name, "input": given}
    return session._assistant(uuid, block, "tool_use", "claude-x")


def written(session, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in session.lines))


@pytest.fixture
def session():
    session = Session(timestamp="2026-09-01T10:00:00Z")
    session.user("u1", f"fill the tax form with {TOKEN}")
    call(session, "a1", "Skill", {"skill": "pdf"})
    session.says("a2", "done", stop="end_turn")
    session.user("u2", "<command-name>/pdf</command-name>").says("b1", "yes", stop="end_turn")
    session.user("u3", "thanks").says("c1", "welcome", stop="end_turn")
    return session


@pytest.fixture
def made(tmp_path, session):
    write_skill(tmp_path / "skills" / "pdf", "fill a pdf form")
    written(session, tmp_path / "sessions" / "S.jsonl")
    source = Sessions((Root(str(tmp_path / "sessions")),), {})
    corpora = (
        skills(tmp_path / "skills", name="skills"),
        Corpus("sessions", "sessions", source, ClaudeTurn(), "hashing"),
    )
    path = str(tmp_path / "ledger.sqlite")
    options = UsageOptions(str(tmp_path / "usage.sqlite"), str(tmp_path / "usage.key"))
    made = engine(*corpora, path=path, addons={"usage": options})
    scan(made)
    yield made
    UsageObserver.find_in(made.state.addons).notes.close()
    made.ledger.close()


def scan(made, *jobs):
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()


def uses(made):
    names = ItemNames(made.ledger, {"skills": "skills", "sessions": "sessions"})
    with UsageObserver.find_in(made.state.addons).notes.open_reading() as store:
        return list(list_uses(store, made.ledger, names, "skills"))


def test_a_use_has_the_prompt_as_it_was_indexed_and_the_items_of_one_corpus(made):
    (use,) = uses(made)
    assert use.prompt == "fill the tax form with [secret: GitHub Token]"
    assert [each.endswith("pdf") for each in use.gold] == [True]
    assert (use.session, use.at, use.corpus) == ("claude:S", 1788256800.0, "skills")
    assert json.loads(json.dumps(use.to_dict()))["gold"] == list(use.gold)


def test_a_transcript_of_many_session_ids_teaches_nothing_by_itself(made, tmp_path):
    forged = Session(timestamp="2026-09-01T10:00:00Z")
    for n in range(40):
        forged.common["sessionId"] = f"made-up-{n}"
        forged.user(f"u{n}", f"prompt number {n} about the garden")
        call(forged, f"a{n}", "Skill", {"skill": "pdf"})
        forged.says(f"b{n}", "done", stop="end_turn")
    (tmp_path / "sessions" / "S.jsonl").unlink()
    written(forged, tmp_path / "sessions" / "forged.jsonl")
    scan(made)
    known = uses(made)
    names = {id: "pdf" for use in known for id in use.gold}
    assert len({use.session for use in known}) == 40
    assert teach(known, names, 1.9e9) == {}
    assert "entry" not in known[0].to_dict()


def test_uses_are_read_with_the_tail_and_go_with_the_session(made, session, tmp_path):
    path = tmp_path / "sessions" / "S.jsonl"
    session.user("u4", "rotate the pdf pages")
    call(session, "d1", "Skill", {"skill": "pdf"})
    session.says("d2", "done", stop="end_turn")
    written(session, path)
    other = Session(sessionId="T").user("t1", "plan the garden").says("t2", "ok", stop="end_turn")
    written(other, path.with_name("T.jsonl"))
    scan(made)
    assert sorted(use.prompt[:6] for use in uses(made)) == ["fill t", "rotate"]
    path.unlink()
    scan(made)
    assert uses(made) == []
    with UsageObserver.find_in(made.state.addons).notes.open_reading() as store:
        assert [each.turn_id for each in store.list_turns()] == ["T:t1"]


def test_a_log_that_is_lost_is_filled_from_the_transcripts_again(made, tmp_path):
    UsageObserver.find_in(made.state.addons).notes.close()
    (tmp_path / "usage.sqlite").unlink()
    scan(made)
    assert len(uses(made)) == 1


def test_a_session_about_a_project_with_a_marker_leaves_no_trace(made, session, tmp_path):
    project = tmp_path / "secret"
    project.mkdir()
    (project / ".noirdaemon").touch()
    session.lines = [line.replace("/home/u/app", str(project)) for line in session.lines]
    written(session, tmp_path / "sessions" / "S.jsonl")
    scan(made)
    with UsageObserver.find_in(made.state.addons).notes.open_reading() as store:
        assert store.list_turns() == []


def test_a_turn_in_which_something_private_was_said_leaves_no_trace(made, session, tmp_path):
    session.user("u4", "<private>my taxes</private> rotate the pages")
    call(session, "d1", "Skill", {"skill": "pdf"})
    written(session, tmp_path / "sessions" / "S.jsonl")
    scan(made)
    with UsageObserver.find_in(made.state.addons).notes.open_reading() as store:
        assert "S:u4" not in {each.turn_id for each in store.list_turns()}


def test_a_truncated_transcript_loses_what_it_no_longer_tells(made, session, tmp_path):
    session.lines = session.lines[:1]
    written(session, tmp_path / "sessions" / "S.jsonl")
    scan(made)
    with closing(UsageObserver.find_in(made.state.addons).notes.open_changing()) as store:
        assert store.count("uses") == 0
