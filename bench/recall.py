"""How right the verdicts on recalled turns are: commits of a repository, replayed as sessions.

    python bench/recall.py [--repository PATH] [--head COMMIT] [--commits 300] [--seed 7]

For commits drawn by the seed a session is written in which an agent read two files and wrote those
of the commit, and committed them in the turn, or within the hour after it. The gold is git's: the
file at the commit against the file at HEAD, or at another newest commit. `clone`: all of it is read
for the first time in a fresh clone, whose files are of now, so that git must tell. `live`: each
session is read right after its turn, in a checkout of its commit. `no git`: as `clone`, without a
repository. What there was no time to compare counts as said to be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from irclient.types import Verdict
from irclient.verdicts import describe_verdict
from irdaemon.contrib.recall.dating import RepositoryHistory, date_files
from irdaemon.contrib.recall.files import Looker
from irdaemon.contrib.recall.observer import make_turn
from irdaemon.contrib.recall.store import RecallStore
from irdaemon.contrib.recall.verdicts import Judge
from irdaemon.source.sessions import Sessions
from irdaemon.types import Root

_MOST_WRITTEN, _READ = 8, 2
_LIVE = 60


@dataclass(frozen=True)
class Replayed:
    """A commit as a session: what was read and written in it, and when the turn ended."""

    commit: str
    at: int
    until: int
    written: tuple[str, ...]
    read: tuple[str, ...]
    commits_in_turn: bool


def git(repository: Path, *words: str) -> str:
    """Return what git prints."""
    done = subprocess.run(
        ["git", "-C", str(repository), *words], check=True, capture_output=True, text=True
    )
    return done.stdout


def draw(repository: Path, n: int, seed: int) -> list[Replayed]:
    """Return commits of the first-parent history as sessions."""
    chance = random.Random(seed)
    listed = [
        row.split()
        for row in git(repository, "log", "--first-parent", "--format=%H %ct").splitlines()
    ]
    picked = chance.sample(listed[5:-1], min(n, len(listed) - 6))
    return [each for hash, at in picked if (each := replay(repository, hash, int(at), chance))]


def replay(repository: Path, commit: str, at: int, chance: random.Random) -> Replayed | None:
    """Return a commit as a session; None for one that adds or changes no file."""
    rows = git(
        repository,
        "diff-tree",
        "-r",
        "--no-commit-id",
        "--no-renames",
        "-m",
        "--first-parent",
        "--name-status",
        commit,
    )
    written = [row.split("\t")[1] for row in rows.splitlines() if row[0] in "AM"]
    held = git(repository, "ls-tree", "-r", "--name-only", commit).splitlines()
    others = sorted(set(held) - set(written))
    if not written or len(others) < _READ:
        return None
    in_turn = chance.random() < 0.5
    until = at + 5 if in_turn else at - chance.randrange(60, 3_600)
    return Replayed(
        commit,
        until - chance.randrange(120, 900),
        until,
        tuple(chance.sample(written, min(len(written), _MOST_WRITTEN))),
        tuple(chance.sample(others, _READ)),
        in_turn,
    )


def write_session(directory: Path, root: str, each: Replayed) -> None:
    """Write a session in the form of Claude Code's."""
    lines: list[dict[str, object]] = []

    def add(kind: str, content: object, at: int, **more: object) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        uuid = f"{each.commit[:8]}-{len(lines)}"
        message = {"role": kind, "content": content, **more}
        lines.append(
            {"type": kind, "uuid": uuid, "parentUuid": lines[-1]["uuid"] if lines else None,
             "sessionId": each.commit[:12], "cwd": root, "version": "2.1.0", "timestamp": stamp,
             "message": message}
        )  # fmt: skip

    add("user", f"make the change of {each.commit[:8]}", each.at)
    calls = [("Read", {"file_path": path}, "text") for path in each.read]
    calls += [
        ("Edit", {"file_path": f"{root}/{path}", "old_string": "a", "new_string": "b"}, "ok")
        for path in each.written
    ]
    if each.commits_in_turn:
        calls.append(("Bash", {"command": "git commit -am x"}, f"[main {each.commit[:10]}] x"))
    for number, (name, given, returned) in enumerate(calls):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        add("assistant", [call], each.until)
        add(
            "user",
            [{"type": "tool_result", "tool_use_id": f"t{number}", "content": returned}],
            each.until,
        )
    add("assistant", [{"type": "text", "text": "Done."}], each.until, stop_reason="end_turn")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (directory / f"{each.commit[:12]}.jsonl").write_text(text)


