"""Ledgers of every format there ever was: new code opens each, answers, and brings it level."""

import sqlite3
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.engine.recovery import open_ledger
from irdaemon.ledger import Ledger, LedgerError
from irdaemon.ledger.files import list_set_aside
from irdaemon.ledger.schema import MIGRATIONS
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Chunked, WholeText
from irdaemon.types import Query
from tests.ledgers import NOTES, PRINTED, TOOLS, UNCLEANED
from tests.support.hosts import Writing
from tests.support.ledgers import FILES, FORMATS, everything, read_format, unpacked
from tests.support.planted import GITHUB


def corpora(notes, tools):
    return (
        Corpus("notes", "mapping", InMemory(notes), Chunked(chunk_size=120, overlap=0), "hashing"),
        Corpus("tools", "mapping", InMemory(tools), WholeText(), "hashing"),
    )


def started(path, notes=NOTES, tools=TOOLS):
    made, loss = open_ledger(path, lambda ledger: Engine(ledger, corpora(notes, tools)), 1.0)
    made.state.host, made.state.corruption = Writing(), loss
    return made


def level(made):
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()
    return made


def build_anew(notes, tools):
    fresh = level(Engine(Ledger(":memory:"), corpora(notes, tools)))
    return everything(fresh.ledger, "hashing-512")


@cache
def build_default():
    return build_anew(NOTES, TOOLS)


def is_as_built_anew(made, notes=NOTES, tools=TOOLS):
    default = notes is NOTES and tools is TOOLS
    fresh = build_default() if default else build_anew(notes, tools)
    return everything(made.ledger, "hashing-512") == fresh


def first(made, text):
    return made.discover(Query(text)).results[0].artifact_id


def test_there_is_a_ledger_of_every_format_before_the_present_one():
    kept = {read_format(file) for file in FORMATS}
    assert kept >= set(range(1, len(MIGRATIONS)))


class FillingUp(sqlite3.Connection):
    """A connection whose disk is full from the statement on that `left` comes down to."""

    left = 0

    def execute(self, *statement):
        FillingUp.left -= 1
        if FillingUp.left < 0 and statement != ("ROLLBACK",):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return super().execute(*statement)


@pytest.mark.parametrize("file", [FORMATS[0], FORMATS[-1]], ids=lambda file: file.name)
def test_a_disk_that_is_full_at_any_step_of_an_upgrade_costs_nothing(file, tmp_path, monkeypatch):
    path = unpacked(file, tmp_path)
    with monkeypatch.context() as filling:
        filling.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=FillingUp))
        for FillingUp.left in range(0, 200, 3):
            with suppress(LedgerError):
                Ledger(path).close()
                break
    assert FillingUp.left < 100
    assert list_set_aside(path) == []
    made = level(started(path))
    assert is_as_built_anew(made)
    made.ledger.close()


@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_an_older_ledger_answers_at_once_and_after_a_look_is_as_one_built_anew(file, tmp_path):
    path = unpacked(file, tmp_path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (read_format(file),)
    made = started(path)
    assert made.ledger.format == len(MIGRATIONS)
    assert first(made, "fill in pdf forms") == "pdf"
    assert made.snapshot.corpora["tools"].unembedded == 0
    assert is_as_built_anew(level(made))
    assert first(made, "fill in pdf forms") == "pdf"
    assert [failure.key for failure in made.ledger.failures.list_all()] == ["broken"]
    assert made.ledger.check() == []
    assert (made.state.corruption, list_set_aside(path)) == (None, [])
    made.ledger.close()


@pytest.mark.parametrize("file", FORMATS, ids=lambda file: file.name)
def test_what_changed_while_the_older_version_was_gone_is_brought_level_too(file, tmp_path):
    notes = {**NOTES, "note-1": "It tells of carrots now.", "note-9": "It is new."}
    tools = {key: value for key, value in TOOLS.items() if key not in ("pdf", "broken")}
    made = level(started(unpacked(file, tmp_path), notes, tools))
    assert is_as_built_anew(made, notes, tools)
    assert made.ledger.failures.list_all() == []
    assert [each for each in made.ledger.check() if each.severe] == []
    made.ledger.close()


def test_a_check_of_an_older_ledger_finds_it_sound_and_leaves_it_as_it_is(tmp_path):
    path = unpacked(FORMATS[0], tmp_path)
    before = Path(path).read_bytes()
    with closing(Ledger(path, read_only=True)) as view:
        (found,) = view.check()
    assert (found.severe, found.what) == (
        False,
        f"its format is 1, the present one {len(MIGRATIONS)}",
    )
    assert Path(path).read_bytes() == before


def test_the_first_ledgers_whose_format_cannot_be_told_from_the_next_are_rebuilt(tmp_path):
    # For a day format 1 had no roots of corpora, and no number of its own.
    path = unpacked(FILES / "format-1-early.db.gz", tmp_path)
    made = started(path)
    assert first(made, "fill in pdf forms") == "pdf"
    assert is_as_built_anew(level(made))
    assert "corpora" in made.state.corruption.why
    assert list_set_aside(path) == [made.state.corruption.kept]
    made.ledger.close()


def holds_text(path, text):
    files = Path(path).parent.glob(Path(path).name + "*")
    return text.lower().encode() in b"".join(file.read_bytes() for file in files).lower()


def test_a_token_that_an_earlier_version_kept_is_gone_after_the_first_look(tmp_path, monkeypatch):
    path = unpacked(FILES / "uncleaned.db.gz", tmp_path)
    assert holds_text(path, GITHUB)
    printed = Corpus("printed", "mapping", InMemory(UNCLEANED), WholeText(), "hashing")
    made = Engine(Ledger(path), (printed,))
    assert [pin.text for pin in made.ledger.pins.list_all()] == [PRINTED]
    embedded = []
    embedder = made.state.embedders.get_embedder("hashing")
    embed = type(embedder).embed
    monkeypatch.setattr(
        type(embedder), "embed", lambda self, texts: embedded.extend(texts) or embed(self, texts)
    )
    level(made)
    (pin,) = made.ledger.pins.list_all()
    clean = PRINTED.replace(GITHUB, "[secret: GitHub Token]")
    # The vectors of the other texts are those that were there.
    assert (embedded, pin.text) == ([clean], clean)
    made.ledger.close()
    assert not holds_text(path, GITHUB)
