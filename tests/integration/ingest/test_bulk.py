"""Entries that child processes read: the ledger is the one that a build in one process gives."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from irdaemon.config.config import parse_config
from irdaemon.config.corpus import make_corpus
from irdaemon.ingest import bulk
from irdaemon.ingest.reconcile import ScanObserver, reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.strategy import Skill
from tests.support.corpora import LATER, contents, mapped, skills, write_skill
from tests.support.watched import Watched

ROOT = Path(__file__).parents[3]
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"


MANY, FEWEST = 300, 60


@pytest.fixture(autouse=True)
def _processes(monkeypatch):
    """Have processes for fewer entries than in use, and end them."""
    monkeypatch.setattr(bulk, "FEWEST", FEWEST)
    yield
    while bulk._idle:
        bulk._idle.pop().end()


@pytest.fixture
def root(tmp_path):
    """Enough skills to be read in bulk, with a secret, a broken one and one that opted out."""
    for number in range(MANY):
        write_skill(tmp_path / "root" / f"skill-{number}", f"use {number} for task {number % 7}")
    write_skill(tmp_path / "root" / "secret", f"the token is {TOKEN}")
    write_skill(tmp_path / "root" / "out", "not to be read")
    (tmp_path / "root" / "out" / ".noirdaemon").touch()
    (write_skill(tmp_path / "root" / "large", "x") / "SKILL.md").write_bytes(b"x" * 4_000_001)
    return tmp_path / "root"


def readers():
    """Return the pids of the children that read."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            parent = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if b"reader_process" in command and int(parent) == os.getpid():
            found.append(int(process))
    return found


def everything(ledger):
    """Return all rows of a ledger but for vectors and times, row numbers and term ids included."""
    select = ledger._store.fetch_all
    return [
        select("SELECT id, key, path, stamp, recipe, cursor, skipped FROM entries ORDER BY id"),
        select(
            "SELECT id, entry, artifact_id, name, pointer, fields, body, digest, content, version,"
            " name_terms FROM artifacts ORDER BY id"
        ),
        select("SELECT * FROM records ORDER BY id"),
        select("SELECT * FROM terms ORDER BY id"),
        select("SELECT * FROM secrets ORDER BY 1, 2, 3, 4"),
        select("SELECT * FROM links ORDER BY 1, 2"),
        select("SELECT key, path, reason, stamp FROM failures ORDER BY 1"),
    ]


def fresh(root):
    """Return what one process alone reads."""
    watched = Watched(skills(root, strategy=Skill()))
    report = watched.look()
    return str(report), everything(watched.ledger)


def test_processes_give_the_ledger_that_one_gives(root):
    watched = Watched(skills(root, strategy=Skill()))
    report = watched.look(workers=2)
    assert len(bulk._idle) == 1
    assert (str(report), everything(watched.ledger)) == fresh(root)
    assert report.failed == 1
    assert TOKEN not in str(everything(watched.ledger))


@pytest.mark.parametrize("kind", sorted(bulk._KINDS))
def test_a_corpus_of_every_kind_that_is_read_in_bulk_can_be_handed_over(kind, tmp_path):
    text = f"[corpora.c]\nkind = '{kind}'\nroots = ['{tmp_path}']\n"
    config = parse_config(text, "/etc/x/irdaemon.toml")
    (corpus,) = (make_corpus(each, config) for each in config.corpora)
    corpus.source.scan()
    assert pickle.loads(pickle.dumps(corpus)).recipe == corpus.recipe


def test_a_second_look_reads_nothing_and_what_has_changed_replaces_what_was(root):
    watched = Watched(skills(root, strategy=Skill()))
    watched.look(workers=1)
    assert watched.look(workers=1).written == 0
    for number in range(MANY - 10):
        write_skill(root / f"skill-{number}", f"now {number}")
    assert watched.look(workers=1).written == MANY - 10
    one = Watched(skills(root, strategy=Skill()))
    one.look()
    assert watched.held == one.held


def looked_at(root, advance, **how):
    """Look at a corpus with something done before each transaction; return report and ledger."""
    ledger, corpus = Ledger(":memory:"), skills(root, strategy=Skill())
    ledger.corpora.declare(corpus.name, "k", corpus.recipe, "hashing-512")
    request = ScanRequest(workers=2, **how)
    observer = ScanObserver(lambda done, todo: bool(advance(ledger, corpus, done)))
    return reconcile(ledger, corpus, request, lambda: LATER, observer), ledger


def test_a_process_that_is_killed_is_noticed_and_its_entries_are_read_by_another(root):
    killed = []

    def kill(ledger, corpus, done):
        if done and len(killed) < 3:
            killed.extend(readers()[:1])
            os.kill(killed[-1], signal.SIGKILL)

    report, ledger = looked_at(root, kill)
    assert len(killed) == 3
    assert (str(report), everything(ledger)) == fresh(root)


