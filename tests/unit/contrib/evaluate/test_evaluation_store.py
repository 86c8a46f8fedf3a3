"""The last evaluation of each corpus."""

import json
import stat

import pytest

from irclient.errors import NotFound
from irdaemon.contrib.evaluate.store import EvaluationStore

MADE = {"corpora": ["notes", "skills"], "discovery": {"n": 1}}


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    return EvaluationStore(str(tmp_path / "evaluations") if request.param == "file" else "")


def test_the_last_evaluation_is_kept_for_each_of_its_corpora(store):
    store.keep(MADE)
    store.keep({**MADE, "corpora": ["notes"], "discovery": {"n": 2}})
    assert store.read_last("notes")["discovery"] == {"n": 2}
    assert store.read_last("skills") == MADE


def test_a_corpus_that_was_not_evaluated_or_was_forgotten_has_none(store):
    store.keep(MADE)
    store.forget_corpus("notes")
    store.forget_corpus("never")
    for corpus in ("notes", "never"):
        with pytest.raises(NotFound, match=corpus):
            store.read_last(corpus)


def test_only_the_owner_may_read_it_and_a_damaged_one_is_none(tmp_path):
    store = EvaluationStore(str(tmp_path / "evaluations"))
    store.keep(MADE)
    (kept,) = (tmp_path / "evaluations").glob("notes*")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert json.loads(kept.read_text()) == MADE
    kept.write_text("{")
    with pytest.raises(NotFound):
        store.read_last("notes")


def test_a_directory_that_cannot_be_made_loses_the_report_and_nothing_else(tmp_path):
    (tmp_path / "evaluations").write_text("")
    store = EvaluationStore(str(tmp_path / "evaluations"))
    store.keep(MADE)
    with pytest.raises(NotFound):
        store.read_last("notes")
