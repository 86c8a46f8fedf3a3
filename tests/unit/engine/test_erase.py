"""What was forgotten is in no file any more, soon, and at a bounded cost."""

import os
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from irdaemon.engine import upkeep
from irdaemon.engine.queue import Job
from irdaemon.engine.upkeep import Deferred
from irdaemon.index import Images
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.types import Query
from tests.support.clocks import Clock
from tests.support.corpora import LATER, engine, mapped

PRIVATE = "purplewalrus{} sang loudly to the moon"
FILLING = " ".join(f"filling{n}" for n in range(30))


class Kept:
    """An engine on a ledger and images in a directory of their own."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.clock = Clock(LATER)
        self.items = {}
        self.engine = engine(
            mapped({}),
            path=str(self.directory / "ledger.sqlite"),
            images=Images(str(self.directory / "index"), above=1),
            clock=self.clock,
            calibrating=False,
        )

    def hold(self, items):
        self.items = dict(items)
        self.engine.reconfigure([mapped(self.items)])
        self.engine.request(Job("reconcile", "m", ScanRequest(prune=True)))
        self.engine.drain()

    def wait(self, seconds):
        """Let time pass, the writer coming by once a second."""
        for _ in range(seconds):
            self.clock.now += 1
            self.engine.step()

    def files_with(self, text):
        """Return the names of the files that hold a text."""
        files = (path for path in self.directory.rglob("*") if path.is_file())
        return {path.name for path in files if text.encode() in path.read_bytes()}


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path)
    made.hold({f"t{n}": f"{PRIVATE.format(n)} {FILLING}" for n in range(120)})
    made.wait(1)
    yield made
    made.engine.ledger.close()


def test_forgotten_texts_and_their_words_are_in_no_file_within_a_minute(kept):
    """Entries come and go for a while, so that SQLite moves many rows from page to page."""
    gone = set()
    for turn in range(6):
        some = {f"t{n}" for n in range(turn, 120, 9)} - gone
        gone |= some
        new = {f"n{turn}-{n}": f"{FILLING} {n}" for n in range(20)}
        left = {key: text for key, text in kept.items.items() if key not in gone}
        kept.hold({**left, **new})
    assert len(gone) > 60
    assert any(kept.files_with(PRIVATE.format(key[1:])) for key in gone)
    kept.wait(60)
    for key in gone:
        assert kept.files_with(f"purplewalrus{key[1:]} ") == set()
        assert kept.files_with(f"purplewalrus{key[1:]}\0") == set()
    vocabulary = kept.engine.ledger.terms.get_table()
    assert not [key for key in gone if f"purplewalrus{key[1:]}" in vocabulary]
    for key, text in kept.items.items():
        assert kept.engine.search(Query(f"`{key}` {text[:20]}")).results[0].name == key
    assert not any(found.severe for found in kept.engine.ledger.check())


def test_what_an_image_shows_of_a_forgotten_artifact_is_blanked_and_the_rest_is_served(kept):
    image = next((kept.directory / "index").glob("*.rows"))
    assert image.name in kept.files_with(PRIVATE.format(7))
    kept.hold({key: text for key, text in kept.items.items() if key != "t7"})
    kept.wait(30)
    assert next((kept.directory / "index").glob("*.rows")) == image  # laid out again it is not
    assert kept.files_with(PRIVATE.format(7)) == set()
    # Filters read every field there is, of the image too.
    filtered = Query("sang loudly", k=500, where={"none": {"$exists": False}})
    for again in (False, True):
        if again:
            kept.engine.ledger.close()
            kept.__init__(kept.directory)
            kept.items = {f"t{n}": f"{PRIVATE.format(n)} {FILLING}" for n in range(120) if n != 7}
            kept.engine.reconfigure([mapped(kept.items)])
            kept.engine.drain()
            assert kept.engine.snapshot.corpora["m"].rows.laid_out
        assert {hit.name for hit in kept.engine.search(filtered).results} == kept.items.keys()


def test_the_log_is_empty_of_texts_soon_after_each_change_and_waits_for_no_reader(kept):
    kept.wait(6)
    kept.hold({**kept.items, "t7": "something else"})
    log = "ledger.sqlite-wal"
    assert log in kept.files_with("something else")
    with kept.engine.ledger.open_view() as reader, reader.hold_snapshot():
        reader.read_generation()
        kept.hold({**kept.items, "t8": "yet another text"})
        kept.wait(10)
        assert log in kept.files_with("yet another text")
    kept.wait(10)
    assert log not in kept.files_with("something else")
    assert log not in kept.files_with("yet another text")
    assert kept.files_with(PRIVATE.format(7)) <= {
        Path(p).name for p in kept.directory.glob("index/*")
    }


def test_a_change_that_waits_interrupts_writing_the_ledger_anew_until_it_is_overdue(
    kept, monkeypatch
):
    asked = []
    monkeypatch.setattr("irdaemon.ledger.store._STEPS_BETWEEN", 1)
    waits = property(lambda work: asked.append(1) or True)
    monkeypatch.setattr("irdaemon.engine.queue.Work.change_waits", waits)
    kept.hold({key: text for key, text in kept.items.items() if key != "t7"})
    kept.wait(30)
    assert asked
    assert kept.engine.ledger.count_forgotten()[0]
    kept.wait(20)
    assert kept.engine.ledger.count_forgotten() == (0, 0)
    assert not any(found.severe for found in kept.engine.ledger.check())


def test_what_was_not_erased_before_a_crash_is_after_the_next_start(kept):
    kept.hold({})
    path = kept.engine.ledger.path
    assert kept.engine.ledger.count_forgotten()[0]
    again = kept.directory / "again"
    again.mkdir()
    with (
        closing(sqlite3.connect(path)) as db,
        closing(sqlite3.connect(again / "ledger.sqlite")) as copy,
    ):
        db.backup(copy)
    made = Kept(again)
    assert made.engine.ledger.count_forgotten()[0]
    made.wait(30)
    assert made.engine.ledger.count_forgotten() == (0, 0)
    made.engine.ledger.close()


def test_writing_anew_takes_no_more_than_a_hundredth_of_the_time(kept, monkeypatch):
    times = iter(range(0, 10_000, 3))  # each takes three seconds
    monkeypatch.setattr(upkeep.time, "monotonic", lambda: next(times))
    done = []
    monkeypatch.setattr(Ledger, "vacuum", lambda ledger, stop=None: done.append(kept.clock.now))
    with kept.engine.ledger.transaction():
        kept.engine.ledger.entries.forget("m", ["t7"])
    kept.wait(1_000)
    assert len(done) == 4
    assert all(later - sooner >= 300 for sooner, later in pairwise(done))


def test_a_wish_waits_for_quiet_and_not_for_long():
    wish = Deferred(quiet_s=5, latest_s=20)
    assert not wish.is_due(False, True, 0)
    assert not wish.is_due(True, True, 100)
    assert not wish.is_due(True, True, 104)
    assert wish.is_due(True, True, 105)
    assert not wish.is_due(True, False, 119)
    assert wish.is_due(True, False, 120)
    assert not wish.is_due(False, True, 121)
    assert not wish.is_due(True, False, 122)
    assert not wish.is_due(True, True, 50)  # the clock was set back
    assert wish.is_due(True, True, 55)


def test_a_file_that_cannot_be_written_anew_is_tried_again(kept, monkeypatch):
    whole = Ledger.vacuum

    def full(ledger, stop=None):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "vacuum", full)
    kept.hold({key: text for key, text in kept.items.items() if key != "t7"})
    kept.wait(30)
    assert kept.engine.ledger.count_forgotten()[0]
    monkeypatch.setattr(Ledger, "vacuum", whole)
    kept.wait(5)
    assert kept.files_with(PRIVATE.format(7)) == set()
    assert os.path.getsize(f"{kept.engine.ledger.path}-wal") < 20_000
