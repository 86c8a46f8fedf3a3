"""Links that are made, exchanged and removed at full speed below everything that is indexed.

Beside the links builds, queries and disclosures run. Outside of every root lie files that hold
`OUTSIDE`: nothing that is answered or stored may.
"""

import contextlib
import ctypes
import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from irclient import Query
from irclient.errors import IRError, NotFound, Unavailable
from tests.support.running import ROOT, Home, Running, until

OUTSIDE = "quicksilverparagraph"
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
"""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_COUNT = 20


@dataclass
class Figures:
    """What a storm came to: how often links were changed, and what was asked meanwhile."""

    seconds: float = 0.0
    swaps: int = 0
    builds: int = 0
    queries: int = 0
    disclosed: int = 0
    bodies: int = 0
    refused: int = 0
    compared: int = 0
    leaks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def told(self) -> str:
        """Return the figures as JSON."""
        return json.dumps(asdict(self))


def exchange(one: Path, other: Path) -> None:
    """Exchange two names in one step, whatever they are: renameat2(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = (os.fsencode(one), os.fsencode(other))
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))


class Links:
    """The trees of a home, and what is done to the links in them."""

    def __init__(self, home: Path, seed: int):
        self.random = random.Random(seed)
        self.skills = home / ".claude" / "skills"
        self.notes = home / "notes"
        self.sessions = home / ".claude" / "projects" / "p"
        self.outside = home / "outside"
        self._home = home
        self._exchanges: dict[Path, Path] = {}
        self._spare = home / "spare"
        for top in (self.skills, self.notes, self.sessions, self.outside, self._spare):
            top.mkdir(parents=True, exist_ok=True)

    def settle_in(self) -> None:
        """Write what is there at the beginning, and beside each file a link that leads out."""
        for n in range(_COUNT):
            self._outside(n)
            self._write(self.skills / f"own{n}" / "SKILL.md", _skill(f"own{n}", "peel potatoes"))
            self._write(self.skills / f"own{n}" / "scripts" / "a.txt", "harmless")
            self._write(self.notes / f"note{n}.md", f"# note {n}\nkayaks and rivers {n}")
            self._write(self.sessions / f"{n:08d}-0000-4000-8000-000000000000.jsonl", _turn(n))
        (self.skills / "inner" / "docs").mkdir(parents=True)
        self._write(self.skills / "inner" / "SKILL.md", _skill("inner", "an inner link"))

    def _outside(self, n: int) -> None:
        self._write(
            self.outside / f"dir{n}" / "SKILL.md", _skill(f"out{n}", "linked by installers")
        )
        self._write(self.outside / f"private{n}" / "a.txt", OUTSIDE)
        self._write(self.outside / f"private{n}" / "SKILL.md", _skill(OUTSIDE, OUTSIDE))
        self._write(self.outside / f"private{n}" / f"note{n}.md", OUTSIDE)
        self._write(self.outside / f"secret{n}.txt", f"{OUTSIDE}\n")

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def swap(self) -> None:
        """Change one link, or exchange a file or a directory with one."""
        n = self.random.randrange(_COUNT)
        self.random.choice(
            (
                self._installed, self._vanishing, self._file, self._note, self._bundled,
                self._session, self._danger,
            )
        )(n)  # fmt: skip

    def _installed(self, n: int) -> None:
        """Make or remove a link as installers do."""
        _toggle(self.skills / f"link{n}", self.outside / f"dir{n}")

    def _vanishing(self, n: int) -> None:
        """Turn a link into a file and back, and take it away."""
        path = self.notes / f"odd{n}.md"
        _toggle(path, self.notes / f"note{n}.md")
        path.unlink(missing_ok=True)
        path.write_text(f"odd {n}")
        path.unlink()

    def _file(self, n: int) -> None:
        self._exchanged(self.skills / f"own{n}" / "SKILL.md", self.outside / f"secret{n}.txt")

    def _note(self, n: int) -> None:
        self._exchanged(self.notes / f"note{n}.md", self.outside / f"secret{n}.txt")

    def _bundled(self, n: int) -> None:
        """Exchange a skill's script with a link elsewhere, or the directory of its scripts."""
        scripts = self.skills / f"own{n}" / "scripts"
        if n % 2:
            self._exchanged(scripts / "a.txt", self.outside / f"private{n}" / "a.txt")
        else:
            self._exchanged(scripts, self.outside / f"private{n}")

    def _session(self, n: int) -> None:
        path = self.sessions / f"{n:08d}-0000-4000-8000-000000000000.jsonl"
        self._exchanged(path, self.outside / f"secret{n}.txt")

    def _danger(self, n: int) -> None:
        target = self.random.choice(("/proc", "/", "/sys", "/dev", "..", str(self.outside)))
        _toggle(self.skills / "inner" / "docs" / f"d{n}", Path(target))
        _toggle(self.notes / f"d{n}", Path(target))

    def _exchanged(self, path: Path, target: Path) -> None:
        """Exchange what is there with a link, or the link with what was there."""
        spare = self._spare / str(path.relative_to(self._home)).replace("/", "_")
        if not os.path.lexists(spare):
            spare.symlink_to(target)
        exchange(path, spare)
        self._exchanges[path] = spare

    def calm(self) -> None:
        """Put back what was exchanged, so that all is known."""
        for path, spare in self._exchanges.items():
            if path.is_symlink():
                exchange(path, spare)

    def settle(self) -> None:
        """Take the dangerous links away, and make every installed one."""
        for link in [*self.skills.glob("inner/docs/d*"), *self.notes.glob("d*")]:
            link.unlink()
        for n in range(_COUNT):
            if not (self.skills / f"link{n}").is_symlink():
                (self.skills / f"link{n}").symlink_to(self.outside / f"dir{n}")
            path = self.sessions / f"{n:08d}-0000-4000-8000-000000000000.jsonl"
            path.write_text(_turn(n))

    def expected(self) -> dict[str, set[str]]:
        """Return the names that must be served of each corpus once all is calm."""
        count = range(_COUNT)
        return {
            "skills": {f"own{n}" for n in count} | {f"out{n}" for n in count} | {"inner"},
            "notes": {f"note {n}" for n in count},
        }


