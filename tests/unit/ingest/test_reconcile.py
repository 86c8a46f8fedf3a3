import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.reconcile import ScanObserver, reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.source.files import Files
from irdaemon.source.guidance.rules import Rules
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import Chunked, WholeText
from irdaemon.types import IndexPlan, Root, SourceError
from tests.support.corpora import LATER, mapped, skills, write_skill
from tests.support.watched import Watched

ROOT = Path(__file__).parents[3]


def test_a_second_look_reads_nothing_and_changes_nothing():
    corpus = Watched(mapped({"a": "x", "b": "y"}))
    assert str(corpus.look()) == "2 written, 0 removed, 0 unchanged, 0 failed"
    assert str(corpus.look()) == "0 written, 0 removed, 2 unchanged, 0 failed"
    assert str(corpus.look(full=True)) == "0 written, 0 removed, 2 unchanged, 0 failed"


def test_a_change_older_than_an_event_takes_is_late_and_one_just_made_is_not(tmp_path):
    old, new = write_skill(tmp_path / "a", "old"), write_skill(tmp_path / "b", "new")
    for path in (old / "SKILL.md", old):
        os.utime(path, (1000, 1000))
    corpus = Watched(skills(tmp_path))
    assert corpus.look(now=new.stat().st_mtime + 1).missed_events == 1
    assert corpus.look(now=new.stat().st_mtime + 1).missed_events == 0


def test_a_change_of_unknown_age_is_never_late():
    assert Watched(mapped({"a": "x"})).look().missed_events == 0


def test_a_change_of_metadata_alone_is_written():
    items = {"a": {"text": "x", "project": "old"}}
    corpus = Watched(mapped(items))
    corpus.look()
    items["a"] = {"text": "x", "project": "new"}
    assert corpus.look().written == 1
    assert corpus.ledger.artifacts.get("m", "a").fields == {"project": "new"}


def test_another_strategy_makes_every_artifact_stale():
    items = {"a": "x", "b": "y"}
    corpus = Watched(mapped(items))
    corpus.look()
    corpus.corpus = mapped(items, strategy=Chunked())
    assert corpus.look().written == 2


class Fussy(WholeText):
    def __init__(self, answer=None):
        super().__init__()
        self.answer = answer

    def decompose(self, artifact_id, raw, metadata=None):
        if "bad" not in raw:
            return super().decompose(artifact_id, raw, metadata)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [ValueError("no"), None, IndexPlan({}, (None,))])
def test_a_strategy_that_fails_on_one_artifact_is_a_failure_of_that_one(answer):
    corpus = Watched(mapped({"a": "good", "b": "bad"}, strategy=Fussy(answer)))
    assert (corpus.look().failed, set(corpus.held)) == (1, {"a"})
    assert "b: it could not be decomposed" in corpus.failures["b"]


def test_a_failure_ends_when_the_strategy_is_changed():
    items = {"b": "bad"}
    corpus = Watched(mapped(items, strategy=Fussy()))
    corpus.look()
    corpus.corpus = mapped(items)
    assert corpus.look().written == 1
    assert corpus.failures == {}


def test_a_failure_is_new_once_and_again_after_it_had_ended():
    items = {"b": "bad"}
    corpus = Watched(mapped(items, strategy=Fussy()))
    assert [failure.key for failure in corpus.look().new_failures] == ["b"]
    again = corpus.look(full=True)
    assert (again.failed, again.new_failures) == (1, [])
    corpus.corpus = mapped(items)
    corpus.look()
    corpus.corpus = mapped(items, strategy=Fussy())
    assert [failure.key for failure in corpus.look(full=True).new_failures] == ["b"]


@pytest.mark.parametrize(
    "error", [SourceError("b: broken", "mend it"), KeyError("own"), OSError(5)]
)
def test_an_entry_that_cannot_be_read_is_a_failure_and_the_others_go_on(error):
    class Broken(InMemory):
        def read(self, entry, cursor=None):
            if entry.key == "b":
                raise error
            return super().read(entry, cursor)

    corpus = mapped({})
    object.__setattr__(corpus, "source", Broken({"a": "1", "b": "2", "c": "3"}))
    corpus = Watched(corpus)
    assert corpus.look().failed == 1
    assert set(corpus.held) == {"a", "c"}
    assert "b" in corpus.failures["b"]


def test_what_failed_and_is_gone_is_no_failure_any_more():
    items = {"b": "bad"}
    corpus = Watched(mapped(items, strategy=Fussy()))
    corpus.look()
    items.clear()
    corpus.look()
    assert corpus.failures == {}


def test_a_missing_or_emptied_root_keeps_what_was_in_it_until_a_user_insists(tmp_path):
    write_skill(tmp_path / "root" / "a", "one")
    write_skill(tmp_path / "other" / "b", "two")
    corpus = Watched(skills(tmp_path / "root", tmp_path / "other"))
    corpus.look()
    shutil.rmtree(tmp_path / "root" / "a")
    report = corpus.look()
    assert (report.removed, len(corpus.held)) == (0, 2)
    assert [problem.path for problem in report.problems] == [str(tmp_path / "root")]
    shutil.rmtree(tmp_path / "root")
    assert corpus.look().problems
    assert corpus.look(tmp_path / "root").removed == 0
    assert corpus.look(prune=True).removed == 1
    assert len(corpus.held) == 1