def test_where_no_process_starts_the_entries_are_read_here(root, monkeypatch):
    monkeypatch.setattr(bulk, "COMMAND", (sys.executable, "-c", "exit(1)"))
    report, ledger = looked_at(root, lambda *_: False)
    assert (str(report), everything(ledger)) == fresh(root)


ENDS_ITSELF = """
import os, signal, sys
from irdaemon.ingest import reader_process
from irdaemon.runtime.pool import answer
read_entry = reader_process.read_entry
def read(corpus, entry, known, rules):
    if entry.path.endswith("skill-77"):
        {what}
    return read_entry(corpus, entry, known, rules)
reader_process.read_entry = read
reader_process.TIME_S = 0.2
reader_process._limit_memory()
answer(reader_process.EntryReader().answer)
"""


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "two processes that read it ended without"),
        ("while True: pass", "reading it takes more than 0.2 s"),
        ("bytearray(1 << 30)", "it takes more memory than it may, 512 MB"),
    ],
    ids=["kills", "lasts", "fills"],
)
def test_of_an_entry_that_no_process_survives_there_is_a_failure_and_of_the_others_none(
    root, monkeypatch, what, reason
):
    with monkeypatch.context() as patched:
        patched.setattr(bulk, "COMMAND", (sys.executable, "-c", ENDS_ITSELF.format(what=what)))
        patched.setattr(bulk, "read_entry", None)  # nothing is read in this process
        report, ledger = looked_at(root, lambda *_: False)
    failures = {path.rsplit("/", 1)[-1]: why for _, path, why, _ in everything(ledger)[-1]}
    assert set(failures) == {"large", "skill-77"}
    assert reason in failures["skill-77"]
    assert report.written == MANY


def test_a_skill_that_an_urgent_scan_read_or_found_gone_meanwhile_is_as_that_left_it(root):
    changed = []

    def change(ledger, corpus, done):
        if changed or not done:
            return False
        last = sorted(os.listdir(root))[-3:]
        changed.extend(last)
        (root / last[0] / "SKILL.md").unlink()
        write_skill(root / last[1], "now something else")
        reconcile(ledger, corpus, ScanRequest((str(root),)), lambda: LATER)
        (root / last[2] / "SKILL.md").unlink()
        reconcile(ledger, corpus, ScanRequest((str(root / last[2]),)), lambda: LATER)
        return True

    _, ledger = looked_at(root, change)
    one = Watched(skills(root, strategy=Skill()))
    one.look()
    assert contents(ledger, "s") == one.held
    assert not {str(root / changed[0]), str(root / changed[2])} & set(contents(ledger, "s"))


def test_what_went_while_it_was_read_ahead_is_not_stored(root):
    gone = []

    def remove(ledger, corpus, done):
        if gone or not done:
            return False
        gone.append(str(root / sorted(os.listdir(root))[-1]))
        os.unlink(f"{gone[0]}/SKILL.md")
        reconcile(ledger, corpus, ScanRequest((gone[0],)), lambda: LATER)
        return True

    _, ledger = looked_at(root, remove)
    assert gone[0] not in contents(ledger, "s")


def test_few_entries_and_corpora_in_memory_are_read_here(root, tmp_path):
    write_skill(tmp_path / "few" / "one", "a skill")
    Watched(skills(tmp_path / "few")).look(workers=2)
    Watched(mapped({str(number): "x" for number in range(300)})).look(workers=2)
    assert not bulk._idle
    assert not readers()


BUILD = """
import sys
from tests.support.corpora import engine, skills
from irdaemon.engine.queue import Job
from irdaemon.ingest import bulk
from irdaemon.strategy import Skill
bulk.FEWEST = 60
built = engine(skills(sys.argv[1], strategy=Skill()), path=sys.argv[2], workers=2)
built.request(Job("reconcile", "s"))
print("ready", flush=True)
built.drain()
"""


def test_a_build_by_processes_that_is_killed_ends_as_if_it_had_not_been(root, tmp_path):
    path = tmp_path / "l.sqlite"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}"}
    command = [sys.executable, "-c", BUILD, str(root), str(path)]
    for wait in (0.3, 0.6, None):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, cwd=ROOT)
        process.stdout.readline()
        try:
            process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    assert process.returncode == 0
    one = Watched(skills(root, strategy=Skill()))
    one.look()
    ended = Ledger(str(path))
    assert contents(ended, "s") == one.held
    ended.close()


def test_a_reading_process_loads_no_addon():
    statement = "import sys, irdaemon.ingest.reader_process; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True)
    assert "irdaemon.ingest.reader_process" in done.stdout
    assert "irdaemon.contrib" not in done.stdout
