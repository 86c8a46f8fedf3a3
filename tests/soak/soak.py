"""A day in minutes: edits and queries at once, and at quiet points a comparison with a fresh build.

The oracle is an engine of its own that indexes the same files from nothing. At a quiet point what
the daemon's ledger holds must be what the oracle's does, and each client's answers its answers.
"""

import json
import os
import random
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irclient import Query
from irclient.errors import IRError, Unavailable
from irdaemon.config.config import load_config
from irdaemon.config.corpus import make_corpora
from irdaemon.engine import Engine, EngineOptions
from irdaemon.engine.queue import Job
from irdaemon.ledger import IN_MEMORY, Ledger
from tests.soak.edits import WORDS, Editor
from tests.support.corpora import contents
from tests.support.running import Home, Running, until

CLIENTS = 8
CORPORA = ("notes", "sessions", "skills")
CONFIG = """\
embedder = "hashing"
known = true
[corpora.packages]
enabled = false
[corpora.notes]
kind = "files"
roots = ["~/notes"]
[schedule]
reconcile_minutes = 1
compact_minutes = 3
"""
_TOLERANCE = 1e-4


@dataclass
class Figures:
    """What a soak came to; memory in MB, slope in MB an hour over its second half."""

    seed: int
    seconds: float = 0.0
    edits: int = 0
    queries: int = 0
    errors: list[str] = field(default_factory=list)
    quiet_points: int = 0
    compared: int = 0
    differences: list[str] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def slope(self) -> float:
        """Return by how many MB an hour memory grew over the second half."""
        half = self.rss_mb[len(self.rss_mb) // 2 :]
        if len(half) < 2:
            return 0.0
        step = self.seconds / len(self.rss_mb)
        middle, mean = (len(half) - 1) / 2, sum(half) / len(half)
        rise = sum((at - middle) * (mb - mean) for at, mb in enumerate(half))
        return rise / sum((at - middle) ** 2 for at in range(len(half))) / step * 3600

    def told(self) -> str:
        """Return the figures as JSON, the series by their ends."""
        told = asdict(self)
        for name in ("rss_mb", "descriptors"):
            series = told.pop(name)
            told[name] = {
                "first": series[0],
                "middle": series[len(series) // 2],
                "last": series[-1],
                "max": max(series),
            }
        return json.dumps({**told, "rss_slope_mb_per_hour": round(self.slope(), 2)})


class Asking(threading.Thread):
    """A client that asks at random until told to stop, and waits while all is quiet."""

    def __init__(self, home: Home, number: int, going: threading.Event, figures: Figures):
        super().__init__(name=f"client {number}", daemon=True)
        self.asked = 0
        self.stopping = False
        self.idle = threading.Event()
        self._home = home
        self._random = random.Random(number)
        self._going = going
        self._figures = figures

    def run(self) -> None:
        with self._home.client() as client:
            generation = 0
            while not self.stopping:
                if not self._going.is_set():
                    self.idle.set()
                    self._going.wait(0.1)
                    continue
                self.idle.clear()
                try:
                    answer = self._ask(client)
                except Unavailable:
                    continue  # it says that it is busy: an answer like any other
                except IRError as error:
                    self._figures.errors.append(f"{type(error).__name__}: {error.message}")
                    continue
                if answer.generation < generation and answer.tier != "cached":
                    self._figures.errors.append("an answer went back in time")
                generation = max(generation, answer.generation)
                self.asked += 1
                time.sleep(self._random.random() * 0.1)

    def _ask(self, client):
        text = " ".join(self._random.choices(WORDS, k=self._random.randint(1, 6)))
        corpora = tuple(self._random.sample(CORPORA, self._random.randint(0, 2)))
        turn = self._random.random()
        if turn < 0.1:
            return client.discover(Query(text, corpora, fresh=True, wait_ms=2_000))
        if turn < 0.2:
            return client.discover(Query(text, corpora, level="body"))
        if turn < 0.3:
            return client.search(Query(text, corpora, where={"scope": {"$exists": True}}))
        return client.discover(Query(text, corpora)) if turn < 0.6 else client.search(Query(text))


class Soak:
    """Run edits and clients against a daemon for some seconds; `figures` say what came of it."""

    def __init__(self, home: Home, seconds: float, seed: int, quiet_every: float = 20.0):
        self.figures = Figures(seed)
        self._home = home
        self._seconds = seconds
        self._quiet_every = quiet_every
        self._editor = Editor(home.path, seed)
        self._going = threading.Event()

    def run(self) -> Figures:
        """Run to the end and return the figures."""
        self._home.config.write_text(CONFIG)
        self._editor.settle_in()
        with Running(self._home) as daemon:
            clients = [
                Asking(self._home, number, self._going, self.figures) for number in range(CLIENTS)
            ]
            for client in clients:
                client.start()
            self._soak(daemon, clients)
            for client in clients:
                client.stopping = True
            for client in clients:
                client.join(20)
        self.figures.edits = self._editor.done
        self.figures.queries = sum(client.asked for client in clients)
        return self.figures

    def _soak(self, daemon: Running, clients: list[Asking]) -> None:
        started = time.monotonic()
        while (past := time.monotonic() - started) < self._seconds:
            self._measure(daemon)
            self._going.set()
            self._edit_for(min(self._quiet_every, self._seconds - past))
            self._going.clear()
            for client in clients:
                client.idle.wait(20)
            self._compare()
        self._measure(daemon)
        self.figures.seconds = round(time.monotonic() - started, 1)

    def _edit_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for _ in range(self._editor.random.choice((1, 1, 1, 5, 20))):
                self._editor.edit()
            time.sleep(self._editor.random.random() * 0.3)

    def _measure(self, daemon: Running) -> None:
        of = Path("/proc", str(daemon.process.pid))
        pages = int((of / "statm").read_text().split()[1])
        self.figures.rss_mb.append(round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1))
        self.figures.descriptors.append(len(list((of / "fd").iterdir())))

    # -- the oracle ------------------------------------------------------------------------------

    def _compare(self) -> None:
        with self._home.client(timeout=30) as client:
            asked = client.search(Query("quiet", fresh=True, wait_ms=20_000))
            if unproved := asked.freshness["unproved"]:
                self.figures.errors.append(f"not proved to be fresh: {unproved}")
            until(lambda: _embedded(client.status().to_dict()))
            oracle = self._built_anew()
            self._compare_ledgers(oracle)
            for number in range(CLIENTS):
                self._compare_answers(client, oracle, random.Random(number))
        oracle.ledger.close()
        self.figures.quiet_points += 1

    def _built_anew(self) -> Engine:
        engine = Engine(
            Ledger(IN_MEMORY),
            make_corpora(load_config(str(self._home.config))),
            EngineOptions(calibrating=False),
        )
        for name in engine.corpora:
            engine.request(Job("reconcile", name))
        engine.drain()
        return engine

    def _compare_ledgers(self, oracle: Engine) -> None:
        path = self._home.path / ".local" / "state" / "irdaemon" / "ledger.sqlite"
        held = Ledger(str(path), read_only=True)
        for name in CORPORA:
            mine, its = contents(oracle.ledger, name), contents(held, name)
            self.figures.compared += len(mine)
            for id in sorted(mine.keys() | its.keys()):
                if mine.get(id) != its.get(id):
                    self.figures.differences.append(f"{name}/{id} is not what a build gives")
        held.close()

    def _compare_answers(self, client, oracle: Engine, chance: random.Random) -> None:
        for _ in range(3):
            text = " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
            for mode in ("hybrid", "lexical", "dense"):
                query = Query(text, k=1_000, mode=mode)
                its, mine = _scores(client.search(query)), _scores(oracle.search(query))
                self.figures.compared += 1
                if its.keys() != mine.keys() or any(
                    abs(its[id] - mine[id]) > _TOLERANCE for id in mine
                ):
                    self.figures.differences.append(f"{mode} {text!r} is answered otherwise")


def _embedded(state) -> bool:
    return all(corpus["vectors"] == corpus["records"] for corpus in state["corpora"])


def _scores(answer) -> dict[str, float]:
    """Return the evidence of hits: what a score is beside it was calibrated, at some time."""
    return {f"{hit.corpus}/{hit.artifact_id}": hit.scores["evidence"] for hit in answer.results}