def _toggle(link: Path, target: Path) -> None:
    try:
        link.symlink_to(target)
    except FileExistsError:
        link.unlink(missing_ok=True)


def _skill(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nThe body of {name}.\n"


def _turn(n: int) -> str:
    asked = {"role": "user", "content": f"how do I paddle river number {n}"}
    answered = {"role": "assistant", "content": [{"type": "text", "text": "with a paddle"}]}
    common = {"sessionId": f"{n:08d}", "cwd": "/w", "timestamp": "2026-01-01T00:00:00Z"}
    lines = (
        {"type": "user", "uuid": f"u{n}", "parentUuid": None, "message": asked, **common},
        {
            "type": "assistant",
            "uuid": f"a{n}",
            "parentUuid": f"u{n}",
            "message": answered,
            **common,
        },
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


class Storm:
    """A daemon in a home, a storm of links in it, and clients beside."""

    def __init__(self, home: Home, seconds: float, seed: int):
        home.config.write_text(CONFIG)
        self._home = home
        self._seed = seed
        self._links = Links(home.path, seed)
        self.figures = Figures(seconds)

    def run(self) -> Figures:
        """Run the storm, and compare what is served with the disk at its end."""
        self._links.settle_in()
        # Its standard error is not read for long, and a full pipe would stop it.
        with Running(self._home, "--log", str(self._home.path / "daemon.log")) as running:
            running.wait_idle()
            self._until = time.monotonic() + self.figures.seconds
            threads = [
                threading.Thread(target=each, daemon=True)
                for each in (self._swap, self._build, self._ask, self._disclose)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert running.process.poll() is None, running.process.stderr.read()
            self._links.settle()
            with contextlib.suppress(AssertionError):  # the figures say what differs
                until(self._is_served, 60)
        self._look_into_the_ledger()
        return self.figures

    def _going(self) -> bool:
        return time.monotonic() < self._until

    def _swap(self) -> None:
        """Swap in a process of its own, so that nothing here slows it down."""
        command = [sys.executable, "-m", "tests.soak.links", str(self._home.path)]
        command += [str(self.figures.seconds), str(self._seed)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        if done.returncode:
            self.figures.errors.append(done.stderr)
        else:
            self.figures.swaps = int(done.stdout)

    def _build(self) -> None:
        with self._home.client() as client:
            while self._going():
                self._tried(lambda: client.build("skills"))
                self.figures.builds += 1
                time.sleep(0.5)

    def _ask(self) -> None:
        with self._home.client() as client:
            while self._going():
                query = Query(OUTSIDE, level="body")
                if (answer := self._tried(lambda: client.search(query))) is not None:  # noqa: B023
                    self.figures.queries += 1
                    self._inspect("search", answer.to_dict())

    def _disclose(self) -> None:
        chosen = random.Random(0)
        with self._home.client() as client:
            while self._going():
                ref = f"skills/own{chosen.randrange(_COUNT)}"
                for found in self._tried(lambda: client.disclose([ref], "bundled")) or ():  # noqa: B023
                    self.figures.disclosed += 1
                    self.figures.bodies += found.body is not None
                    self.figures.refused += found.body is None
                    self._inspect("disclose", found.to_dict())

    def _tried(self, call):
        try:
            return call()
        except (NotFound, Unavailable):
            return None
        except IRError as error:
            self.figures.errors.append(f"{type(error).__name__}: {error.message}")
            return None

    def _inspect(self, what: str, answer: dict) -> None:
        told = json.dumps({**answer, "query": None}, default=str)
        if OUTSIDE in told or "root:x:0" in told:
            self.figures.leaks.append(f"{what}: {told[:300]}")

    def _is_served(self) -> bool:
        with self._home.client() as client:
            served = {
                corpus: {each.name for each in client.artifacts(corpus, limit=100)}
                for corpus in self._links.expected()
            }
        expected = self._links.expected()
        self.figures.compared += 1
        self.figures.differences = [
            f"{corpus}: {sorted(served[corpus] ^ names)}"
            for corpus, names in expected.items()
            if served[corpus] != names
        ]
        return not self.figures.differences

    def _look_into_the_ledger(self) -> None:
        state = self._home.path / ".local" / "state" / "irdaemon"
        for path in state.glob("ledger.sqlite*"):
            if OUTSIDE.encode() in path.read_bytes():
                self.figures.leaks.append(str(path))


def swap_for(home: Path, seconds: float, seed: int) -> int:
    """Change links at full speed; return how often that was."""
    links, until_then = Links(home, seed), time.monotonic() + seconds
    done = 0
    while time.monotonic() < until_then:
        links.swap()
        done += 1
    links.calm()
    return done


if __name__ == "__main__":
    print(swap_for(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
