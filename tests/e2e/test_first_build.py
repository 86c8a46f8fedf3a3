"""A first build by several processes ends the same whatever is killed on the way."""

import os
import signal
import time
from pathlib import Path

from irdaemon.config.corpus import Corpus
from irdaemon.ledger import Ledger
from irdaemon.source.skills import Skills
from irdaemon.strategy import Skill
from irdaemon.types import Root
from tests.support.corpora import contents
from tests.support.running import Running, until
from tests.support.watched import Watched

SKILLS = 520


def write(home):
    body = " ".join(f"step{number}" for number in range(300))
    for number in range(SKILLS):
        home.skill(f"skill-{number}", f"task {number} of kind {number % 7}", f"{number} {body}")


def readers(daemon):
    """Return the pids of the processes that read for a daemon."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            parent = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if b"reader_process" in command and int(parent) == daemon.process.pid:
            found.append(int(process))
    return found


def held(home):
    """Return how many skills are searchable in both legs."""
    with home.client() as client:
        state = client.status()
    skills = next(corpus for corpus in state.corpora if corpus.name == "skills")
    return 0 if state.queue else min(skills.artifacts, skills.vectors)


def check_equal_to_a_fresh_build(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home.path))  # by which skills are called
    ledger = Ledger(str(home.path / ".local" / "state" / "irdaemon" / "ledger.sqlite"))
    root = Root(str(home.skills), "user")
    one = Watched(Corpus("skills", "skills", Skills((root,), {}), Skill(), "hashing"))
    one.look()
    assert contents(ledger, "skills") == one.held
    assert len(one.held) == SKILLS
    ledger.close()


def test_a_reader_that_is_killed_costs_nothing(home, monkeypatch):
    write(home)
    with Running(home) as daemon:
        if os.cpu_count() > 1:  # one core has no reader
            until(lambda: readers(daemon) or held(home) == SKILLS)
        for pid in readers(daemon):
            os.kill(pid, signal.SIGKILL)
        until(lambda: held(home) == SKILLS)
        assert home.answer("search", "task 17 of kind 3")["results"]
    assert not readers(daemon)
    check_equal_to_a_fresh_build(home, monkeypatch)


def test_a_daemon_that_is_killed_takes_its_readers_along_and_the_next_ends_the_build(
    home, monkeypatch
):
    write(home)
    for wait in (0.1, 0.4):
        with Running(home) as daemon:
            time.sleep(wait)
            mine = readers(daemon)
            daemon.process.kill()
            daemon.process.wait()
            until(lambda mine=mine: not any(os.path.exists(f"/proc/{pid}") for pid in mine))
    with Running(home):
        until(lambda: held(home) == SKILLS)
    check_equal_to_a_fresh_build(home, monkeypatch)
