"""A session that grows is read on from its last turn, with the same result as reading it whole."""

import json
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source import sessions
from irdaemon.source.opening import open_regular
from irdaemon.source.sessions import Sessions
from irdaemon.types import Artifact, Entry, Reading, Root


def claude(kind: str, uuid: str, parent: str | None, **parts: object) -> str:
    common = {"sessionId": "S", "cwd": "/w/app", "version": "2.1.263"}
    record = {"type": kind, "uuid": uuid, "parentUuid": parent, **common, **parts}
    return json.dumps(record) + "\n"


def user(uuid: str, parent: str | None, text: str) -> str:
    return claude("user", uuid, parent, message={"role": "user", "content": text})


def assistant(uuid: str, parent: str | None, text: str, stop: str | None = "end_turn") -> str:
    message = {"model": "m", "content": [{"type": "text", "text": text}], "stop_reason": stop}
    return claude("assistant", uuid, parent, message=message)


def tool(uuid: str, parent: str | None) -> str:
    content = [{"type": "tool_use", "name": "Read", "input": {}}]
    return claude("assistant", uuid, parent, message={"model": "m", "content": content})


def queue(operation: str, **parts: object) -> str:
    return json.dumps({"type": "queue-operation", "operation": operation, **parts}) + "\n"


def codex(line_type: str, **payload: object) -> str:
    return json.dumps({"timestamp": "t", "type": line_type, "payload": payload}) + "\n"


class Growing:
    """A session file read after each change, and what is known of it."""

    def __init__(self, path: Path):
        self.path = path
        self.source = Sessions((Root(str(path.parent)),), {})
        self.cursor: bytes | None = None
        self.known: dict[str, Artifact] = {}

    def append(self, data: str | bytes) -> Reading:
        with self.path.open("ab") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        return self.read()

    def entry(self) -> Entry:
        (entry,) = self.source.scan(str(self.path)).entries
        return entry

    def read(self) -> Reading:
        reading = self.source.read(self.entry(), self.cursor)
        found = {a.artifact_id: a for a in reading.artifacts}
        self.known = {**self.known, **found} if reading.partial else found
        self.cursor = reading.cursor
        return reading

    def whole(self) -> dict[str, Artifact]:
        return {a.artifact_id: a for a in self.source.read(self.entry()).artifacts}


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path.resolve() / "S.jsonl")


def two_turns() -> str:
    return (
        user("u1", None, "first")
        + assistant("a1", "u1", "one")
        + user("u2", "a1", "second")
        + assistant("a2", "u2", "two")
    )


def ids(reading: Reading) -> list[str]:
    return [artifact.artifact_id for artifact in reading.artifacts]


def test_an_appended_turn_is_read_without_the_turns_before_the_last(growing: Growing) -> None:
    assert not growing.append(two_turns()).partial
    reading = growing.append(user("u3", "a2", "third") + assistant("a3", "u3", "three"))
    assert reading.partial
    assert ids(reading) == ["S:u2", "S:u3"]


