"""Noting use, whatever happens to the file."""

import os
import sqlite3

import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.usage.notes import UsageNotes, UsageOptions
from irdaemon.contrib.usage.store import UsageStore
from irdaemon.types import Entry, ItemUse, SessionTurn
from tests.support.clocks import Clock
from tests.support.corpora import upsert
from tests.support.usage import NOW, hit, noted


@pytest.fixture
def clock():
    return Clock(NOW)


@pytest.fixture
def notes(tmp_path, clock):
    options = UsageOptions(str(tmp_path / "usage.sqlite"), str(tmp_path / "usage.key"))
    made = UsageNotes(options, clock)
    yield made
    made.close()


def read(*turns, partial=False, mtime_ns=0):
    entry = Entry("S.jsonl", "/S.jsonl", "1", mtime_ns)
    made = upsert("S.jsonl", {}, partial=partial, turns=turns)
    return type(made)(entry, *(getattr(made, f) for f in list(made.__slots__)[1:]))


def test_an_answer_is_written_at_the_next_tick_without_its_words(notes, tmp_path):
    notes.note(noted("fill the secret form", hit("pdf")))
    assert not os.path.exists(notes.options.path)
    notes.tick(["sessions"])
    with notes.open_reading() as store:
        (kept,) = store.list_offers()
    assert (kept.session, kept.generation, kept.text) == ("claude:S", 3, None)
    assert [each.artifact_id for each in kept.items] == ["pdf"]
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret" not in held


def test_on_request_the_words_are_kept_without_secrets(tmp_path, clock):
    options = UsageOptions(str(tmp_path / "u"), str(tmp_path / "k"), text=True)
    notes = UsageNotes(options, clock)
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    notes.note(noted(f"push with {token}"))
    notes.tick([])
    with notes.open_reading() as store:
        (kept,) = store.list_offers()
    notes.close()
    assert kept.text == "push with [secret: GitHub Token]"


def test_a_turn_is_kept_by_digests_and_joins_the_answer_to_its_prompt(notes):
    notes.note(noted("fill a form"))
    uses = (ItemUse("skill", "pdf"), ItemUse("asked", "which form"))
    notes.read("sessions", read(SessionTurn("S:1", "claude:S", NOW, "", ("fill  a form",), uses)))
    notes.note(noted("which form", session=""))
    notes.tick(["sessions"])
    with notes.open_reading() as store:
        (turn,), offers = store.list_turns(), store.list_offers()
    assert turn.uses == (("skill", "pdf"),)
    assert {offers[0].digest} == turn.own
    assert {offers[1].digest} == turn.asked


def test_a_turn_from_the_future_is_of_now_and_one_without_a_time_of_its_files(notes):
    later = SessionTurn("S:1", "claude:S", NOW + 1e6, "", ("a",))
    timeless = SessionTurn("S:2", "claude:S", 0.0, "", ("b",))
    notes.read("sessions", read(later, timeless, mtime_ns=int((NOW - 50) * 1e9)))
    with notes.open_reading() as store:
        assert {each.turn_id: each.at for each in store.list_turns()} == {
            "S:1": NOW,
            "S:2": NOW - 50,
        }


def test_a_new_file_wants_all_transcripts_read_once(notes):
    assert notes.must_read_all("sessions")
    notes.note_all_read("sessions")
    assert not notes.must_read_all("sessions")


def test_a_damaged_file_is_set_aside_and_made_anew(notes, clock):
    notes.note_all_read("sessions")
    notes.close()
    with open(notes.options.path, "wb") as file:
        file.write(b"this is no database at all" * 100)
    notes.note(noted("fill a form"))
    notes.tick(["sessions"])
    clock.now += 60
    notes.tick(["sessions"])
    facts = notes.describe_log()
    assert (facts["offers"], facts["problem"], len(facts["set_aside"])) == (1, "", 1)
    assert notes.must_read_all("sessions")


def test_a_file_of_another_version_is_set_aside(notes):
    db = sqlite3.connect(notes.options.path)
    db.execute("PRAGMA user_version = 99")
    db.execute("CREATE TABLE offers (x)")
    db.commit()
    db.close()
    notes.note(noted("fill a form"))
    notes.tick(["sessions"])
    assert notes.describe_log()["offers"] == 1


def test_a_file_that_is_deleted_is_made_anew(notes):
    notes.note_all_read("sessions")
    os.unlink(notes.options.path)
    assert notes.must_read_all("sessions")


def test_what_cannot_be_written_waits_and_is_said(notes, clock, monkeypatch):
    def full(store, offers):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(UsageStore, "put_offers", full)
        notes.note(noted("fill a form"))
        notes.tick(["sessions"])
        assert "full" in notes.describe_log()["problem"]
    notes.tick(["sessions"])  # it is not tried at every tick
    assert notes.describe_log()["offers"] == 0
    clock.now += 60
    notes.tick(["sessions"])
    assert (notes.describe_log()["offers"], notes.problem) == (1, "")


def test_transcripts_that_could_not_be_noted_are_read_again(notes, clock, monkeypatch):
    notes.note_all_read("sessions")

    def full(store, entry, turns, partial):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(UsageStore, "put_turns", full)
        notes.read("sessions", read(SessionTurn("S:1", "claude:S", NOW, "", ("a",))))
    clock.now += 60
    assert notes.must_read_all("sessions")


def test_a_reading_that_lost_some_transcripts_does_not_count_as_whole(notes, clock, monkeypatch):
    def full(store, entry, turns, partial):
        raise sqlite3.OperationalError("database or disk is full")

    assert notes.must_read_all("sessions")
    with monkeypatch.context() as patched:
        patched.setattr(UsageStore, "put_turns", full)
        notes.read("sessions", read(SessionTurn("S:1", "claude:S", NOW, "", ("a",))))
    clock.now += 60
    notes.note_all_read("sessions")
    assert notes.must_read_all("sessions")
    notes.note_all_read("sessions")
    assert not notes.must_read_all("sessions")


def test_a_file_that_is_not_there_cannot_be_read(notes):
    with pytest.raises(Unavailable), notes.open_reading():
        pass
