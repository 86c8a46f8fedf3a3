"""A damaged ledger is set aside and rebuilt, at a start and while queries go on."""

import functools
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irclient.errors import NotFound, Unavailable
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.engine.recovery import open_ledger
from irdaemon.engine.upkeep import replace_ledger
from irdaemon.ledger import ArtifactPage, LedgerError
from irdaemon.ledger.files import list_set_aside, set_aside
from irdaemon.types import Query
from tests.support.corpora import contents, engine, mapped, ticking
from tests.support.damage import GARBLED, ITEMS, change, garbled
from tests.support.hosts import Writing

PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return the bytes of a ledger of ITEMS."""
    path = tmp_path_factory.mktemp("sound") / "ledger.sqlite"
    first = engine(mapped(ITEMS), path=str(path))
    look(first)
    first.ledger.close()
    return path.read_bytes()


@pytest.fixture
def path(sound, tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(sound)
    return str(path)


def look(made):
    made.request(Job("reconcile", "m"))
    made.drain()


def started(path, items=ITEMS):
    made, loss = open_ledger(
        path, lambda ledger: Engine(ledger, [mapped(items)], clock=ticking()), 1.0
    )
    made.state.host, made.state.corruption = Writing(), loss
    return made


@functools.cache
def build_fresh(items):
    """Return what a ledger just built of these items holds."""
    fresh = engine(mapped(dict(items)))
    look(fresh)
    return contents(fresh.ledger, "m")


def is_whole(made, items=ITEMS):
    same = contents(made.ledger, "m") == build_fresh(tuple(items.items()))
    return same and made.search(Query("thing number 3")).n_retrieved > 0


def overwrite(path, at, content):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(content)


DAMAGES = {
    "a garbage header": lambda path: overwrite(path, 0, b"garbage" * 20),
    "a text file": lambda path: Path(path).write_text("no ledger\n" * 1000),
    "damaged pages": lambda path: overwrite(path, 3 * PAGE, os.urandom(40 * PAGE)),
    "a file cut off": lambda path: os.truncate(path, 9 * PAGE + 100),
    "a missing table": lambda path: change(path, "DROP TABLE vectors"),
    "a directory in its place": lambda path: (os.unlink(path), os.mkdir(path)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_is_set_aside_at_a_start_and_rebuilt(path, damage, caplog):
    DAMAGES[damage](path)
    made = started(path)
    assert made.state.corruption is not None
    assert list_set_aside(path) == [made.state.corruption.kept]
    assert made.state.corruption.kept in caplog.text
    look(made)
    assert is_whole(made)
    assert made.status()["ledger"]["rebuilt"]["kept"] == made.state.corruption.kept
    made.ledger.close()


TERMS_CUT = "UPDATE records SET terms = substr(terms, 2) WHERE id = 3"


def test_a_ledger_with_rows_that_do_not_fit_is_mended_at_a_start(path, caplog):
    change(path, TERMS_CUT)
    made = started(path)
    assert (made.state.corruption, list_set_aside(path)) == (None, [])
    assert "it is repaired" in caplog.text
    look(made)
    assert is_whole(made)
    made.ledger.close()


def test_a_ledger_of_a_later_format_is_refused_and_left_alone(path):
    change(path, "PRAGMA user_version = 99")
    before = Path(path).read_bytes()
    with pytest.raises(LedgerError, match="format 99"):
        started(path)
    assert Path(path).read_bytes() == before
    assert list_set_aside(path) == []


def test_a_fault_that_is_not_the_ledgers_sets_nothing_aside(path):
    def broken(ledger):
        raise ValueError("a fault of our own")

    with pytest.raises(ValueError, match="our own"):
        open_ledger(path, broken, 1.0)
    assert list_set_aside(path) == []


def test_of_damaged_ledgers_the_last_few_are_kept(tmp_path):
    path = tmp_path / "ledger.sqlite"
    made = []
    for content in "abcde":
        path.write_text(content)
        made.append(set_aside(str(path), "damaged"))
    assert list_set_aside(str(path)) == made[-3:]


def test_damage_met_by_a_job_is_rebuilt_while_the_last_snapshot_answers(path):
    made = started(path)
    generation = made.snapshot.generation
    overwrite(path, PAGE, os.urandom(os.path.getsize(path) - PAGE))
    made.ledger._store.run("PRAGMA shrink_memory")
    made.request(Job("reconcile", "m"))
    made.step()
    assert made.state.corruption is not None
    assert made.search(Query("thing number 3")).n_retrieved > 0
    assert made.snapshot.generation >= generation
    made.drain()
    assert is_whole(made)
    assert made.search(Query("thing number 3", mode="dense")).n_retrieved > 0
    made.ledger.close()


@pytest.mark.parametrize(
    "wrong", ["UPDATE records SET text = 'other' WHERE id = 3", "DELETE FROM terms WHERE id = 2"]
)
def test_damage_that_no_query_met_is_found_at_the_next_compaction_and_mended(path, wrong, caplog):
    made = started(path)
    change(path, wrong)
    made.request(Job("compact"))
    made.drain()
    assert "it is repaired" in caplog.text
    assert (made.state.corruption, list_set_aside(path)) == (None, [])
    assert is_whole(made)
    made.ledger.close()


def test_what_is_served_of_a_lost_ledger_stays_until_everything_was_read_again(path):
    items = dict(ITEMS)
    made = started(path, items)
    replace_ledger(made.state, made.writer.publisher, "lost for the test")
    items["new"] = "peel potatoes"
    assert made.snapshot.corpora["m"].rows.n_artifacts == len(ITEMS)
    assert made.search(Query("thing number 3", mode="lexical")).n_retrieved > 0
    made.drain()
    assert made.search(Query("peel potatoes", mode="lexical")).results[0].artifact_id == "new"
    assert is_whole(made, items)
    made.ledger.close()


def test_a_renewed_ledger_takes_its_vectors_from_the_snapshot(path):
    made = started(path)
    replace_ledger(made.state, made.writer.publisher, "lost for the test")
    assert made.ledger.vectors.find_dimension("hashing-512") == 512
    made.step()
    assert made.snapshot.corpora["m"].unembedded == 0
    made.ledger.close()


def test_damage_met_by_a_reader_is_a_clear_refusal_and_is_rebuilt(path):
    made = started(path)
    made.ledger._store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    overwrite(path, 0, os.urandom(os.path.getsize(path)))
    with pytest.raises(Unavailable, match="cannot be read"):
        made.records("m/t3")
    made.drain()
    assert made.records("m/t3")
    made.ledger.close()


def asked_everything(made):
    """Ask the ledger whatever a client may; return how often it refused."""
    asks = [
        *(lambda n=n: made.records(f"m/t{n}") for n in range(len(ITEMS))),
        lambda: made.artifacts(ArtifactPage()),
        lambda: made.disclose(["m/t1", "m/t2"]),
        lambda: made.search(Query("thing number 3", level="body")),
        lambda: made.discover(Query("thing number 3", related=True)),
        *(made.status, made.judge_health, made.failures, made.secrets, made.audit),
        lambda: made.info("m"),
    ]
    refused = 0
    for ask in asks:
        try:
            ask()
        except (Unavailable, NotFound):
            refused += 1
    return refused


UNDECODABLE = {
    "text that is none": "UPDATE artifacts SET name = CAST(x'fffe41' AS TEXT) WHERE id = 3",
    "fields cut off": "UPDATE artifacts SET fields = x'85' WHERE id = 3",
    "fields of another shape": "UPDATE artifacts SET fields = x'05' WHERE id = 3",
    "a number for a text": "UPDATE records SET metadata = 5 WHERE id = 3",
    "a count of another shape": "UPDATE entries SET skipped = '[5]' WHERE id = 3",
    "problems of another shape": "UPDATE corpora SET problems = '[5]'",
    "a floor of another shape": "UPDATE floors SET floor = '[5]'",
}


@pytest.mark.parametrize("damage", UNDECODABLE)
def test_a_row_that_does_not_decode_any_more_is_repaired_when_a_query_or_a_job_meets_it(
    path, damage
):
    made = started(path)
    change(path, UNDECODABLE[damage])
    asked_everything(made)
    look(made)
    made.drain()
    assert asked_everything(made) == 0
    assert is_whole(made)
    assert made.ledger.check() == []
    made.ledger.close()


def test_what_a_damaged_row_holds_is_not_quoted_in_the_refusal(path):
    made = started(path)
    secret = b"quicksilver".hex()
    change(path, f"UPDATE artifacts SET name = CAST(x'ff{secret}' AS TEXT) WHERE id = 3")
    with pytest.raises(Unavailable, match="cannot be read") as refused:
        made.artifacts(ArtifactPage())
    assert "quicksilver" not in refused.value.message
    made.ledger.close()


def test_a_mistake_of_the_program_is_one_as_soon_as_the_ledger_is_known_to_be_sound(path):
    made = started(path)

    def mistaken():
        with made.state.open_reading():
            raise KeyError("a fault of our own")

    with pytest.raises(Unavailable):
        mistaken()
    made.drain()
    for _ in range(3):
        with pytest.raises(KeyError, match="our own"):
            mistaken()
    assert made.state.work.take(0) is None
    assert (made.state.corruption, list_set_aside(path)) == (None, [])
    made.ledger.close()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(places=st.lists(st.floats(0, 0.9999), min_size=1, max_size=100), seed=st.randoms())
def test_whatever_bytes_are_overwritten_under_a_running_engine_it_answers_and_ends_up_whole(
    path, places, seed
):
    with garbled(path, (0, Path(path).read_bytes()[:1], 1)):
        made = started(path)
        made.drain()
        made.ledger._store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        size = os.path.getsize(path)
        for at in {int(place * size) for place in places} - set(range(60, 64)):  # the format
            overwrite(path, at, seed.randbytes(1))
        made.ledger._store.run("PRAGMA shrink_memory")
        for _ in range(3):
            asked_everything(made)
            look(made)
        made.request(Job("compact"))
        made.drain()
        assert asked_everything(made) == 0
        assert made.artifacts(ArtifactPage())
        assert not [each for each in made.ledger.check() if each.severe]
        made.ledger.close()


TEXTS = {
    "records": ("record_id", "kind", "granularity", "text"),
    "artifacts": ("corpus", "artifact_id", "name", "pointer", "digest", "content", "version"),
    "entries": ("corpus", "key", "path", "stamp", "recipe", "skipped"),
}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, names in TEXTS.items() for column in names]
)
def test_a_text_that_is_no_text_any_more_is_mended_in_whatever_column(path, table, column):
    made = started(path)
    made.drain()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            f"UPDATE {table} SET {column} = CAST(x'ff' || {column} AS TEXT)"
            f" WHERE rowid = (SELECT max(rowid) FROM {table})"
        )
    for _ in range(3):
        asked_everything(made)
        look(made)
    made.request(Job("compact"))
    made.drain()
    assert asked_everything(made) == 0
    assert not [each for each in made.ledger.check() if each.severe]
    made.ledger.close()


def test_prompts_that_are_garbled_are_read_again_with_their_artifact(path):
    made = started(path)
    made.drain()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE artifacts SET stated = x'c1' WHERE rowid = 1")
    for _ in range(3):
        asked_everything(made)
        look(made)
    made.request(Job("compact"))
    made.drain()
    assert not list(made.ledger.prompts.list_held("m"))
    assert not [each for each in made.ledger.check() if each.severe]
    made.ledger.close()


def test_a_deleted_ledger_is_put_back_from_what_is_still_open(path):
    made = started(path)
    for end in ("", "-wal", "-shm"):
        os.unlink(path + end)
    made.step()
    assert made.state.corruption is None
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert made.records("m/t3")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM artifacts").fetchone() == (len(ITEMS),)
    assert is_whole(made)
    made.ledger.close()


def test_a_ledger_that_was_exchanged_is_put_back_and_the_other_one_kept(path):
    made = started(path)
    other = path + ".other"
    Path(other).write_text("something else")
    os.rename(other, path)
    made.step()
    assert made.records("m/t3")
    (kept,) = list_set_aside(path)
    assert Path(kept).read_text() == "something else"
    made.ledger.close()


def test_a_ledger_whose_directory_went_too_is_put_back(path):
    made = started(path)
    os.rename(os.path.dirname(path), os.path.dirname(path) + "-away")
    made.step()
    assert made.records("m/t3")
    made.ledger.close()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(how=GARBLED)
def test_whatever_bytes_of_a_ledger_are_overwritten_a_start_serves(path, how):
    with garbled(path, how):
        try:
            made = started(path)
        except LedgerError as error:
            assert "format" in error.message  # noqa: PT017 (the bytes that tell the format)
        else:
            look(made)
            assert made.search(Query("thing number 3")).n_retrieved > 0
            made.ledger.close()