class Counted:
    """A file that counts the bytes read from it."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self.bytes = 0
        self.seek, self.fileno = file.seek, file.fileno

    def readline(self, size: int) -> bytes:
        line = self.file.readline(size)
        self.bytes += len(line)
        return line

    def __enter__(self) -> "Counted":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def test_a_tail_read_touches_only_the_last_turn_and_what_was_appended(
    growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Counted] = []

    def counted(path: str) -> BinaryIO:
        opened.append(Counted(open_regular(path)))
        return cast(BinaryIO, opened[-1])

    last = user("u2", "a1", "second") + assistant("a2", "u2", "two")
    growing.append(user("u1", None, "x" * 100_000) + assistant("a1", "u1", "y" * 100_000) + last)
    monkeypatch.setattr(sessions, "open_regular", counted)
    appended = user("u3", "a2", "third") + assistant("a3", "u3", "three")
    assert ids(growing.append(appended)) == ["S:u2", "S:u3"]
    (file,) = opened
    # The lines at which the read begins and the next one will are each looked at once more.
    first_lines = len(user("u2", "a1", "second")) + len(user("u3", "a2", "third"))
    assert file.bytes == len(last) + len(appended) + first_lines


def test_an_answer_that_goes_on_replaces_its_pair(growing: Growing) -> None:
    growing.append(two_turns())
    reading = growing.append(assistant("a3", "a2", "and more"))
    assert reading.partial
    assert reading.artifacts[0].raw["assistant_summary"] == "two\n\nand more"


def test_a_line_written_in_pieces_is_read_once_whole(growing: Growing) -> None:
    growing.append(two_turns() + user("u3", "a2", "third"))
    line = assistant("a3", "u3", "thrée").encode()
    cut = line.index("é".encode()) if "é".encode() in line else len(line) // 2
    assert growing.append(line[:cut]).artifacts == ()
    assert ids(growing.append(line[cut:])) == ["S:u3"]


def test_a_rewind_past_the_last_turn_takes_its_pair_away(growing: Growing) -> None:
    growing.append(two_turns())
    reading = growing.append(user("u3", "a1", "other") + assistant("a3", "u3", "three"))
    assert not reading.partial
    assert ids(reading) == ["S:u1", "S:u3"]


def test_a_rewind_past_a_turn_that_gave_no_pair_is_noticed_too(growing: Growing) -> None:
    growing.append(two_turns() + user("u3", "a2", "third"))
    reading = growing.append(user("u4", "a1", "other") + assistant("a4", "u4", "four"))
    assert not reading.partial
    assert ids(reading) == ["S:u1", "S:u4"]


def test_a_summary_of_an_earlier_message_becomes_the_title(growing: Growing) -> None:
    growing.append(two_turns())
    summary = {"type": "summary", "summary": "Counting", "leafUuid": "a1"}
    growing.append(json.dumps(summary) + "\n")
    assert growing.known["S:u1"].name == "Counting"


def test_a_pair_that_turns_out_unfinished_is_taken_away(growing: Growing) -> None:
    growing.append(two_turns())
    reading = growing.append(tool("a3", "a2"))
    assert not reading.partial
    assert ids(reading) == ["S:u1"]


def test_a_turn_is_there_once_it_was_interrupted_and_goes_where_it_is_asked_again(
    growing: Growing,
) -> None:
    growing.append(two_turns() + user("u3", "a2", "migrate the database"))
    assert list(growing.known) == ["S:u1", "S:u2"]
    growing.append(user("x", "u3", "[Request interrupted by user]"))
    assert growing.known["S:u3"].raw["outcome"] == "interrupted"
    growing.append(user("u4", "x", "migrate the database"))
    assert list(growing.known) == ["S:u1", "S:u2"]
    growing.append(assistant("a4", "u4", "Migrated."))
    assert growing.known["S:u4"].raw["outcome"] == "answered"
    assert growing.known == growing.whole()


def test_a_message_that_waited_before_the_last_turn_is_known_to_the_next_read(
    growing: Growing,
) -> None:
    growing.append(
        user("u1", None, "fix the parser")
        + tool("a1", "u1")
        + queue("enqueue", content="and the lexer")
        + queue("enqueue", content="and the printer")
        + assistant("a2", "a1", "Fixed.")
        + queue("dequeue")
        + user("u2", "a2", "and the lexer")
        + tool("a3", "u2")
    )
    growing.append(queue("remove") + assistant("a4", "a3", "Both."))
    assert growing.known["S:u2"].raw["queued_prompts"] == ["and the printer"]


def test_a_new_title_reaches_every_turn(growing: Growing) -> None:
    growing.append(two_turns())
    title = json.dumps({"type": "ai-title", "aiTitle": "Counting", "sessionId": "S"}) + "\n"
    reading = growing.append(title)
    assert not reading.partial
    assert [a.name for a in reading.artifacts] == ["Counting"] * 3
    reading = growing.append(title + user("u3", "a2", "third") + assistant("a3", "u3", "three"))
    assert reading.partial
    assert [a.raw["session_title"] for a in reading.artifacts] == ["Counting", "Counting"]


def test_a_file_that_shrank_or_was_replaced_is_read_from_the_start(growing: Growing) -> None:
    growing.append(two_turns())
    growing.path.write_text(user("u1", None, "first") + assistant("a1", "u1", "one"))
    assert (growing.read().partial, list(growing.known)) == (False, ["S:u1"])
    growing.append(user("u2", "a1", "second") + assistant("a2", "u2", "two"))
    other = growing.path.with_suffix(".new")
    other.write_text(two_turns().replace("u2", "v2") + user("u3", "a2", "third"))
    other.replace(growing.path)
    assert (growing.read().partial, list(growing.known)) == (False, ["S:u1", "S:v2"])


def test_a_file_rewritten_in_place_is_read_from_the_start(growing: Growing) -> None:
    growing.append(two_turns())
    growing.path.write_text(two_turns().replace("first", "a longer first prompt") * 2)
    assert not growing.read().partial


def test_an_unchanged_file_gives_its_last_turn_again(growing: Growing) -> None:
    growing.append(two_turns())
    reading = growing.read()
    assert (reading.partial, ids(reading)) == (True, ["S:u2"])


def test_a_rollout_is_tailed_with_its_numbering(growing: Growing) -> None:
    growing.append(
        codex("session_meta", id="R", cwd="/w")
        + codex("turn_context", model="m")
        + codex("event_msg", type="user_message", message="one")
        + codex("event_msg", type="agent_message", message="1")
    )
    reading = growing.append(
        codex("event_msg", type="user_message", message="two")
        + codex("event_msg", type="agent_message", message="2")
    )
    assert reading.partial
    assert ids(reading) == ["R:1", "R:2"]
    assert {a.raw["model"] for a in reading.artifacts} == {"m"}
    rolled = growing.append(codex("event_msg", type="thread_rolled_back", num_turns=2))
    assert (rolled.partial, rolled.artifacts) == (False, ())


def test_a_cursor_stays_small_however_long_the_session(growing: Growing) -> None:
    lines = [user("u0", None, "q" * 1000)]
    for n in range(200):
        lines.append(assistant(f"a{n}", f"u{n}", "a" * 1000))
        lines.append(user(f"u{n + 1}", f"a{n}", "q" * 1000))
    assert len(growing.append("".join(lines)).cursor or b"") < 300


PARENTS = st.sampled_from(["last", "last", "last", "last", "earlier", "root", "lost"])
ACTIONS = st.sampled_from(
    [*("user", "assistant") * 5, "open", "tool", "stop", "queued", "command", "title", "junk",
     "summary", "duration", "again", "enqueue", "enqueue", "dequeue", "remove", "said", "popAll",
     "same", "same", "stop"]
)  # fmt: skip


@st.composite
def claude_lines(draw: st.DrawFn) -> list[str]:
    uuids: list[str] = []
    lines: list[str] = []
    for number, (action, where) in enumerate(
        draw(st.lists(st.tuples(ACTIONS, PARENTS), max_size=25))
    ):
        last = uuids[-1] if uuids else None
        earlier = draw(st.sampled_from(uuids)) if uuids else None
        parent = {"last": last, "earlier": earlier, "root": None, "lost": "lost"}[where]
        lines.append(_claude_line(action, f"n{number}", parent, earlier, lines))
        uuids.append(f"n{number}") if f'"n{number}"' in lines[-1] else None
    return lines


def _claude_line(
    action: str, uuid: str, parent: str | None, earlier: str | None, lines: list[str]
) -> str:
    queued = {"type": "queued_command", "prompt": f"also {uuid}", "commandMode": "prompt"}
    return {
        "user": user(uuid, parent, f"ask {uuid}"),
        "assistant": assistant(uuid, parent, f"answer {uuid}"),
        "open": assistant(uuid, parent, f"so far {uuid}", None),
        "tool": tool(uuid, parent),
        "stop": user(uuid, parent, "[Request interrupted by user]"),
        "queued": claude("attachment", uuid, parent, attachment=queued),
        "command": user(uuid, parent, "<command-name>/init</command-name>"),
        "title": json.dumps({"type": "ai-title", "aiTitle": "T" + uuid[-1]}) + "\n",
        "summary": json.dumps({"type": "summary", "summary": "é", "leafUuid": earlier}) + "\n",
        "junk": "{broken\n",
        "duration": claude("system", uuid, parent, subtype="turn_duration"),
        "same": user(uuid, parent, "fix the parser"),
        "enqueue": queue("enqueue", content=f"also {uuid}"),
        "dequeue": queue("dequeue"),
        "remove": queue("remove"),
        "said": queue("remove", content=f"more {uuid}", reason="absorbed_mid_turn"),
        "popAll": queue("popAll", content=f"also {uuid}"),
        "again": lines[len(lines) // 2] if lines else "\n",
    }[action]


EVENTS = (
    codex("session_meta", id="R", cwd="/w"),
    codex("event_msg", type="task_started", turn_id="t1"),
    codex("event_msg", type="task_started", turn_id="t2"),
    codex("turn_context", turn_id="t1", cwd="/w/a", model="m1"),
    codex("turn_context", model="m2"),
    *(codex("event_msg", type="user_message", message=text) for text in ("ask", "also", "")),
    *(codex("event_msg", type="agent_message", message=text) for text in ("answer", "more")),
    codex("response_item", type="function_call"),
    codex("response_item", type="message", role="user", content=[{"text": "item ask"}]),
    codex("response_item", type="message", role="assistant", content=[{"text": "item answer"}]),
    codex("event_msg", type="task_complete", turn_id="t1", last_agent_message="answer"),
    codex("event_msg", type="task_complete", turn_id="t2"),
    codex("event_msg", type="turn_aborted"),
    codex("event_msg", type="thread_rolled_back", num_turns=1),
    codex("event_msg", type="thread_name_updated", thread_name="Name"),
)
CODEX_LINES = st.lists(st.sampled_from(EVENTS), max_size=25)


def in_pieces(lines: list[str], breaks: list[int]) -> list[bytes]:
    """Break a file after a line (1), within it (2) or not (0)."""
    pieces = [b""]
    for line, how in zip(lines, breaks, strict=False):
        data = line.encode()
        cut = (len(data), len(data), len(data) // 2)[how]
        pieces[-1] += data[:cut]
        pieces.extend([data[cut:]] if how else [])
    return pieces


BREAKS = st.lists(st.sampled_from([0, 0, 1, 1, 2]), min_size=25, max_size=25)


@given(claude_lines() | CODEX_LINES, BREAKS)
def test_reading_in_steps_gives_what_reading_at_once_does(
    lines: list[str], breaks: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        growing = Growing(Path(directory).resolve() / "S.jsonl")
        for piece in in_pieces(lines, breaks):
            growing.append(piece)
        assert growing.known == growing.whole()


def test_what_is_taken_out_after_a_repeated_record_is_of_the_turn_it_came_in(tmp_path):
    growing = Growing(tmp_path / "S.jsonl")
    opening = [user(f"n{n}", f"n{n - 1}" if n else None, f"ask n{n}") for n in range(3)]
    said = queue("remove", content="more", reason="absorbed_mid_turn")
    growing.append("".join(opening).encode())
    growing.append("".join([opening[1], said, user("n3", "n2", "ask n3")]).encode())
    assert growing.known == growing.whole()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["type", "uuid", "parentUuid", "message", "content", "text", "payload", "attachment", "origin",
     "role", "turn_id", "num_turns", "last_agent_message", "summary", "leafUuid", "git", "source"]
)  # fmt: skip
VALUES = JSON | st.sampled_from(
    ["user", "assistant", "attachment", "system", "summary", "event_msg", "response_item",
     "session_meta", "user_message", "task_complete", "message", "queued_command", "text"]
)  # fmt: skip
RECORDS = st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES, max_size=5), max_size=8)


@given(st.lists(RECORDS, max_size=6), st.sampled_from([user("u", None, "q"), EVENTS[0]]))
def test_records_of_any_shape_are_read_without_failing(
    records: list[dict[str, object]], first: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        growing = Growing(Path(directory).resolve() / "S.jsonl")
        growing.append(first + "".join(json.dumps(record) + "\n" for record in records))
        assert growing.cursor is not None
