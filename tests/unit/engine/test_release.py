"""Memory that nothing needs is given back in quiet moments, and answers stay the same."""

import pytest

from irdaemon import text
from irdaemon.engine import upkeep
from irdaemon.engine.host import InProcess
from irdaemon.engine.queue import Job
from irdaemon.engine.upkeep import Release
from irdaemon.index import Images
from irdaemon.ingest.scan import ScanRequest
from irdaemon.types import Query
from tests.support.corpora import engine, mapped

ITEMS = {f"id{n}": f"pdf form number{n} of invoices" for n in range(40)}


class Asked(InProcess):
    """A host that was asked so many seconds ago."""

    writes = True
    seconds = 0.0

    def measure_idle_s(self):
        return self.seconds


@pytest.fixture
def running(tmp_path, monkeypatch):
    """Return an engine on an image, its host, what gives memory back, and its clock."""
    images = Images(str(tmp_path / "index"), above=1)
    made = engine(mapped(ITEMS), path=str(tmp_path / "ledger.sqlite"), images=images)
    made.request(Job("reconcile", "m", ScanRequest(prune=True)))
    made.drain()
    made.state.host = host = Asked()
    now = [1_000.0]
    done = []
    monkeypatch.setattr(upkeep, "trim", lambda: done.append("trim"))
    monkeypatch.setattr(images, "release", lambda: done.append("pages"))
    yield made, host, Release(made.state, lambda: now[0]), now, done
    made.ledger.close()


def later(giving, now, seconds):
    now[0] += seconds
    giving.tick()


def test_work_of_a_second_is_followed_by_giving_back_once(running):
    _made, _, giving, now, done = running
    giving.note_work(0.6)
    giving.note_work(0.6)
    later(giving, now, 5)
    assert not done, "it is not quiet yet"
    later(giving, now, 20)
    later(giving, now, 20)
    assert done == ["trim"]
    assert not text._analysed


def test_a_small_change_is_followed_by_nothing(running):
    _, _, giving, now, done = running
    giving.note_work(0.1)
    later(giving, now, 30)
    assert not done


def test_pages_are_given_back_a_minute_after_the_last_request_and_once(running):
    _, host, giving, now, done = running
    later(giving, now, 10)
    assert not done
    host.seconds = 61
    later(giving, now, 51)
    later(giving, now, 51)
    assert done == ["pages"]
    host.seconds = 1
    later(giving, now, 10)
    host.seconds = 61
    later(giving, now, 60)
    assert done == ["pages", "pages"]


def test_a_library_gives_nothing_back_by_itself(running):
    made, _, giving, now, done = running
    made.state.host = InProcess()
    giving.note_work(5)
    later(giving, now, 100)
    assert not done


def test_answers_are_the_same_after_memory_was_given_back(tmp_path):
    images = Images(str(tmp_path / "index"), above=1)
    made = engine(mapped(ITEMS), path=str(tmp_path / "ledger.sqlite"), images=images)
    made.request(Job("reconcile", "m", ScanRequest(prune=True)))
    made.drain()
    before = made.search(Query("pdf number7")).results
    images.release()
    made.state.embedders.release_pages()
    made.ledger.release_memory()
    text.forget_words()
    assert made.search(Query("pdf number7")).results == before
    made.reconfigure([mapped({**ITEMS, "new": "pdf of number7 again"})])
    made.request(Job("reconcile", "m", ScanRequest(prune=True)))
    made.drain()
    assert "new" in {hit.artifact_id for hit in made.search(Query("again")).results}
    made.ledger.close()
