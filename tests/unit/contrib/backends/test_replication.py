"""Copies of corpora in a backend: brought level, once, by one writer, or the status says why."""

from itertools import pairwise

import pytest

from irclient.errors import Unavailable
from irdaemon.config.backends import BackendAddress
from irdaemon.config.checking import ConfigError
from irdaemon.config.corpus import Corpus
from irdaemon.contrib.backends.observer import CopyObserver
from irdaemon.contrib.backends.remote import Vocabularies, make_remote_index
from irdaemon.contrib.backends.replication import Replication
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.query import parse_query
from irdaemon.engine.queue import Job
from irdaemon.index import Snapshot
from irdaemon.index.backend import OutOfStep
from irdaemon.ledger.backups import back_up, restore
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import WholeText
from irdaemon.types import Query
from tests.support.clocks import Clock
from tests.support.copied import answered
from tests.support.corpora import LATER, engine, skills, write_skill
from tests.support.memory_backend import MemoryBackend

HERE = BackendAddress(("postgresql://db/ir",))
ITEMS = {"pdf": "fill in pdf forms", "rebase": "rebase a branch onto main", "soup": "potato soup"}


class Flaky(MemoryBackend):
    """A backend that can be away, lose replies, and counts what it is sent."""

    def __init__(self, clock):
        super().__init__(clock)
        self.away = self.forgets_reply = self.closed = False
        self.deltas = []

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name in ("read_totals", "take_lease", "apply", "drop", "release") and self.away:
            raise Unavailable("db does not answer", "start it")
        return found

    def apply(self, delta):
        self.deltas.append((delta.base, [each.row[1] for each in delta.artifacts], delta.gone))
        generation = super().apply(delta)
        if self.forgets_reply:
            self.forgets_reply = False
            raise Unavailable("the connection to db was lost")
        return generation

    def close(self):
        self.closed = True


def corpus(items, name="m", backend=HERE):
    return Corpus(name, "mapping", InMemory(items), WholeText(), "hashing", backend=backend)


class Copying:
    """A daemon's engine and its replication, with a backend that may be another's too."""

    def __init__(self, items=ITEMS, backend=None, holder="ann@laptop", path=":memory:"):
        self.items = dict(items)
        self.clock = backend.clock if backend else Clock(0.0)
        self.backend = backend or Flaky(self.clock)
        self.opened = []
        self.engine = engine(corpus(self.items), path=path, clock=lambda: LATER + self.clock.now)
        self.replication = Replication(self.engine.state, holder, self._open)

    def _open(self, address):
        self.opened.append(address)
        return self.backend

    def scan(self):
        for name in self.engine.corpora:
            self.engine.request(Job("reconcile", name))
        self.engine.drain()

    def reconfigure(self, *corpora):
        self.engine.reconfigure(corpora)
        self.engine.drain()

    def tick(self, after_s=0.0):
        self.clock.now += after_s
        self.replication.tick(self.clock.now)
        return self.facts

    @property
    def facts(self):
        known = CopyObserver.find_in(self.engine.state.addons).copies.get("m")
        return known and known.facts

    def change(self, **items):
        self.items.update(items)
        self.scan()

    def answers(self, text="pdf forms"):
        query = parse_query(Query(text))
        models = self.engine.state.models
        there = {
            name: make_remote_index(self.backend, totals, Vocabularies())
            for name, totals in self.backend.read_totals().items()
        }
        copy = Snapshot(self.engine.snapshot.generation, there)
        return [
            answered(discovery.discover(each, query, models))
            for each in (self.engine.snapshot, copy)
        ]

    @property
    def is_level(self):
        here, there = self.answers()
        return here == there and self.facts.state == "level"


def copied(items=ITEMS, backend=None, holder="ann@laptop", path=":memory:"):
    made = Copying(items, backend, holder, path)
    made.scan()
    return made


@pytest.fixture
def copying():
    return copied()


def test_a_corpus_is_copied_whole_and_then_by_what_changed(copying):
    copying.tick()
    assert copying.is_level
    del copying.items["soup"]
    copying.change(docker="compose pdf images")
    assert copying.tick(1).generation == copying.engine.snapshot.generation
    (whole, (base, came, gone)) = copying.backend.deltas
    assert (whole[0], sorted(whole[1])) == (0, sorted(ITEMS))
    assert (base > 0, came, len(gone)) == (True, ["docker"], 1)
    assert copying.is_level


def test_the_status_says_level_of_what_is_served_now_and_no_longer_after_a_change(copying):
    def told():
        return copying.engine.status()["corpora"][0]["copy"]["state"]

    copying.tick()
    assert told() == "level"
    copying.change(docker="compose images")
    assert told() == "sending"
    copying.tick(1)
    assert told() == "level"


