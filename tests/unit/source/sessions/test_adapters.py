"""What each adapter makes of a transcript in its agent's documented shape."""

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from irdaemon.source.places import keep_existing
from irdaemon.source.sessions import Sessions, list_known_places
from irdaemon.types import Reading, Root

SHAPES = Path(__file__).parents[3] / "transcripts"
FIXED = ("fix the parser", "Fixed the parser.")
TESTED = ("write a test", "The test is written.")


@dataclass(frozen=True)
class Expected:
    """What is in a transcript: its pairs, what is passed over, whose session it is, its title."""

    pairs: tuple[tuple[str, str], ...]
    skipped: dict[str, int]
    session: str
    cwd: str = "/w/app"
    title: str = "Parser repair"


ADAPTERS = {
    "gemini/app": Expected(
        (("fix the parser @p.py", "Fixed the parser."), ("again", "The test is written.")),
        {"record:hologram": 1, "interrupted": 1, "failed": 1},
        "G1",
    ),
    "gemini/old": Expected(
        (("which port is free", "Port 7917 is."),), {"record:mystery": 1}, "G0", "", ""
    ),
    "copilot": Expected(
        (FIXED, ("run the tests", "All pass.")),
        {"sidechain": 1, "record:telepathy.sent": 1, "interrupted": 1},
        "C1",
        title="",
    ),
    "pi": Expected(
        (FIXED, ("write a test", "Half a"), ("write it now", "The test is written.")),
        {"record:dream": 1, "abandoned": 1},
        "P1",
    ),
    "cursor/w": Expected((FIXED, TESTED), {"record:aura": 1}, "K", "", ""),
    "opencode-1.sql": Expected(
        (FIXED,),
        {"part:wavelet": 1, "bad_row": 1, "role:none": 1, "interrupted": 1, "subagent": 1},
        "ses_1",
    ),
    "opencode-2.sql": Expected((FIXED,), {"record:seance": 1, "interrupted": 1}, "ses_9"),
    "goose.sql": Expected(
        (FIXED, TESTED), {"part:scent": 1, "bad_row": 1, "subagent": 1}, "20260901_1"
    ),
    "cursor.sql": Expected(
        (FIXED, TESTED, ("an old question", "An old answer.")), {"record:7": 1}, "K1", ""
    ),
}
DATABASES = {
    "opencode-1.sql": "opencode.db",
    "opencode-2.sql": "opencode-dev.db",
    "goose.sql": "sessions.db",
    "cursor.sql": "state.vscdb",
}


def database(shape: str, directory: Path) -> Path:
    path = directory / DATABASES[shape]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SHAPES / shape).read_text())
    return path


def source_of(shape: str, directory: Path, **options: object) -> Sessions:
    path = database(shape, directory) if shape in DATABASES else SHAPES / shape
    return Sessions((Root(str(path)),), options)


def readings(source: Sessions) -> list[Reading]:
    return [source.read(entry) for entry in source.scan().entries]


def turns(found: list[Reading]) -> list:
    every = [artifact for reading in found for artifact in reading.artifacts]
    return [a for a in every if "user_prompt" in a.raw]


@pytest.mark.parametrize("shape", ADAPTERS)
def test_an_adapter_finds_the_pairs_and_counts_what_it_passes_over(shape, tmp_path):
    expected, found = ADAPTERS[shape], readings(source_of(shape, tmp_path))
    asked = [(t.raw["user_prompt"], t.raw["assistant_summary"]) for t in turns(found)]
    assert asked == list(expected.pairs)
    skipped: Counter[str] = sum((Counter(reading.skipped) for reading in found), Counter())
    assert skipped == expected.skipped


@pytest.mark.parametrize("shape", ADAPTERS)
def test_a_turn_tells_its_session_its_place_and_its_title(shape, tmp_path):
    expected, found = ADAPTERS[shape], readings(source_of(shape, tmp_path))
    turn = turns(found)[0]
    assert turn.artifact_id.startswith(f"{expected.session}:")
    assert turn.raw["cwd"] == expected.cwd
    assert turn.raw["session_title"] == expected.title
    ids = [artifact.artifact_id for reading in found for artifact in reading.artifacts]
    assert len(ids) == len(set(ids))
    titled = f"{expected.session}:__title__" in ids
    assert titled == bool(expected.title)


