"""The ledger held against itself: every kind of damage is found, and mended as far as it goes."""

from contextlib import closing, suppress

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Expected, Ledger, LedgerError
from irdaemon.ledger.prompts import AGENT, PERSON, Gate
from tests.support.corpora import contents, engine, mapped
from tests.support.damage import GARBLED, ITEMS, change, garbled


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return the bytes of a ledger of ITEMS, and what it holds."""
    path = tmp_path_factory.mktemp("sound") / "ledger.sqlite"
    with closing(built(str(path)).ledger) as ledger:
        held = contents(ledger, "m")
    return path.read_bytes(), held


@pytest.fixture
def path(sound, tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(sound[0])
    return str(path)


def built(path):
    made = engine(mapped(ITEMS), path=path)
    made.request(Job("reconcile", "m", ScanRequest()))
    made.drain()
    return made


def faults(path):
    with closing(Ledger(path, read_only=True)) as view, view.hold_snapshot():
        return view.check()


def test_a_ledger_just_built_is_sound(path):
    assert faults(path) == []


WRONGS = {
    "a changed text": "UPDATE records SET text = 'other words' WHERE id = 3",
    "a text that is none": "UPDATE records SET text = CAST(x'ff41' AS TEXT) WHERE id = 3",
    "a record too few": "UPDATE records SET surface_index = 1 WHERE id = 3",
    "another's id": "UPDATE records SET record_id = 'x' WHERE id = 3",
    "terms cut off": "UPDATE records SET terms = substr(terms, 2) WHERE id = 3",
    "a term that is not there": "UPDATE records SET terms = x'ffffff7f', counts = x'0000803f'",
    "garbled metadata": "UPDATE records SET metadata = x'c1' WHERE id = 3",
    "garbled fields": "UPDATE artifacts SET fields = x'c1' WHERE id = 3",
    "garbled name terms": "UPDATE artifacts SET name_terms = x'00' WHERE id = 3",
    "another's corpus": "UPDATE artifacts SET corpus = 'n' WHERE id = 3",
    "a gap in the vocabulary": "DELETE FROM terms WHERE id = 2",
    "no generation": "DELETE FROM counters",
    "problems that are no JSON": "UPDATE corpora SET problems = '['",
    "skips that are no JSON": "UPDATE entries SET skipped = '{' WHERE id = 3",
    "a short vector": "UPDATE vectors SET vector = x'00' WHERE digest ="
    " (SELECT min(digest) FROM vectors)",
    "records without artifact": "DELETE FROM artifacts WHERE id = 3",
    "artifacts without entry": "DELETE FROM entries WHERE id = 3",
    "a foreign trigger": "CREATE TRIGGER t BEFORE INSERT ON artifacts"
    " BEGIN SELECT raise(ABORT, 'no'); END",
    "a trigger in ours' place": "DROP TRIGGER artifact_gone; CREATE TRIGGER artifact_gone"
    " AFTER DELETE ON artifacts BEGIN DELETE FROM records; END",
    "a trigger too few": "DROP TRIGGER artifact_gone",
    "an index too few": "DROP INDEX records_by_digest",
    "a foreign view": 'CREATE VIEW "v ""x""" AS SELECT * FROM artifacts',
    "a foreign table": "CREATE TABLE t (a REFERENCES artifacts(id))",
    "a pointer out of its entry": "UPDATE artifacts SET pointer = '/etc/passwd' WHERE id = 3",
    "entries without corpus": "INSERT INTO entries(corpus, key, path, stamp, racy, recipe)"
    " VALUES ('n', 'k', '', '', 0, '')",
}


@pytest.mark.parametrize("wrong", WRONGS)
def test_what_does_not_fit_together_is_found_mended_and_read_again(path, sound, wrong):
    change(path, WRONGS[wrong])
    assert "itself" in [each.part for each in faults(path) if each.severe]
    with closing(Ledger(path)) as ledger:
        ledger.repair()
    assert faults(path) == []
    with closing(built(path).ledger) as ledger:
        assert contents(ledger, "m") == sound[1]
        assert ledger.artifacts.count_all("m", "hashing-512").vectors == len(ITEMS)
    assert faults(path) == []