def test_a_root_that_is_a_file_can_be_deleted_like_any_other(tmp_path):
    path = tmp_path / "CLAUDE.md"
    path.write_text("Be brief.\n")
    source = Rules((Root(str(path)),), {})
    corpus = Watched(Corpus("rules", "rules", source, WholeText(), "hashing"))
    corpus.look()
    path.unlink()
    report = corpus.look()
    assert (report.removed, report.problems) == (1, ())
    assert corpus.held == {}


def test_a_root_that_is_back_is_as_it_was(tmp_path):
    write_skill(tmp_path / "root" / "a", "one")
    corpus = Watched(skills(tmp_path / "root"))
    corpus.look()
    os.rename(tmp_path / "root", tmp_path / "away")
    assert corpus.look().problems
    os.rename(tmp_path / "away", tmp_path / "root")
    report = corpus.look()
    assert (report.written, report.removed, report.problems) == (0, 0, ())


def test_the_last_skill_of_a_root_may_go_when_its_going_was_seen(tmp_path):
    write_skill(tmp_path / "root" / "a", "one")
    corpus = Watched(skills(tmp_path / "root"))
    corpus.look()
    shutil.rmtree(tmp_path / "root" / "a")
    assert corpus.look(tmp_path / "root" / "a" / "SKILL.md").removed == 1
    assert corpus.held == {}


def test_a_root_that_is_lost_while_it_is_read_loses_nothing(tmp_path):
    for name in "abc":
        write_skill(tmp_path / "root" / name, name)
    corpus = Watched(skills(tmp_path / "root"))
    corpus.look()

    def unmount(done, todo):
        if done == 1:
            shutil.rmtree(tmp_path / "root")
            (tmp_path / "root").mkdir()

    reconcile(
        corpus.ledger, corpus.corpus, ScanRequest(full=True), lambda: LATER, ScanObserver(unmount)
    )
    assert len(corpus.held) == 3


def test_pruning_one_changed_path_does_not_reach_beyond_it(tmp_path):
    for name in "ab":
        write_skill(tmp_path / "root" / name, name)
    corpus = Watched(skills(tmp_path / "root"))
    corpus.look()
    assert corpus.look(tmp_path / "root" / "a", prune=True).removed == 0
    assert len(corpus.held) == 2


def test_what_comes_back_during_a_long_look_is_not_forgotten(tmp_path):
    for name in "abc":
        write_skill(tmp_path / "root" / name, name)
    corpus = Watched(skills(tmp_path / "root"))
    corpus.look()
    before = corpus.held
    shutil.rmtree(tmp_path / "root" / "a")

    def restore(done, todo):
        if done == 0:
            write_skill(tmp_path / "root" / "a", "a")
            corpus.look(tmp_path / "root" / "a")

    reconcile(
        corpus.ledger, corpus.corpus, ScanRequest(full=True), lambda: LATER, ScanObserver(restore)
    )
    assert corpus.held == before


def notes(root):
    return Corpus("notes", "files", Files((Root(str(root)),), {}), WholeText(), "hashing")


def write(path, text, at):
    path.write_text(text)
    os.utime(path, (at, at))


@pytest.mark.parametrize("known_before", [True, False])
def test_what_a_more_urgent_look_stored_is_not_overwritten_by_an_older_one(tmp_path, known_before):
    note = tmp_path / "a.md"
    corpus = Watched(notes(tmp_path))
    write(note, "old", at=100)
    if known_before:
        corpus.look()
    write(note, "new", at=200)

    def edit_again(done, todo):
        write(note, "newest", at=300)
        corpus.look(note)

    reconcile(
        corpus.ledger,
        corpus.corpus,
        ScanRequest(full=True),
        lambda: LATER,
        ScanObserver(edit_again),
    )
    assert corpus.ledger.artifacts.get("notes", "a.md").fields["timestamp"].endswith("00:05:00Z")
    assert corpus.look().unchanged == 1


def test_what_a_more_urgent_look_forgot_stays_forgotten(tmp_path):
    (tmp_path / "a.md").write_text("a")
    corpus = Watched(notes(tmp_path))
    corpus.look()

    def hide_and_restore(done, todo):
        (tmp_path / "a.md").rename(tmp_path / "b.md")
        corpus.look(tmp_path / "a.md", tmp_path / "b.md")
        (tmp_path / "b.md").rename(tmp_path / "a.md")

    reconcile(
        corpus.ledger,
        corpus.corpus,
        ScanRequest(full=True),
        lambda: LATER,
        ScanObserver(hide_and_restore),
    )
    assert set(corpus.held) == {"b.md"}
    corpus.look()
    assert set(corpus.held) == {"a.md"}


NAMES = st.sampled_from("abcde")
EDITS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(["red", "green fish", "blue bird"])),
    st.tuples(st.just("delete"), NAMES, st.none()),
    st.tuples(st.just("rename"), NAMES, NAMES),
)


def edit(root, what, name, more):
    path = root / name
    if what == "write":
        write_skill(path, more)
    elif what == "delete":
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists() and not (root / more).exists():
        path.rename(root / more)
        return [path, root / more]
    return [path]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(EDITS, st.booleans()), max_size=15))
def test_after_any_edits_the_ledger_is_what_a_fresh_build_gives(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("skills")
    write_skill(root / "always", "here")
    corpus = Watched(skills(root))
    corpus.look()
    for step, seen in steps:
        paths = edit(root, *step)
        if seen:
            corpus.look(*paths, now=time.time())
    corpus.look(now=time.time())
    fresh = Watched(skills(root))
    fresh.look()
    assert corpus.held == fresh.held
