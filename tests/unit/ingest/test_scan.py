"""How far a scan is believed: what it saw is compared, what it may have missed is kept."""

import os
import shutil

import pytest

from irdaemon.config.corpus import Corpus
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import WholeText
from irdaemon.types import SourceError
from tests.support.corpora import skills, write_skill
from tests.support.planted import GITHUB
from tests.support.watched import Watched


class Faulty(InMemory):
    """A source of a person's own, with a mistake."""

    fault = ValueError(f"cannot parse {GITHUB}")

    def scan(self, under=None):
        raise self.fault


def of(source):
    return Watched(Corpus("m", "mapping", source, WholeText(), "hashing"))


@pytest.fixture
def corpus(tmp_path):
    for name in "ab":
        write_skill(tmp_path / "root" / name, name)
    made = Watched(skills(tmp_path / "root"))
    made.look()
    return made


def test_whatever_a_source_raises_is_an_error_of_the_source_without_what_it_was_reading(corpus):
    with pytest.raises(SourceError, match="everything failed: ValueError") as raised:
        of(Faulty({})).look()
    assert GITHUB not in str(raised.value)
    with pytest.raises(SourceError, match="/notes/a failed"):
        of(Faulty({})).look("/notes/a")


def test_an_error_of_a_source_stays_what_it_is():
    class Refusing(Faulty):
        fault = SourceError("the export is from a later version")

    with pytest.raises(SourceError, match=r"^the export is from a later version"):
        of(Refusing({})).look()


def test_a_look_at_one_path_says_nothing_of_the_others(corpus, tmp_path):
    write_skill(tmp_path / "root" / "a", "changed")
    shutil.rmtree(tmp_path / "root" / "b")
    report = corpus.look(tmp_path / "root" / "a" / "SKILL.md")
    assert (report.written, report.removed, len(corpus.held)) == (1, 0, 2)
    report = corpus.look()
    assert (report.written, report.removed, len(corpus.held)) == (0, 1, 1)


def test_several_changed_paths_are_looked_at_together(corpus, tmp_path):
    for name in "ac":
        write_skill(tmp_path / "root" / name, "new")
    paths = [tmp_path / "root" / name / "SKILL.md" for name in "aac"]
    assert corpus.look(*paths).written == 2


def test_a_full_look_reads_again_what_its_stamp_calls_unchanged(corpus, tmp_path):
    path = tmp_path / "root" / "a" / "SKILL.md"
    assert corpus.look().unchanged == 2
    assert corpus.look(full=True).unchanged == 2
    path.write_text(path.read_text().replace("description: a", "description: b"))
    assert corpus.look(full=True).written == 1


def test_a_name_that_is_not_valid_utf_8_is_a_problem_and_the_rest_is_taken_in():
    corpus = of(InMemory({"fine": "x", os.fsdecode(b"bad\xff"): "y"}))
    report = corpus.look()
    assert (report.written, set(corpus.held)) == (1, {"fine"})
    assert [problem.reason for problem in report.problems] == ["its name is not valid UTF-8"]


def test_a_changed_path_that_no_text_can_hold_is_looked_at_from_the_directory_above(
    corpus, tmp_path
):
    write_skill(tmp_path / "root" / "c", "new")
    odd = os.fsencode(tmp_path / "root" / "c") + b"/\xff"
    assert corpus.look(os.fsdecode(odd)).written == 1


def test_a_root_that_was_a_link_and_is_gone_keeps_what_lay_where_it_led(tmp_path):
    write_skill(tmp_path / "real" / "a", "a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    corpus = Watched(skills(tmp_path / "link"))
    corpus.look()
    (tmp_path / "link").unlink()
    report = corpus.look()
    assert (report.removed, len(corpus.held)) == (0, 1)
    assert any("kept until it is back" in problem.reason for problem in report.problems)
    assert corpus.look(prune=True).removed == 1
