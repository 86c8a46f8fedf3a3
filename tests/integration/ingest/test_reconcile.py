"""A build that is killed, and the next that ends it."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from irdaemon.ledger import Ledger
from tests.support.corpora import contents, skills, write_skill
from tests.support.watched import Watched

ROOT = Path(__file__).parents[3]


BUILD = """
import sys
from tests.support.corpora import engine, skills
from irdaemon.engine.queue import Job
built = engine(skills(sys.argv[1]), path=sys.argv[2])
print("ready", flush=True)
built.request(Job("reconcile", "s"))
built.drain()
"""


def building(root, path):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}"}
    command = [sys.executable, "-c", BUILD, str(root), str(path)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, cwd=ROOT)


def test_a_build_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path):
    chance = random.Random(7)
    root, path = tmp_path / "root", tmp_path / "l.sqlite"
    for number in range(300):
        write_skill(root / f"skill-{number}", f"use {number} for task {number % 7}")
    for _ in range(8):
        process = building(root, path)
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.12))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
    last = building(root, path)
    last.communicate(timeout=60)
    assert last.returncode == 0
    killed, fresh = Ledger(str(path)), Watched(skills(root))
    fresh.look()
    assert contents(killed, "s") == fresh.held
    assert len(fresh.held) == 300
    counts = killed.artifacts.count_all("s", "hashing-512")
    assert (counts.artifacts, counts.records, counts.vectors) == (300, 300, 300)
    killed.close()
