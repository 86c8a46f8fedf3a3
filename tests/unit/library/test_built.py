"""A corpus that another program built is opened by its name, for reading only."""

import os
import sqlite3
from contextlib import closing

import pytest

import irdaemon as ir
from irclient.errors import NotFound, Unavailable
from irdaemon.embed import make_embedder
from irdaemon.library import built as registry
from irdaemon.strategy import WholeText


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(registry, "_by_name", {})
    return tmp_path / "state" / "irdaemon" / "library"


@pytest.fixture
def notes(tmp_path):
    directory = tmp_path / "notes"
    directory.mkdir()
    (directory / "a.md").write_text("How the invoices are paid")
    (directory / "b.md").write_text("Where the keys of the house are")
    return directory


def build(source):
    """Build a corpus as another program does: nothing of it is left in this one."""
    ir.build(source, embedder="hashing").close()


def from_notes(notes):
    return ir.CorpusSource.from_files(notes, name="notes")


def test_a_corpus_of_another_program_answers_as_it_did_there(state, notes):
    built = ir.build(from_notes(notes), embedder="hashing")
    there = [hit.to_dict() for hit in ir.search(built, "pay invoices")]
    built.close()
    opened = ir.open_corpus("notes")
    assert [hit.to_dict() for hit in ir.search(opened, "pay invoices")] == there != []
    assert len(opened) == 2
    assert ir.open_corpus("notes") is opened
    assert "opened for reading, built by irdaemon" in repr(opened)
    assert opened.search("invoices").results
    opened.close()


def test_what_is_found_in_it_can_be_disclosed(state, notes):
    build(from_notes(notes))
    opened = ir.open_corpus("notes")
    (hit,) = ir.search(opened, "pay invoices", k=1)
    (payload,) = ir.disclose([hit])
    assert (payload.body, payload.note) == ("How the invoices are paid", "")
    answer = ir.discover("notes", "pay invoices", disclose_level="body", min_score=None)
    assert answer.results[0].disclosure.body == "How the invoices are paid"
    assert ir.records_for_artifact("notes", hit.artifact_id)
    opened.close()


def test_opening_changes_nothing_in_the_ledger(state, notes):
    build(from_notes(notes))
    before = (state / "notes.sqlite").read_bytes()
    opened = ir.open_corpus("notes")
    ir.discover(opened, "pay invoices", disclose_level="body")
    with pytest.raises(Unavailable, match="open for reading only"):
        opened.engine.request(registry.Job("reconcile", "notes"))
    opened.close()
    assert (state / "notes.sqlite").read_bytes() == before


def test_it_can_be_built_again_from_what_the_ledger_says_of_its_source(state, notes):
    build(from_notes(notes))
    opened = ir.open_corpus("notes")
    (notes / "c.md").write_text("Who repairs the boiler")
    built = opened.rebuild()
    assert built.report == "1 written, 0 removed, 2 unchanged, 0 failed"
    assert ir.search("notes", "boiler")[0].name
    assert ir.open_corpus("notes") is built
    built.close()


def test_what_was_built_since_is_seen_when_it_is_opened_again(state, notes):
    build(from_notes(notes))
    opened = ir.open_corpus("notes")
    other = ir.Engine(
        registry.Ledger(str(state / "notes.sqlite")),
        [
            registry.CorpusSpec.read(
                "notes", opened.engine.ledger.corpora.read_spec("notes")
            ).make_corpus("notes")
        ],
    )
    other.ledger.advance_generation()
    other.ledger.close()
    assert ir.open_corpus("notes") is not opened
    ir.open_corpus("notes").close()


def test_a_mapping_of_another_program_is_searched_and_not_built_again(state):
    items = {"pdf": {"description": "fill in pdf forms", "text": "the long manual"}}
    build(ir.CorpusSource.from_mapping(items, name="tools"))
    opened = ir.open_corpus("tools")
    assert ir.disclose(ir.search(opened, "pdf forms"))[0].body == "the long manual"
    with pytest.raises(Unavailable, match="lives in the memory of the program that built it"):
        opened.rebuild()
    opened.close()


class Own(WholeText):
    """A strategy that no registry names."""


def test_a_strategy_that_cannot_be_written_down_is_no_hindrance_to_searching(state, notes):
    build(ir.CorpusSource.from_files(notes, name="notes", strategy=Own()))
    opened = ir.open_corpus("notes")
    assert ir.search(opened, "pay invoices")
    with pytest.raises(Unavailable, match="its strategy Own"):
        opened.rebuild()
    opened.close()