@pytest.mark.parametrize("shape", ADAPTERS)
def test_the_agent_of_a_turn_can_be_filtered_on(shape, tmp_path):
    agent = shape.replace("-", "/").replace(".", "/").partition("/")[0]
    found = turns(readings(source_of(shape, tmp_path)))
    assert {turn.metadata["agent"] for turn in found} == {agent}


def test_a_tool_call_before_the_answer_shows_on_the_turn(tmp_path):
    for shape in ("gemini/app", "copilot", "pi", "cursor/w", "goose.sql", "opencode-2.sql"):
        first = turns(readings(source_of(shape, tmp_path)))[0]
        assert first.raw["has_tool_use"], shape
        assert first.raw["assistant_full"].startswith(("Looking.", "Let me look.")), shape


def test_a_turn_tells_the_files_that_it_touched(tmp_path):
    written = {"opencode-2.sql"}
    for shape in ADAPTERS.keys() - {"gemini/old"}:
        raw = turns(readings(source_of(shape, tmp_path)))[0].raw
        assert raw["file"] == ["/w/app/p.py"], shape
        assert raw.get("file_written", []) == ["/w/app/p.py"] * (shape in written), shape


@pytest.mark.parametrize("shape", ["gemini/app", "opencode-2.sql"])
def test_a_command_that_failed_is_told_with_its_output(shape, tmp_path):
    runs = [
        run
        for reading in readings(source_of(shape, tmp_path))
        for t in reading.turns
        for run in t.runs
    ]
    (failed,) = [run for run in runs if run.failed]
    assert failed.command == "make test"
    assert "no rule" in failed.output


QUESTION = "explain the retry queue"
# What to change in a transcript so that its second turn is interrupted, and what was said by then.
INTERRUPTED = {
    "gemini/app": ({"write a test": QUESTION}, ""),
    "copilot": ({"and the tests?": QUESTION}, ""),
    "pi": ({"write a test": QUESTION}, "Half a"),
    "opencode-1.sql": ({"write a test": QUESTION}, ""),
    "opencode-2.sql": ({"write a test": QUESTION}, ""),
    "cursor.sql": ({"write a test": QUESTION, '"completed"': '"aborted"'}, TESTED[1]),
    "goose.sql": (
        {
            "write a test": QUESTION,
            TESTED[1]: "The existing call to shell was interrupted. How would you like to proceed?",
        },
        "",
    ),
    "aider": ({"this one is interrupted": QUESTION}, "Half a thou"),
}


def changed(shape, directory, words):
    """Copy a transcript with other words in it, and return a source that reads it."""
    if shape in DATABASES:
        path = directory / DATABASES[shape]
        script = replaced((SHAPES / shape).read_text(), words)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return Sessions((Root(str(path)),), {})
    shutil.copytree(SHAPES / shape, directory / "copy")
    for path in (directory / "copy").rglob("*"):
        if path.is_file():
            path.write_text(replaced(path.read_text(), words))
    return Sessions((Root(str(directory / "copy")),), {})


def replaced(text, words):
    for old, new in words.items():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("shape", INTERRUPTED)
def test_an_interrupted_question_is_kept_with_what_was_said_by_then(shape, tmp_path):
    words, said = INTERRUPTED[shape]
    found = turns(readings(changed(shape, tmp_path, words)))
    (stopped,) = [turn for turn in found if turn.raw["outcome"] == "interrupted"]
    assert (stopped.raw["user_prompt"], stopped.raw["assistant_summary"]) == (QUESTION, said)


def test_a_failed_question_is_kept_where_it_says_something(tmp_path):
    found = turns(readings(changed("gemini/app", tmp_path, {"write it now": QUESTION})))
    outcomes = {turn.raw["user_prompt"]: turn.raw["outcome"] for turn in found}
    assert outcomes[QUESTION] == "failed"


