"""A first scan of many entries: heads, then bodies; whatever ends it, the next ends the build."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from irclient.errors import Unavailable
from irdaemon.config.corpus import Quota
from irdaemon.embed.hashing import Hashing
from irdaemon.engine.queue import Job
from irdaemon.ingest import bulk
from irdaemon.ingest.reconcile import ScanObserver, reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.strategy import Skill
from irdaemon.types import Query
from tests.support.corpora import LATER, contents, engine, skills, write_skill
from tests.support.watched import Watched

ROOT = Path(__file__).parents[3]
MANY, SMALL = 180, 40
FEWEST, FEWEST_HEADS = 60, 120
BODY = " ".join(f"word{number}" for number in range(400))


@pytest.fixture(autouse=True)
def _processes(monkeypatch):
    """Have heads and processes for fewer entries than in use, and end the processes."""
    monkeypatch.setattr(bulk, "FEWEST", FEWEST)
    monkeypatch.setattr(bulk, "_FEWEST_HEADS", FEWEST_HEADS)
    yield
    while bulk._idle:
        bulk._idle.pop().end()


@pytest.fixture
def root(tmp_path):
    """Enough skills for heads; of the first few a head is all."""
    for number in range(MANY):
        directory = write_skill(tmp_path / "root" / f"skill-{number}", f"task {number}")
        if number >= SMALL:
            file = directory / "SKILL.md"
            file.write_text(f"{file.read_text()}\n{BODY} body{number}\n")
    return tmp_path / "root"


def look(ledger, corpus, workers=2, **observed):
    ledger.corpora.declare(corpus.name, "k", corpus.recipe, "hashing-512")
    request = ScanRequest(workers=workers)
    return reconcile(ledger, corpus, request, lambda: LATER, ScanObserver(**observed))


def built_in_one_go(root):
    one = Watched(skills(root, strategy=Skill()))
    report = one.look()
    return str(report), one.held


def rows(ledger):
    """Return the row of each artifact: a reading that replaces it gives another."""
    return {row[1]: row[0] for row in ledger.index_rows.list_artifacts("s")}


def test_heads_are_there_before_a_body_is_read_and_the_end_is_that_of_one_pass(root):
    ledger, seen = Ledger(":memory:"), []

    def show_heads():
        assert len(rows(ledger)) == MANY
        assert ledger.entries.count_heads("s") == MANY - SMALL
        assert "body77" not in ledger.terms.get_table()
        seen.append(rows(ledger))

    report = look(ledger, skills(root, strategy=Skill()), show_heads=show_heads)
    assert (str(report), contents(ledger, "s")) == built_in_one_go(root)
    assert ledger.entries.count_heads("s") == 0
    assert "body77" in ledger.terms.get_table()
    kept = seen[0].items() & rows(ledger).items()
    assert len(kept) == SMALL  # those were read once


def test_bodies_are_read_by_as_many_processes_as_heads_and_changes_by_one_less(root):
    ledger, corpus, counts = Ledger(":memory:"), skills(root, strategy=Skill()), []
    for text in ("", "now "):
        for number in range(MANY if text else 0):
            write_skill(root / f"skill-{number}", f"{text}{number}")
        look(ledger, corpus, workers=1)
        counts.append(bulk._idle[0].count)
    assert counts == [2, 1]


def test_what_replaces_its_own_head_leaves_nothing_to_erase(root):
    ledger = Ledger(":memory:")
    look(ledger, skills(root, strategy=Skill()))
    assert ledger.count_forgotten() == (0, 0)


def test_what_was_asked_about_is_read_first(root):
    read, asked = [], [set()]
    wanted = str(root / "skill-150")

    def pop_shown_heads():
        return asked.pop() if asked else ()

    ledger = Ledger(":memory:")
    look(
        ledger,
        skills(root, strategy=Skill()),
        read=lambda upsert: read.append(upsert.entry.path),
        show_heads=lambda: asked.append({wanted}),
        pop_shown_heads=pop_shown_heads,
    )
    assert read[SMALL] == wanted  # behind those whose heads were all


def test_what_was_asked_about_while_heads_were_read_is_not_forgotten(root):
    read, shown = [], [{str(root / "skill-150")}]
    look(
        Ledger(":memory:"),
        skills(root, strategy=Skill()),
        read=lambda upsert: read.append(upsert.entry.path),
        pop_shown_heads=lambda: shown.pop() if shown else (),
    )
    assert read[SMALL] == str(root / "skill-150")


def test_a_scan_of_one_file_forgets_nothing_of_what_was_asked_about(root):
    ledger, asked = Ledger(":memory:"), []
    corpus = skills(root, strategy=Skill())
    ledger.corpora.declare(corpus.name, "k", corpus.recipe, "hashing-512")
    observer = ScanObserver(pop_shown_heads=lambda: asked.append(1) or ())
    reconcile(ledger, corpus, ScanRequest((str(root / "skill-1"),)), lambda: LATER, observer)
    assert asked == []


def test_heads_are_not_read_first_where_that_is_not_wanted(root):
    seen = []
    ledger, corpus = Ledger(":memory:"), skills(root, strategy=Skill())
    observer = ScanObserver(show_heads=lambda: seen.append("heads"))
    ledger.corpora.declare(corpus.name, "k", corpus.recipe, "hashing-512")
    reconcile(ledger, corpus, ScanRequest(workers=2, heads=False), lambda: LATER, observer)
    assert (seen, contents(ledger, "s")) == ([], built_in_one_go(root)[1])


def test_an_edit_while_bodies_are_read_wins(root):
    ledger, corpus, state = Ledger(":memory:"), skills(root, strategy=Skill()), []

    def edit(done, todo):
        if state != ["heads"] or not done:
            return False
        state.append("edited")
        write_skill(root / "skill-160", "now something else")
        write_skill(root / "skill-41", "now something else")
        (root / "skill-161" / "SKILL.md").unlink()
        for name in ("skill-160", "skill-161", "skill-41"):
            reconcile(ledger, corpus, ScanRequest((str(root / name),)), lambda: LATER)
        return True

    look(ledger, corpus, advance=edit, show_heads=lambda: state.append("heads"))
    assert state == ["heads", "edited"]
    assert contents(ledger, "s") == built_in_one_go(root)[1]


def test_of_what_cannot_be_read_whole_the_head_does_not_stay(root):
    ledger, broken = Ledger(":memory:"), root / "skill-140" / "SKILL.md"
    look(
        ledger,
        skills(root, strategy=Skill()),
        show_heads=lambda: broken.write_bytes(b"x" * 4_000_001),
    )
    assert contents(ledger, "s") == built_in_one_go(root)[1]
    assert [failure.path for failure in ledger.failures.list_all("s")] == [str(broken.parent)]


def test_a_limit_counts_an_entry_once(root):
    corpus = replace(skills(root, strategy=Skill()), quota=Quota(artifacts=MANY - 10))
    ledger = Ledger(":memory:")
    report = look(ledger, corpus)
    assert (report.written, report.refused) == (MANY - 10, 10)
    assert (len(rows(ledger)), ledger.entries.count_heads("s")) == (MANY - 10, 0)


def test_few_entries_and_later_scans_are_read_in_one_pass(root, tmp_path):
    def fail():
        raise AssertionError("heads were read")

    for number in range(100):
        write_skill(tmp_path / "few" / f"skill-{number}", BODY)
    look(Ledger(":memory:"), skills(tmp_path / "few", strategy=Skill()), show_heads=fail)
    look(Ledger(":memory:"), skills(root, strategy=Skill()), workers=0, show_heads=fail)
    ledger = Ledger(":memory:")
    look(ledger, skills(root, strategy=Skill()))
    for number in range(MANY):
        write_skill(root / f"new-{number}", BODY)
    look(ledger, skills(root, strategy=Skill()), show_heads=fail)
    assert contents(ledger, "s") == built_in_one_go(root)[1]


# The process is killed in a phase, once so many entries are there or so many bodies are read.
KILLED = """
import os, signal, sys
from irdaemon.ingest import bulk
from tests.integration.ingest.test_heads_first import MANY, look
from tests.support.corpora import skills
from irdaemon.ledger import Ledger
from irdaemon.strategy import Skill
root, path, phase, number = *sys.argv[1:4], int(sys.argv[4])
ledger = Ledger(path)
phases = ["bodies" if ledger.artifacts.count("s") == MANY else "heads"]
bulk._FEWEST_HEADS = bulk.FEWEST = 30
bulk._TOGETHER = 1  # or one transaction might store all that are left
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def advance(done, todo):
    held, heads = ledger.artifacts.count("s"), ledger.entries.count_heads("s")
    reached = held if phases[-1] == "heads" else held - heads
    if phases[-1] == phase and reached >= number:
        die()
    return False
