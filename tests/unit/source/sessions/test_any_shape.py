"""Whatever stands in a transcript, reading it ends well: lines and rows of any shape."""

import io
import json
import sqlite3
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.sessions import DIALECTS, aider
from irdaemon.source.sessions.stores import STORES
from irdaemon.source.sessions.transcript import LineReader, Start

WORDS = st.sampled_from(
    "user assistant gemini message session text tool end stop error system user.message role id"
    " assistant.message abort turn_ended content $rewindTo $set toolCalls".split()
)
PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8) | WORDS
KEYS = st.sampled_from(
    "type role id parentId uuid parentUuid message content text data $set $rewindTo messages"
    " toolCalls toolRequests timestamp version cwd stopReason payload sessionId kind name".split()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=6)


@pytest.mark.parametrize("agent", DIALECTS)
@given(records=st.lists(RECORDS, max_size=6))
def test_lines_of_any_shape_give_turns_or_none(agent, records):
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    dialect = DIALECTS[agent]
    for record in records:
        dialect.recognise("/x/y.jsonl", record)
    for turn in dialect.read_transcript(LineReader(io.BytesIO(data)), Start()).turns:
        assert not turn.outcome or turn.prompt
        assert turn.outcome != "answered" or turn.answer


@given(
    text=st.lists(st.sampled_from(["#### ask", "> out", "say", "", "# aider chat started at x"]))
)
def test_a_history_of_any_shape_gives_no_more_turns_than_prompts(text):
    read = aider.read_transcript("\n".join(text), "/w", "w")
    assert len(read.turns) <= text.count("#### ask")


@given(rows=st.lists(st.tuples(WORDS, RECORDS | VALUES), max_size=5))
def test_rows_of_any_shape_give_turns_or_none(rows):
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE cursorDiskKV (key, value)")
        db.execute("CREATE TABLE sessions (id, name)")
        db.execute("CREATE TABLE messages (session_id, role, content_json, created_timestamp)")
        db.execute("INSERT INTO sessions VALUES ('s', 'n')")
        db.execute("CREATE TABLE session_v2 (id)")
        db.execute("CREATE TABLE session_message (id, session_id, type, seq, time_created, data)")
        db.execute("INSERT INTO session_v2 VALUES ('s')")
        headers = [{"bubbleId": str(n)} for n in range(len(rows))]
        chat = json.dumps({"fullConversationHeadersOnly": headers})
        db.execute("INSERT INTO cursorDiskKV VALUES ('composerData:s', ?)", (chat,))
        for n, (word, value) in enumerate(rows):
            said = json.dumps(value)
            db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"bubbleId:s:{n}", said))
            db.execute("INSERT INTO messages VALUES ('s', ?, ?, 1)", (word, said))
            db.execute(
                "INSERT INTO session_message VALUES (?, 's', ?, ?, 1, ?)", (n, word, n, said)
            )
        for store in STORES.values():
            assert [each.id for each in store.list_sessions(db)] == (["s"] if rows else [])
            assert store.read_transcript(db, "s", Counter()) is not None