def test_what_is_level_is_not_sent_again_and_its_lease_is_renewed(copying):
    copying.tick()
    for _ in range(20):
        assert copying.tick(4).state == "level"
    assert len(copying.backend.deltas) == 1
    assert copying.backend.leases["m"][2] > copying.clock.now


def test_a_delta_whose_reply_was_lost_is_not_applied_twice(copying):
    copying.tick()
    copying.change(docker="compose images")
    copying.backend.forgets_reply = True
    assert copying.tick(1).state == "degraded"
    assert copying.tick(1).state == "level"
    assert [each[1] for each in copying.backend.deltas[1:]] == [["docker"]]
    assert copying.is_level


def test_a_writer_that_was_killed_sends_nothing_again(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    first = copied(path=path)
    first.tick()
    first.engine.ledger.close()
    again = copied(first.items, first.backend, path=path)
    again.tick()
    assert again.is_level
    assert len(again.backend.deltas) == 1
    again.engine.ledger.close()


def test_what_a_backend_lost_is_sent_whole(copying, monkeypatch):
    copying.tick()
    copying.backend.kept.clear()
    copying.change(docker="compose images")
    copying.tick(1)
    assert [each[0] > 0 for each in copying.backend.deltas] == [False, True, False]
    assert copying.is_level


def test_a_copy_that_cannot_be_made_to_follow_is_told(copying, monkeypatch):
    def refuse(delta):
        raise OutOfStep("no step follows")

    monkeypatch.setattr(copying.backend, "apply", refuse)
    facts = copying.tick()
    assert (facts.state, facts.reason) == ("degraded", "no step follows")


def test_a_second_writer_is_refused_with_the_firsts_name_and_writes_nothing(copying):
    copying.tick()
    second = copied({"other": "something else"}, copying.backend, "bob@desktop")
    facts = second.tick()
    assert facts.state == "refused"
    assert "ann@laptop" in facts.reason
    copying.tick(10)
    assert second.tick(5).state == "refused"
    assert len(copying.backend.deltas) == 1
    assert copying.is_level


def test_a_writer_that_was_stopped_for_longer_than_its_lease_writes_nothing_more(copying):
    copying.tick()
    second = copied({"other": "something else"}, copying.backend, "bob@desktop")
    second.tick(60)
    assert second.is_level
    copying.change(docker="compose images")
    facts = copying.tick()
    assert (facts.state, "bob@desktop" in facts.reason) == ("refused", True)
    assert second.is_level


def test_a_writer_whose_fence_is_old_is_refused_at_the_delta_itself(copying):
    copying.tick()
    copying.backend.leases["m"] = ("bob@desktop", 7, copying.clock.now + 15)
    copying.change(docker="compose images")
    facts = copying.tick(1)
    assert (facts.state, "bob@desktop" in facts.reason) == ("refused", True)
    assert copying.tick(5).state == "refused"
    copying.backend.leases["m"] = ("bob@desktop", 7, 0.0)
    assert copying.tick(15).state == "level"
    assert copying.is_level


def test_a_backend_that_is_away_is_tried_less_and_less_often_and_the_copy_catches_up(copying):
    copying.tick()
    copying.change(docker="compose images")
    copying.backend.away = True
    tried = []
    for second in range(200):
        failures = copying.replication._copies["m"].failures
        facts = copying.tick(1)
        if copying.replication._copies["m"].failures > failures:
            tried.append(second)
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[:5] == [1, 2, 4, 8, 16]
    assert set(pauses[5:]) == {30}
    assert (facts.state, facts.reason) == ("degraded", "db does not answer")
    assert facts.since == LATER + tried[0] + 1
    assert copying.engine.discover(Query("compose images")).results
    copying.backend.away = False
    copying.tick(30)
    assert copying.is_level
    assert copying.facts.since is None


def test_a_lease_is_lost_with_the_server_and_the_copy_is_told_to_be_behind_though_nothing_changed(
    copying,
):
    copying.tick()
    copying.backend.away = True
    assert copying.tick(5).state == "degraded"


def test_a_corpus_that_is_removed_is_removed_from_the_backend_by_its_writer(copying):
    copying.tick()
    copying.reconfigure(corpus({"n": "new"}, "other"))
    copying.tick(1)
    assert list(copying.backend.kept) == ["other"]


def test_a_corpus_that_is_no_longer_shared_is_removed_from_the_backend(copying):
    copying.tick()
    copying.reconfigure(corpus(copying.items, backend=None))
    copying.backend.away = True
    copying.tick(1)
    assert list(copying.backend.kept) == ["m"]
    copying.backend.away = False
    copying.tick(30)
    assert list(copying.backend.kept) == []
    assert CopyObserver.find_in(copying.engine.state.addons).copies == {}


def test_a_server_that_is_named_otherwise_keeps_its_copies_and_is_sent_nothing_again(copying):
    copying.tick()
    renamed = BackendAddress(("postgresql://db,standby/ir",), "PASSWORD")
    copying.reconfigure(corpus(copying.items, backend=renamed))
    copying.tick(1)
    assert copying.is_level
    assert copying.opened == [HERE, renamed]
    assert len(copying.backend.deltas) == 1


def test_what_another_writes_stays_when_the_corpus_is_removed_here(copying):
    copying.tick()
    second = copied({"other": "something else"}, copying.backend, "bob@desktop")
    second.tick()
    second.reconfigure()
    second.tick(1)
    assert list(copying.backend.kept) == ["m"]


def test_a_copy_that_is_given_up_and_wanted_again_is_sent_whole(copying):
    copying.tick()
    copying.reconfigure(corpus(copying.items, backend=None))
    copying.tick(1)
    copying.reconfigure(corpus(copying.items))
    copying.tick(1)
    copying.tick(1)
    assert copying.is_level


def test_another_embedder_has_the_corpus_sent_whole(copying):
    copying.tick()
    other = "tests.support.corpora:Counting"
    made = Corpus("m", "mapping", InMemory(copying.items), WholeText(), other, backend=HERE)
    copying.reconfigure(made)
    copying.scan()
    copying.tick(1)
    assert copying.backend.read_totals()["m"].embedder == "counting-64"
    assert copying.backend.deltas[-1][0] == 0
    assert copying.is_level


def test_what_crashed_between_the_ledger_and_its_number_is_sent_under_the_next(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    first = copied(path=path)
    first.tick()
    generation = first.engine.snapshot.generation
    first.change(docker="compose images")
    with first.engine.ledger.transaction():
        first.engine.ledger._store.run(
            "UPDATE counters SET value = ? WHERE name = 'generation'", (generation,)
        )
    first.engine.ledger.close()
    again = Copying(first.items, first.backend, path=path)
    assert again.engine.snapshot.generation == generation
    again.tick(1)
    assert again.is_level
    assert len(again.backend.deltas) == 2
    again.engine.ledger.close()


def test_a_restored_ledger_is_sent_whole_as_its_rows_are_not_those_of_before(tmp_path):
    path, file = str(tmp_path / "ledger.sqlite"), str(tmp_path / "kept.db")
    first = copied(path=path)
    back_up(path, file)
    first.change(docker="compose images")
    first.tick()
    first.engine.ledger.close()
    restore(file, path)
    again = copied({**ITEMS, "helm": "a chart of charts"}, first.backend, path=path)
    again.tick()
    assert first.backend.deltas[-1][0] == 0
    assert again.is_level
    again.engine.ledger.close()


def test_leases_are_given_up_at_the_end_so_that_another_writes_at_once(copying):
    copying.tick()
    copying.replication.close()
    assert copying.backend.closed
    second = copied({"other": "something else"}, copying.backend, "bob@desktop")
    assert second.tick().state == "level"


def test_without_a_backend_no_client_of_one_is_made():
    made = copied()
    made.reconfigure(corpus(made.items, backend=None))
    made.tick()
    assert (made.opened, CopyObserver.find_in(made.engine.state.addons).copies) == ([], {})


def test_the_text_of_what_a_pointer_leads_to_is_read_when_it_is_sent(tmp_path):
    directory = write_skill(tmp_path / "one", "rebase a branch")
    gone = write_skill(tmp_path / "two", "fold a letter")
    made, found = copied(), skills(tmp_path)
    made.reconfigure(Corpus("m", "skills", found.source, found.strategy, "hashing", backend=HERE))
    made.scan()
    (directory / "SKILL.md").write_text("now it says something else")
    (gone / "SKILL.md").unlink()
    made.tick()
    ids = [sent.row[1] for sent in made.backend.kept["m"].artifacts.values()]
    texts = {each.body for each in made.backend.read_texts("m", ids).values()}
    assert texts == {"now it says something else", ""}


def test_a_backend_whose_client_cannot_be_made_is_told_and_tried_again(copying, monkeypatch):
    def missing(address):
        raise ConfigError("a backend of postgresql:// needs psycopg", "pip install it")

    copying.replication.open_backend = missing
    assert copying.tick().reason == "a backend of postgresql:// needs psycopg"
    copying.replication.open_backend = copying._open
    copying.tick(5)
    assert copying.is_level