def show_heads():
    if phase == "between":
        die()
    phases.append("bodies")
look(ledger, skills(root, strategy=Skill()), advance=advance, show_heads=show_heads)
"""


@pytest.mark.parametrize(
    "deaths",
    [
        [("heads", 40)],
        [("bodies", 80)],
        [("heads", 40), ("heads", 100), ("between", 0), ("bodies", 60), ("bodies", 100)],
    ],
    ids=["heads", "bodies", "every-phase"],
)
def test_a_build_that_is_killed_in_a_phase_ends_as_if_it_had_not_been(root, tmp_path, deaths):
    path = str(tmp_path / "l.sqlite")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}"}
    for phase, number in deaths:
        command = [sys.executable, "-c", KILLED, str(root), path, phase, str(number)]
        assert subprocess.run(command, env=environment, cwd=ROOT).returncode == -signal.SIGKILL
    ledger = Ledger(path)
    assert ledger.entries.count_heads("s") > 0
    look(ledger, skills(root, strategy=Skill()))
    assert contents(ledger, "s") == built_in_one_go(root)[1]
    assert ledger.entries.count_heads("s") == 0
    ledger.close()


def test_answers_go_by_name_and_description_and_say_so_until_bodies_are_read(root):
    answers = []

    def ask(topic, data):
        if topic == "generation" and len(built.snapshot.corpora["s"].rows.numbers.array) >= MANY:
            answers.append(built.search(Query("task 77", corpora=("s",), mode="lexical")))

    built = engine(skills(root, strategy=Skill()), notify=ask, workers=2, calibrating=False)
    built.request(Job("reconcile", "s"))
    built.drain()
    first, last = answers[0], answers[-1]
    assert str(root / "skill-77") in {hit.artifact_id for hit in first.results}
    assert first.freshness["heads"] == ["s"]
    assert first.freshness["building"] == ["s"]
    assert "heads" not in last.freshness
    assert not built.search(Query("body77", mode="lexical")).freshness["building"]
    assert not built.state.shown_heads


class Instant(Hashing):
    """An embedder that takes no time, and fails where it is told to."""

    instant, fails = True, False

    def embed(self, texts):
        if self.fails:
            raise Unavailable("it is out of order")
        return super().embed(texts)


def test_names_and_descriptions_have_vectors_before_bodies_are_read(root):
    seen = []

    def look_at(topic, data):
        index = built.snapshot.corpora["s"]
        seen.append((index.heads, index.unembedded, index.n_artifacts))

    corpus, given = skills(root, strategy=Skill()), {"hashing": Instant()}
    built = engine(corpus, notify=look_at, workers=2, calibrating=False, embedders=given)
    built.request(Job("reconcile", "s"))
    built.drain()
    assert (MANY - SMALL, 0, MANY) in seen
    assert seen[-1] == (0, 0, MANY)


def test_an_embedder_that_fails_holds_up_no_body(root):
    failing = Instant()
    failing.fails = True
    corpus, given = skills(root, strategy=Skill()), {"hashing": failing}
    built = engine(corpus, workers=2, calibrating=False, embedders=given)
    built.request(Job("reconcile", "s"))
    built.drain()
    assert (built.snapshot.corpora["s"].heads, built.snapshot.corpora["s"].n_artifacts) == (0, MANY)
    assert built.search(Query("body77", mode="lexical")).results


def test_the_index_ranks_and_scores_as_that_of_a_build_in_one_pass(root):
    def answers(workers):
        built = engine(skills(root, strategy=Skill()), workers=workers)
        built.request(Job("reconcile", "s"))
        built.drain()
        asked = [f"task {number} body{number + 1} word{number}" for number in range(0, MANY, 13)]
        found = [built.search(Query(text, k=20)) for text in asked]
        return [
            [(hit.artifact_id, hit.score, hit.scores) for hit in each.results] for each in found
        ]

    assert answers(2) == answers(0)
