"""What every benchmark shares: seeded corpora, a daemon of its own, figures, and where they go."""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from irclient import Client
from irclient.errors import Unreachable

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
_SYLLABLES = "ka lo mi nu pe ra so ti vu za bre cho dri fla gru".split()


def vocabulary(size: int = 20_000, seed: int = 1) -> list[str]:
    """Return made-up words, each once."""
    chance = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(words)


class Writer:
    """Write texts whose words are as unevenly common as those of people (Zipf)."""

    def __init__(self, seed: int):
        self._chance = random.Random(seed)
        self._words = vocabulary()
        self._weights = [1 / (rank + 10) for rank in range(len(self._words))]

    def words(self, count: int) -> list[str]:
        """Return so many words."""
        return self._chance.choices(self._words, self._weights, k=count)


def write_skills(root: Path, count: int, seed: int = 7) -> list[str]:
    """Write skills of about 2 KB, forty to a group; return a query for each, shuffled."""
    writer = Writer(seed)
    queries = []
    for number in range(count):
        words = writer.words(300)
        folder = root / f"group-{number % 40}" / f"skill-{number}"
        folder.mkdir(parents=True)
        description = f"Handle {' '.join(words[:30])}. Use for {words[30]}."
        body = " ".join(words[30:])
        text = f"---\nname: skill-{number}\ndescription: {description}\n---\n# Steps\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, "utf-8")
        queries.append(" ".join(words[3:9]))
    random.Random(seed).shuffle(queries)
    return queries


def write_documents(root: Path, count: int, seed: int = 7) -> list[str]:
    """Write documents of about forty words, a hundred to a directory; return queries."""
    writer = Writer(seed)
    queries = []
    for number in range(count):
        folder = root / f"part-{number // 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        words = writer.words(40)
        (folder / f"note-{number}.md").write_text(" ".join(words) + "\n", "utf-8")
        if number % 50 == 0:
            queries.append(" ".join(words[3:9]))
    random.Random(seed).shuffle(queries)
    return queries


class Daemon:
    """A daemon in a home of its own."""

    def __init__(self, home: Path):
        self.home = home
        self.socket = str(home / "run" / "irdaemon" / "irdaemon.sock")
        (home / "run").mkdir(mode=0o700, exist_ok=True)
        places = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "IRDAEMON_SOCKET": ""}
        xdg = {name: "" for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
        # As installed it has its bytecode: to compile all modules takes as long as importing them.
        self.env = {**os.environ, **xdg, **places, "PYTHONDONTWRITEBYTECODE": ""}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, in this interpreter, without waiting."""
        log = (self.home / "daemon.log").open("ab")
        command = [sys.executable, "-m", "irdaemon", "start"]
        self.process = subprocess.Popen(command, env=self.env, stderr=log)

    def stop(self) -> None:
        """Stop it and wait for its end."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)

    def client(self) -> Client:
        """Return a client of it."""
        return Client(self.socket, timeout=60)

    def wait_serving(self, client: Client) -> None:
        """Wait until it answers."""
        while True:
            try:
                client.ping()
                return
            except Unreachable:
                time.sleep(0.005)

    def wait_indexed(self, client: Client, count: int) -> None:
        """Wait until so many vectors are there and nothing is left to do."""
        self.wait_serving(client)
        while True:
            state = client.status()
            vectors = sum(corpus.vectors for corpus in state.corpora)
            if not state.queue and vectors >= count:
                return
            time.sleep(0.05)

    def rss_mb(self) -> float:
        """Return its resident memory in megabytes."""
        assert self.process is not None
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)

    def memory_mb(self) -> dict[str, float]:
        """Return the memory of it and of its children in megabytes, each page shared out.

        `pss` counts the pages of mapped files, `anon` does not.
        """
        assert self.process is not None
        every = [self.process.pid, *_children(self.process.pid)]
        rolled = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in every]
        return {"pss": _summed(rolled, "Pss"), "anon": _summed(rolled, "Pss_Anon")}

    def cpu_s(self) -> float:
        """Return the processor seconds it has used."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, listed) for each in (child, *_children(child))]


def _summed(rolled: Sequence[str], name: str) -> float:
    lines = (line for text in rolled for line in text.splitlines() if line.startswith(f"{name}:"))
    return round(sum(int(line.split()[1]) for line in lines) / 1024, 1)


@contextmanager
def daemon() -> Iterator[Daemon]:
    """Give a daemon that is not started yet, in a directory that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="irb") as directory:
        made = Daemon(Path(directory))
        try:
            yield made
        finally:
            made.stop()


def configure(home: Path, text: str) -> None:
    """Write the daemon's configuration."""
    path = home / ".config" / "irdaemon" / "irdaemon.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def timed(call: Callable[[], object]) -> float:
    """Return how many milliseconds a call takes."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e3


def figures(samples: Sequence[float]) -> dict[str, float]:
    """Return median, p95 and p99 of milliseconds."""
    ordered = sorted(samples)
    return {
        "p50": round(statistics.median(ordered), 3),
        "p95": round(ordered[int(len(ordered) * 0.95)], 3),
        "p99": round(ordered[int(len(ordered) * 0.99)], 3),
    }


def keep(name: str, results: Any, by: str = "") -> Any:
    """Print results as a table of lines, and write them with the machine's load; return them.

    With `by`, the name of a number in each row, rows of before with other numbers are kept beside
    these: what takes long is measured by itself.
    """
    rows = results if isinstance(results, list) else [results]
    for row in rows:
        print(json.dumps(row))
    if by:
        now = {row[by] for row in rows}
        others = [row for row in kept_results(name) if row[by] not in now]
        results = sorted([*others, *rows], key=lambda row: row[by])
    write_results(name, results)
    return results


def write_results(name: str, results: Any) -> None:
    """Write results with the machine's load."""
    kept = {
        "load": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "results": results,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


def kept_results(name: str) -> Any:
    """Return the results that were kept last; none where there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8"))["results"] if path.exists() else []


def peer_python() -> str:
    """Return the interpreter of the environment that has the peer `ir`; "" where there is none."""
    path = os.environ.get("IRDAEMON_BENCH_PEER", str(ROOT / ".bench" / "peer" / "bin" / "python"))
    return path if os.path.exists(path) else ""