def test_parameters_of_a_strategy_are_kept(state, notes):
    strategy = ir.Chunked(chunk_size=300, overlap=10)
    build(ir.CorpusSource.from_files(notes, name="notes", strategy=strategy))
    built = ir.open_corpus("notes").rebuild()
    assert "0 written" in built.report
    built.close()


def changed(path, statement, *values):
    with closing(sqlite3.connect(path)) as ledger, ledger:
        ledger.execute(statement, values)


@pytest.mark.parametrize(("format", "hint"), [(2, "build the corpus again"), (99, "newer")])
def test_a_ledger_of_another_version_is_refused_with_both_formats(state, notes, format, hint):
    build(from_notes(notes))
    changed(state / "notes.sqlite", f"PRAGMA user_version = {format}")
    with pytest.raises(Unavailable, match=f"has format {format}, irdaemon .* reads") as refused:
        ir.open_corpus("notes")
    assert hint in refused.value.hint


def test_a_corpus_indexed_by_other_rules_is_refused_with_the_version_that_built_it(state, notes):
    build(from_notes(notes))
    spec = '{"version": "0.0.1", "rules": ["other", 1]}'
    changed(state / "notes.sqlite", "UPDATE corpora SET spec = ?", spec)
    with pytest.raises(Unavailable, match=r"built by irdaemon 0\.0\.1"):
        ir.open_corpus("notes")
    changed(state / "notes.sqlite", "UPDATE corpora SET spec = ''")
    with pytest.raises(Unavailable, match="a version that did not say"):
        ir.open_corpus("notes")


def test_what_is_no_ledger_is_refused(state):
    state.mkdir(parents=True)
    (state / "odd.sqlite").write_text("no ledger at all, only some text" * 40)
    with pytest.raises(Unavailable, match="'odd' cannot be opened"):
        ir.open_corpus("odd")


@pytest.mark.parametrize("name", ["nothing", "../notes", ""])
def test_a_name_that_nothing_was_built_under_is_not_found(state, notes, name):
    build(from_notes(notes))
    with pytest.raises(NotFound, match="no corpus") as missing:
        ir.open_corpus(name)
    assert "built: notes" in missing.value.hint
    assert os.listdir(state) == ["notes.sqlite"]


def test_a_ledger_elsewhere_is_opened_by_its_path(tmp_path, notes):
    store = str(tmp_path / "own.sqlite")
    ir.build(from_notes(notes), store=store, embedder="hashing").close()
    opened = ir.open_corpus("notes", store=store)
    assert ir.search(opened, "pay invoices")
    opened.close()


def test_two_opened_corpora_are_asked_as_one(state, notes):
    build(from_notes(notes))
    build(ir.CorpusSource.from_mapping({"pay": "How to pay an invoice online"}, name="tools"))
    hits = ir.search(["notes", "tools"], "pay invoices")
    assert {hit.corpus for hit in hits} == {"notes", "tools"}
    for name in ("notes", "tools"):
        ir.open_corpus(name).close()


FETCHED = [
    {"id": "s1", "text": "no session is judged twice", "project": "docs"},
    {"id": "s2", "text": "a dark theme", "project": "page"},
]


def test_records_of_a_named_function_are_built_again_by_another_program(state):
    named = "tests.unit.library.test_built:FETCHED"
    options = {"metadata_keys": ["project"]}
    source = ir.CorpusSource.from_records(named, name="records", options=options)
    build(source)
    built = ir.open_corpus("records").rebuild()
    assert built.report == "0 written, 0 removed, 2 unchanged, 0 failed"
    hits = ir.search(built, "judged twice", mode="lexical", filter={"project": "docs"})
    assert [hit.artifact_id for hit in hits] == ["s1"]
    built.close()


def test_an_opened_corpus_loads_its_embedder_for_a_query_by_meaning_and_only_then(
    state, notes, monkeypatch
):
    made = []

    def making(name):
        made.append(name)
        return make_embedder(name)

    build(from_notes(notes))
    monkeypatch.setattr(registry, "make_embedder", making)
    opened = ir.open_corpus("notes")
    assert len(opened) == 2
    assert ir.search(opened, "invoices", mode="lexical")
    assert made == []
    for _ in range(2):
        assert ir.search(opened, "pay invoices", mode="dense")
    assert made == ["hashing"]
    opened.close()
