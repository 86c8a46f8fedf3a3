"""Kill -9 at random moments: no artifact is ever half there, and nothing is lost or kept twice."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from irdaemon.cli.consistency import examine_ledger
from irdaemon.config.config import load_config
from irdaemon.ledger import Ledger
from irdaemon.ledger.schema import MIGRATIONS
from tests.support.crashing import Disk, built_anew, made_older, torn
from tests.support.ledgers import everything
from tests.support.running import Running

EMBEDDERS = {"hashing": "hashing-512", "tests.support.corpora:Counting": "counting-64"}
PHASES = ("first build", "storm", "compaction", "migration", "embedder change")


class CrashLoop:
    """Start, change, kill, look at what is left; a seed gives the same phases, kills and limits."""

    def __init__(self, home, seed: int):
        # Apart: how often the disk changes is a matter of time.
        self.home, self._rng = home, random.Random(seed)
        self.disk = Disk(home, random.Random(seed))
        self.path = str(home.path / ".local" / "state" / "irdaemon" / "ledger.sqlite")
        self._embedder = "hashing"
        self.totals: Counter[str] = Counter()

    def kill_once(self, phase: str) -> None:
        """Go through one phase, changing files all the while, and kill the daemon in it."""
        at_a_write, seconds = self._rng.random() < 0.5, self._rng.uniform(0, 0.5)
        write, older = int(10 ** self._rng.uniform(0, 2.5)), self._rng.randrange(1, len(MIGRATIONS))
        self._prepare(phase, older)
        module = ["tests.support.doomed", str(write)] if at_a_write else ["irdaemon"]
        command = [sys.executable, "-m", *module, "start"]
        with subprocess.Popen(command, env=self.home.env, stderr=subprocess.DEVNULL) as process:
            self._change_until(process, 3.0 if at_a_write else seconds)
            self.totals["by the clock" if process.poll() is None else "at a write"] += 1
            process.kill()
        self.totals[phase] += 1
        self._look_at_what_is_left()

    def _change_until(self, process: subprocess.Popen, seconds: float) -> None:
        """Change files until so long after the daemon serves, or until it is dead."""
        until_serving, until = time.monotonic() + 10, 0.0
        while process.poll() is None:
            now = time.monotonic()
            if not until and (self.home.socket.exists() or now > until_serving):
                until = now + seconds
            if until and now >= until:
                return
            self.disk.change()
            time.sleep(0.01)

    def _prepare(self, phase: str, older: int) -> None:
        self.home.socket.unlink(missing_ok=True)
        if phase == "first build":
            for end in ("", "-wal", "-shm"):
                Path(self.path + end).unlink(missing_ok=True)
        elif phase == "embedder change":
            self._embedder = next(name for name in EMBEDDERS if name != self._embedder)
        elif phase == "migration" and self._format():
            made_older(self.path, older)
        for _ in range(5):
            self.disk.change()
        self._configure(compacting=phase == "compaction")

    def _configure(self, compacting: bool = False) -> None:
        self.home.config.write_text(
            f'embedder = "{self._embedder}"\nknown = false\n'
            f'[corpora.notes]\nkind = "files"\nroots = ["{self.disk.notes}"]\n'
            f'[corpora.skills]\nkind = "skills"\nroots = ["{self.disk.skills}"]\n'
            + ("[schedule]\ncompact_minutes = 0.001\n" if compacting else "")
        )

    def _format(self) -> int:
        if not os.path.exists(self.path):
            return 0
        with closing(Ledger(self.path, read_only=True)) as ledger:
            return ledger.format

    def _look_at_what_is_left(self) -> None:
        if not self._format():
            self.totals["killed before there was a ledger"] += 1
            return
        with closing(Ledger(self.path, read_only=True)) as ledger:
            assert [each for each in ledger.check() if each.severe] == []
        assert torn(self.path) == []
        self.totals["sound"] += 1

    def converge(self) -> None:
        """Start once more, let it come to rest, and hold it against one built again."""
        self._configure()
        with Running(self.home) as running:
            running.wait_idle()
        embedder = EMBEDDERS[self._embedder]
        with closing(Ledger(self.path, read_only=True)) as ledger:
            found = examine_ledger(ledger, load_config(str(self.home.config)))
            assert [each for each in found if each.severe] == []
            held = everything(ledger, embedder)
        wanted = built_anew(str(self.home.config), embedder)
        for what, rows in wanted.items():
            assert held[what] == rows, what
        assert wanted["vectors"]
        assert wanted["records"]
        assert not list(Path(self.path).parent.glob("*damaged*"))
        self.totals["equal to one built again"] += 1


def crash(loop: CrashLoop, kills: int) -> None:
    for number in range(1, kills + 1):
        loop.kill_once(PHASES[number % len(PHASES)])
        if number % 8 == 0:
            loop.converge()


@pytest.fixture
def home_of_ours(home, monkeypatch):
    # What is built again here must call its files as the daemon does.
    for name in ("HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, home.env[name])
    return home


def test_kill_9_at_random_moments_leaves_nothing_half_done_and_nothing_twice(home_of_ours):
    loop = CrashLoop(home_of_ours, seed=1)
    crash(loop, 8)
    assert loop.totals["equal to one built again"] == 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_kill_9_two_hundred_times(home_of_ours, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(10**6))
    loop, started = CrashLoop(home_of_ours, seed), time.monotonic()
    try:
        crash(loop, 200)
    finally:
        with capsys.disabled():
            print(f"\nseed {seed}, {time.monotonic() - started:.0f} s: {dict(loop.totals)}")
            print(f"changes made meanwhile: {dict(loop.disk.changes)}")