def test_a_question_that_another_followed_unanswered_is_kept(tmp_path):
    words = {TESTED[1]: "", TESTED[0]: QUESTION}
    found = turns(readings(changed("cursor/w", tmp_path, words)))
    outcomes = {turn.raw["user_prompt"]: turn.raw["outcome"] for turn in found}
    assert outcomes == {FIXED[0]: "answered", QUESTION: "unanswered"}


def test_aider_gives_a_session_for_each_start(tmp_path):
    shutil.copytree(SHAPES / "aider", tmp_path / "app")
    found = readings(Sessions((Root(str(tmp_path)),), {}))
    first, stopped, second = turns(found)
    assert (stopped.raw["outcome"], stopped.raw["assistant_summary"]) == (
        "interrupted",
        "Half a thou",
    )
    assert first.raw["user_prompt"] == "fix the parser\nand say why"
    assert first.raw["assistant_summary"] == "The loop ended one short.\n\nFixed the parser."
    assert (second.raw["user_prompt"], second.raw["assistant_summary"]) == TESTED
    assert first.raw["session_id"] == f"{tmp_path}/app@2026-09-01 10:00:00"
    assert second.raw["timestamp"] == "2026-09-02 09:00:00"
    assert found[0].skipped == {}


def test_sessions_of_sub_agents_are_read_where_they_are_wanted(tmp_path):
    goose = database("goose.sql", tmp_path)
    with closing(sqlite3.connect(goose)) as connection:
        answer = json.dumps([{"type": "text", "text": "Done."}])
        row = (9, "20260901_2", "assistant", answer, 1788256807)
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
    found = turns(readings(Sessions((Root(str(goose)),), {"subagents": True})))
    assert "subagent" in {turn.metadata["kind"] for turn in found}


def test_a_turn_taken_back_in_gemini_is_gone_at_the_next_read(tmp_path):
    shutil.copytree(SHAPES / "gemini/app", tmp_path / "app")
    source = Sessions((Root(str(tmp_path)),), {})
    (entry,) = source.scan().entries
    before = source.read(entry)
    with open(entry.path, "a") as file:
        file.write('{"$rewindTo":"m13"}\n')
    after = source.read(entry, before.cursor)
    assert not after.partial
    assert [t.raw["user_prompt"] for t in turns([after])] == ["fix the parser @p.py"]


def test_pi_sessions_without_ids_are_read_in_order(tmp_path):
    lines = [
        {"type": "session", "id": "P0", "cwd": "/w"},
        {"type": "message", "message": {"role": "user", "content": "hello"}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "Hi."}],
                "stopReason": "stop",
            },
        },
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (turn,) = turns(readings(Sessions((Root(str(tmp_path)),), {})))
    assert turn.raw["assistant_summary"] == "Hi."


def test_a_newer_version_than_known_is_read_and_counted(tmp_path):
    shape = (SHAPES / "pi/2026-09-01T10-00-00_P1.jsonl").read_text()
    (tmp_path / "s.jsonl").write_text(shape.replace('"version":3', '"version":9'))
    (reading,) = readings(Sessions((Root(str(tmp_path)),), {}))
    assert reading.skipped["newer_version"] == 1
    assert len(turns([reading])) == 3


def test_known_roots_of_the_other_agents_are_those_that_exist(tmp_path):
    paths = [
        ".gemini/tmp/",
        ".copilot/session-state/",
        ".pi/agent/sessions/",
        ".cursor/projects/",
        ".config/Cursor/User/globalStorage/state.vscdb",
        ".local/share/opencode/opencode.db",
        ".local/share/opencode/opencode-dev.db",
        ".local/share/goose/sessions/sessions.db",
        ".aider.chat.history.md",
    ]
    for path in paths:
        whole = tmp_path / path
        (whole if path.endswith("/") else whole.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            whole.touch()
    found = {root.path for root in keep_existing(list_known_places(str(tmp_path), {}))}
    assert found == {str(tmp_path / path) for path in paths}
    moved = {"GOOSE_PATH_ROOT": str(tmp_path), "COPILOT_HOME": "/absent"}
    assert str(tmp_path / ".copilot/session-state") not in {
        root.path for root in keep_existing(list_known_places(str(tmp_path), moved))
    }
