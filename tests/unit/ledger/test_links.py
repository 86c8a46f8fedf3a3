"""The edges of artifacts in the ledger: stored with them, level with them, gone with them."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.strategy import Package
from irdaemon.types import Edge
from tests.support.corpora import engine, mapped

PACKAGES = {
    "aa": {"name": "aa", "description": "package a", "deps": ["dol>=1", "Num_Py"]},
    "bb": {"name": "bb", "description": "package b", "deps": ["aa", "num.py"]},
    "cc": {"name": "cc", "description": "package c", "deps": []},
}


def packages(items, **more):
    return replace(mapped(items, strategy=Package()), **more)


def built(corpus, path=":memory:"):
    return level(engine(corpus, path=path))


def level(made, **scan):
    for name in made.corpora:
        made.request(Job("reconcile", name, ScanRequest(**scan)))
    made.drain()
    return made


def rows(made, table="links"):
    return made.ledger._store.fetch_one(f"SELECT count(*) FROM {table}")[0]


def test_edges_are_kept_in_their_order_and_found_from_either_end():
    links = built(packages(PACKAGES)).ledger.links
    assert links.list_edges("m", "aa") == [Edge("REF", "dol"), Edge("REF", "num-py")]
    assert links.list_edges("m", "cc") == links.list_edges("m", "nothing") == []
    assert links.list_ids_leading_to("m", Edge("REF", "num-py")) == ["aa", "bb"]
    assert links.list_ids_leading_to("m", Edge("PARENT", "num-py")) == []
    assert links.count_most_leading("m", "REF") == 2
    assert [each.artifact_id for each in links.find_named("aa", ["m"], 5)] == ["aa"]
    assert links.find_named("aa", ["other"], 5) == links.find_named("aa", [], 5) == []


def test_edges_go_with_their_artifact():
    made = built(packages(PACKAGES))
    made.reconfigure((packages({"aa": PACKAGES["aa"]}),))
    level(made)
    assert made.ledger.links.list_edges("m", "bb") == []
    assert rows(made) == 2


def test_edges_of_an_edited_artifact_are_those_of_its_new_text():
    made = built(packages(PACKAGES))
    made.reconfigure((packages({**PACKAGES, "aa": {**PACKAGES["aa"], "deps": ["rich"]}}),))
    level(made)
    assert made.ledger.links.list_edges("m", "aa") == [Edge("REF", "rich")]


def test_edges_are_no_part_of_what_makes_an_artifact_stale():
    made = built(packages(PACKAGES))
    before = made.ledger._store.fetch_all("SELECT id, version FROM artifacts")
    made.reconfigure((packages(PACKAGES, edge_extractor=lambda id, fields: {"X": [id]}),))
    level(made, full=True)
    assert made.ledger._store.fetch_all("SELECT id, version FROM artifacts") == before
    assert all(made.ledger.links.list_edges("m", id) == [Edge("X", id)] for id in PACKAGES)


def test_an_extractor_that_fails_is_the_failure_of_one_artifact():
    def extractor(id, fields):
        if id == "aa":
            raise RuntimeError("no")
        return {}

    made = built(packages(PACKAGES, edge_extractor=extractor))
    (failure,) = made.ledger.failures.list_all()
    assert (failure.key, "RuntimeError" in failure.reason) == ("aa", True)
    assert made.ledger.artifacts.count("m") == 2


def earlier_format(path):
    """Make a ledger what it was before there were links."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "DROP TABLE links; DROP INDEX artifacts_by_link_name; DROP TABLE expected_prompts;"
            "DROP TABLE imported_uses; DROP TABLE known_projects;"
            "DROP TABLE preferences; DROP TABLE fading; DROP TABLE moment_counts;"
            "DROP TABLE prompt_gates; DROP INDEX artifacts_with_stated;"
            "ALTER TABLE artifacts DROP COLUMN stated;"
            "ALTER TABLE records DROP COLUMN prompts;"
            "ALTER TABLE corpora DROP COLUMN learning; PRAGMA user_version = 8"
        )


def test_a_ledger_without_links_gets_them_at_the_next_look_and_nothing_is_embedded(
    tmp_path, monkeypatch
):
    path = str(tmp_path / "ledger.sqlite")
    built(packages(PACKAGES), path).ledger.close()
    earlier_format(path)
    made = engine(packages(PACKAGES), path=path)
    assert made.search("package a").results  # it answers before it has looked
    numbers = made.ledger._store.fetch_all("SELECT id FROM artifacts")
    embedder = type(made.state.embedders.get_embedder("hashing"))
    monkeypatch.setattr(embedder, "embed", lambda self, texts: pytest.fail("it was embedded"))
    level(made)
    assert made.ledger.links.list_edges("m", "bb") == [Edge("REF", "aa"), Edge("REF", "num-py")]
    assert made.ledger._store.fetch_all("SELECT id FROM artifacts") == numbers
    assert made.ledger.check() == []


def test_documents_are_not_read_again_for_links_that_they_cannot_have(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    with closing(built(packages(PACKAGES), path).ledger) as ledger, ledger.transaction():
        ledger._store.run("UPDATE corpora SET kind = 'files'")
    earlier_format(path)
    with closing(Ledger(path)) as ledger:
        assert ledger._store.fetch_one("SELECT count(*) FROM entries WHERE stamp = ''") == (0,)


def test_edges_without_their_artifact_are_found_and_repaired(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    built(packages(PACKAGES), path).ledger.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO links VALUES (99, 0, 'REF', '', 'x')")
        db.commit()
    with closing(Ledger(path)) as ledger:
        (problem,) = ledger.check()
        assert "links" in problem.what
        ledger.repair()
        assert ledger.check() == []