def read_sessions(directory: Path, store: RecallStore) -> None:
    """Keep what the turns of all sessions did."""
    source = Sessions((Root(str(directory)),), {})
    for entry in source.scan().entries:
        turns = [make_turn(a) for a in source.read(entry).artifacts if "worked_until" in a.raw]
        store.put_turns("sessions", entry.key, turns, False)


def find_gold(repository: Path, each: Replayed, head: dict[str, str]) -> dict[str, str]:
    """Return by path whether a file of a session changed or is gone since, or is the same."""
    paths = (*each.written, *each.read)
    rows = git(repository, "ls-tree", "-r", each.commit, "--", *paths).splitlines()
    then = {row.split("\t")[1]: row.split()[2] for row in rows}
    return {
        path: "gone" if path not in head else "same" if head[path] == blob else "changed"
        for path, blob in then.items()
    }


def name_file(verdict: Verdict, path: str) -> str:
    """Return what a verdict says of a file."""
    if path in verdict.gone:
        return "gone"
    return "changed" if path in verdict.changed else "same"


class Figures:
    """What was said of files against the gold, and of turns, with examples and times."""

    def __init__(self) -> None:
        self.said = Counter[tuple[str, str]]()
        self.times: list[float] = []
        self.examples: list[str] = []
        self.unsaid = 0

    def add(self, root: str, each: Replayed, gold: dict[str, str], verdict: Verdict | None) -> None:
        """Count what was said of a session's files, and keep it as an example."""
        if verdict is None:
            self.unsaid += 1
            return
        wrong = []
        for path, true in gold.items():
            said = name_file(verdict, f"{root}/{path}")
            self.said[true, said] += 1
            wrong += [f"{path}: {true}, said {said}"] if true != said else []
        if len(verdict.changed) < 20:  # of more the names are cut
            told = describe_verdict(verdict.to_dict())
            n = Counter(gold.values())
            truth = f"git: {n['changed']} changed, {n['gone']} gone of {len(gold)}"
            seen = "WRONG" if wrong else "right"
            self.examples.append("; ".join([f"{each.commit[:8]} {seen}: {told} ({truth})", *wrong]))

    def describe(self, name: str) -> str:
        """Return the figures in a line."""
        parts = []
        for state in ("changed", "gone"):
            true = sum(n for (gold, _), n in self.said.items() if gold == state)
            told = sum(n for (_, said), n in self.said.items() if said == state)
            right = self.said[state, state]
            precision, recall = right / told if told else 1.0, right / true if true else 1.0
            parts.append(f"{state} {true}: precision {precision:.3f} recall {recall:.3f}")
        cuts = quantiles(self.times, n=100)
        files, parts = sum(self.said.values()), [*parts, f"no verdict {self.unsaid}"]
        ms = f"ms p50 {cuts[49]:.2f} p99 {cuts[98]:.2f}"
        return "; ".join([f"{name}: files {files}", *parts, ms])


