"""Whole lines, bad lines, long lines; and text that is not its author's."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.sessions import transcript
from irdaemon.source.sessions.transcript import (
    LINE_LIMIT,
    Cursor,
    LineReader,
    SessionInfo,
    TurnContext,
    clean_text,
    pack_cursor,
    strip_injected,
    unpack_cursor,
)


def reader(data: bytes, limit: int = LINE_LIMIT) -> LineReader:
    return LineReader(io.BytesIO(data), limit=limit)


def test_a_broken_line_is_skipped_and_counted() -> None:
    read = reader(b'{"a": 1}\n{broken\n[1]\n\n{"b": 2}\n')
    assert [line.record for line in read.read_records()] == [{"a": 1}, {"b": 2}]
    assert read.skipped == {"bad_line": 2}


def test_a_line_nested_too_deep_is_skipped_and_counted() -> None:
    read = reader(b"[" * 200_000 + b"\n")
    assert list(read.read_records()) == []
    assert read.skipped == {"bad_line": 1}


def test_a_last_line_without_its_end_is_left_for_later() -> None:
    read = reader(b'{"a": 1}\n{"b": 2}')
    assert [line.offset for line in read.read_records()] == [0]
    assert read.end == 9
    assert not read.skipped


def test_invalid_utf8_is_replaced() -> None:
    (line,) = reader(b'{"a": "x\xffy"}\n').read_records()
    assert line.record == {"a": "x\ufffdy"}


def test_a_line_over_the_limit_is_skipped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "_CHUNK", 7)
    read = reader(b'{"a": "' + b"x" * 100 + b'"}\n{"b": 2}\n', limit=20)
    assert [line.record for line in read.read_records()] == [{"b": 2}]
    assert read.skipped == {"oversized_line": 1}


def test_a_line_over_the_limit_is_never_read_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int | None] = []

    class Recording(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            sizes.append(size)
            return super().readline(size)

    monkeypatch.setattr(transcript, "_CHUNK", 100)
    file = Recording(b"x" * 50_000 + b"\n")
    assert list(LineReader(file, limit=1000).read_records()) == []
    assert set(sizes) <= {1001, 100}


def test_an_unfinished_line_over_the_limit_is_left_for_later() -> None:
    read = reader(b'{"a": 1}\n' + b"x" * 100, limit=20)
    assert len(list(read.read_records())) == 1
    assert (read.end, dict(read.skipped)) == (9, {})


def test_half_a_surrogate_pair_becomes_storable_text() -> None:
    assert clean_text(json.loads('"a\\ud800b"')) == "a?b"


def test_only_closed_blocks_are_cut() -> None:
    assert strip_injected("a <system-reminder>b</system-reminder> c") == "a  c"
    assert strip_injected("a <system-reminder>b") == "a <system-reminder>b"


PIECES = ("<ide_selection>", "</ide_selection>", "<irdaemon>", "</irdaemon>", "<", "x", " ")


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_cutting_blocks_only_ever_takes_away(text: str) -> None:
    rest = iter(text)
    assert all(character in rest for character in strip_injected(text))


def test_a_cursor_survives_packing_and_stays_small() -> None:
    session, place = (
        SessionInfo("S", "/w", "title", summary_leaf="u"),
        TurnContext("/w", model="m", prompts=3),
    )
    cursor = Cursor("claude", "session", 2**63, 2**63, 10, 5, b"d" * 16, "S:u", session, place)
    assert unpack_cursor(pack_cursor(cursor)) == cursor


@given(st.binary(max_size=60))
def test_a_foreign_cursor_is_ignored(blob: bytes) -> None:
    assert unpack_cursor(blob) is None


def test_a_long_json_text_of_too_many_values_is_refused_and_a_long_one_of_few_is_read():
    few = json.dumps({"text": "x" * LINE_LIMIT})
    assert transcript.parse_bounded_json(few) == json.loads(few)
    many = "[" + "0," * LINE_LIMIT + "0]"
    for text in (many, many.encode()):
        with pytest.raises(transcript.TooManyValues, match="more than 2,000,000 values"):
            transcript.parse_bounded_json(text)