GIVEN = {"t1": Expected.from_prompts(["sign the lease", "a lease to sign"])}
COUNTED = [[each.text, each.weight] for each in GIVEN["t1"].prompts]
OWN_CUT = msgpack.packb([COUNTED, GIVEN["t1"].rate.share, "", b"abc", b"de"])
WRONG_PROMPTS = {
    "a gate without corpus": "INSERT INTO prompt_gates VALUES ('gone', 'person', 1, '{}', 0.0)",
    "a use without corpus": "INSERT INTO imported_uses VALUES ('gone', 'p', '[]', 's', 0.0)",
    "a gate's report cut off": "UPDATE prompt_gates SET report = '{\"out'",
    "a gate's report of another shape": "UPDATE prompt_gates SET report = '[1]'",
    "counted prompts that are none": "UPDATE records SET prompts = x'c1' WHERE prompts IS NOT NULL",
    "counted prompts cut off": "UPDATE records SET prompts = x'93' WHERE prompts IS NOT NULL",
    "own counts cut off": "UPDATE records SET prompts = x'" + OWN_CUT.hex() + "'"
    " WHERE prompts IS NOT NULL",
}


@pytest.mark.parametrize("wrong", WRONG_PROMPTS)
def test_expected_prompts_that_are_garbled_are_mended_and_count_as_before(path, wrong):
    with closing(Ledger(path)) as ledger:
        ledger.prompts.publish("m", GIVEN, PERSON)
        ledger.prompts.set_gate("m", AGENT, Gate(False, {"outcome": "no better"}, 1.0))
        before = contents(ledger, "m")
    built(path).ledger.close()
    change(path, WRONG_PROMPTS[wrong])
    assert "itself" in [each.part for each in faults(path) if each.severe]
    with closing(Ledger(path)) as ledger:
        ledger.repair()
        assert not ledger.prompts.read_gates("m")[AGENT].is_open
    with closing(built(path).ledger) as ledger:
        assert contents(ledger, "m") == before
        assert ledger.prompts.list_all("m", PERSON) == GIVEN
    assert not [each for each in faults(path) if each.severe]


@given(st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=60), max_size=5))
def test_whatever_the_texts_are_a_ledger_just_built_is_sound(items):
    made = engine(mapped(items))
    made.request(Job("reconcile", "m"))
    made.drain()
    assert made.ledger.check() == []


def test_vectors_that_no_record_needs_are_told_of_and_are_no_fault(path):
    with closing(Ledger(path)) as ledger:
        ledger.vectors.put("hashing-512", [b"x" * 16], np.zeros((1, 512), np.float32))
    (found,) = faults(path)
    assert not found.severe
    assert "1 vector that no record needs" in found.what


def test_a_vector_that_holds_no_numbers_is_found_and_made_again(path):
    with closing(Ledger(path)) as ledger:
        digest, _ = next(ledger.vectors.iterate("hashing-512"))
        garbled = np.full(512, np.nan, np.float32).tobytes()
        ledger._store.run("UPDATE vectors SET vector = ? WHERE digest = ?", (garbled, digest))
        assert [each.what for each in ledger.check()] == ["1 vector is garbled"]
        ledger.repair()
        assert ledger.artifacts.count_all("m", "hashing-512").vectors == len(ITEMS) - 1


def test_a_missing_table_and_a_file_without_a_ledger_are_faults_of_the_file(path, tmp_path):
    change(path, "DROP TABLE vectors")
    assert [each.part for each in faults(path)] == ["sqlite"]
    other = tmp_path / "other.sqlite"
    change(str(other), "CREATE TABLE x(y)")
    assert "no ledger" in faults(str(other))[0].what


def test_of_a_later_format_nothing_is_said(path):
    change(path, "PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="99"):
        faults(path)


def test_an_older_format_is_no_fault(path):
    newer = (
        "ALTER TABLE failures DROP COLUMN tries",
        "ALTER TABLE corpora DROP COLUMN spec",
        "DROP TABLE links",
        "DROP INDEX artifacts_by_link_name",
        "ALTER TABLE corpora DROP COLUMN learning",
        "ALTER TABLE records DROP COLUMN prompts",
        "DROP TABLE expected_prompts",
        "DROP TABLE prompt_gates",
        "DROP INDEX artifacts_with_stated",
        "ALTER TABLE artifacts DROP COLUMN stated",
        "DROP TABLE imported_uses",
        "DROP TABLE known_projects",
        "DROP TABLE preferences",
        "DROP TABLE fading",
        "DROP TABLE moment_counts",
    )
    change(path, "PRAGMA user_version = 6", *newer)
    (found,) = faults(path)
    assert not found.severe


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(how=GARBLED)
def test_whatever_bytes_are_overwritten_nothing_but_a_finding_or_a_refusal_comes_of_it(path, how):
    with garbled(path, how), suppress(LedgerError):  # the bytes that tell the format
        faults(path)