def judge_all(
    clone: Path, path: str, looker: Looker, replayed: Sequence[Replayed], repository: Path
) -> Figures:
    """Judge every session as an answer would."""
    figures, root = Figures(), str(clone)
    rows = git(repository, "ls-tree", "-r", "HEAD").splitlines()
    head = {row.split("\t")[1]: row.split()[2] for row in rows}
    judge = Judge(path, looker)
    for each in replayed:
        turn = ("sessions", f"{each.commit[:12]}:{each.commit[:8]}-0")
        judge.judge([turn], 10.0)  # read once, as any answer before would have
        started = time.perf_counter()
        (verdict,) = judge.judge([turn])
        figures.times.append((time.perf_counter() - started) * 1e3)
        figures.add(root, each, find_gold(repository, each, head), verdict)
    return figures


def name_nothing(turns: set[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return no names in code marks of any turn."""
    return {turn: [] for turn in turns}


def run_clone(
    repository: Path, replayed: Sequence[Replayed], work: Path, with_git: bool
) -> Figures:
    """Read all sessions for the first time at HEAD."""
    clone, sessions = work / "clone", work / "sessions"
    git(repository, "clone", "-q", "--no-hardlinks", str(repository), str(clone))
    sessions.mkdir()
    for each in replayed:
        write_session(sessions, str(clone), each)
    if not with_git:
        shutil.rmtree(clone / ".git")
    path, looker = str(work / "recall.sqlite"), Looker(lambda: [str(clone)])
    store = RecallStore(path)
    read_sessions(sessions, store)
    history = RepositoryHistory(str(clone), store.find_oldest(str(clone)))
    while date_files(store, looker, history, name_nothing):
        pass
    store.close()
    return judge_all(clone, path, looker, replayed, repository)


def run_live(repository: Path, replayed: Sequence[Replayed], work: Path) -> Figures:
    """Read each session right after its turn, then go to HEAD."""
    clone, sessions = work / "clone", work / "sessions"
    git(repository, "clone", "-q", "--no-hardlinks", str(repository), str(clone))
    head = git(clone, "rev-parse", "HEAD").strip()
    path, looker = str(work / "recall.sqlite"), Looker(lambda: [str(clone)])
    store = RecallStore(path)
    for each in sorted(replayed, key=lambda each: each.until):
        shutil.rmtree(sessions, ignore_errors=True)
        sessions.mkdir()
        git(clone, "checkout", "-q", each.commit)
        for name in (*each.written, *each.read):
            os.utime(clone / name, (each.until - 1, each.until - 1))
        write_session(sessions, str(clone), each)
        read_sessions(sessions, store)
        history = RepositoryHistory(str(clone), store.find_oldest(str(clone)))
        while date_files(store, looker, history, name_nothing):
            pass
    store.close()
    git(clone, "checkout", "-q", head)
    return judge_all(clone, path, looker, replayed, repository)


def pick(figures: Figures, n: int) -> Iterator[str]:
    """Yield examples, wrong ones first where there are any."""
    wrong = [each for each in figures.examples if " WRONG: " in each]
    right = [each for each in figures.examples if " right: " in each]
    yield from (wrong[: n // 2] + right)[:n]


def main() -> None:
    """Print the figures, and examples."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--repository", type=Path, default=Path(__file__).parents[1])
    options.add_argument("--head", default="HEAD")
    options.add_argument("--commits", type=int, default=300)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--examples", type=int, default=10)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory).resolve()
        repository = work / "repository"
        git(given.repository, "clone", "-q", str(given.repository), str(repository))
        git(repository, "checkout", "-q", "--detach", given.head)
        replayed = draw(repository, given.commits, given.seed)
        newest = git(repository, "rev-parse", "--short=8", "HEAD").strip()
        print(f"{len(replayed)} sessions of commits up to {newest}, seed {given.seed}")
        for name in ("clone", "live", "no git"):
            (work / name).mkdir()
        figures = run_clone(repository, replayed, work / "clone", with_git=True)
        print(figures.describe("clone"))
        print(run_live(repository, replayed[:_LIVE], work / "live").describe("live"))
        lost = run_clone(repository, replayed[:_LIVE], work / "no git", with_git=False)
        print(lost.describe("no git"))
    for example in pick(figures, given.examples):
        print(example)


if __name__ == "__main__":
    main()
